// SPDX-License-Identifier: MIT
// leaks.js - the table of resources never released.
import { el, section } from "./dom.js";
import { formatBytes, formatCount, formatTime, plural } from "./format.js";
import { fatesOf } from "./header.js";
import { placeLine, placeText, siteStack, siteWords, stackList } from "./stack.js";
import { Table } from "./table.js";
import { siteWeights } from "./weights.js";

function openedLeak(set, leak) {
  const { site } = leak, facts = [];
  facts.push(site.first === site.last ? `created at ${formatTime(site.first)}` :
    `created from ${formatTime(site.first)} to ${formatTime(site.last)}`);
  facts.push(`by ${leak.function} (${site.kind.api})`);
  if (leak.place)
    facts.push(`on ${leak.place}`);
  if (leak.pid && set.data.raw.recording.processes.length > 1)
    facts.push(`in process ${leak.pid}`);
  const more = leak.count > leak.handles.length ? " …" : "";
  return el("div", {}, siteStack(site),
    el("p", { class: "facts", text: facts.join(", ") }),
    leak.references ? el("p", { class: "facts warn", text: "held by " +
      `${leak.count > 1 ? "up to " : ""}${leak.references} ${
        leak.references === 1 ? "reference" : "references"}, last retained at` }) : null,
    leak.references ? stackList(set.data.stack(leak.retained)) : null,
    leak.kept ? el("p", { class: "facts warn", text:
      (leak.kept < leak.count ? `${formatCount(leak.kept)} of them ` : "") +
      `released, but kept alive by ${leak.kept_by}` }) : null,
    el("p", { class: "facts" }, leak.handles.length === 1 ? "handle " : "handles ",
      el("code", { text: leak.handles.join(" ") + more })));
}

/* Resources that need no release, or were freed with their owner; null for none. */
function notLeakedNote({ lasting, freed_with_owner: freed }) {
  const parts = [];
  if (lasting)
    parts.push(`${plural(lasting, "resource lives", "resources live")} until the process ends`);
  if (freed)
    parts.push(`${plural(freed, "resource was", "resources were")} freed with their owners`);
  return parts.length ? el("p", { class: "dim", text: `Not leaked: ${parts.join("; ")}.` }) : null;
}

function noLeaks({ created, no_leaks: text, is_certain: isCertain }) {
  return created ? el("p", { class: `card ${isCertain ? "good" : "warn"}`, text }) :
    el("p", { class: "card good", text: "Nothing was tracked." });
}

/* What libraries hold by design: one line, and the call sites behind it; null for none. */
function heldNote(set, state) {
  if (!set.raw.held_line)
    return null;
  const line = set.raw.held_line;
  const note = el("details", { class: "dim", id: "held" }, el("summary", {
    text: `Not leaked: ${line}.` }));
  const reasons = new Map(set.held.map((leak) => [leak.reason, leak.library]));
  note.append(el("ul", {}, ...[...reasons].map(([reason, library]) =>
    el("li", { text: `${library}: ${reason}` }))),
    leakTable("Held by libraries", set, set.held, state).node);
  return note;
}

const TITLES = { leaked: "Leaks", perhaps: "Perhaps leaked", killed: "Alive when killed",
  alive: "Alive" };

function leaksTitle(raw) {
  const fates = fatesOf(raw), [[first] = ["leaked"]] = fates;
  return [first === "leaked" || fates.length === 1 ? TITLES[first] : "Not released",
    `Created and ${raw.leaked === raw.unreleased ? "never released" : "not released"}, ` +
    "by call site."];
}

/* What is not called leaked, and why not, as reports have it. */
const fateNotes = (raw) => fatesOf(raw).filter(([, fate]) => fate.why).map(([key, fate]) =>
  el("p", { class: "card fate", data: { fate: key } }, el("strong", { text: fate.word }),
    ` ${plural(fate.count, "resource", "resources")}: ${fate.why}`));

/* As the tracker's log has it: so little may be the driver's caches. */
const RESIDUE_LEAK_KB = 100;

/* Driver residue of all processes; null if there is none or it was not measured. */
function residueNote({ residue }) {
  const listed = (sum) => sum.labels.map(({ label, kb }) => `${label} ${formatCount(kb)} KB`)
    .join(", ");
  const once = residue?.once.kb ? `${formatBytes(residue.once.kb * 1024)} ` : "";
  return residue?.kb ? el("p", {
    class: `card ${residue.kb > RESIDUE_LEAK_KB ? "warn" : "dim"}`, id: "residue",
    text: "The driver kept " +
    `${formatBytes(residue.kb * 1024)} of process memory after these were destroyed: ` +
    listed(residue) + (once && `, and ${once}once, on first use: ${listed(residue.once)}`) +
    (residue.kb > RESIDUE_LEAK_KB ? ". Estimated by the resource tracker; not counted as a leak." :
      `. Not above ${RESIDUE_LEAK_KB} KB: it may be the driver's caches.`) }) :
    once ? el("p", { class: "card dim", id: "residue",
      text: `The driver kept ${once}of process memory once, on first use, and no more with each ` +
      `handle: ${listed(residue.once)}.` }) : null;
}

const leakColumns = (raw, has_fates) => [
  { name: "bytes", title: "Bytes", num: true, value: (l) => l.bytes,
    cell: (l) => l.bytes ? formatBytes(l.bytes) : "–" },
  { name: "count", title: "Count", num: true, value: (l) => l.count,
    cell: (l) => formatCount(l.count) },
  ...(has_fates ? [{ name: "fate", title: "Fate", value: (l) => l.fate,
    cell: (l) => el("span", { class: l.fate === "leaked" ? "bad" : "",
      text: raw.fates[l.fate].phrase }) }] : []),
  { name: "kind", title: "Kind", value: (l) => l.site.kind.name,
    cell: (l) => l.site.kind.name },
  { name: "function", title: "Created by", minor: true, value: (l) => l.function,
    cell: (l) => el("code", { text: l.function }) },
  { name: "first", title: "First", num: true, minor: true, value: (l) => l.site.first,
    cell: (l) => formatTime(l.site.first) },
  { name: "site", title: "Where", value: (l) => placeText(l.site.place),
    cell: (l) => placeLine(l.site.place) },
];

/* With what a filter leaves of each; of a site whose resources have several fates, that is not known. */
function filteredLeaks(set, leaks, filter) {
  const rows = leaks.filter(({ site }) => filter.site(site)), rowsOf = new Map();
  if (!filter.needsLives)
    return { rows, note: "" };
  const { sites, note } = siteWeights(set, { what: "live" }, filter);
  const left = new Map(sites.map((one) => [one.site, one]));
  for (const { site } of rows)
    rowsOf.set(site, (rowsOf.get(site) || 0) + 1);
  const isTold = ({ site, count }) => rowsOf.get(site) === 1 && site.unreleased === count;
  return { rows: rows.flatMap((leak) => !isTold(leak) ? [leak] : left.has(leak.site) ?
    [{ ...leak, bytes: left.get(leak.site).bytes, count: left.get(leak.site).count }] : []),
  note: [note, filter.beyondSites([...new Set(rows.filter((leak) => !isTold(leak)).map(({ site }) => site))].length)]
    .filter(Boolean).join(" ") };
}

function leakTable(title, set, leaks, state, has_fates = false) {
  const words = new Map();
  return new Table(title, leakColumns(set.raw, has_fates), leaks, state, {
    key: (leak) => `${leak.site.stack}:${leak.site.kind.index}:${leak.fate}`,
    open: (leak) => openedLeak(set, leak),
    filtered: (filter) => filteredLeaks(set, leaks, filter),
    words: (leak) => {
      if (!words.has(leak))
        words.set(leak, [leak.function, leak.site.kind.name, leak.site.kind.api,
          set.raw.fates[leak.fate]?.phrase, leak.place || "",
          siteWords(leak.site)].join(" ").toLowerCase());
      return words.get(leak);
    } });
}

export function leaksSection(set, state, heldState) {
  const node = section("leaks", ...leaksTitle(set.raw));
  const notes = [notLeakedNote(set.raw), heldNote(set, heldState),
    set.raw.pid ? null : residueNote(set.data.raw)].filter(Boolean);
  if (!set.leaks.length) {
    node.append(noLeaks(set.raw), ...notes);
    return node;
  }
  node.append(...fateNotes(set.raw), leakTable("Leaks", set, set.leaks, state,
    set.raw.leaked !== set.raw.unreleased).node, ...notes);
  if (set.raw.rest.live)
    node.append(el("p", { class: "dim", text: `Plus ${plural(set.raw.rest.live, "resource",
      "resources")} from call sites not on this page: gputrack report -a leakage ` +
      "lists all." }));
  return node;
}
