// SPDX-License-Identifier: MIT
// blocks_canvas.js - bands of blocks painted on a canvas, with axes, marks, mouse and wheel.
import { color, el, mix, watchWidth, withAlpha } from "./dom.js";
import { kindColor } from "./charts.js";
import { SHOWS, shownBy } from "./blocks_layout.js";
import { formatBytes, formatTime } from "./format.js";

const RIGHT = 24, TOP = 8, BOTTOM = 30, BLOCKS_HEIGHT = 380, SHADES = [0.82, 0.55, 0.34], HUES_OF_PLACES = 7;
const TINTS = [1, 0.86, 0.93];
const DRAG = 4; // pixels from which on a click is a drag
const HATCH = 7;

/* The colours of the theme, asked for once: places by rank, others, free parts of segments. */
export function blockPalette() {
  const paper = color("paper"), places = SHADES.flatMap((shade) =>
    Array.from({ length: HUES_OF_PLACES }, (_, i) => mix(kindColor(i), paper, shade)));
  const hatched = (ink) => [mix(ink, paper, 0.13), mix(ink, paper, 0.55)];
  /* beyond a score, colours come again; neighbours of one place differ a little */
  const others = color("faint"), place = (rank) => rank === Infinity ? others : places[rank % places.length];
  const tinted = TINTS.map((tint) => [...places, others].map((ink) => {
    const fill = mix(ink, paper, tint);
    return [fill, fill, mix(fill, paper, 0.45)].map(pixelOf);
  }));
  return { paper, others, cached: hatched(kindColor(4)), fragmented: hatched(kindColor(1)), place,
    block: (rank, index) => tinted[index % TINTS.length][rank === Infinity ? places.length : rank % places.length] };
}

/* A colour as a pixel of ImageData. */
function pixelOf(rgb) {
  const [r, g, b] = rgb.match(/[\d.]+/g).map(Number);
  return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
}

function timeStepFor(span, count) {
  const wanted = span / count, power = 10 ** Math.floor(Math.log10(wanted));
  return power * [1, 2, 5, 10].find((step) => step * power >= wanted);
}

export class BlockCanvas {
  /*
   * `on`: point(shown, time), pick(shown, time), range(from, to, extend), zoom(factor, time),
   * pan(share), stretch(factor, bytes), shift(share), all(), key(event), resize(). `rankOf(site)`: by which
   * its place is coloured.
   */
  constructor(label, rankOf, on) {
    Object.assign(this, { on, rankOf, marks: {} });
    this.canvas = el("canvas", { tabIndex: 0, role: "group", aria: { label, roledescription: "block view" },
      on: { keydown: (event) => this.on.key(event), focus: () => this.paint(), blur: () => this.paint(),
        pointerdown: (event) => this.press(event), pointermove: (event) => this.move(event),
        pointerleave: () => this.hover(0), dblclick: () => this.on.all() } });
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.node = el("div", { class: "bands" }, this.canvas);
    this.measure = watchWidth(this.node, () => this.on.resize());
  }

  get left() {
    return this.measure() < 600 ? 62 : 72;
  }

  /* Of what is painted, in pixels of the page. */
  get plotWidth() {
    return Math.max(this.measure() - this.left - RIGHT, 60);
  }

  get plotHeight() {
    return BLOCKS_HEIGHT - TOP - BOTTOM;
  }

  /* `view`: from, to, low, high; `isStacked`: it has an axis of bytes. */
  show(layout, view, isStacked) {
    const ratio = devicePixelRatio;
    Object.assign(this, { layout, isStacked, hovered: 0 });
    this.view = { ...view, width: Math.round(this.plotWidth * ratio), height: Math.round(this.plotHeight * ratio) };
    this.pixels = layout.fill(this.view);
    this.image = this.colored();
    this.paint();
  }

  /* The pixels of a number: plain, where it is hatched, at its edge. */
  inkOf(number, palette) {
    const shown = shownBy(number, this.layout.sums), { paper } = palette;
    if (shown.what === "block") {
      return palette.block(this.rankOf(shown.block.site), shown.block.index);
    }
    if (shown.what === "group") {
      const pale = mix(shown.group.site ? palette.place(this.rankOf(shown.group.site)) : palette.others, paper, 0.4);
      return [pale, pale, pale].map(pixelOf);
    }
    const [pale, line] = palette[shown.what === "fragmented" || shown.isFragmented ? "fragmented" : "cached"];
    return [pale, line, line].map(pixelOf);
  }

  /* Pixels in colour; a band of three pixels or more has an edge. */
  colored() {
    const { pixels, isStacked } = this, { width, height } = this.view, image = new ImageData(width, height);
    const data = new Uint32Array(image.data.buffer), inks = new Map();
    /* asked for once: there are as many pixels as questions */
    const line = devicePixelRatio, hatch = HATCH * line;
    const palette = blockPalette(), blockInks = new Array(this.layout.sums.blocks.length + 1);
    const ask = (number) => {
      const asked = this.inkOf(number, palette);
      return number < SHOWS.group ? blockInks[number] = asked : inks.set(number, asked).get(number);
    };
    let last = 0, ink = null;
    for (let y = 0, at = 0; y < height; y++)
      for (let x = 0; x < width; x++, at++) {
        const number = pixels[at];
        if (!number)
          continue;
        if (number !== last) {
          ink = (number < SHOWS.group ? blockInks[number] : inks.get(number)) || ask(number);
          last = number;
        }
        const isBottom = y + 1 < height && pixels[at + width] !== number && y > 1 &&
          pixels[at - width] === number && pixels[at - 2 * width] === number;
        const isLeft = !isStacked && x && pixels[at - 1] !== number && pixels[at + 1] === number &&
          pixels[at + 2] === number;
        data[at] = isBottom || isLeft ? ink[2] : (x + y) % hatch < line ? ink[1] : ink[0];
      }
    return image;
  }

  /* Marks: moment, range, peak (seconds or null), selected (a block or null). */
  mark(marks) {
    Object.assign(this.marks, marks);
    this.paint();
  }

  paint() {
    const width = this.measure(), ratio = devicePixelRatio, { canvas } = this;
    if (!width || !this.image)
      return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(BLOCKS_HEIGHT * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(BLOCKS_HEIGHT * ratio);
      canvas.style.height = `${BLOCKS_HEIGHT}px`;
    }
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = color("paper");
    ctx.fillRect(0, 0, width, BLOCKS_HEIGHT);
    ctx.putImageData(this.image, Math.round(this.left * ratio), TOP * ratio);
    ctx.font = "12px system-ui";
    this.paintAxes(ctx);
    if (!this.isStacked)
      this.paintLabels(ctx);
    this.paintMarks(ctx);
  }

  xOf(time) {
    const { from, to } = this.view;
    return this.left + (time - from) / (to - from) * this.plotWidth;
  }

  yOf(bytes) {
    const { low, high } = this.view;
    return TOP + this.plotHeight - (bytes - low) / (high - low) * this.plotHeight;
  }

  paintAxes(ctx) {
    const { from, to, low, high } = this.view, bottom = TOP + this.plotHeight;
    ctx.fillStyle = color("dim");
    ctx.strokeStyle = color("line");
    ctx.textBaseline = "top";
    ctx.textAlign = "center";
    const step = timeStepFor(to - from, Math.max(this.plotWidth / 100, 1)), first = Math.ceil(from / step);
    for (let i = first; i * step <= to; i++) {
      const x = Math.round(this.xOf(i * step)) + 0.5;
      ctx.strokeRect(x, bottom, 0, 4);
      const text = formatTime(i * step, step < 1e-3 ? step : 0), half = ctx.measureText(text).width / 2;
      ctx.fillText(text, Math.min(x, this.measure() - half - 6), bottom + 8);
    }
    ctx.strokeRect(this.left - 0.5, TOP, 0, this.plotHeight);
    ctx.strokeRect(this.left, bottom + 0.5, this.plotWidth, 0);
    if (!this.isStacked)
      return;
    ctx.textBaseline = "middle";
    ctx.textAlign = "right";
    const size = 2 ** Math.ceil(Math.log2(Math.max((high - low) / 6, 1)));
    for (let i = Math.ceil(low / size); i * size <= high; i++) {
      const y = Math.round(this.yOf(i * size)) + 0.5;
      ctx.fillText(formatBytes(i * size), this.left - 8, Math.min(Math.max(y, TOP + 6), bottom - 4));
      ctx.strokeStyle = withAlpha(color("dim"), 0.18);
      ctx.strokeRect(this.left, y, this.plotWidth, 0);
    }
  }

  /* The names of address regions that have room for them. */
  paintLabels(ctx) {
    ctx.font = "11px " + getComputedStyle(document.documentElement).getPropertyValue("--mono");
    ctx.textBaseline = "bottom";
    let last = Infinity;
    for (const { at, size, text } of this.layout.labels()) {
      const y = Math.min(this.yOf(at), TOP + this.plotHeight), top = this.yOf(at + size);
      if (top > TOP + this.plotHeight || y < TOP + 14 || last - y < 16)
        continue;
      last = y;
      const wide = Math.min(ctx.measureText(text).width, this.plotWidth);
      ctx.strokeRect(this.left - 4, Math.round(y) + 0.5, this.plotWidth + 4, 0);
      ctx.fillStyle = withAlpha(color("paper"), 0.82);
      ctx.fillRect(this.left + 2, y - 15, wide + 8, 14);
      ctx.fillStyle = color("dim");
      ctx.textAlign = "left";
      ctx.fillText(text, this.left + 6, y - 2, this.plotWidth);
      ctx.textAlign = "right";
      ctx.fillText(formatBytes(size), this.left - 6, y - 2, this.left - 8);
    }
  }

  paintMarks(ctx) {
    const { moment, range, peak, selected } = this.marks;
    if (selected)
      this.paintNumber(ctx, this.numberOf(selected), withAlpha(color("accent"), 0.62));
    if (this.hovered && this.hovered !== this.numberOf(selected))
      this.paintNumber(ctx, this.hovered, withAlpha(color("ink"), 0.24));
    if (range)
      this.paintBand(ctx, range[0], range[1]);
    if (peak !== null && peak !== undefined)
      this.paintLine(ctx, peak, color("bad"), [4, 3]);
    if (moment !== null && moment !== undefined)
      this.paintLine(ctx, moment, color("accent"), []);
    if (this.dragged)
      this.paintBand(ctx, ...this.dragged);
  }

  /* The number that pixels of a block have; of a segment the first of two. */
  numberOf(block) {
    const { blocks, segments } = this.layout.sums;
    if (!block)
      return -1;
    const index = (block.isSegment ? segments : blocks).indexOf(block);
    return index < 0 ? -1 : block.isSegment ? SHOWS.segment + 2 * index : SHOWS.block + index;
  }

  /* Runs of a row's pixels; both states of a segment. */
  paintNumber(ctx, number, fill) {
    const { pixels } = this, { width, height } = this.view, ratio = devicePixelRatio;
    const other = number >= SHOWS.segment ? number ^ 1 : number;
    ctx.fillStyle = fill;
    for (let y = 0; y < height; y++)
      for (let x = 0, at = y * width; x < width; x++, at++) {
        if (pixels[at] !== number && pixels[at] !== other)
          continue;
        let end = x;
        while (end < width && (pixels[y * width + end] === number || pixels[y * width + end] === other))
          end++;
        ctx.fillRect(this.left + x / ratio, TOP + y / ratio, (end - x) / ratio, 1 / ratio);
        at += end - x;
        x = end;
      }
  }

  paintLine(ctx, time, stroke, dash) {
    const x = Math.round(this.xOf(time)) + 0.5;
    if (x < this.left || x > this.left + this.plotWidth)
      return;
    ctx.save();
    ctx.strokeStyle = stroke;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(x, TOP);
    ctx.lineTo(x, TOP + this.plotHeight);
    ctx.stroke();
    ctx.restore();
  }

  paintBand(ctx, one, other) {
    const inside = (x) => Math.min(Math.max(x, this.left), this.left + this.plotWidth);
    const left = inside(this.xOf(Math.min(one, other))), right = inside(this.xOf(Math.max(one, other)));
    ctx.fillStyle = withAlpha(color("accent"), 0.14);
    ctx.fillRect(left, TOP, Math.max(right - left, 1), this.plotHeight);
    this.paintLine(ctx, one, color("accent"), []);
    this.paintLine(ctx, other, color("accent"), []);
  }

  timeAt(event) {
    const { from, to } = this.view;
    const share = Math.min(Math.max((event.offsetX - this.left) / this.plotWidth, 0), 1);
    return from + share * (to - from);
  }

  bytesAt(event) {
    const { low, high } = this.view;
    return high - (event.offsetY - TOP) / this.plotHeight * (high - low);
  }

  numberAt(event) {
    const { width, height } = this.view, ratio = devicePixelRatio;
    const x = Math.floor((event.offsetX - this.left) * ratio), y = Math.floor((event.offsetY - TOP) * ratio);
    return x < 0 || y < 0 || x >= width || y >= height ? 0 : this.pixels[y * width + x];
  }

  hover(number, time) {
    if (number !== this.hovered) {
      this.hovered = number;
      this.paint();
    }
    this.on.point(shownBy(number, this.layout.sums), time);
  }

  move(event) {
    if (!this.image || this.pressed)
      return;
    const number = this.numberAt(event);
    this.canvas.style.cursor = number ? "pointer" : "crosshair";
    this.hover(number, this.timeAt(event));
  }

  /* A click picks, a drag selects a range, a drag with Alt or the middle button moves. */
  press(event) {
    if (event.button > 1 || !this.image)
      return;
    const { clientX, clientY, offsetX, offsetY, shiftKey } = event, start = { offsetX, offsetY };
    const isMoving = event.altKey || event.button === 1, view = { ...this.view };
    const moved = (now) => Math.hypot(now.clientX - clientX, now.clientY - clientY);
    const place = (now) => ({ offsetX: offsetX + now.clientX - clientX });
    const first = this.timeAt(start);
    let isDrag = false;
    this.pressed = true;
    const move = (now) => {
      isDrag ||= moved(now) >= DRAG;
      if (!isDrag)
        return;
      if (isMoving)
        this.on.move(view, (clientX - now.clientX) / this.plotWidth, (now.clientY - clientY) / this.plotHeight);
      else {
        this.dragged = [first, this.timeAt(place(now))];
        this.paint();
      }
    };
    const stop = (now) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
      this.pressed = false;
      this.dragged = null;
      if (!isDrag && !isMoving)
        this.on.pick(shownBy(this.numberAt(start), this.layout.sums), first);
      else if (isDrag && !isMoving)
        this.on.range(first, this.timeAt(place(now)), shiftKey);
      this.paint();
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
  }

  wheel(event) {
    const by = event.deltaY || event.deltaX, isZoom = event.ctrlKey || event.metaKey;
    if (isZoom && event.shiftKey)
      this.on.stretch(by > 0 ? 1.25 : 0.8, this.bytesAt(event));
    else if (isZoom)
      this.on.zoom(by > 0 ? 1.25 : 0.8, this.timeAt(event));
    else if (event.altKey)
      this.on.shift(-by / 800);
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      this.on.pan((event.deltaX || event.deltaY) / 800);
    else
      return;
    event.preventDefault();
  }
}
