// SPDX-License-Identifier: MIT
// tests.js - several recordings in one page: their tests, each leak once, and the way to their pages.
import { stackOf } from "./compare.js";
import { el, section } from "./dom.js";
import { formatBytes, formatCount, plural } from "./format.js";
import { state } from "./state.js";
import { Table, tableState } from "./table.js";

/* From the worst to the best: the word, and how it is shown. */
const OUTCOMES = { leaked: ["leaked", "bad"], growing: ["keeps growing", "bad"],
  peak: ["peak too high", "bad"], unsure: ["cannot be told", "warn"], passed: ["passed", "good"],
  untracked: ["nothing tracked", "dim"] };
const rankOf = ({ outcome }) => Object.keys(OUTCOMES).indexOf(outcome);
const outcomeOf = ({ outcome }) => el("span", { class: OUTCOMES[outcome][1], text: OUTCOMES[outcome][0] });
const amount = (value, text) => value ? text(value) : "–";

/* What is chosen in the page of one recording means nothing in another's. */
const AFRESH = { view: "", pid: 0, zoom: null, at: "peak", range: null, filter: "", search: "", fn: "",
  box: "", what: "", measure: "", unit: "" };

/* A link to the page of a recording, by its index, or back to all. */
function recordingLink(index, props) {
  const recording = index + 1;
  return el("a", { ...props, href: recording ? `#recording=${recording}` : "#", on: { click: (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey)
      return;
    event.preventDefault();
    event.stopPropagation();
    state.set({ ...AFRESH, recording });
    scrollTo({ top: 0, behavior: "instant" });
  } } });
}

/* On the page of one of them: which it is, and the way back. */
export const recordingOfAll = ({ all }) => [
  el("span", { class: "dim", id: "recording", text: all.recordings[state.values.recording - 1].path }),
  recordingLink(-1, { class: "tool", id: "all-recordings", text: `All ${all.recordings.length} recordings` })];

export function testsHeader({ all }, tools) {
  return [el("div", { class: "title" }, el("h1", {}, el("span", { class: "brand", text: "gputrack" }),
    ` ${plural(all.recordings.length, "recording", "recordings")} of ` +
    plural(all.tests.length, "test", "tests")), el("div", { class: "controls" }, tools))];
}

function testCards({ all }) {
  const card = (href, how, number, text) => el("a", { class: `card verdict ${how}`, href },
    el("strong", { text: number }), el("span", { text }));
  const leaks = all.groups.length + (all.more_groups || 0);
  const number = (outcome) => all.tests.filter((test) => test.outcome === outcome).length;
  const highest = all.tests.reduce((a, b) => b.peak_bytes > a.peak_bytes ? b : a);
  return el("div", { class: "verdicts" },
    card("#leaks", leaks ? "bad" : "good", leaks ? plural(leaks, "leak", "leaks") : "No leaks",
      leaks ? `in ${number("leaked")} of ${plural(all.tests.length, "test", "tests")}` : "in any of the tests"),
    number("unsure") ? card("#tests", "warn", `${formatCount(number("unsure"))} uncertain`,
      "tests whose leaks cannot be told") : null,
    number("untracked") ? card("#tests", "", `${formatCount(number("untracked"))} skipped`,
      "tests that tracked nothing") : null,
    card("#tests", "", formatBytes(highest.peak_bytes), highest.peak_bytes ?
      `highest peak: ${highest.test}` : "no device memory"));
}

/* Where to read more of a recording: its page, if this page has it. */
function recordingName({ all, pages }, index) {
  const { path } = all.recordings[index];
  return pages[index] ? recordingLink(index, { class: "recording", text: path }) :
    el("span", { text: path, title: `Not in this page: gputrack html ${path}` });
}

function testsTable(raw, kept) {
  const { all } = raw;
  const recordingsOf = (test) => all.recordings.map((one, index) => ({ ...one, index })).filter((one) => one.test === test.test);
  const open = (test) => el("ul", { class: "runs" }, recordingsOf(test).map((one) => el("li", {},
    recordingName(raw, one.index), " ", outcomeOf(one),
    (one.leaked_bytes ? ` ${formatBytes(one.leaked_bytes)}` : "") + `, peak ${formatBytes(one.peak_bytes)} `,
    el("span", { class: "dim", text: one.reason || one.command }))));
  const columns = [
    { name: "outcome", title: "Outcome", value: rankOf, raw: [["Outcome", (test) => OUTCOMES[test.outcome][0]]],
      cell: (test) => el("span", {}, outcomeOf(test), test.failing_runs && test.failing_runs < test.runs ?
        ` ${test.failing_runs} of ${test.runs}` : null) },
    { name: "test", title: "Test", value: (test) => test.test, cell: (test) => {
      const [{ index }, ...more] = recordingsOf(test);
      return more.length || !raw.pages[index] ? test.test : recordingLink(index, { class: "recording", text: test.test });
    } },
    { name: "runs", title: "Runs", num: true, value: (test) => test.runs, cell: (test) => formatCount(test.runs) },
    { name: "leaked", title: "Leaked", num: true, value: (test) => test.leaked,
      cell: (test) => amount(test.leaked, formatCount) },
    { name: "bytes", title: "Bytes", num: true, value: (test) => test.leaked_bytes,
      cell: (test) => amount(test.leaked_bytes, formatBytes) },
    { name: "peak", title: "Peak", num: true, value: (test) => test.peak_bytes,
      cell: (test) => amount(test.peak_bytes, formatBytes) },
  ];
  // of one outcome, those that leaked most come first
  const worstFirst = [...all.tests].sort((a, b) => b.leaked_bytes - a.leaked_bytes || b.leaked - a.leaked ||
    b.peak_bytes - a.peak_bytes);
  return new Table("Tests", columns, worstFirst, kept, { key: (test) => test.test, open,
    words: (test) => [test.test, ...recordingsOf(test).map((one) => `${one.path} ${one.command}`),
      OUTCOMES[test.outcome][0]].join(" ").toLowerCase() });
}

/* "app, flaky (2 of 4 runs)" */
function testsWith({ tests }, all) {
  return tests.map(({ test, runs }) => {
    const { runs: most } = all.tests.find((one) => one.test === test);
    return runs < most ? `${test} (${runs} of ${plural(most, "run", "runs")})` : test;
  }).join(", ");
}

function leaksTable(raw, kept) {
  const { all } = raw, rows = all.groups.map((leak, index) => ({ ...leak, index, inTests: testsWith(leak, all) }));
  const open = (leak) => el("div", {}, stackOf(leak), el("p", { class: "facts",
    text: `by ${leak.function || "an unknown function"} (${leak.api}), in` }),
  el("ul", { class: "runs" }, leak.tests.flatMap(({ recordings }) => recordings).map((index) =>
    el("li", {}, recordingName(raw, index)))));
  const columns = [
    { name: "bytes", title: "Bytes", num: true, value: (leak) => leak.bytes, cell: (leak) => amount(leak.bytes, formatBytes) },
    { name: "count", title: "Count", num: true, value: (leak) => leak.count, cell: (leak) => formatCount(leak.count) },
    { name: "kind", title: "Kind", value: (leak) => leak.kind, cell: (leak) => leak.kind },
    { name: "site", title: "Where", value: (leak) => leak.place?.text || "",
      cell: (leak) => el("span", { class: "place", text: leak.place?.text || "(no stack)" }) },
    { name: "tests", title: "In", isNamed: true, value: (leak) => leak.inTests, cell: (leak) => leak.inTests },
  ];
  return new Table("Leaks", columns, rows, kept, { key: (leak) => leak.index, open,
    words: (leak) => [leak.api, leak.kind, leak.function, leak.place?.text, leak.inTests,
      ...leak.stack.map((frame) => `${frame.function} ${frame.file}`)].join(" ").toLowerCase() });
}

const testTables = { tests: { ...tableState("outcome"), down: false }, leaks: tableState("bytes") };

/* Draws what comes first; what it gives back draws the rest. */
export function drawTests(raw, main) {
  const { all, pages } = raw, missing = all.recordings.length - Object.keys(pages).length;
  const tests = section("tests", "Tests", "A recording's test is its name; figures are the most of its runs.");
  const leaks = section("leaks", "Leaks", "Each call site once, as in the recording where it leaked most.");
  tests.append(testsTable(raw, testTables.tests).node);
  if (missing)
    tests.append(el("p", { class: "dim", text: `The pages of ${plural(missing, "recording is", "recordings are")} ` +
      "not in this file, to keep it small: gputrack html NAME.gt" }));
  leaks.append(all.groups.length ? leaksTable(raw, testTables.leaks).node :
    el("p", { class: "card good", text: "No leaks in any of the tests." }));
  if (all.more_groups)
    leaks.append(el("p", { class: "dim", text: `${plural(all.more_groups, "smaller leak is", "smaller leaks are")} ` +
      "not shown: gputrack report --format json lists all." }));
  main.append(testCards(raw), tests, leaks);
  return () => {};
}
