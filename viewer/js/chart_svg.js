// SPDX-License-Identifier: MIT
// chart_svg.js - a chart as a drawing: what uPlot paints, written down instead.
import { color, svg } from "./dom.js";

const LEGEND = 26;
const ANCHORS = { left: "start", start: "start", center: "middle", right: "end", end: "end" };
const BASELINES = { top: "hanging", middle: "central", bottom: "text-after-edge", alphabetic: "auto" };

const rounded = (number) => Math.round(number * 100) / 100;

/* In the place of Path2D: the same as text. */
class PathText {
  constructor(other) {
    this.d = other?.d ?? "";
  }

  moveTo(x, y) {
    this.d += `M${rounded(x)} ${rounded(y)}`;
  }

  /* A path may begin with a line: it begins where that would lead. */
  lineTo(x, y) {
    this.d += `${this.d ? "L" : "M"}${rounded(x)} ${rounded(y)}`;
  }

  rect(x, y, width, height) {
    this.d += `M${rounded(x)} ${rounded(y)}h${rounded(width)}v${rounded(height)}h${rounded(-width)}Z`;
  }

  /* Whole circles alone. */
  arc(x, y, radius) {
    const r = rounded(radius);
    this.d += `M${rounded(x - radius)} ${rounded(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  }

  closePath() {
    this.d += "Z";
  }
}

/* Stands before a canvas's context while a chart is painted once more. */
class Recorder {
  constructor(ctx) {
    Object.assign(this, { ctx, nodes: [], path: new PathText(), clips: [], clipCount: 0, clip: "" });
  }

  get methods() {
    const { ctx } = this, real = CanvasRenderingContext2D.prototype;
    return {
      beginPath: () => { this.path = new PathText(); },
      moveTo: (x, y) => this.path.moveTo(x, y),
      lineTo: (x, y) => this.path.lineTo(x, y),
      rect: (...box) => this.path.rect(...box),
      clearRect: () => {},
      stroke: (path = this.path) => this.add(path.d, { fill: "none", stroke: ctx.strokeStyle,
        "stroke-width": rounded(ctx.lineWidth), "stroke-dasharray": ctx.getLineDash().join(" ") }),
      fill: (path = this.path) => this.add(path.d, { fill: ctx.fillStyle }),
      fillRect: (...box) => {
        const path = new PathText();
        path.rect(...box);
        this.add(path.d, { fill: ctx.fillStyle });
      },
      fillText: (text, x, y) => this.addText(text, x, y),
      clip: (path = this.path) => this.addClip(path),
      save: () => {
        this.clips.push(this.clip);
        real.save.call(ctx);
      },
      restore: () => {
        this.clip = this.clips.pop() ?? "";
        real.restore.call(ctx);
      },
    };
  }

  get place() {
    const { a, b, c, d, e, f } = this.ctx.getTransform();
    return { transform: `matrix(${[a, b, c, d, e, f].map(rounded).join(" ")})` };
  }

  put(node) {
    if (this.ctx.globalAlpha < 1)
      node.setAttribute("opacity", this.ctx.globalAlpha);
    /* a clip is written in the units of the whole: around what has a place of its own */
    this.nodes.push(this.clip ? svg("g", { "clip-path": `url(#${this.clip})` }, node) : node);
  }

  add(d, attributes) {
    const shown = Object.entries(attributes).filter(([, value]) => value !== "");
    if (d)
      this.put(svg("path", { d, ...this.place, ...Object.fromEntries(shown) }));
  }

  addText(text, x, y) {
    const { ctx } = this, [, size] = /([\d.]+)px/.exec(ctx.font) || [0, 12];
    const node = svg("text", { x: rounded(x), y: rounded(y), ...this.place, fill: ctx.fillStyle,
      "font-size": size, "text-anchor": ANCHORS[ctx.textAlign] || "start",
      "dominant-baseline": BASELINES[ctx.textBaseline] || "auto" });
    node.textContent = text;
    this.put(node);
  }

  addClip(path) {
    const id = `clip${this.clipCount++}`;
    const inner = svg("path", { d: path.d, ...this.place });
    this.nodes.push(svg("clipPath", { id, ...(this.clip ? { "clip-path": `url(#${this.clip})` } : {}) }, inner));
    this.clip = id;
  }
}

/* Everything that uPlot and its hooks paint. */
function record(chart) {
  const recorder = new Recorder(chart.ctx), { methods } = recorder, { Path2D } = self;
  Object.assign(chart.ctx, methods);
  self.Path2D = PathText;
  try {
    chart.batch(() => chart.redraw(true, false));
  } finally {
    self.Path2D = Path2D;
    for (const name of Object.keys(methods))
      delete chart.ctx[name];
    chart.redraw(true, false);
  }
  return recorder.nodes;
}

/* The names of the series that are shown, and the colours they are told apart by. */
function legendOfChart(chart) {
  const said = (value, i) => typeof value === "function" ? value(chart, i) : value;
  return chart.series.map((one, i) => ({ label: one.label, shown: i && one.show && one.label,
    fill: said(one.width ? one.stroke : one.fill || one.stroke, i) || color("dim") })).filter((one) => one.shown);
}

/* The chart on paper, its legend above it. */
export function chartSvg(chart) {
  const scale = devicePixelRatio, { width, height } = chart, nodes = record(chart);
  let x = 8;
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = "12px system-ui";
  const keys = legendOfChart(chart).flatMap(({ label, fill }) => {
    const text = svg("text", { x: x + 16, y: 17, fill: color("ink"), "font-size": 12 });
    text.textContent = label;
    const swatch = svg("rect", { x, y: 7, width: 11, height: 11, rx: 2, fill });
    x += 32 + measure.measureText(label).width;
    return [swatch, text];
  });
  return svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height: height + LEGEND,
    viewBox: `0 0 ${width} ${height + LEGEND}`, "font-family": "system-ui, sans-serif" },
  svg("rect", { width, height: height + LEGEND, fill: color("paper") }), ...keys,
  svg("g", { transform: `translate(0 ${LEGEND}) scale(${1 / scale})` }, ...nodes));
}

/* The same as a picture. */
export function chartCanvas(chart) {
  const scale = devicePixelRatio, { canvas } = chart.ctx, made = document.createElement("canvas");
  const ctx = made.getContext("2d");
  made.width = canvas.width;
  made.height = canvas.height + LEGEND * scale;
  ctx.fillStyle = color("paper");
  ctx.fillRect(0, 0, made.width, made.height);
  ctx.drawImage(canvas, 0, LEGEND * scale);
  ctx.scale(scale, scale);
  ctx.font = "12px system-ui";
  let x = 8;
  for (const { label, fill } of legendOfChart(chart)) {
    ctx.fillStyle = fill;
    ctx.fillRect(x, 7, 11, 11);
    ctx.fillStyle = color("ink");
    ctx.fillText(label, x + 16, 17);
    x += 32 + ctx.measureText(label).width;
  }
  return made;
}

/* Titles, then a row for each moment. `data`: the chart's own, unless it says otherwise. */
export function chartRows(chart, data = chart.data) {
  const columns = data.map((list, i) => [i ? chart.series[i].label : chart.axes[0].named, list]);
  return [columns.map(([title]) => title),
    ...Array.from(data[0], (_, i) => columns.map(([, list]) => list[i] ?? ""))];
}

/* What each of the first `count` series adds to those below it, where they are stacked. */
export function unstacked(data, count) {
  return data.map((list, i) => i < 1 || i >= count ? list :
    Array.from(list, (value, k) => value - data[i + 1][k]));
}
