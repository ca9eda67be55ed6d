// SPDX-License-Identifier: MIT
// flame.js - the flame graph: of what, in which unit, which way up; zoom, search, one function.
import { el, section, segmented, switchButton, visible } from "./dom.js";
import { FlameCanvas } from "./flame_canvas.js";
import { FlameTree, boxAtPath, boxPath, functionOf, functionWords, hasLibraryRuns, layOut,
  sandwichTrees, warmSearch, warmTree } from "./flame_tree.js";
import { FlameTable } from "./flame_table.js";
import { chosenFilter } from "./filterbar.js";
import { formatCount, formatValue, plural } from "./format.js";
import { pictureButtons } from "./picture.js";
import { state } from "./state.js";
import { weights } from "./weights.js";

const WIDE_HIT = 24; // pixels: a box that can be read

const MEASURES = [["bytes", "Bytes"], ["objects", "Resources"]];

/* What leaked, what was not released if that is more, and what the timeline has selected. */
const modesOf = ({ leaked, unreleased }) => [
  ...(leaked || !unreleased ? [["leaked", "Leaked"]] : []),
  ...(unreleased > leaked ? [["live", leaked ? "Not released" : "Alive"]] : []),
  ["peak", "At the peak"], ["total", "All created"], ["chosen", "Selected moment"]];

export class Flame {
  /* `more`: what a comparison needs besides. */
  constructor(set, tableState, more = {}) {
    Object.assign(this, { set, unit: "bytes", ...more });
    this.node = section("flame", "Flame graph");
    this.graph = new FlameCanvas("Flame graph: arrow keys move between boxes, Enter zooms, " +
      "S shows callers and callees, Escape shows all. The functions are also in a table below.",
    { pick: (box, around) => this.pick(box.node, around), leave: () => this.showAll(),
      point: (box) => this.showDetail(box?.node), words: (node) => this.words(node),
      resize: () => this.draw() });
    this.table = new FlameTable(tableState, (fn) => this.showAround(fn));
    this.empty = el("p", { class: "card empty", hidden: true });
    this.note = el("p", { class: "dim small" });
    this.detail = el("p", { class: "readout", aria: { live: "polite" } });
    this.node.append(this.controls(), this.empty, this.graph.node, this.detail, this.note, this.table.node);
    this.build();
    this.listen();
  }

  controls() {
    const values = state.values;
    this.search = el("input", { type: "search", placeholder: "Search functions and files",
      value: values.search, aria: { label: "Search the flame graph" },
      on: { input: () => state.set({ search: this.search.value }, { passing: true }),
        keydown: (event) => event.key === "Enter" && this.toHit(event.shiftKey ? -1 : 1) } });
    this.matched = el("span", { class: "dim", aria: { live: "polite" } });
    this.reset = el("button", { type: "button", class: "tool", text: "Show all",
      on: { click: () => this.showAll() } });
    this.around = el("button", { type: "button", class: "tool", text: "Callers and callees",
      on: { click: () => this.showAround(this.focus.fn) } });
    this.modes = segmented("Which memory", this.choices, this.mode, (what) => state.set({ what, box: "" }));
    this.units = segmented("Measured in", MEASURES, this.unit, (measure) => state.set({ measure, box: "" }));
    this.forms = segmented("Form", [["icicle", "Icicle"], ["flame", "Flame"]], values.form,
      (form) => state.set({ form }));
    this.inverted = switchButton("Callees first", "Start at the call that created, and go out to its callers",
      values.inverted, (inverted) => state.set({ inverted, box: "" }));
    this.libraries = switchButton("Library frames", "Show each frame of a library instead of one box for a run " +
      "of them", values.libraries, (libraries) => state.set({ libraries, box: "" }));
    this.node.querySelector(".section-head").append(el("div", { class: "controls" }, this.modes, this.units));
    return el("div", { class: "controls" }, this.search, this.matched, this.around, this.reset,
      el("div", { class: "controls apart" }, this.forms, this.inverted, this.libraries,
        pictureButtons("flame graph", { canvas: () => this.graph.canvas, svg: () => this.graph.toSvg(),
          rows: () => this.rows() })));
  }

  listen() {
    state.on(["what", "measure", "inverted", "libraries", "fn", "box", "form", "filter"], (changed) => {
      if ([...changed].some((name) => !["box", "form"].includes(name)))
        this.build();
      this.focusBox();
      this.draw();
    });
    state.on(["at", "range", "part"], (changed) => {
      if (state.values.what === "chosen" && !changed.has("what")) {
        this.build();
        this.draw();
      }
      this.nameChosen();
    });
    state.on(["search"], () => {
      if (this.search.value !== state.values.search)
        this.search.value = state.values.search;
      this.hit = null;
      this.find();
    });
  }

  /* What suits the recording, unless the reader has chosen. */
  get mode() {
    const { what } = state.values;
    return this.choices.some(([mode]) => mode === what) ? what : this.preferred;
  }

  get choices() {
    return modesOf(this.set.raw);
  }

  get preferred() {
    return this.set.raw.unreleased ? this.choices[0][0] : "total";
  }

  /* In bytes, unless nothing of these has any; `lists` of stacks and rests. */
  chooseUnit(...lists) {
    const all = lists.flat(), hasAny = (field) => all.some((one) => one[field]);
    this.unit = state.values.measure || (hasAny("bytes") || (!hasAny("count") && this.set.raw.created_bytes) ?
      "bytes" : "objects");
    return this.unit === "bytes" ? "bytes" : "count";
  }

  /* A stack's weight: what is there, and where two moments are compared, what went. */
  weighted() {
    const selection = this.mode === "chosen" ? state.chosen : { what: this.mode };
    const { stacks, rest, note } = weights(this.set, selection, chosenFilter()), entries = [];
    const field = this.chooseUnit(stacks, rest);
    this.hasOther = stacks.length > 0;
    const add = (value, more) => value && entries.push({ ...more, value: Math.max(value, 0), old: Math.max(-value, 0) });
    for (const stack of stacks)
      add(stack[field], { site: stack.site, frames: stack.frames });
    add(rest[field], { name: rest.sites ? `${formatCount(rest.sites)} other call sites` : "other call sites" });
    return { entries, note, differs: selection.what === "net" };
  }

  /* Stacks with their values, the outermost function first: what collapsed stacks have, as a table. */
  rows() {
    const { entries, differs } = this.weighted();
    return [["Stack", "Kind", ...(differs ? ["New", "Old"] : [this.unit === "bytes" ? "Bytes" : "Resources"])],
      ...entries.map(({ frames, site, name, value, old }) => [frames ? [...frames].reverse().map((frame) =>
        frame.name).join(";") : name, site?.kind.name ?? "", ...(differs ? [value, old] : [value])])];
  }

  build() {
    const { values } = state, { entries, note, differs } = this.weighted();
    const how = { inverted: values.inverted, libraries: values.libraries, isDiff: this.isDiff };
    this.differs = differs;
    this.note.textContent = note;
    this.root = this.treeFor(how).weigh(entries);
    const fn = functionOf(values.fn);
    this.sandwich = fn ? sandwichTrees(entries, fn, how) : null;
    if (!this.sandwich?.callees)
      this.sandwich = null;
    this.focusBox();
    warmSearch(this.root);
    this.table.show(entries, how, this.unit, this.root.value);
    this.modes.show(this.mode);
    this.units.show(this.unit);
    this.inverted.show(values.inverted);
    this.libraries.show(values.libraries);
    this.libraries.hidden = !hasLibraryRuns(entries);
    this.nameChosen();
  }

  /* One for each way of looking at the stacks. */
  treeFor(how) {
    const key = `${how.inverted} ${how.libraries}`;
    this.trees ||= new Map();
    if (!this.trees.has(key)) {
      this.trees.set(key, new FlameTree(how));
      warmTree(this.trees.get(key), weights(this.set, { what: "total" }).stacks);
    }
    return this.trees.get(key);
  }

  /* The box that is zoomed to: in newer data too, as far as there is one. */
  focusBox() {
    const { box, form } = state.values;
    this.focus = this.sandwich?.callees || boxAtPath(this.root, box.split(".").filter(Boolean));
    this.forms.show(form);
  }

  nameChosen() {
    const button = this.modes.querySelector("[data-value=chosen]");
    if (button)
      button.textContent = state.values.range ? "Selected range" : "Selected moment";
  }

  /* In the sandwich, another function takes the middle. */
  pick(node, around) {
    if (around || this.sandwich)
      this.showAround(node.fn);
    else
      state.set({ box: boxPath(node).join(".") });
  }

  /* One function: its callers above, its callees below. */
  showAround(fn) {
    if (!fn)
      return;
    state.set({ fn: functionWords(fn), box: "" });
    this.graph.cursor = this.graph.boxes.find((box) => box.node === this.sandwich?.callees) || null;
    this.graph.paint();
  }

  showAll() {
    state.set({ fn: "", box: "" });
    this.graph.canvas.focus({ preventScroll: true });
  }

  draw() {
    const isEmpty = !this.root.size;
    this.empty.hidden = !isEmpty;
    this.graph.node.hidden = isEmpty;
    if (!isEmpty && !this.graph.width)
      return;
    this.around.hidden = isEmpty || !!this.sandwich || !this.focus.fn;
    this.reset.hidden = !this.sandwich && this.focus === this.root;
    this.graph.search = this.mark();
    if (isEmpty) {
      this.empty.textContent = this.emptyText();
      this.graph.show([], 0, false);
    } else {
      this.graph.show(...this.boxes(), this.differs);
    }
    this.showDetail(isEmpty ? null : this.focus);
  }

  /* The boxes to paint, and how many rows they take. */
  boxes() {
    const width = this.graph.width;
    const boxes = this.sandwich ? this.sandwichBoxes(width) : layOut(this.root, this.focus, width);
    const rows = boxes.reduce((most, box) => Math.max(most, box.row), 0) + 1;
    if (state.values.form === "flame" && !this.sandwich)
      for (const box of boxes)
        box.row = rows - 1 - box.row;
    return [boxes, rows];
  }

  sandwichBoxes(width) {
    const { callers, callees } = this.sandwich;
    const above = layOut(callers, callers, width).filter((box) => box.node !== callers);
    const below = layOut(callees, callees, width);
    const top = above.reduce((most, box) => Math.max(most, box.row), 0);
    for (const box of above)
      box.row = top - box.row;
    for (const box of below)
      box.row += top;
    return above.concat(below);
  }

  emptyText() {
    const { mode, unit } = this;
    if (this.hasOther)
      return "These resources have no bytes: choose Resources.";
    if (chosenFilter())
      return "Nothing that the filter lets through.";
    if (mode === "leaked" || mode === "live")
      return "Nothing leaked.";
    if (mode === "chosen")
      return state.values.range ? "Nothing of this in the selected range." : "Nothing was alive at this moment.";
    return unit === "bytes" ? "No memory was allocated." : "Nothing was alive.";
  }

  /* A search lays nothing out again. */
  find() {
    this.graph.search = this.mark();
    this.graph.paint();
  }

  /* Boxes that the search found, in the order of the graph. */
  hits() {
    const found = [], visit = (node) => {
      if (node.foundBy === this.graph.search)
        found.push(node);
      node.sorted.forEach(visit);
    };
    (this.sandwich ? [this.sandwich.callers, this.sandwich.callees] : [this.root]).forEach((root) =>
      root.sorted.forEach(visit));
    return found;
  }

  /* To the next or previous box that the search found; to what it is part of, if it has no room. */
  toHit(direction) {
    const found = this.graph.search ? this.hits() : [];
    if (!found.length)
      return;
    const at = found.indexOf(this.hit) + direction;
    this.hit = found[this.hit ? (at + found.length) % found.length : 0];
    const isWide = () => this.graph.boxes.some((box) => box.node === this.hit && box.share * this.graph.width >= WIDE_HIT);
    if (!this.sandwich && !isWide())
      state.set({ box: boxPath(this.hit).join(".") }, { passing: true });
    const box = this.graph.boxes.find(({ node }) => node === this.hit);
    if (box)
      this.graph.setCursor(box);
    this.matched.textContent = `${formatCount(found.indexOf(this.hit) + 1)} of ${formatCount(found.length)}, ${this.share}`;
  }

  /* Marks what the search finds, by the number that is returned; nested hits count once. */
  mark() {
    const wanted = state.values.search.trim().toLowerCase();
    const search = wanted ? this.searches = (this.searches || 0) + 1 : 0;
    let sum = 0, count = 0;
    const visit = (node, counted) => {
      const isHit = node.searched.includes(wanted);
      if (isHit) {
        node.foundBy = search;
        count++;
        sum += counted ? 0 : node.size;
      }
      for (const child of node.children.values())
        if (child.isShown)
          visit(child, counted || isHit);
    };
    const tops = this.sandwich ? [this.sandwich.callees] : this.root.sorted;
    if (wanted)
      tops.forEach((node) => visit(node, false));
    if (wanted && this.sandwich)
      this.sandwich.callers.sorted.forEach((node) => visit(node, true));
    this.share = `${formatCount(sum / (this.sandwich?.callees || this.root).size * 100, 1)} % matched`;
    this.matched.textContent = !wanted ? "" : !count ? "no match" : `${this.share} in ${plural(count, "box", "boxes")}`;
    return search;
  }

  valueText({ value, old }) {
    const { unit } = this, words = (number) => formatValue(number, unit) + (unit === "bytes" ? "" : " resources");
    if (this.differs)
      return (value > old ? "+" : "") + words(value - old);
    return `${words(value)}, ${formatCount(value / this.root.value * 100, 1)} %`;
  }

  showDetail(node) {
    this.detail.textContent = node ? this.words(node).join("  ·  ") : "";
  }

  /* The whole name, where that is, at the tips the place, and how many frames are folded. */
  words(node) {
    return [node.whole || node.name, node.where, node.at,
      node.folded ? `${node.folded} library frames` : ""].filter(Boolean).map(visible)
      .concat(this.valueText(node));
  }
}
