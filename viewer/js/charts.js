// SPDX-License-Identifier: MIT
// charts.js - what all charts by uPlot share: axes, colours, sizes.
import { color, mix, withAlpha } from "./dom.js";
import { formatBytes, formatCount, formatTime } from "./format.js";

const KIND_COLORS = 8;
/* There is no half resource. */
const COUNT_STEPS = [...Array(16).keys()].flatMap((i) => [10 ** i, 2 * 10 ** i, 5 * 10 ** i]);
/* A capacity so much above the highest total would flatten a chart. */
export const FAR = 4;
export const charts = new Set();

export function kindColor(index) {
  return color(`k${index % KIND_COLORS}`);
}

/* Steps of 1, 2, 4, 8 … bytes rather than of tens. */
function byteSplits(chart, axis, low, high) {
  const wanted = (high - low) / 5, splits = [];
  const step = 2 ** Math.ceil(Math.log2(Math.max(wanted, 1)));
  for (let at = Math.ceil(low / step) * step; at <= high; at += step)
    splits.push(at);
  return splits;
}

/* `named`: the title of a column of these values. */
export function timeAxis() {
  return { named: "Seconds", stroke: color("dim"), grid: { stroke: color("line"), width: 1 },
    ticks: { stroke: color("line"), width: 1 }, font: "12px system-ui", space: 84, size: 34,
    values: (chart, splits) => splits.map((at) => formatTime(at, timeStep(splits))) };
}

function timeStep(splits) {
  return splits.length > 1 && splits[1] - splits[0] < 1e-3 ? splits[1] - splits[0] : 0;
}

/* As many as tell the lines of the grid apart. */
function digitsFor(splits) {
  const step = splits.length > 1 ? Math.abs(splits[1] - splits[0]) : 1;
  let digits = 0;
  while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6)
    digits++;
  return digits;
}

export function valueAxis(unit) {
  const axis = { stroke: color("dim"), grid: { stroke: color("line"), width: 1 },
    ticks: { show: false }, font: "12px system-ui", size: 72,
    values: (chart, splits) => splits.map((at) => at === null ? "" :
      unit === "bytes" ? formatBytes(at) :
      formatCount(at, digitsFor(splits)) + (unit ? ` ${unit}` : "")) };
  if (unit === "bytes")
    axis.splits = byteSplits;
  else if (!unit)
    axis.incrs = COUNT_STEPS;
  return axis;
}

/* Values start at zero unless they go below it. */
export function fromZero(chart, low, high) {
  const top = high === null || high === undefined || high <= 0 ? 1 : high;
  return [low < 0 ? low * 1.08 : 0, top * 1.12];
}

/* A value holds until the next one, or has held since the one before. */
export const steps = uPlot.paths.stepped({ align: 1 });
export const stepsBack = uPlot.paths.stepped({ align: -1 });

/* A chart in `host`, as wide as that is, kept so; the caller may zoom. */
export function makeChart(host, options, data) {
  const size = () => ({ width: Math.max(host.clientWidth, 120), height: options.height });
  const chart = new uPlot({ ...options, ...size(), legend: { show: false } }, data, host);
  charts.add(chart);
  const observer = new ResizeObserver(() => {
    if (!host.isConnected) {
      observer.disconnect();
      charts.delete(chart);
    } else if (Math.abs(size().width - chart.width) > 1) {
      chart.setSize(size());
    }
  });
  observer.observe(host);
  return chart;
}

export function lineSeries(label, stroke, more) {
  return { label, stroke, width: 1.5, points: { show: false }, ...more };
}

export function areaSeries(label, stroke, more) {
  return lineSeries(label, stroke, { fill: withAlpha(stroke, 0.22), ...more });
}

/* A dashed line across the chart, with its name at one end. */
export function levelLine(chart, value, text, atRight) {
  const { ctx, bbox } = chart, gap = 4 * devicePixelRatio;
  const y = Math.round(chart.valToPos(value, "y", true)) + 0.5;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  ctx.strokeStyle = ctx.fillStyle = color("dim");
  ctx.setLineDash([6, 4]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.font = `${12 * devicePixelRatio}px system-ui`;
  ctx.textBaseline = "bottom";
  ctx.textAlign = atRight ? "right" : "left";
  ctx.fillText(text, atRight ? bbox.left + bbox.width - gap : bbox.left + gap, y - gap / 2);
  ctx.restore();
}

/* A line at a moment, with words beside it if there are any. */
export function momentLine(chart, time, stroke, dash, text) {
  const { ctx, bbox } = chart, gap = 6 * devicePixelRatio;
  const x = Math.round(chart.valToPos(time, "x", true)) + 0.5;
  if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1)
    return;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  ctx.strokeStyle = stroke;
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  if (text) {
    ctx.font = `${12 * devicePixelRatio}px system-ui`;
    const wide = ctx.measureText(text).width, right = x + gap + wide > bbox.left + bbox.width;
    ctx.fillStyle = withAlpha(color("paper"), 0.8);
    ctx.fillRect(right ? x - gap - wide - 2 : x + gap - 2, bbox.top + 2, wide + 4,
      16 * devicePixelRatio);
    ctx.fillStyle = stroke;
    ctx.textBaseline = "top";
    ctx.textAlign = right ? "right" : "left";
    ctx.fillText(text, right ? x - gap : x + gap, bbox.top + 4 * devicePixelRatio);
  }
  ctx.restore();
}

/* A range of time, darker than what is around it. */
export function timeBand(chart, from, to, stroke) {
  const { ctx, bbox } = chart;
  const inside = (x) => Math.min(Math.max(x, bbox.left), bbox.left + bbox.width);
  const left = inside(chart.valToPos(from, "x", true)), right = inside(chart.valToPos(to, "x", true));
  ctx.save();
  ctx.fillStyle = withAlpha(stroke, 0.16);
  ctx.fillRect(left, bbox.top, Math.max(right - left, devicePixelRatio), bbox.height);
  ctx.restore();
  momentLine(chart, from, stroke, []);
  momentLine(chart, to, stroke, []);
}

/* Opaque, so that what lies behind in the stack does not shine through. */
export function mixed(rgb) {
  return mix(rgb, color("paper"), 0.62);
}
