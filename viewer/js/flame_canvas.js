// SPDX-License-Identifier: MIT
// flame_canvas.js - boxes of a flame graph painted on a canvas: mouse, keyboard cursor, pictures.
import { color, el, mix, svg, visible, watchWidth } from "./dom.js";
import { kindColor } from "./charts.js";

const ROW = 22, FONT = 12, HUES = 5;
const PALE_INK = 0.75;
const NARROW = 3; // pixels: up to this width, columns are painted rather than boxes

function hueOf(name) {
  let hash = 0;
  for (let i = 0; i < name.length; i++)
    hash = (hash * 31 + name.charCodeAt(i)) | 0;
  return Math.abs(hash) % HUES;
}

export const boxText = (node) => visible(node.at ? `${node.name}: ${node.at}` : node.name);

export class FlameCanvas {
  /* `on`: pick(box), point(box or null), leave(): Escape, resize(); `label`: for screen readers. */
  constructor(label, on) {
    Object.assign(this, { on, boxes: [], rows: 0, cursor: null, search: 0, differs: false });
    this.canvas = el("canvas", { tabIndex: 0, role: "group", aria: { label, roledescription: "flame graph" },
      on: { keydown: (event) => this.key(event), focus: () => this.paint(), blur: () => this.paint(),
        click: (event) => this.click(event), mousemove: (event) => this.move(event),
        mouseleave: () => this.on.point(this.cursor) } });
    this.node = el("div", { class: "flame" }, this.canvas);
    this.measure = watchWidth(this.node, () => this.on.resize());
  }

  get width() {
    return this.measure();
  }

  /* `boxes` as of layOut, with `row` from the top; the cursor stays on the same box. */
  show(boxes, rows, differs) {
    const kept = this.cursor && boxes.find((box) => box.node === this.cursor.node);
    Object.assign(this, { boxes, rows, differs, cursor: kept || null });
    this.byRow = Array.from({ length: rows }, () => []);
    /* from the left, as they were laid out */
    for (const box of boxes)
      this.byRow[box.row].push(box);
    this.canvas.boxes = boxes;
    this.inks = this.readInks();
    /* a search repaints often: boxes of one colour together, asked for once */
    this.fills = new Map();
    for (const box of boxes) {
      const fill = this.fillOf(box, this.inks);
      if (!this.fills.has(fill))
        this.fills.set(fill, []);
      this.fills.get(fill).push(box);
    }
    this.paint();
  }

  /* The colours of the theme; another one draws the page anew. */
  readInks() {
    const named = Object.fromEntries(["paper", "ink", "dim", "accent", "ground", "grown", "shrunk", "line"]
      .map((name) => [name, color(name)]));
    const hues = Array.from({ length: HUES }, (_, i) => color(`h${i}`));
    return { ...named, hues, library: mix(hues[4], named.ground, 0.35), kinds: new Map() };
  }

  fillOf({ node }, inks) {
    if (this.differs)
      return this.changeFill(node, inks);
    if (node.kind) {
      const { index } = node.kind;
      if (!inks.kinds.has(index))
        inks.kinds.set(index, mix(kindColor(index), inks.paper, 0.42));
      return inks.kinds.get(index);
    }
    if (node.hue < 0)
      node.hue = hueOf(node.name);
    return node.library ? inks.library : inks.hues[node.hue];
  }

  /* Grown red, shrunk blue, by how much of the box that is. */
  changeFill(node, inks) {
    const change = node.value - node.old;
    const share = change / Math.max(node.value, node.old, 1);
    return !change ? inks.line :
      mix(change > 0 ? inks.grown : inks.shrunk, inks.paper, 0.15 + 0.45 * Math.abs(share));
  }

  /* True for what the search found; `search` is its number, 0 while there is none. */
  isHit({ node }) {
    return this.search > 0 && node.foundBy === this.search;
  }

  /* Hits stand out; what is not shown as a part of the zoomed box is pale. */
  strengthOf(box, isHit) {
    return isHit ? 1 : this.search ? 0.35 : box.above ? 0.6 : 1;
  }

  /* A name and how strong it is: it can be read in a pale box, too. */
  inkOf(box, isHit) {
    const isPale = this.strengthOf(box, isHit) < 1, isDim = box.node.library && !this.differs && !isPale;
    return [isHit ? this.inks.paper : isDim ? this.inks.dim : this.inks.ink, isPale ? PALE_INK : 1];
  }

  paint() {
    const width = this.width, height = this.rows * ROW, ratio = devicePixelRatio;
    if (!width || !this.rows)
      return;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== height * ratio) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = height * ratio;
      this.canvas.style.height = `${height}px`;
    }
    const ctx = this.canvas.getContext("2d"), { inks } = this;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.globalAlpha = 1;
    ctx.fillStyle = inks.paper;
    ctx.fillRect(0, 0, width, height);
    this.paintNarrow(ctx, width);
    this.paintBoxes(ctx, width);
    this.paintNames(ctx, width);
    if (this.cursor && (document.activeElement === this.canvas || this.isHit(this.cursor))) {
      const { left, share, row } = this.cursor;
      ctx.globalAlpha = 1;
      ctx.strokeStyle = inks.accent;
      ctx.lineWidth = 2;
      ctx.strokeRect(left * width + 1, row * ROW + 1, Math.max(share * width - 3, 1), ROW - 3);
    }
  }

  /* However many there are, narrow boxes cost as much as the columns of pixels that they share. */
  paintNarrow(ctx, wholeWidth) {
    const width = Math.ceil(wholeWidth), image = new ImageData(width, this.rows), { data } = image;
    const parts = (rgb) => rgb.match(/\d+/g).map(Number), paper = parts(this.inks.paper);
    const accent = parts(this.inks.accent);
    for (const [fill, boxes] of this.fills) {
      const plain = parts(fill);
      for (const box of boxes) {
        const wide = box.share * wholeWidth;
        if (wide > NARROW)
          continue;
        const isHit = this.isHit(box), rgb = isHit ? accent : plain;
        const strength = this.strengthOf(box, isHit);
        const left = box.left * wholeWidth, first = Math.floor(left);
        const end = Math.max(first + 1, Math.floor(left + wide));
        for (let x = first; x < end && x < width; x++) {
          const at = (box.row * width + x) * 4;
          for (let part = 0; part < 3; part++)
            data[at + part] = rgb[part] * strength + paper[part] * (1 - strength);
          data[at + 3] = 255;
        }
      }
    }
    this.strip ||= document.createElement("canvas");
    Object.assign(this.strip, { width, height: this.rows });
    this.strip.getContext("2d").putImageData(image, 0, 0);
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(this.strip, 0, 0, width, this.rows, 0, 0, width, this.rows * ROW);
    ctx.fillStyle = this.inks.paper;
    for (let row = 1; row <= this.rows; row++)
      ctx.fillRect(0, row * ROW - 1, width, 1);
  }

  paintBoxes(ctx, width) {
    let alpha = 1;
    const paint = (boxes, fill, areHits) => {
      ctx.fillStyle = fill;
      for (const box of boxes) {
        const wide = box.share * width;
        if (wide <= NARROW || this.isHit(box) !== areHits)
          continue;
        const strength = this.strengthOf(box, areHits);
        if (strength !== alpha)
          ctx.globalAlpha = alpha = strength;
        ctx.fillRect(box.left * width, box.row * ROW, wide - 1, ROW - 1);
      }
    };
    for (const [fill, boxes] of this.fills)
      paint(boxes, fill, false);
    if (this.search)
      paint(this.boxes, this.inks.accent, true);
  }

  paintNames(ctx, width) {
    ctx.font = this.font;
    ctx.textBaseline = "middle";
    const letter = ctx.measureText("m").width;
    for (const box of this.boxes) {
      const wide = box.share * width, text = wide <= NARROW ? "" : this.fitted(box.node, wide - 10, letter);
      if (!text)
        continue;
      [ctx.fillStyle, ctx.globalAlpha] = this.inkOf(box, this.isHit(box));
      ctx.fillText(text, box.left * width + 5, box.row * ROW + ROW / 2, wide - 8);
    }
  }

  get font() {
    return `${FONT}px ${getComputedStyle(document.documentElement).getPropertyValue("--mono")}`;
  }

  /* As much of a box's text as has room; "" if that says nothing. */
  fitted(node, room, letter) {
    const most = Math.floor(room / letter), text = most < 2 ? "" : boxText(node);
    return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
  }

  /* The graph as a drawing; as wide as it is on the page. */
  toSvg() {
    const width = this.width, height = this.rows * ROW, { inks } = this;
    const letter = FONT * 0.602, shapes = [svg("rect", { width, height, fill: inks.paper })];
    for (const box of this.boxes) {
      const isHit = this.isHit(box), wide = box.share * width, y = box.row * ROW;
      const rect = svg("rect", { x: (box.left * width).toFixed(2), y, height: ROW - 1,
        fill: isHit ? inks.accent : this.fillOf(box, inks), "fill-opacity": this.strengthOf(box, isHit),
        width: (wide > NARROW ? wide - 1 : wide).toFixed(2) });
      const title = svg("title", {});
      title.textContent = this.on.words(box.node).join("\n");
      rect.append(title);
      shapes.push(rect);
      const text = this.fitted(box.node, wide - 10, letter), [fill, opacity] = this.inkOf(box, isHit);
      if (text)
        shapes.push(svg("text", { x: (box.left * width + 5).toFixed(2), y: y + 15, fill, "fill-opacity": opacity }, text));
    }
    return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-size": FONT,
      "font-family": "monospace" }, ...shapes);
  }

  /* The box at a point of the canvas, in its own pixels. */
  boxAt(x, y) {
    const row = this.byRow?.[Math.floor(y / ROW)] || [], share = x / this.width;
    return row.find((box) => share >= box.left && share < box.left + box.share) || null;
  }

  click(event) {
    const box = this.boxAt(event.offsetX, event.offsetY);
    if (!box)
      return;
    this.cursor = box;
    this.on.pick(box, event.shiftKey);
  }

  move(event) {
    const box = this.boxAt(event.offsetX, event.offsetY);
    this.canvas.style.cursor = box ? "pointer" : "default";
    this.canvas.title = box ? this.on.words(box.node).join("\n") : "";
    this.on.point(box || this.cursor);
  }

  /* Arrows go where they point: the nearest box of the next row, the neighbour in this one. */
  neighbour(box, key) {
    const row = this.byRow[box.row], at = row.indexOf(box);
    if (key === "ArrowLeft" || key === "ArrowRight")
      return row[at + (key === "ArrowLeft" ? -1 : 1)];
    const next = this.byRow[box.row + (key === "ArrowDown" ? 1 : -1)] || [];
    const isOver = (other) => other.left < box.left + box.share && other.left + other.share > box.left;
    const related = next.filter((other) => other.node.parent === box.node || box.node.parent === other.node);
    return related[0] || next.find(isOver);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.boxes.length)
      return;
    const box = this.cursor || this.boxes.find((one) => !one.above);
    const name = event.key;
    if (name === "Escape")
      this.on.leave();
    else if (name === "Enter" || name === " ")
      this.on.pick(box, event.shiftKey);
    else if (name.toLowerCase() === "s")
      this.on.pick(box, true);
    else if (name.startsWith("Arrow"))
      this.setCursor(this.cursor ? this.neighbour(box, name) || box : box);
    else
      return;
    event.preventDefault();
  }

  setCursor(box) {
    this.cursor = box;
    this.paint();
    this.on.point(box);
    const top = this.canvas.getBoundingClientRect().top + box.row * ROW;
    if (top < 60 || top > innerHeight - 2 * ROW)
      scrollBy({ top: top - innerHeight / 2, behavior: "instant" });
  }
}
