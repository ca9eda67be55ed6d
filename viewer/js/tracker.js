// SPDX-License-Identifier: MIT
// tracker.js - the resource tracker's twelve charts, as its CSV has them.
import { areaSeries, fromZero, kindColor, lineSeries, makeChart, steps, timeAxis, valueAxis }
  from "./charts.js";
import { color, el, section } from "./dom.js";
import { cutMiddle, formatCount, formatTime, lastPart, plural } from "./format.js";
import { chartButtons, pictureButtons } from "./picture.js";
import { rowsSvg } from "./table_svg.js";
import { legendOf, unpackTrail } from "./samples.js";

const MB_PER_KB = 1 / 1024;
const TOP_BARS = 10, TOP_CURVES = 5, CHART_HEIGHT = 210;

const megabytes = (kb) =>
  `${formatCount(kb * MB_PER_KB, kb && Math.abs(kb) < 100 ? 4 : 2)} MB`;
const stems = (rise, fall) => {
  const hues = { unit: 3,
    values: (chart, index) => chart.data[index].map((v) => v < 0 ? fall : rise) };
  return { width: 0, points: { show: false },
    paths: uPlot.paths.bars({ size: [0.6, 6, 1], align: 0, disp: { fill: hues, stroke: hues } }) };
};

/* Increases that may be the program's own are all that the file has to show. */
const cannotTell = (t) => t.basis === "none" && Boolean(t.rises || t.creeps);
const CANNOT_TELL = "Cannot be told from this CSV";
/* The recording knows how much the driver kept, its CSV not when. */
const isUndated = (t) => t.leak_kb > 0 && !t.leak_events;
const kilobytes = (kb) => `${formatCount(kb)} KB`;

/* What the file has to show where nothing in it can be called a leak. */
const risesOf = (t) => t.rises ? `${megabytes(t.rise_kb)} in ` +
  `${plural(t.rises, "destroy call", "destroy calls")} since the row before, maybe the program's ` +
  "own" : `${t.creeps}: ${megabytes(t.creep_kb)} in ${plural(t.creep_calls, "call", "calls")}`;

/* No rise exceeds the threshold, but many small ones may add up. */
const noLeak = (t) => isUndated(t) ? `${kilobytes(t.leak_kb)} left behind by the driver in all; ` +
  "when, this CSV does not say" :
  cannotTell(t) ? `${CANNOT_TELL}: ${risesOf(t)}` :
  t.basis === "residue" ? "No memory leaks detected" + (t.residue_kb ?
    `: ${kilobytes(t.residue_kb)} left behind by the driver in all` : "") :
  t.creeps ? `No single rise above ${formatCount(t.threshold_kb)} KB, but ` +
  `${t.creeps}: ${megabytes(t.creep_kb)} in ${plural(t.creep_calls, "call", "calls")}` :
  "No leak events";

class TrackerCharts {
  constructor(tracker) {
    this.t = tracker;
    this.span = Math.max((this.t.last_ms - this.t.first_ms) / 1000, 1e-6);
    this.later = [];
    /* one moment alone is no range */
    this.xRange = tracker.last_ms > tracker.first_ms ? undefined : () => [0, 1e-3];
  }

  /* Seconds since the first row, and the values in the chart's unit. */
  curve(points, by, width = 1) {
    const [times, ...values] = unpackTrail(points, width);
    let last = -Infinity;
    /* a chart has one value for each time: rows of one millisecond are a nanosecond apart */
    return [times.map((ms) => (last = Math.max((ms - this.t.first_ms) / 1000, last + 1e-9))),
      ...values.map((list) => list.map((value) => value * by))];
  }

  /* Sparse events, spread over the whole time axis. */
  wholeTime([times, values]) {
    const before = times[0] > 0, after = times.at(-1) < this.span;
    return [[...(before ? [0] : []), ...times, ...(after ? [this.span] : [])],
      [...(before ? [null] : []), ...values, ...(after ? [null] : [])]];
  }

  panel(title, tone, subtitle) {
    return el("figure", { class: `card panel ${tone || ""}` },
      el("figcaption", {}, el("h3", { text: title }),
        subtitle ? el("p", { class: "small dim", text: subtitle }) : null));
  }

  message(title, text, tone) {
    const panel = this.panel(title, tone);
    panel.append(el("p", { class: `message ${tone || "dim"}`, text }));
    return panel;
  }

  /* `curves`: [label, table, more]; tables without points are left out. */
  lines(title, unit, curves, { tone, subtitle, xAxis, xRange, keys } = {}) {
    const shown = curves.filter(([, table]) => table[0].length);
    if (!shown.length)
      return this.message(title, "The file has no such column.");
    const panel = this.panel(title, tone, subtitle), host = el("div");
    const series = [{}, ...shown.map(([label, table, more], i) => lineSeries(label, kindColor(i),
      { paths: steps, spanGaps: true, points: { show: table[0].length === 1, size: 6,
        fill: kindColor(i) }, ...more }))];
    const data = uPlot.join(shown.map(([, table]) => table));
    let chart;
    panel.append(legendOf(keys || series.slice(1)), host, chartButtons(title, () => chart));
    this.later.push(() => chart = makeChart(host, { height: CHART_HEIGHT, series,
      cursor: { y: false, drag: { x: true, y: false } },
      scales: { x: { time: false, range: xRange || this.xRange }, y: { range: fromZero } },
      axes: [xAxis || timeAxis(), valueAxis(unit)] }, data));
    return panel;
  }

  bars(title, calls, value, text, tone, empty, how) {
    const rows = calls.map((call) => [call, value(call)]).filter(([, v]) => v !== 0)
      .sort(([a, p], [b, q]) => Math.abs(q) - Math.abs(p) || a.name.localeCompare(b.name))
      .slice(0, TOP_BARS);
    if (!rows.length)
      return this.message(title, empty || "No call changed the process's memory.", how || "");
    const most = Math.max(...rows.map(([, v]) => Math.abs(v)));
    const panel = this.panel(title, tone), values = () => [["Call", title], ...rows.map(([call, v]) => [call.name, v])];
    panel.append(el("ol", { class: "bars" }, rows.map(([call, v]) => {
      const bar = el("span", { class: `bar${v < 0 ? " fall" : ""}` });
      bar.style.width = `${Math.abs(v) / most * 100}%`;
      return el("li", {}, el("code", { text: cutMiddle(call.name, 26), title: call.name }),
        el("span", { class: "track" }, bar), el("span", { class: "num", text: text(v) }));
    })), pictureButtons(title, { rows: values, svg: () => rowsSvg(title, values()) }));
    return panel;
  }

  charts() {
    const { t } = this, { calls } = t, red = color("bad"), c = t.curves;
    const mb = (kb) => this.curve(kb, MB_PER_KB), alive = (points) => this.curve(points, 1);
    const callAxis = { ...timeAxis(), named: "Call", space: 48, values: (chart, at) => at.map((v) => formatCount(v)) };
    const [numbers, deltas] = unpackTrail(t.deltas);
    const leaks = this.curve(t.leaks, MB_PER_KB, t.leak_width);
    const signed = (v) => (v > 0 ? "+" : "−") + megabytes(Math.abs(v));
    const found = t.leak_events > 0, none = noLeak(t);
    const well = isUndated(t) ? "alarm" : t.creeps || cannotTell(t) ? "" : "good";
    const top = calls.filter((call) => call.impact)
      .sort((a, b) => Math.abs(b.delta_kb) - Math.abs(a.delta_kb)).slice(0, TOP_CURVES);
    return [
      found ? this.lines("Memory Leak Detection Over Time", "MB", [
        ["cumulative leak", this.curve(t.leaked, MB_PER_KB), { stroke: red }],
        ["leak event", t.leak_width > 1 ? [leaks[0], leaks[2]] :
          this.curve(t.leaked, MB_PER_KB),
          { stroke: red, paths: () => null, points: { show: true, size: 7, fill: red } }]],
      { tone: "alarm", subtitle: `${megabytes(t.leak_kb)} leaked in ` +
        plural(t.leak_events, "event", "events") }) :
        this.message("Memory Leak Detection Over Time", none, well),
      this.lines("System Memory Usage Over Time", "MB", [["VmRSS", mb(c.rss)],
        ["VmSize", mb(c.size)], ["VmData", mb(c.data)]]),
      this.bars("Memory Leaks by API Call", calls, (call) => call.leak_kb, megabytes,
        found ? "alarm" : "", none, well),
      this.lines("Memory Deltas Per API Call", "MB",
        [["change of VmRSS", [numbers, deltas.map((kb) => kb * MB_PER_KB)],
          { ...stems(color("k1"), color("k0")) }]], { xAxis: callAxis,
        xRange: (chart, low, high) => [low - 0.5, high + 0.5], subtitle: "by call number",
        keys: [{ label: "rise of VmRSS", stroke: color("k1") },
          { label: "fall", stroke: color("k0") }] }),
      this.lines(t.levelzero ? "L0 Resource Counts" : "Resource Counts", "", [
        ["Contexts", alive(c.contexts)], ["Command queues", alive(c.queues)],
        ["Modules", alive(c.modules)],
        ["Kernels", alive(c.kernels)]]),
      this.lines("Command Lists and Events", "", [["Command lists", alive(c.lists)],
        ["Event pools", alive(c.pools)], ["Events", alive(c.events)]]),
      this.lines("Total Memory Allocations", "MB", [["allocated through the API",
        this.curve(c.memory, 1 / (1 << 20)), areaSeries("", color("k0"))]]
        .map(([label, table, more]) => [label, table, { fill: more.fill }])),
      this.bars("Top 10 Most Frequent API Calls", calls, (call) => call.count,
        (v) => formatCount(v)),
      this.bars("Top 10 API Calls by Memory Impact", calls, (call) => call.delta_kb, signed),
      this.bars("Top 10 API Calls by Avg Memory per Call", calls,
        (call) => call.delta_kb / call.count, signed),
      top.length ? this.lines("Cumulative Memory Impact by Top 5 APIs", "MB",
        top.map((call) => [call.name, mb(call.impact)])) :
        this.message("Cumulative Memory Impact by Top 5 APIs",
          "No call changed the process's memory."),
      found ? this.lines("Individual Leak Events Timeline", "MB", [["leaked in a millisecond",
        this.wholeTime(this.curve(t.moments, MB_PER_KB)), { ...stems(red, red), stroke: red }]],
      { tone: "alarm", subtitle: `Total: ${megabytes(t.leak_kb)} in ` +
        plural(t.leak_events, "event", "events") }) :
        this.message("Individual Leak Events Timeline",
          isUndated(t) || cannotTell(t) ? none : "No leak events", well),
    ];
  }
}

/* The charts to be shown, and what draws them once they are. */
export function trackerCharts(tracker) {
  const charts = new TrackerCharts(tracker);
  return { node: el("div", { class: "panels" }, charts.charts()),
    draw: () => charts.later.forEach((draw) => draw()) };
}

/* The file in one line. */
export function trackerFacts(tracker) {
  const calls = plural(tracker.rows, "tracked call", "tracked calls");
  const span = formatTime((tracker.last_ms - tracker.first_ms) / 1000);
  const limit = kilobytes(tracker.threshold_kb);
  const rule = { residue: `a leak is driver residue above ${limit} in all`,
    call: `a leak is a destroy call that raises VmRSS by more than ${limit}`,
    none: "deltas include the program's own memory; leaks need --csv-more" };
  return el("p", { class: "facts", text: `${calls} in ${span}  ·  ${rule[tracker.basis]}` });
}

/* null when nothing is wrong with it. */
export function trackerGaps(tracker) {
  const gaps = [];
  if (tracker.bad_rows)
    gaps.push(`${plural(tracker.bad_rows, "row is", "rows are")} damaged and skipped, the ` +
      `first on line ${formatCount(tracker.bad_line)}`);
  if (tracker.unsigned_falls)
    gaps.push(`${plural(tracker.unsigned_falls, "fall of VmRSS was", "falls of VmRSS were")} ` +
      "written as a rise; the sign is restored");
  return gaps.length ? el("ul", { class: "gaps" },
    gaps.map((text) => el("li", { class: "warn", text }))) : null;
}

export function trackerVerdicts(t) {
  const card = (how, number, text) => el("div", { class: `card verdict ${how}` },
    el("strong", { text: number }), el("span", { text }));
  return el("div", { class: "verdicts" },
    t.leak_events ? card("bad", megabytes(t.leak_kb),
      `left behind in ${plural(t.leak_events, "leak event", "leak events")}`) :
      isUndated(t) ? card("bad", megabytes(t.leak_kb), "left behind by the driver") :
      cannotTell(t) ? card("", "Leaks?", CANNOT_TELL) :
      t.basis === "residue" && t.residue_kb ? card("good", "No memory leaks",
        `${kilobytes(t.residue_kb)} left behind by the driver`) :
      t.creeps ? card("", megabytes(t.creep_kb), `in small rises by ${t.creeps}`) :
        card("good", t.basis === "residue" ? "No memory leaks" : "No leak events",
          "by the tracker's rule"),
    card("", megabytes(t.peak_rss), "highest VmRSS"),
    card("", megabytes(t.last_rss - t.first_rss), "VmRSS, first row to last"),
    card("", formatCount(t.calls.length), "distinct API calls"));
}

export function trackerHeader(raw, theme) {
  const { tracker } = raw;
  return [el("div", { class: "title" }, el("h1", {}, el("span", { class: "brand",
    text: "gputrack" }), " ", el("span", { class: "command", text: lastPart(tracker.path) })),
  el("div", { class: "controls" }, theme)), trackerFacts(tracker), trackerGaps(tracker)]
    .filter(Boolean);
}

export function drawTracker(raw, main) {
  const node = section("charts", "Charts");
  const { node: panels, draw } = trackerCharts(raw.tracker);
  node.append(panels);
  main.append(trackerVerdicts(raw.tracker), node);
  return draw;
}
