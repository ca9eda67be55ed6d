// SPDX-License-Identifier: MIT
// compare.js - two recordings in one page: what changed, as `gputrack diff` has it.
import { color, el, section, segmented, withAlpha } from "./dom.js";
import { fromZero, lineSeries, makeChart, steps, timeAxis, valueAxis } from "./charts.js";
import { indexUpTo } from "./data.js";
import { CompareFlame } from "./compare_flame.js";
import { chosenFilter, filterBar } from "./filterbar.js";
import { formatBytes, formatCount, formatTime, plural, signed } from "./format.js";
import { chartButtons } from "./picture.js";
import { state } from "./state.js";
import { Table, tableState } from "./table.js";

const POINTS = 1200;
const CHANGES = { new: ["New", "bad"], grew: ["Grew", "bad"], shrank: ["Shrank", "good"],
  fixed: ["Fixed", "good"], same: ["As before", ""] };
const ALIGNED = [["start", "Start"], ["peak", "Peak"], ["length", "Length"]];

export function compareHeader(raw, theme) {
  const line = (word, side, path) => el("p", { class: "facts" }, el("strong", { text: word }), " ",
    el("code", { text: side.recording.command || path }), `  ${path}  ·  ` +
    [side.recording.started && `started ${side.recording.started}`,
      plural(side.recording.events, "event", "events")].filter(Boolean).join("  ·  "));
  return [el("div", { class: "title" }, el("h1", {}, el("span", { class: "brand", text: "gputrack" }),
    " comparison"), el("div", { class: "controls" }, theme)),
  line("old", raw.old, raw.diff.old), line("new", raw.new, raw.diff.new),
  raw.diff.gaps ? el("ul", { class: "gaps" }, el("li", { class: "bad",
    text: "Events are missing in one of the recordings: what seems new may not be." })) : null].filter(Boolean);
}

function cards({ diff }) {
  const card = (href, how, number, text) => el("a", { class: `card verdict ${how}`, href },
    el("strong", { text: number }), el("span", { text }));
  const sites = (count) => plural(count, "call site", "call sites");
  const { old, new: now } = diff.peak, { counts } = diff;
  return el("div", { class: "verdicts" },
    card("#leaks", counts.new ? "bad" : "good", counts.new ? `${formatCount(counts.new)} new` : "No new leaks",
      counts.new ? `${sites(counts.new)} that did not leak before` : "compared by call site"),
    counts.grew ? card("#leaks", "bad", `${formatCount(counts.grew)} grew`,
      `${sites(counts.grew)} with larger leaks than before`) : null,
    counts.fixed || counts.shrank ? card("#leaks", "good", `${formatCount(counts.fixed)} fixed`,
      `${sites(counts.fixed)} without leaks now; ${formatCount(counts.shrank)} with smaller ones`) : null,
    card("#timeline", now.device_bytes > old.device_bytes ? "warn" : "",
      signed(now.device_bytes - old.device_bytes, formatBytes),
      `peak, ${formatBytes(old.device_bytes)} before, ${formatBytes(now.device_bytes)} now`));
}

/* Both totals over each other. */
class Timelines {
  constructor(old, now) {
    Object.assign(this, { old, now });
    this.node = section("timeline", "Timelines", "Device memory of both recordings.");
    this.host = el("div", { class: "chart", tabIndex: 0, role: "img",
      aria: { label: "Device memory over time of the old and the new recording" } });
    this.readout = el("p", { class: "readout" });
    this.phases = this.commonPhases();
    this.aligned = segmented("Aligned by", this.phases.size ? [...ALIGNED, ["phase", "Phase"]] : ALIGNED,
      this.align, (align) => state.set({ align }));
    this.phase = el("select", { aria: { label: "Phase to align by" },
      on: { change: () => state.set({ align: "phase", phase: this.phase.value }) } },
    [...this.phases.keys()].map((name) => el("option", { value: name, text: name })));
    const key = (name, text) => {
      const swatch = el("span", { class: "swatch" });
      swatch.style.background = color(name);
      return el("span", { class: "key plain" }, swatch, text);
    };
    this.node.querySelector(".section-head").append(el("div", { class: "controls" },
      el("span", { class: "dim", text: "Aligned by" }), this.aligned, this.phase,
      chartButtons("timelines", () => this.chart)));
    this.node.append(el("div", { class: "legend" }, key("shrunk", "old"), key("grown", "new")), this.host, this.readout);
    state.on(["align", "phase", "filter"], () => this.draw());
  }

  /* When each phase that both have began in the old and in the new recording, in seconds. */
  commonPhases() {
    const began = (set) => new Map(set.data.raw.phases.map(({ name, time_ns }) => [name, time_ns / 1e9]));
    const old = began(this.old), now = began(this.now);
    return new Map([...now.keys()].filter((name) => old.has(name)).map((name) =>
      [name, new Map([[this.old, old.get(name)], [this.now, now.get(name)]])]));
  }

  get align() {
    return state.values.align !== "phase" || this.phases.size ? state.values.align : "start";
  }

  get phaseTimes() {
    return this.phases.get(state.values.phase) || this.phases.values().next().value;
  }

  /* Where a moment of a recording is on the common axis: seconds, or a share of its length. */
  positions(set) {
    const { align } = this;
    const zero = align === "peak" ? set.raw.peak.time_ns / 1e9 :
      align === "phase" ? this.phaseTimes.get(set) : 0;
    return align === "length" ? (time) => set.end ? time / set.end * 100 : 0 : (time) => time - zero;
  }

  /* [position, the value from there on] of a recording; the highest where a row is many changes. */
  rows(set) {
    const filter = set.lives?.times.length ? chosenFilter() : null;
    if (filter)
      return this.filteredRows(set, filter);
    const level = set.totals.level(0, set.end, POINTS), at = this.positions(set);
    const { high, last } = level.channels.device;
    const isExact = set.totals.exact && level === set.totals.levels[0];
    const rows = Array.from(level.times, (time, i) =>
      isExact ? [at(time), last[i]] : [at(i ? level.times[i - 1] : 0), high[i]]);
    return [[at(0), 0], ...rows, [at(set.end), last[last.length - 1] || 0]];
  }

  /* The same of what the filter lets through, by steps. */
  filteredRows(set, filter) {
    const { lives, sites, end } = set, at = this.positions(set);
    const [{ bytes }] = lives.series(filter.over(set), 1, (site) => sites[site]?.kind.onDevice ? 0 : -1);
    return [[at(0), 0], ...Array.from(lives.times, (time, i) => [at(time), bytes[i]]),
      [at(end), bytes[lives.times.length - 1]]];
  }

  data() {
    const sides = [this.rows(this.old), this.rows(this.now)];
    const x = [...new Set(sides.flat().map(([at]) => at))].sort((a, b) => a - b);
    return [x, ...sides.map((rows) => {
      const places = rows.map(([at]) => at);
      return x.map((at) => at < places[0] || at > places.at(-1) ? null : rows[indexUpTo(places, at)][1]);
    })];
  }

  draw() {
    const isShare = this.align === "length";
    const series = (label, name) => lineSeries(label, color(name), { paths: steps,
      fill: withAlpha(color(name), 0.12) });
    this.aligned.show(this.align);
    this.phase.hidden = this.align !== "phase";
    if (this.phases.has(state.values.phase))
      this.phase.value = state.values.phase;
    this.host.replaceChildren();
    this.chart = makeChart(this.host, { height: 260, series: [{}, series("old", "shrunk"), series("new", "grown")],
      cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
      scales: { x: { time: false }, y: { range: fromZero } },
      axes: [{ ...timeAxis(), ...(isShare ? { named: "Percent", values: (chart, splits) => splits.map((at) => `${at} %`) } : {}) },
        valueAxis("bytes")],
      hooks: { setCursor: [(chart) => this.showReadout(chart, isShare)] } }, this.data());
    this.showReadout(this.chart, isShare);
  }

  showReadout(chart, isShare) {
    const i = chart.cursor.idx, value = (list) => list[i] === null ? "–" : formatBytes(list[i]);
    this.readout.textContent = i === null || i === undefined ? "Point at a moment to see both values." :
      `${isShare ? `${formatCount(chart.data[0][i], 1)} %` : formatTime(chart.data[0][i])}   ` +
      `old ${value(chart.data[1])}, new ${value(chart.data[2])}, at most`;
  }
}

function changeColumns(withChange) {
  const change = (row, what) => row.new[what] - row.old[what];
  const number = (value, text) => value ? signed(value, text) : "–";
  const held = ({ bytes, count }) => bytes ? `${formatBytes(bytes)} (${formatCount(count)})` :
    count ? formatCount(count) : "–";
  const rawOf = (title, side) => [[`${title} (bytes)`, (row) => row[side].bytes],
    [`${title} (resources)`, (row) => row[side].count]];
  return [
    ...(withChange ? [{ name: "change", title: "Change", value: (row) => Object.keys(CHANGES).indexOf(row.change),
      raw: [["Change", (row) => CHANGES[row.change][0]]],
      cell: (row) => el("span", { class: CHANGES[row.change][1] === "bad" ? "bad" : "", text: CHANGES[row.change][0] }) }] : []),
    { name: "bytes", title: "Bytes", num: true, value: (row) => change(row, "bytes"),
      cell: (row) => number(change(row, "bytes"), formatBytes) },
    { name: "count", title: "Count", num: true, value: (row) => change(row, "count"),
      cell: (row) => number(change(row, "count"), formatCount) },
    { name: "before", title: "Before", num: true, minor: true, value: (row) => row.old.bytes,
      cell: (row) => held(row.old), raw: rawOf("Before", "old") },
    { name: "now", title: "Now", num: true, minor: true, value: (row) => row.new.bytes,
      cell: (row) => held(row.new), raw: rawOf("Now", "new") },
    { name: "kind", title: "Kind", value: (row) => row.kind, cell: (row) => row.kind },
    { name: "site", title: "Where", value: (row) => row.place?.text || "",
      cell: (row) => el("span", { class: "place", text: row.place?.text || "(no stack)" }) },
  ];
}

export function stackOf({ stack }) {
  return stack.length ? el("ol", { class: "stack" }, stack.map((frame) => el("li", {},
    el("code", { class: "fn", text: frame.function || `${frame.module}+${frame.offset}` }), " ",
    el("span", { class: "where", text: frame.file ? `${frame.file}:${frame.line}` : frame.module || "" })))) :
    el("p", { class: "dim", text: "No stack recorded." });
}

/* What a filter knows of such a row: as a call site. `apis`: as the page writes them. */
function rowSite({ api, kind, place, stack }, apis) {
  const written = apis.find((one) => one.toLowerCase().replaceAll(" ", "") === api) || api;
  return { kind: { name: kind, api: written }, place: { name: place?.text || "", where: "", via: "", callers: "" },
    frames: stack.map((frame) => ({ name: frame.function || "", where: `${frame.file || frame.module || ""}:${frame.line || ""}` })) };
}

/* `id`, title and hint of the section; rows as `gputrack diff` has them. */
function changesSection([id, title, hint], rows, count, kept, withChange, none, apis) {
  const node = section(id, title, hint);
  if (!rows.length) {
    node.append(el("p", { class: "card good", text: none }));
    return node;
  }
  const numbered = rows.map((row, index) => ({ ...row, index }));
  const filtered = (filter) => {
    const shown = numbered.filter((row) => filter.site(rowSite(row, apis)));
    return { rows: shown, note: filter.beyondSites(shown.length) };
  };
  node.append(new Table(title, changeColumns(withChange), numbered, kept, { key: (row) => row.index, open: stackOf, filtered,
    words: (row) => [row.change, row.api, row.kind, row.place?.text, row.function,
      ...row.stack.map((frame) => `${frame.function} ${frame.file}`)].join(" ").toLowerCase() }).node);
  if (count > rows.length)
    node.append(el("p", { class: "dim", text: `${formatCount(count - rows.length)} smaller changes are not ` +
      "shown: gputrack diff --format json lists all." }));
  return node;
}

const tables = { leaks: tableState("change"), peak: tableState("bytes"), functions: { ...tableState("total"), isOpen: false } };
tables.leaks.down = false;

/* Draws what comes first; what it gives back draws the rest. */
export function drawComparison({ raw, sides }, main) {
  const [old, now] = sides.map((side) => side.set(0));
  const timelines = new Timelines(old, now);
  const leakCount = Object.values(raw.diff.counts).reduce((a, b) => a + b, 0);
  const apis = [...new Set([old, now].flatMap((set) => set.kinds.map((kind) => kind.api)))];
  main.append(cards(raw), filterBar(), timelines.node);
  timelines.draw();
  return () => {
    const flame = new CompareFlame(old, now, tables.functions);
    main.append(flame.node,
      changesSection(["leaks", "Leaks that changed", "By call site; a line that moved makes no new one."],
        raw.diff.sites, leakCount, tables.leaks, true, "Neither recording has leaks.", apis),
      changesSection(["peak", "At the peak", "What each call site held when device memory was highest."],
        raw.diff.at_peak, raw.diff.at_peak.length, tables.peak, false, "No device memory.", apis),
      el("p", { class: "dim note" }, el("code", { text: "gputrack diff" }), " prints the same lists; ",
        el("code", { text: "gputrack html" }), " of one recording shows all of it."));
    flame.draw();
  };
}
