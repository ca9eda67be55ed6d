// SPDX-License-Identifier: MIT
// flame_table.js - the functions of the flame graph as a table: for screen readers, and by their sums.
import { el } from "./dom.js";
import { functionsOf } from "./flame_tree.js";
import { formatCount, formatValue } from "./format.js";
import { Table } from "./table.js";

export class FlameTable {
  /* `state` as a table's, with isOpen. `showAround(fn)` shows a function's callers and callees. */
  constructor(state, showAround) {
    Object.assign(this, { state, showAround, shown: null });
    this.body = el("div");
    this.node = el("details", { class: "functions", open: state.isOpen, on: { toggle: () => {
      state.isOpen = this.node.open;
      this.fill();
    } } }, el("summary", { text: "Functions, as a table" }), this.body);
  }

  /* Filled when it is opened. */
  show(...shown) {
    Object.assign(this, { shown, isFilled: false });
    if (this.state.isOpen)
      this.fill();
  }

  columns(unit, total) {
    const value = (number) => number ? formatValue(number, unit) : "–";
    return [
      { name: "total", title: "Total", num: true, value: (f) => f.total - f.old, cell: (f) => value(f.total - f.old) },
      { name: "self", title: "By itself", num: true, value: (f) => f.self, cell: (f) => value(f.self) },
      { name: "share", title: "Share", num: true, minor: true, value: (f) => f.total,
        cell: (f) => `${formatCount(total ? f.total / total * 100 : 0, 1)} %` },
      { name: "name", title: "Function", value: (f) => f.name, cell: (f) => el("code", { text: f.name }) },
      { name: "site", title: "Where", value: (f) => f.path, cell: (f) => f.path },
    ];
  }

  fill() {
    if (this.isFilled || !this.shown)
      return;
    const [entries, how, unit, total] = this.shown;
    const table = new Table("Functions", this.columns(unit, total), functionsOf(entries, how), this.state, {
      key: (f) => f.fn, words: (f) => `${f.name} ${f.whole} ${f.path}`.toLowerCase(),
      open: (f) => el("button", { type: "button", class: "tool", text: "Callers and callees",
        on: { click: () => this.showAround(f.fn) } }) });
    this.body.replaceChildren(table.node);
    this.isFilled = true;
  }
}
