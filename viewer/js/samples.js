// SPDX-License-Identifier: MIT
// samples.js - metrics sampled while the program ran, next to the traced memory.
import { color, el, section } from "./dom.js";
import { fromZero, kindColor, lineSeries, makeChart, steps, timeAxis, valueAxis }
  from "./charts.js";
import { noFilterNote } from "./filterbar.js";
import { chartButtons } from "./picture.js";
import { drawSelection, followTimeline, shownWindow } from "./window.js";

/* [x, value…] of points written as 64-bit numbers. */
export function unpackTrail(base64, width = 1) {
  const columns = Array.from({ length: width + 1 }, () => []);
  if (!base64)
    return columns;
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer), words = bytes.length / 8;
  for (let i = 0; i < words; i++)
    columns[i % (width + 1)].push(view.getFloat64(8 * i, true));
  return columns;
}

function seriesName(sample, pids) {
  return [sample.name, sample.subject, sample.pid && pids > 1 ? `pid ${sample.pid}` : ""]
    .filter(Boolean).join(", ");
}

export function legendOf(series) {
  return el("div", { class: "legend" }, series.map((one) => {
    const swatch = el("span", { class: "swatch" });
    swatch.style.background = typeof one.stroke === "function" ? one.stroke() : one.stroke;
    return el("span", { class: "key plain" }, swatch, one.label);
  }));
}

function unitChart(set, unit, samples) {
  const host = el("div", { class: "chart" });
  const tables = samples.map((sample) => unpackTrail(sample.points));
  const pids = new Set(set.data.raw.samples.map((sample) => sample.pid)).size;
  const series = [{}, ...samples.map((sample, i) => lineSeries(seriesName(sample, pids),
    kindColor(i), { paths: steps, spanGaps: true }))];
  if (unit === "bytes") {
    const level = set.totals.level(0, set.end, 3000);
    const { last } = level.channels.device, rest = level.times.at(-1) < set.end;
    tables.push([[0, ...level.times, ...(rest ? [set.end] : [])],
      [0, ...last, ...(rest ? [last.at(-1)] : [])]]);
    series.push(lineSeries("traced device memory", color("ink"), { paths: steps, dash: [4, 3],
      spanGaps: true }));
  }
  const data = uPlot.join(tables.filter((table) => table[0].length));
  let chart = null;
  followTimeline(() => chart);
  const draw = () => chart = makeChart(host, { height: 220, series, cursor: { y: false },
    scales: { x: { time: false, range: () => shownWindow(set) },
      y: { range: fromZero } },
    axes: [timeAxis(), valueAxis(unit === "bytes" ? "bytes" : unit)],
    hooks: { draw: [(drawn) => drawSelection(drawn, set)] } }, data);
  return { nodes: [el("div", { class: "section-head" }, legendOf(series.slice(1)),
    chartButtons(`measured ${unit}`.trim(), () => chart)), host], draw };
}

/* null when nothing was measured. */
export function samplesSection(set) {
  const samples = set.data.raw.samples.filter((sample) => sample.points &&
    (!set.pid || !sample.pid || sample.pid === set.pid));
  if (!samples.length)
    return null;
  const node = section("samples", "Measured", "Metrics that devices and processes reported while " +
    "the program ran, next to traced memory.");
  const units = [...new Set(samples.map((sample) => sample.unit || ""))];
  const charts = units.map((unit) => unitChart(set, unit,
    samples.filter((sample) => (sample.unit || "") === unit)));
  node.append(...charts.flatMap((chart) => chart.nodes), noFilterNote("The filter does not apply to what was measured."));
  return { node, draw: () => charts.forEach((chart) => chart.draw()) };
}
