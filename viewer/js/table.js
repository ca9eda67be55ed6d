// SPDX-License-Identifier: MIT
// table.js - tables that can be sorted and filtered, whose rows open.
import { el } from "./dom.js";
import { chosenFilter } from "./filterbar.js";
import { formatCount } from "./format.js";
import { pictureButtons } from "./picture.js";
import { listen } from "./state.js";
import { tableSvg } from "./table_svg.js";

const STEP = 50;

/*
 * `columns`: { name, title, num, value(row), cell(row), minor, isNamed, raw }; isNamed: its values say
 * nothing without the title, as numbers; raw: what is copied instead of
 * the value it is sorted by, [[title, value(row)]…]. `words(row)` is what the table's filter
 * looks through, `open(row)` what an opened row shows, `filtered(filter)` the rows and a note,
 * { rows, note }, by the filter of the page. `state`: sort, down, filter, shown, open.
 */
export class Table {
  constructor(label, columns, rows, state, { words, open, key, filtered = null }) {
    Object.assign(this, { columns, rows, state, words, open, key, filtered });
    this.filter = el("input", { type: "search", placeholder: `Filter ${label.toLowerCase()}`,
      value: state.filter, aria: { label: `Filter ${label.toLowerCase()}` },
      on: { input: () => this.filterBy(this.filter.value) } });
    this.count = el("span", { class: "dim", aria: { live: "polite" } });
    this.note = el("p", { class: "dim small" });
    this.body = el("tbody");
    this.heads = columns.map((column) => this.head(column));
    this.more = el("button", { type: "button", class: "tool", text: "Show more",
      on: { click: () => { state.shown += STEP * 4; this.draw(); } } });
    this.node = el("div", { class: "table" },
      el("div", { class: "controls" }, this.filter, this.count,
        pictureButtons(label.toLowerCase(), { svg: () => this.drawing(label), rows: () => this.values() })),
      el("table", { aria: { label } }, el("thead", {}, el("tr", {}, this.heads)), this.body),
      this.more, this.note);
    if (filtered)
      listen(["filter"], () => this.draw());
    this.draw();
  }

  head(column) {
    const title = column.value ? el("button", { type: "button", text: column.title,
      on: { click: () => this.sortBy(column) } }) : column.title;
    return el("th", { class: `${column.num ? "num " : ""}${column.minor ? "minor" : ""}`,
      scope: "col" }, title);
  }

  filterBy(text) {
    this.state.filter = text;
    this.state.shown = this.state.step;
    this.draw();
  }

  sortBy(column) {
    const state = this.state;
    state.down = state.sort === column.name ? !state.down : !!column.num;
    state.sort = column.name;
    this.draw();
  }

  /* What the filter of the page lets through. */
  passed() {
    const filter = this.filtered && chosenFilter();
    return filter ? this.filtered(filter) : { rows: this.rows, note: "" };
  }

  sorted() {
    const wanted = this.state.filter.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const rows = this.passed().rows.filter((row) => wanted.every((word) => this.words(row).includes(word)));
    const column = this.columns.find((one) => one.name === this.state.sort);
    const sign = this.state.down ? -1 : 1;
    if (!column)
      return rows;
    return rows.map((row) => [column.value(row), row]).sort(([a], [b]) =>
      sign * (typeof a === "string" ? a.localeCompare(b) : a - b)).map(([, row]) => row);
  }

  /* Titles, then the values of each row, in the order of the table. */
  values() {
    const columns = this.columns.flatMap((column) => column.raw || (column.value ?
      [[column.title, column.value]] : []));
    return [columns.map(([title]) => title),
      ...this.sorted().map((row) => columns.map(([, value]) => value(row)))];
  }

  /* The rows that are shown, as they look. */
  drawing(label) {
    const rows = this.sorted().slice(0, this.state.shown);
    return tableSvg(label, this.columns, rows.map((row) => this.columns.map((column) => column.cell(row))));
  }

  draw() {
    const rows = this.sorted(), shown = rows.slice(0, this.state.shown);
    this.columns.forEach((column, i) => this.heads[i].setAttribute("aria-sort",
      column.name !== this.state.sort ? "none" :
      this.state.down ? "descending" : "ascending"));
    this.body.replaceChildren(...shown.flatMap((row) => this.rowNodes(row)));
    this.count.textContent = rows.length === this.rows.length ?
      `${formatCount(rows.length)} in total` :
      `${formatCount(rows.length)} of ${formatCount(this.rows.length)}`;
    this.more.hidden = shown.length === rows.length;
    this.more.textContent = `Show more of ${formatCount(rows.length - shown.length)}`;
    this.note.textContent = this.passed().note;
    this.note.hidden = !this.note.textContent;
  }

  rowNodes(row) {
    const opened = this.state.open.has(this.key(row));
    const cells = this.columns.map((column) => el("td", {
      class: `${column.num ? "num " : ""}${column.minor ? "minor " : ""}${column.name}`,
      // on a narrow screen values are not below their titles
      data: column.num || column.isNamed ? { title: column.title } : {} }, column.cell(row)));
    const line = el("tr", { class: "row", tabIndex: 0, aria: { expanded: String(opened) },
      on: { click: () => this.toggle(row, line),
        keydown: (event) => this.onKey(event, row, line) } }, cells);
    return opened ? [line, this.openedRow(row)] : [line];
  }

  onKey(event, row, line) {
    if (event.target !== line)
      return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.toggle(row, line);
    }
    const next = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    if (!next)
      return;
    event.preventDefault();
    let other = line[next];
    while (other && !other.classList.contains("row"))
      other = other[next];
    other?.focus();
  }

  toggle(row, line) {
    if (getSelection().toString())
      return; // somebody is copying
    const key = this.key(row), opened = !this.state.open.delete(key);
    line.setAttribute("aria-expanded", String(opened));
    if (opened) {
      this.state.open.add(key);
      line.after(this.openedRow(row));
    } else if (line.nextElementSibling?.classList.contains("opened")) {
      line.nextElementSibling.remove();
    }
  }

  openedRow(row) {
    return el("tr", { class: "opened" },
      el("td", { colSpan: this.columns.length }, this.open(row)));
  }
}

/* `step`: how many rows are shown at first. */
export function tableState(sort, step = STEP) {
  return { sort, down: true, filter: "", step, shown: step, open: new Set() };
}
