// SPDX-License-Identifier: MIT
// range.js - a selected range of time: what it allocated, freed and left behind, by call site.
import { el, segmented } from "./dom.js";
import { chosenFilter } from "./filterbar.js";
import { formatBytes, formatCount, formatTime, plural, signed } from "./format.js";
import { stepText } from "./moment.js";
import { placeLine, placeText, siteStack, siteWords } from "./stack.js";
import { state } from "./state.js";
import { Table } from "./table.js";

const PARTS = [["left", "Left behind"], ["freed", "Freed"], ["allocated", "Allocated"],
  ["net", "Difference"]];
const HINTS = { left: "Allocated in this range and alive at its end.",
  freed: "Freed in this range, whenever it was allocated.", allocated: "Allocated in this range.",
  net: "Alive at the end of the range, less what was alive at its start." };

/* A site that the page does not have stands for all of them. */
function restSite(set) {
  return { index: -1, stack: 0, kind: { name: "", api: "", index: -1 }, frames: [], parts: [],
    place: { name: set.raw.lives.merged_sites ? "Other call sites" :
      `${formatCount(set.raw.rest.sites)} other call sites`, where: "", via: "", callers: "" } };
}

/* [{ site, left, freed, allocated, net }], each { bytes, count }; and their sums. */
export function rangeRows(set, from, to, filter) {
  const rows = new Map(), nothing = () => ({ bytes: 0, count: 0 });
  const rowOf = (site) => ({ site, left: nothing(), freed: nothing(), allocated: nothing(), net: nothing() });
  const all = rowOf(null), other = restSite(set), { sites } = set;
  /* part by part, as lives.js has them: a reader waits for thousands of these */
  const add = ({ left, freed, allocated, net }, sums, at) => {
    left.bytes += sums[at];
    left.count += sums[at + 1];
    freed.bytes += sums[at + 2];
    freed.count += sums[at + 3];
    allocated.bytes += sums[at + 4];
    allocated.count += sums[at + 5];
    net.bytes = allocated.bytes - freed.bytes;
    net.count = allocated.count - freed.count;
  };
  set.lives.eachInRange(from, to, filter && filter.over(set), (origin, sums, at) => {
    const site = sites[origin.site] || other;
    if (!rows.has(site))
      rows.set(site, rowOf(site));
    add(rows.get(site), sums, at);
    add(all, sums, at);
  });
  return { rows: [...rows.values()], sums: all, note: filter?.beyondLives(set) ?? "" };
}

export class RangeView {
  /* `tableState` outlives this. */
  constructor(set, tableState) {
    Object.assign(this, { set, tableState });
    this.node = el("div", { class: "card range", hidden: true });
    state.on(["range", "filter", "part"], () => this.draw());
    /* while nobody waits for it: what has run before runs faster */
    if (set.lives)
      requestIdleCallback(() => rangeRows(set, 0, set.end / 2, null));
  }

  draw() {
    const { range, part } = state.values;
    this.node.hidden = !range;
    if (!range || !this.set.lives)
      return;
    const [from, to] = this.set.lives.around(...range);
    const { rows, sums, note } = rangeRows(this.set, from, to, chosenFilter());
    this.tableState.sort = part;
    this.node.replaceChildren(
      el("div", { class: "section-head" },
        el("h3", { text: `From ${formatTime(from, 1e-4)} to ${formatTime(to, 1e-4)}` }),
        el("div", { class: "controls" }, segmented("Part of the range", PARTS, part,
          (chosen) => state.set({ part: chosen, what: "chosen" })),
        el("button", { type: "button", class: "tool", text: "Zoom to it",
          on: { click: () => state.set({ zoom: [from, to] }) } }),
        el("button", { type: "button", class: "tool", text: "Clear",
          on: { click: () => state.set({ range: null }) } }))),
      this.sentence(sums), el("p", { class: "dim", text: HINTS[part] }),
      this.table(rows).node,
      el("p", { class: "dim small", text: [this.precision(from, to), note].join(" ") }));
  }

  sentence({ left, freed, allocated, net }) {
    const said = ({ bytes, count }) => (bytes ? `${formatBytes(bytes)} in ` : "") +
      plural(count, "resource", "resources");
    return el("p", { class: "sum" }, el("strong", { text: said(left) }), " left behind: ",
      `${said(allocated)} allocated, ${said(freed)} freed; `,
      net.bytes || net.count ? `${signed(net.bytes, formatBytes)} and ${
        signed(net.count, formatCount)} resources in all.` : "as much alive as before.");
  }

  precision(from, to) {
    const command = `gputrack report -a range${from ? ` --from ${secondsText(from)}` : ""} --to ${
      secondsText(to)}`;
    return (this.set.exact ? "Exact: the page contains every change of this recording. " :
      `Exact for this range: it ends where steps do; ${stepText(this.set)}. `) +
      `The same by ${command}.`;
  }

  table(rows) {
    const cell = (part) => ({ site, [part]: { bytes, count } }) => {
      const format = part === "net" ? signed : (value, how) => how(value);
      return bytes ? `${format(bytes, formatBytes)} (${format(count, formatCount)})` :
        count ? format(count, formatCount) : "–";
    };
    const columns = PARTS.map(([name, title]) => ({ name, title, num: true,
      minor: name === "freed" || name === "allocated",
      value: (row) => (name === "net" ? Math.abs(row[name].bytes) : row[name].bytes) ||
        Math.abs(row[name].count) / 1e6,
      cell: cell(name), raw: [[`${title} (bytes)`, (row) => row[name].bytes],
        [`${title} (resources)`, (row) => row[name].count]] }));
    columns.push({ name: "kind", title: "Kind", value: (row) => row.site.kind.name,
      cell: (row) => row.site.kind.name },
    { name: "site", title: "Where", value: (row) => placeText(row.site.place),
      cell: (row) => placeLine(row.site.place) });
    return new Table("Call sites of the range", columns, rows, this.tableState, {
      key: (row) => `${row.site.stack}:${row.site.kind.index}`,
      open: (row) => el("div", {}, siteStack(row.site)),
      words: (row) => `${row.site.kind.name} ${row.site.kind.api} ${siteWords(row.site)}`.toLowerCase() });
  }
}

/* As `gputrack report` reads it. */
export function secondsText(seconds) {
  return seconds.toFixed(9).replace(/\.?0+$/, "");
}
