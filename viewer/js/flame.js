// SPDX-License-Identifier: MIT
// flame.js - flame graph of bytes or resources by stack: click to zoom, search, keyboard.
import { el, section, segmented, visible } from "./dom.js";
import { kindColor } from "./charts.js";
import { formatCount, formatValue } from "./format.js";
import { placeText } from "./stack.js";

const ROW = 22;
const SMALLEST = 0.0012;   // of the width: what is narrower is not drawn
const LINES = 6;           // of a function that calls from many
/* What leaked, and what was not released if that is more. */
export const flameModes = ({ leaked, unreleased }) => [
  ...(leaked || !unreleased ? [["leaked", "Leaked"]] : []),
  ...(unreleased > leaked ? [["live", leaked ? "Not released" : "Alive"]] : []),
  ["peak", "At the peak"], ["total", "All created"]];
const FIELDS = { leaked: { bytes: "leakedBytes", objects: "leaked" },
  live: { bytes: "unreleasedBytes", objects: "unreleased" },
  peak: { bytes: "peakBytes", objects: "peak" },
  total: { bytes: "totalBytes", objects: "created" } };

class FlameNode {
  constructor(name, place, parent) {
    Object.assign(this, { name, place, parent, value: 0, children: new Map(), lines: new Set(),
      depth: parent ? parent.depth + 1 : 0, kind: null, library: false, whole: "", at: "" });
  }

  /* The same name at the same place is the same box, whatever its lines. */
  child(name, place) {
    const key = `${name}\n${place}`;
    if (!this.children.has(key))
      this.children.set(key, new FlameNode(name, place, this));
    return this.children.get(key);
  }

  get where() {
    const lines = [...this.lines].sort((a, b) => a - b);
    return lines.length ? `${this.place}:${lines.slice(0, LINES).join(", ")}` +
      `${lines.length > LINES ? ", …" : ""}` : this.place;
  }
}

function hueOf(name) {
  let hash = 0;
  for (let i = 0; i < name.length; i++)
    hash = (hash * 31 + name.charCodeAt(i)) | 0;
  return Math.abs(hash) % 5;
}

export class Flame {
  constructor(set, state) {
    Object.assign(this, { set, state });
    this.node = section("flame", "Flame graph");
    this.canvas = el("div", { class: "flame", role: "tree", aria: { label: "Flame graph" },
      on: { keydown: (event) => this.key(event) } });
    this.detail = el("p", { class: "readout", aria: { live: "polite" } });
    this.search = el("input", { type: "search", placeholder: "Search functions and files",
      value: state.search, aria: { label: "Search the flame graph" },
      on: { input: () => { state.search = this.search.value; this.draw(); } } });
    this.matched = el("span", { class: "dim", aria: { live: "polite" } });
    this.reset = el("button", { type: "button", class: "tool", text: "Show all",
      on: { click: () => this.zoomTo(this.root) } });
    this.node.querySelector(".section-head").append(el("div", { class: "controls" },
      segmented("Which memory", flameModes(set.raw), state.mode,
        (mode) => this.change("mode", mode)),
      segmented("Measured in", [["bytes", "Bytes"], ["objects", "Resources"]], state.unit,
        (unit) => this.change("unit", unit))));
    this.node.append(el("div", { class: "controls" }, this.search, this.matched, this.reset),
      this.canvas, this.detail);
    /* boxes are shares of the width: only what had none must be drawn again */
    new ResizeObserver(() => this.shown || this.draw()).observe(this.canvas);
    this.build();
    this.focus = this.find(state.path);
  }

  change(what, value) {
    this.state[what] = value;
    this.state.path = [];
    this.build();
    this.draw();
  }

  /* Outermost frame at the top, the kind of resource at the tips. */
  build() {
    const field = FIELDS[this.state.mode][this.state.unit];
    this.root = new FlameNode("all", "", null);
    for (const site of this.set.sites)
      for (const part of this.set.partsOf(site))
        if (part[field])
          this.add(site, part.frames, part[field]);
    this.addRest();
    this.focus = this.root;
  }

  add(site, frames, value) {
    let at = this.root;
    at.value += value;
    /* callers are functions, whichever of their lines call; what was called is a line */
    for (let i = frames.length - 1; i >= 0; i--) {
      const frame = frames[i];
      at = at.child(frame.brief, i ? frame.path : frame.where);
      at.value += value;
      at.library = frame.library;
      /* instances of a template are one box */
      at.whole = !at.whole || at.whole === frame.name ? frame.name : frame.brief;
      if (i && frame.file && frame.line)
        at.lines.add(frame.line);
    }
    at = at.child(site.kind.name, site.kind.api);
    at.kind = site.kind;
    at.at = placeText(site.place);
    at.value += value;
  }

  /* The box that was zoomed to, in newer data too, or as far as there is one. */
  find(path) {
    let at = this.root;
    for (const name of path) {
      const next = [...at.children.values()].find((child) => child.name + child.place === name);
      if (!next)
        break;
      at = next;
    }
    return at;
  }

  addRest() {
    const names = { leaked: ["leaked_bytes", "leaked"], live: ["live_bytes", "live"], peak: ["peak_bytes", "peak"],
      total: ["total_bytes", "created"] }[this.state.mode];
    const rest = this.set.raw.rest, value = rest[names[this.state.unit === "bytes" ? 0 : 1]];
    if (!value)
      return;
    const node = this.root.child(`${formatCount(rest.sites)} other call sites`, "");
    node.value += value;
    this.root.value += value;
  }

  isHit(node) {
    const wanted = this.state.search.trim().toLowerCase();
    return wanted && `${node.name} ${node.whole} ${node.where}`.toLowerCase().includes(wanted);
  }

  /* The part of the total below a hit; nested hits count once. */
  hitValue(node) {
    if (this.isHit(node) && node !== this.root)
      return node.value;
    let sum = 0;
    for (const child of node.children.values())
      sum += this.hitValue(child);
    return sum;
  }

  draw() {
    const boxes = [], width = this.canvas.clientWidth;
    if (!width)
      return;
    this.shown = [];
    if (!this.root.value) {
      this.canvas.style.height = "auto";
      this.canvas.replaceChildren(el("p", { class: "empty", text: this.emptyText() }));
      this.showDetail(null);
      return;
    }
    const path = [];
    for (let node = this.focus; node; node = node.parent)
      path.unshift(node);
    for (const node of path.slice(0, -1))
      boxes.push(this.box(node, 0, 1, true));
    this.layout(this.focus, 0, 1, boxes);
    this.canvas.style.height = `${(Math.max(...this.shown.map((s) => s.depth)) + 1) * ROW}px`;
    this.canvas.replaceChildren(...boxes);
    this.showMatches();
    this.showDetail(this.focus);
    if (boxes.length)
      boxes[path.length - 1].tabIndex = 0;
    this.reset.hidden = this.focus === this.root;
  }

  emptyText() {
    if (this.state.mode === "leaked" || this.state.mode === "live")
      return this.set.raw.unreleased ? "These resources have no bytes: choose Resources." :
        "Nothing leaked.";
    return this.state.unit === "bytes" ? "No memory was allocated." : "Nothing was alive.";
  }

  layout(node, left, share, boxes) {
    boxes.push(this.box(node, left, share, false));
    const children = [...node.children.values()].sort((a, b) => b.value - a.value);
    for (const child of children) {
      const part = child.value / node.value * share;
      if (part < SMALLEST)
        break;
      this.layout(child, left, part, boxes);
      left += part;
    }
  }

  box(node, left, share, above) {
    const hit = this.isHit(node), searching = this.state.search.trim() !== "";
    const box = el("button", { type: "button", role: "treeitem", tabIndex: -1,
      class: `box${node.kind ? " kind" : ` hue${hueOf(node.name)}`}` +
        `${node.library ? " library" : ""}${above ? " above" : ""}${hit ? " hit" : searching ? " miss" : ""}`,
      text: node.at ? `${node.name}: ${node.at}` : node.name,
      title: this.words(node).join("\n"),
      aria: { level: String(node.depth + 1) },
      on: { click: () => this.zoomTo(node), focus: () => this.showDetail(node),
        mouseenter: () => this.showDetail(node) } });
    box.style.left = `${left * 100}%`;
    box.style.width = `${share * 100}%`;
    box.style.top = `${node.depth * ROW}px`;
    if (node.kind)
      box.style.setProperty("--tip", kindColor(node.kind.index));
    this.shown.push({ node, box, left, depth: node.depth });
    return box;
  }

  valueText(node) {
    const share = node.value / this.root.value * 100;
    return `${formatValue(node.value, this.state.unit)}` +
      `${this.state.unit === "bytes" ? "" : " resources"}, ${formatCount(share, 1)} %`;
  }

  showDetail(node) {
    this.detail.textContent = node ? this.words(node).join("  ·  ") : "";
  }

  /* The whole name, where that is, and at the tips the place. */
  words(node) {
    return [node.whole || node.name, node.where, node.at].filter(Boolean).map(visible)
      .concat(this.valueText(node));
  }

  showMatches() {
    const hit = this.state.search.trim() ? this.hitValue(this.root) : 0;
    this.matched.textContent = !this.state.search.trim() ? "" : !hit ? "no match" :
      `${formatCount(hit / this.root.value * 100, 1)} % matched`;
  }

  zoomTo(node) {
    this.focus = node;
    this.state.path = [];
    for (let at = node; at.parent; at = at.parent)
      this.state.path.unshift(at.name + at.place);
    this.draw();
    this.shown.find((one) => one.node === node)?.box.focus({ preventScroll: true });
  }

  /* Arrows walk the tree, Enter zooms (a button's own doing), Escape shows all. */
  key(event) {
    const index = this.shown.findIndex((one) => one.box === document.activeElement);
    if (index < 0)
      return;
    const { node, left } = this.shown[index];
    const level = this.shown.filter((one) => one.depth === node.depth)
      .sort((a, b) => a.left - b.left);
    const at = level.findIndex((one) => one.node === node);
    const below = this.shown.filter((one) => one.node.parent === node)
      .sort((a, b) => a.left - b.left);
    const goal = { ArrowDown: below[0], ArrowLeft: level[at - 1], ArrowRight: level[at + 1],
      ArrowUp: this.shown.find((one) => one.node === node.parent) }[event.key];
    if (event.key === "Escape")
      this.zoomTo(this.root);
    else if (!goal)
      return;
    event.preventDefault();
    if (goal) {
      this.shown[index].box.tabIndex = -1;
      goal.box.tabIndex = 0;
      goal.box.focus({ preventScroll: left === undefined });
    }
  }

}
