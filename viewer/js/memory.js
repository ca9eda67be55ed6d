// SPDX-License-Identifier: MIT
// memory.js - where the device's memory went: its parts over time, and where it was highest or out.
import { color, el, section } from "./dom.js";
import { FAR, fromZero, kindColor, levelLine, makeChart, mixed, momentLine, steps, timeAxis,
  valueAxis } from "./charts.js";
import { formatBytes, formatTime } from "./format.js";
import { unzigzag, varints } from "./data.js";
import { chartButtons } from "./picture.js";
import { unstacked } from "./chart_svg.js";
import { noFilterNote } from "./filterbar.js";
import { drawSelection, followTimeline, shownWindow } from "./window.js";

const MEMORY_HEIGHT = 240;
/* Memory that nobody has asked for is grey. */
const PART_COLORS = { places: 0, libraries: 2, cached: 4, fragmented: 1, statics: 5, code: 3, graphs: 6,
  contexts: 7 };

function partColor(part) {
  return part.key in PART_COLORS ? kindColor(PART_COLORS[part.key]) : color("faint");
}

function unpackValues(base64) {
  let now = 0;
  return Array.from(varints(base64), (step) => now += unzigzag(step));
}

function shareOf(bytes, total) {
  const share = total ? bytes / total * 100 : 0;
  return `${share && share < 0.95 ? share.toFixed(1) : share.toFixed(0)} %`;
}

function partRow(part, total) {
  const swatch = el("span", { class: "swatch" });
  swatch.style.background = mixed(partColor(part));
  return el("tr", {}, el("td", {}, swatch), el("td", { class: "num", text: formatBytes(part.bytes) }),
    el("td", { class: "num dim", text: shareOf(part.bytes, total) }),
    el("td", { text: part.name }));
}

/* The bottom of the stack is the last row, as in the chart. */
function partTable(memory, when) {
  const total = memory.parts.reduce((sum, part) => sum + part.bytes, 0);
  return el("table", { class: "parts", aria: { label: "Parts of the device's memory" } },
    el("caption", { text: `${formatBytes(total)} in use ${when}, ${
      formatTime(memory.time_ns / 1e9, 1e-4)}` }),
    el("tbody", {}, memory.parts.map((part) => partRow(part, total)).reverse()));
}

function stackParts(memory, end) {
  const rows = memory.parts.map((part) => unpackValues(part.values)), times = [];
  for (let i = 0; i < rows[0].length; i++)
    times.push(Math.min(i * memory.step_ns / 1e9, end));
  times.push(end);
  let below = new Float64Array(times.length);
  const stacked = rows.map((row) => {
    below = below.map((sum, i) => sum + row[Math.min(i, row.length - 1)]);
    return below;
  });
  return [times, ...stacked.reverse()];
}

/* null when no more is known than what the program allocated, and for a process among others. */
export function memorySection(set) {
  const { memory } = set.data.raw;
  if (!memory || set.pid)
    return null;
  const out = memory.out_of_memory, data = stackParts(memory, set.end);
  const highest = data[1].reduce((a, b) => Math.max(a, b), 0);
  const capacity = memory.capacity <= FAR * highest ? memory.capacity : 0;
  const node = section("memory", "Device memory", (memory.device || "Device memory") +
    (memory.devices > 1 ? `, one of ${memory.devices} devices` : "") +
    (memory.reported ? ", as the GPU reports it." : ", by calls: its own figure is not known."));
  const host = el("div", { class: "chart", role: "img",
    aria: { label: "Where the device's memory went, over time" } });
  const marks = (chart) => {
    const { bbox } = chart;
    /* where the words beside the other line are not */
    const isFree = !out || chart.valToPos(memory.time_ns / 1e9, "x", true) < bbox.left + bbox.width / 2;
    drawSelection(chart, set);
    if (capacity)
      levelLine(chart, capacity, `capacity ${formatBytes(capacity)}`, isFree);
    if (out)
      momentLine(chart, memory.time_ns / 1e9, color("bad"), [], "OUT OF MEMORY" +
        (out.asked ? `: ${formatBytes(out.asked)} requested` : ""));
  };
  let chart = null;
  followTimeline(() => chart);
  const draw = () => chart = makeChart(host, { height: MEMORY_HEIGHT, cursor: { show: false },
    series: [{}, ...memory.parts.map((part) => ({ label: part.name, paths: steps, width: 0,
      points: { show: false }, stroke: partColor(part), fill: mixed(partColor(part)) })).reverse()],
    scales: { x: { time: false, range: () => shownWindow(set) },
      y: { range: (chart, low, high) => fromZero(chart, low, Math.max(high ?? 0, capacity)) } },
    axes: [timeAxis(), valueAxis("bytes")], hooks: { draw: [marks] } }, data);
  node.querySelector(".section-head").append(chartButtons("device memory", () => chart,
    () => unstacked(data, memory.parts.length)));
  node.append(host, partTable(memory, out ? "when memory ran out" : "at its highest"),
    noFilterNote("The filter does not apply to the device's memory as a whole."));
  return { node, draw };
}
