// SPDX-License-Identifier: MIT
// chart_svg.js - a canvas as a drawing: what a chart or the blocks paint, written down instead.
import { color, svg } from "./dom.js";

const LEGEND_LINE = 19, LEGEND_LEFT = 8, LEGEND_FONT = "12px system-ui";
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
    const { ctx } = this, real = CanvasRenderingContext2D.prototype, methods = {
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
      strokeRect: (...box) => {
        const path = new PathText();
        path.rect(...box);
        methods.stroke(path);
      },
      putImageData: (image, x, y) => this.addImage(image, x, y),
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
    return methods;
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

  /* Pixels are put where no transformation moves them. */
  addImage(image, x, y) {
    const canvas = document.createElement("canvas"), { width, height } = image;
    Object.assign(canvas, { width, height });
    CanvasRenderingContext2D.prototype.putImageData.call(canvas.getContext("2d"), image, 0, 0);
    this.put(svg("image", { x, y, width, height, href: canvas.toDataURL() }));
  }

  addClip(path) {
    const id = `clip${this.clipCount++}`;
    const inner = svg("path", { d: path.d, ...this.place });
    this.nodes.push(svg("clipPath", { id, ...(this.clip ? { "clip-path": `url(#${this.clip})` } : {}) }, inner));
    this.clip = id;
  }
}

/* Everything that `paint()` paints; then it paints once more, on the canvas. */
function record(ctx, paint) {
  const recorder = new Recorder(ctx), { methods } = recorder, { Path2D } = self;
  Object.assign(ctx, methods);
  self.Path2D = PathText;
  try {
    paint();
  } finally {
    self.Path2D = Path2D;
    for (const name of Object.keys(methods))
      delete ctx[name];
    paint();
  }
  return recorder.nodes;
}

/* The names of the series that are shown, and the colours they are told apart by. */
function legendOfChart(chart) {
  const said = (value, i) => typeof value === "function" ? value(chart, i) : value;
  return chart.series.map((one, i) => ({ label: one.label, shown: i && one.show && one.label,
    fill: said(one.width ? one.stroke : one.fill || one.stroke, i) || color("dim") })).filter((one) => one.shown);
}

/* Where each key of a legend stands, in as many lines as it takes. */
function placeKeys(keys, width) {
  const measure = document.createElement("canvas").getContext("2d");
  let x = LEGEND_LEFT, y = 7;
  measure.font = LEGEND_FONT;
  const places = keys.map((key) => {
    const wide = 32 + measure.measureText(key.label).width;
    if (x > LEGEND_LEFT && x + wide > width)
      [x, y] = [LEGEND_LEFT, y + LEGEND_LINE];
    x += wide;
    return { ...key, x: x - wide, y };
  });
  return { places, tall: y + LEGEND_LINE };
}

/*
 * What `paint()` paints on a canvas, with a legend above it: as a drawing, and as a picture. `keys`:
 * { label, fill }.
 */
export function canvasSvg(canvas, paint, keys) {
  const scale = devicePixelRatio, width = canvas.width / scale, height = canvas.height / scale;
  const nodes = record(canvas.getContext("2d"), paint), { places, tall } = placeKeys(keys, width);
  const legend = places.flatMap(({ label, fill, x, y }) => [svg("rect", { x, y, width: 11, height: 11, rx: 2, fill }),
    svg("text", { x: x + 16, y: y + 10, fill: color("ink"), "font-size": 12 }, label)]);
  return svg("svg", { width, height: height + tall,
    viewBox: `0 0 ${width} ${height + tall}`, "font-family": "system-ui, sans-serif" },
  svg("rect", { width, height: height + tall, fill: color("paper") }), ...legend,
  svg("g", { transform: `translate(0 ${tall}) scale(${1 / scale})` }, ...nodes));
}

export function canvasWithLegend(canvas, keys) {
  const scale = devicePixelRatio, made = document.createElement("canvas");
  const ctx = made.getContext("2d"), { places, tall } = placeKeys(keys, canvas.width / scale);
  made.width = canvas.width;
  made.height = canvas.height + tall * scale;
  ctx.fillStyle = color("paper");
  ctx.fillRect(0, 0, made.width, made.height);
  ctx.drawImage(canvas, 0, tall * scale);
  ctx.scale(scale, scale);
  ctx.font = LEGEND_FONT;
  for (const { label, fill, x, y } of places) {
    ctx.fillStyle = fill;
    ctx.fillRect(x, y, 11, 11);
    ctx.fillStyle = color("ink");
    ctx.fillText(label, x + 16, y + 10);
  }
  return made;
}

/* The same of a chart: what uPlot and its hooks paint. */
export function chartSvg(chart) {
  return canvasSvg(chart.ctx.canvas, () => chart.batch(() => chart.redraw(true, false)), legendOfChart(chart));
}

export function chartCanvas(chart) {
  return canvasWithLegend(chart.ctx.canvas, legendOfChart(chart));
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
