// SPDX-License-Identifier: MIT
// header.js - the recording's command, gaps and headline figures.
import { el } from "./dom.js";
import { formatBytes, formatCount, formatTime, plural } from "./format.js";

const SIGNALS = { 1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL",
  11: "SEGV", 13: "PIPE", 14: "ALRM", 15: "TERM" };

function endText(recording) {
  const span = recording.duration_ns === null ? "" :
    ` after ${formatTime(recording.duration_ns / 1e9)}`;
  if (recording.signal !== null)
    return `killed by signal ${SIGNALS[recording.signal] || recording.signal}${span}`;
  if (recording.exit_status !== null)
    return `exit status ${recording.exit_status}${span}`;
  if (recording.running !== null)
    return `detached${span}`;
  return recording.processes.every((process) => process.state === "ended") ? "ended" :
    "still running, or its exit was not recorded";
}

/* The recording's gaps: [severity, text]. */
function gapsOf(data) {
  const { processes, lost, cut_stacks } = data.raw.recording, gaps = [];
  const sum = (what) => processes.reduce((a, p) => a + p[what], 0);
  if (lost)
    gaps.push(["bad", `${plural(lost, "event was", "events were")} lost: creations and ` +
      "releases are missing below"]);
  if (sum("lost_stacks"))
    gaps.push(["warn", `${plural(sum("lost_stacks"), "event was", "events were")} recorded ` +
      "without a complete stack"]);
  if (sum("unknown"))
    gaps.push(["warn", `${plural(sum("unknown"), "event calls a function",
      "events call functions")} that this gputrack does not know`]);
  if (cut_stacks)
    gaps.push(["warn", `${plural(cut_stacks, "stack ends", "stacks end")} early, in code without ` +
      "frame pointers: `gputrack attach --unwind dwarf` unwinds further"]);
  for (const p of processes) {
    const went_on = processes.some((q) => q.pid === p.pid && q.start_ns > p.start_ns);
    if (p.state === "unread")
      gaps.push(["bad", `pid ${p.pid} is left out: ${p.damage}; the rest is shown`]);
    else if (p.damage)
      gaps.push(["bad", `pid ${p.pid}: the trace is damaged (${p.damage}); only events before ` +
        "the damage are shown"]);
    else if (p.state === "stopped")
      gaps.push(["bad", `pid ${p.pid}: recording stopped before the process ended: ${p.error}`]);
    else if (p.state === "unended" && p.end_ns === null && !went_on &&
      data.raw.recording.signal === null)
      gaps.push(["warn", `pid ${p.pid} was killed or is still running: its exit was not recorded`]);
    else if (p.state === "running" && !went_on)
      gaps.push(["warn", `pid ${p.pid} is still running: this is its state so far`]);
  }
  return gaps;
}

export function headerContent(data, { pid, pick, tools, live }) {
  const { recording } = data.raw;
  const apis = [...new Set(data.raw.sets[0].kinds.map((kind) => kind.api))];
  const facts = [endText(recording), recording.started && `started ${recording.started}`,
    recording.host && `on ${recording.host}`,
    plural(recording.events, "event", "events") + (apis.length ? ` (${apis.join(", ")})` : ""),
    recording.processes.length === 1 ? `pid ${recording.processes[0].pid}` :
      plural(recording.processes.length, "process", "processes")].filter(Boolean);
  const controls = el("div", { class: "controls" }, live ? el("span", { class: "follows", id: "live",
    text: "live" }) : null, processPicker(data, pid, pick), ...tools);
  return [el("div", { class: "title" },
    el("h1", {}, el("span", { class: "brand", text: "gputrack" }), " ",
      el("span", { class: "command", text: recording.command || recording.path,
        title: recording.command })), controls),
  el("p", { class: "facts", text: facts.join("  ·  ") }), gapList(gapsOf(data))];
}

const GAPS_SHOWN = 6;

function gapList(gaps) {
  const line = ([how, text]) => el("li", { class: how, text }), more = gaps.slice(GAPS_SHOWN);
  return gaps.length ? el("ul", { class: "gaps" }, gaps.slice(0, GAPS_SHOWN).map(line), more.length ?
    el("li", { class: "warn" }, el("details", {}, el("summary", { text: plural(more.length, "more gap", "more gaps") }),
      el("ul", { class: "gaps" }, more.map(line)))) : null) : null;
}

function processPicker(data, chosen, pick) {
  if (data.raw.sets.length < 2)
    return null;
  const name = (pid) => {
    const process = data.raw.recording.processes.find((one) => one.pid === pid);
    return `pid ${pid}  ${(process?.program || "").split("/").pop().slice(0, 40)}`;
  };
  const hasSet = new Set(data.raw.sets.map((set) => set.pid));
  const others = [...new Set(data.raw.recording.processes.map((one) => one.pid))].filter((pid) => !hasSet.has(pid));
  const picker = el("select", { id: "process", aria: { label: "Process" },
    on: { change: () => pick(Number(picker.value), hasSet.has(Number(picker.value))) } },
  data.raw.sets.map((set) => el("option", { value: String(set.pid), selected: set.pid === chosen,
    text: set.pid ? name(set.pid) : "All processes" })));
  if (data.raw.processes_left_out && others.length)
    picker.append(el("optgroup", { label: "by the filter" }, others.map((pid) =>
      el("option", { value: String(pid), text: name(pid) }))));
  return picker;
}

/* [key, fate] of what was not released: leaked, perhaps leaked, alive when killed, alive. */
export const fatesOf = (raw) => Object.entries(raw.fates).filter(([, fate]) => fate.count);

/* A card for each fate; only what leaked is bad. */
function leakVerdicts(card, raw) {
  const size = ({ device, host }) => [device && `${formatBytes(device)} of device memory`,
    host && `${formatBytes(host)} of host memory`].filter(Boolean).join(", ");
  if (raw.unreleased)
    return fatesOf(raw).map(([key, fate]) => card("#leaks", key === "leaked" ? "bad" : "warn",
      `${formatCount(fate.count)} ${fate.phrase}`, size(fate) || "without memory of their own"));
  return [raw.is_certain ? card("#leaks", "good", "No leaks",
    raw.held_line ? "other than what libraries hold" :
      `${plural(raw.created - raw.lasting, "resource", "resources")} released`) :
    card("#leaks", "warn", "No leaks seen",
      (raw.no_leaks || "").replace(/^.*, (but .*)\.$/, "$1"))];
}

export function verdicts(set) {
  const { raw } = set, mistakes = raw.mistakes;
  const card = (href, how, number, text) => el("a", { class: `card verdict ${how}`, href },
    el("strong", { text: number }), el("span", { text }));
  const wrong = mistakes.redundant.reduce((a, r) => a + r.count, 0);
  return el("div", { class: "verdicts" }, leakVerdicts(card, raw),
    card("#timeline", "", formatBytes(raw.peak.bytes), raw.peak.bytes ?
      `peak at ${formatTime(raw.peak.time_ns / 1e9)}` : "no device memory"),
    card("#sites", "", formatCount(raw.created),
      `${raw.created === 1 ? "resource" : "resources"} created, ` +
        `${formatBytes(raw.created_bytes)} in total`),
    wrong || mistakes.failed ? card("#mistakes", wrong ? "bad" : "warn",
      wrong ? plural(wrong, "redundant release", "redundant releases") :
        plural(mistakes.failed, "failed call", "failed calls"),
      wrong && mistakes.failed ? plural(mistakes.failed, "failed call", "failed calls") :
        "see below") : null);
}
