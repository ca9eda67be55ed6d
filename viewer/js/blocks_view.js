// SPDX-License-Identifier: MIT
// blocks_view.js - blocks of device memory as bands over time, by age or by address; one of them in full.
import { el, section, segmented } from "./dom.js";
import { BlockCanvas, blockPalette } from "./blocks_canvas.js";
import { BlockSums } from "./blocks_rest.js";
import { SHOWS, layOutBlocks, shownBy } from "./blocks_layout.js";
import { blockDetail, freeDetail, hexText, lifetimeOf, othersDetail, segmentDetail, shownText,
  spanText } from "./blocks_detail.js";
import { blockName } from "./blocks.js";
import { canvasSvg, canvasWithLegend } from "./chart_svg.js";
import { chosenFilter } from "./filterbar.js";
import { cutMiddle, formatBytes, formatCount, formatTime, plural } from "./format.js";
import { pictureButtons } from "./picture.js";
import { placeLine, placeText, siteWords } from "./stack.js";
import { state } from "./state.js";
import { Table } from "./table.js";
import { TimeWindow } from "./window.js";

const ORDERS = [["age", "By age"], ["address", "By address"]], NAMED = 7, FINE_STEP = 1e-4, AROUND = 0.08;
const HINT = "Click a block for its stacks, drag to select a range. Ctrl+wheel zooms, Ctrl+Shift+wheel zooms " +
  "upwards, Shift+wheel and Alt+drag move, double-click shows all.";

export class BlockView extends TimeWindow {
  /* `tableState` outlives this: as a table's, with isOpen. */
  constructor(set, tableState) {
    super();
    Object.assign(this, { set, tableState, blocks: set.blocks });
    this.everything = new BlockSums(set, null);
    this.ranks = this.rankPlaces();
    this.node = section("blocks", "Blocks");
    this.graph = new BlockCanvas("Blocks of device memory over time. Arrow keys move between blocks, Enter zooms " +
      "to one, plus and minus zoom, V and Shift V zoom upwards, comma and full stop move, O changes between age and " +
      "address, Escape shows all. The blocks are also in a table below.", (site) => this.ranks.get(site.index) ?? Infinity,
    { point: (shown, time) => this.point(shown, time), pick: (shown, time) => this.pick(shown, time),
      range: (from, to, isMore) => this.selectRange(from, to, isMore), zoom: (...how) => this.zoom(...how),
      pan: (share) => this.pan(share), stretch: (...how) => this.stretch(...how), shift: (share) => this.shift(share),
      move: (...how) => this.move(...how), all: () => this.showAll(), key: (event) => this.key(event),
      resize: () => this.draw() });
    this.legend = el("div", { class: "legend" });
    this.sum = el("p", { class: "sum" });
    this.readout = el("p", { class: "readout", aria: { live: "polite" }, text: HINT });
    this.detail = el("div", { class: "card block-detail", hidden: true });
    this.note = el("p", { class: "dim small" });
    this.tableBody = el("div");
    this.table = el("details", { class: "functions", open: tableState.isOpen, on: { toggle: () => {
      tableState.isOpen = this.table.open;
      this.fillTable();
    } } }, el("summary", { text: "Blocks, as a table" }), this.tableBody);
    this.node.querySelector(".section-head").append(this.controls());
    this.node.append(this.sum, this.legend, this.graph.node, this.readout, this.detail, this.note, this.table);
    this.listen();
    this.build();
  }

  controls() {
    const button = (text, title, act) => el("button", { type: "button", class: "tool", text, title,
      aria: { label: title }, on: { click: act } });
    const isAddressed = this.blocks.list.some(({ hasAddress }) => hasAddress);
    this.orders = segmented("Order", ORDERS, this.order, (order) => state.set({ order, level: null }));
    Object.assign(this.orders.querySelector("[data-value=address]"), isAddressed ? {} : { disabled: true,
      title: "The API of these blocks has handles, not addresses" });
    return el("div", { class: "controls" }, this.orders,
      el("div", { class: "segmented" }, button("+", "Zoom into the blocks", () => this.zoom(0.5)),
        button("−", "Zoom out of the blocks", () => this.zoom(2)),
        button("↕", "Zoom upwards", () => this.stretch(0.5)),
        button("All", "Show all blocks", () => this.showAll())),
      pictureButtons("blocks", { canvas: () => canvasWithLegend(this.graph.canvas, this.keys),
        svg: () => canvasSvg(this.graph.canvas, () => this.graph.paint(), this.keys),
        rows: () => this.makeTable().values() }));
  }

  listen() {
    state.on(["filter"], () => {
      this.build();
      this.draw();
    });
    state.on(["zoom", "level"], () => this.draw());
    state.on(["order"], () => {
      this.layout = layOutBlocks(this.order, this.sums);
      this.orders.show(this.order);
      this.draw();
    });
    state.on(["at", "range", "block"], () => {
      this.showMarks();
      this.showDetail();
      this.showSum();
      this.isTableFilled = false;
      this.fillTable();
    });
  }

  get order() {
    return this.blocks.list.some(({ hasAddress }) => hasAddress) ? state.values.order : "age";
  }

  /* Places by what their blocks took, the most first: they keep their colours in every filter. */
  rankPlaces() {
    const weights = new Map(), { end, blocks } = this.set;
    for (const block of blocks.list)
      weights.set(block.site.index, (weights.get(block.site.index) || 0) + block.size * (lifetimeOf(block, end) + 1e-9));
    const others = this.everything.groups.filter(({ site }) => site && !weights.has(site.index));
    const ranked = [...weights].sort(([, a], [, b]) => b - a).map(([index]) => index);
    return new Map([...ranked, ...others.map(({ site }) => site.index)].map((index, rank) => [index, rank]));
  }

  build() {
    const filter = chosenFilter();
    this.sums = filter ? new BlockSums(this.set, filter) : this.everything;
    this.layout = layOutBlocks(this.order, this.sums);
    this.isTableFilled = false;
    this.drawLegend();
    this.showSum();
    this.showNote();
    this.showDetail();
    this.fillTable();
  }

  get levels() {
    const [from, to] = this.window;
    return state.values.level || [0, this.layout.reach(from, to)];
  }

  setLevels(low, high) {
    const reach = this.layout.reach(...this.window), span = Math.min(Math.max(high - low, 1), reach);
    const start = Math.min(Math.max(low, 0), reach - span);
    state.set({ level: span >= reach ? null : [start, start + span] }, { passing: true });
  }

  stretch(factor, around) {
    const [low, high] = this.levels, fixed = around ?? (this.selected ? this.middleOf(this.selected) : low);
    this.setLevels(fixed - (fixed - low) * factor, fixed + (high - fixed) * factor);
  }

  shift(share) {
    const [low, high] = this.levels, by = (high - low) * share;
    this.setLevels(low + by, high + by);
  }

  move(view, across, up) {
    const time = (view.to - view.from) * across, bytes = (view.high - view.low) * up;
    this.setWindow(view.from + time, view.to + time);
    if (state.values.level)
      this.setLevels(view.low + bytes, view.high + bytes);
  }

  middleOf(block) {
    const [low, high] = this.layout.extent(block, ...this.window);
    return (low + high) / 2;
  }

  showAll() {
    state.set({ zoom: null, level: null, block: "" });
  }

  get selected() {
    return this.blocks.byName(state.values.block);
  }

  /* The block fills the view, with a little of what is around it. */
  zoomTo(block) {
    const { end } = this.set, span = Math.max(lifetimeOf(block, end), end * 1e-6), around = span * AROUND;
    const from = Math.max(block.born - around, 0), to = Math.min(block.born + span + around, end);
    const [low, high] = this.layout.extent(block, from, to), more = (high - low) * AROUND;
    state.set({ zoom: [from, to], level: [Math.max(low - more, 0), high + more], block: blockName(block) });
  }

  pick(shown, time) {
    this.free = null;
    if (shown?.block) {
      this.pickedTime = time;
      state.set({ block: blockName(shown.block) });
      this.showDetail();
      return;
    }
    if (shown)
      this.free = { what: shown.what, time };
    state.set({ at: time, range: null, what: "chosen", block: "" });
    this.showDetail();
  }

  selectRange(from, to, isMore) {
    const [first, last] = (isMore && state.values.range) || [from, to];
    this.pickRange(Math.min(from, to, first), Math.max(from, to, last));
  }

  point(shown, time) {
    this.readout.textContent = shown ? shownText(shown, time, this.sums) : HINT;
  }

  key(event) {
    const step = (direction) => this.stepBlock(direction);
    const acts = { "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      "0": () => this.showAll(), ",": () => this.pan(-0.25), ".": () => this.pan(0.25),
      v: () => this.stretch(event.shiftKey ? 2 : 0.5), PageUp: () => this.shift(0.5), PageDown: () => this.shift(-0.5),
      w: () => this.zoom(0.5), s: () => this.zoom(2), a: () => this.pan(-0.25), d: () => this.pan(0.25),
      o: () => this.orders.querySelector(`[data-value=${this.order === "age" ? "address" : "age"}]`).click(),
      Enter: () => this.selected && this.zoomTo(this.selected), Escape: () => this.showAll(),
      ArrowLeft: () => step(-1), ArrowRight: () => step(1), ArrowUp: () => this.stepLevel(1),
      ArrowDown: () => this.stepLevel(-1) };
    const act = acts[event.key] || acts[event.key.toLowerCase()];
    if (!act || event.ctrlKey || event.metaKey || event.altKey)
      return;
    event.preventDefault();
    act();
  }

  /* Blocks that are alive in the window. */
  inWindow() {
    const [from, to] = this.window;
    return this.sums.blocks.filter(({ born, ended, hasAddress }) => born <= to && ended >= from &&
      (this.order === "age" || hasAddress));
  }

  select(block) {
    if (!block)
      return;
    this.free = null;
    state.set({ block: blockName(block) }, { passing: true });
    this.point({ what: block.isSegment ? "segment" : "block", block }, Math.max(block.born, this.window[0]));
  }

  /* The block that was allocated before or after the selected one; without one, the biggest. */
  stepBlock(direction) {
    const list = this.inWindow(), at = list.indexOf(this.selected);
    this.select(at < 0 ? list.reduce((most, block) => !most || block.size > most.size ? block : most, null) :
      list[Math.min(Math.max(at + direction, 0), list.length - 1)]);
  }

  /* The band above or below, in the middle of the selected one's visible life. */
  stepLevel(direction) {
    const block = this.selected, { graph } = this, { width, height, from, to } = graph.view;
    const number = graph.numberOf(block);
    if (number < 0)
      return this.stepBlock(1);
    const time = (Math.max(block.born, from) + Math.min(block.ended, to)) / 2;
    const x = Math.min(Math.max(Math.floor((time - from) / (to - from) * width), 0), width - 1);
    const at = (y) => graph.pixels[y * width + x];
    let y = direction > 0 ? 0 : height - 1;
    while (y >= 0 && y < height && at(y) !== number)
      y += direction;
    while (y >= 0 && y < height && (at(y) === number || at(y) < SHOWS.block || at(y) >= SHOWS.group))
      y -= direction;
    if (y >= 0 && y < height)
      this.select(shownBy(at(y), this.sums).block);
    return undefined;
  }

  draw() {
    const [from, to] = this.window, [low, high] = this.levels;
    if (!this.graph.measure())
      return;
    this.graph.show(this.layout, { from, to, low, high }, this.order === "age");
    this.showMarks();
  }

  showMarks() {
    const { range, at } = state.values, { peak } = this.set.raw;
    this.graph.mark({ selected: this.selected, range: range && (this.set.lives?.around(...range) ?? range),
      moment: range || at === "peak" ? null : at,
      peak: peak.bytes && !this.sums.filter ? peak.time_ns / 1e9 : null });
  }

  drawLegend() {
    const swatch = (background) => {
      const node = el("span", { class: "swatch" });
      node.style.background = background;
      return node;
    };
    const palette = blockPalette();
    const hatched = ([pale, line]) => `repeating-linear-gradient(135deg, ${line} 0 1px, ${pale} 1px 4px)`;
    const { sums } = this, sites = new Map(sums.blocks.map(({ site }) => [site.index, site]));
    for (const { site } of sums.groups)
      if (site)
        sites.set(site.index, site);
    const rankOf = (site) => this.ranks.get(site.index) ?? Infinity;
    const named = [...sites.values()].sort((a, b) => rankOf(a) - rankOf(b));
    const said = (site) => placeText(site.place) || site.kind.name;
    const count = this.areAllNamed ? named.length : NAMED;
    this.legend.classList.toggle("whole", this.areAllNamed);
    this.legend.replaceChildren(...named.slice(0, count).map((site) => el("span", { class: "key plain place-key",
      title: placeText(site.place) }, swatch(palette.place(rankOf(site))), el("span", { text: said(site) }))));
    this.keys = named.slice(0, NAMED).map((site) => ({ label: cutMiddle(said(site), 28), fill: palette.place(rankOf(site)) }));
    if (named.length > NAMED)
      this.legend.append(el("button", { type: "button", class: "key", on: { click: () => {
        this.areAllNamed = !this.areAllNamed;
        this.drawLegend();
      } } }, this.areAllNamed ? "fewer places" : plural(named.length - NAMED, "more place", "more places")));
    for (const part of ["cached", "fragmented"])
      if (sums[part].some((bytes) => bytes > 0)) {
        this.legend.append(el("span", { class: "key plain" }, swatch(hatched(palette[part])), part));
        this.keys.push({ label: part, fill: palette[part][1] });
      }
  }

  /* The selected moment, or the end of the range, in numbers: they add up. */
  showSum() {
    const { range } = state.values, at = range ? this.set.lives?.around(...range)[1] ?? range[1] : this.moment;
    const { total, listed, count, rest, cached, fragmented, time } = this.sums.at(at);
    const parts = [`${formatBytes(listed)} in ${plural(count, "block", "blocks")} one by one`,
      rest ? `${formatBytes(rest)} in others` : "", fragmented ? `${formatBytes(fragmented)} fragmented` : "",
      cached ? `${formatBytes(cached)} cached` : ""].filter(Boolean);
    this.sum.replaceChildren(el("strong", { text: formatBytes(total), title: `${formatCount(total)} bytes` }),
      ` of device memory at ${formatTime(time, FINE_STEP)}: ${parts.join(", ")}`);
  }

  showNote() {
    const { list, total, segments, segmentTotal, isComplete } = this.blocks, { filter, isListOnly, restNote } = this.sums;
    const notes = [isComplete ? "Each block of device memory is drawn." :
      `${formatCount(list.length)} of ${plural(total, "block", "blocks")} are drawn one by one: those that took the most ` +
      "bytes for the longest time, of all and of each part of the time. The others are pale, by place."];
    if (segments.length && list.length < total)
      notes.push("By address, some of them may lie where a segment looks free.");
    if (segments.length < segmentTotal)
      notes.push(`${formatCount(segments.length)} of ${formatCount(segmentTotal)} segments are shown.`);
    const unaddressed = list.filter(({ hasAddress }) => !hasAddress).length;
    if (unaddressed && unaddressed < list.length)
      notes.push(`${plural(unaddressed, "block has", "blocks have")} no address, and ${unaddressed === 1 ? "is" :
        "are"} shown by age only.`);
    if (filter)
      notes.push(isListOnly ? "The page cannot tell others by these words: only blocks that it has one by one are shown." :
        restNote);
    this.note.textContent = notes.filter(Boolean).join(" ");
  }

  showDetail() {
    const { selected, free } = this, time = selected?.isSegment ? this.pickedTime ?? this.moment : free?.time;
    this.detail.hidden = !selected && !free;
    if (this.detail.hidden)
      return;
    const [title, nodes] = selected?.isSegment ? segmentDetail(this.set, selected, time) :
      selected ? blockDetail(this.set, selected) :
        free.what === "group" ? othersDetail(this.sums, time) : freeDetail(this.sums, free.what, time);
    const tool = (text, act) => el("button", { type: "button", class: "tool", text, on: { click: act } });
    this.detail.replaceChildren(el("div", { class: "section-head" }, el("h3", { text: title }),
      el("div", { class: "controls" }, selected ? tool("Zoom to it", () => this.zoomTo(selected)) : null,
        tool("Close", () => {
          this.free = null;
          state.set({ block: "" });
          this.showDetail();
        }))), ...nodes);
  }

  /* Blocks of the filter; where a range is selected, those that lived in it. */
  fillTable() {
    if (this.isTableFilled || !this.tableState.isOpen)
      return;
    const table = this.makeTable(), { range } = state.values;
    const note = range ? el("p", { class: "dim small", text: `${formatCount(table.rows.length)} of ${
      plural(this.sums.blocks.length, "block", "blocks")} lived in the selected range.` }) : null;
    this.tableBody.replaceChildren(...[note, table.node].filter(Boolean));
    this.isTableFilled = true;
  }

  makeTable() {
    const { range } = state.values, { end, blocks } = this.set;
    const rows = this.sums.blocks.filter(({ born, ended }) => !range || (born <= range[1] && ended > range[0]));
    const seconds = (value) => formatTime(value, FINE_STEP), freed = ({ ended }) => ended === Infinity ? "never" : seconds(ended);
    const columns = [
      { name: "bytes", title: "Size", num: true, value: (b) => b.size, cell: (b) => formatBytes(b.size) },
      { name: "born", title: "Allocated", num: true, value: (b) => b.born, cell: (b) => seconds(b.born) },
      { name: "ended", title: "Freed", num: true, value: (b) => b.ended, cell: freed,
        raw: [["Freed", (b) => b.ended === Infinity ? "never" : b.ended]] },
      { name: "life", title: "Lifetime", num: true, minor: true, value: (b) => lifetimeOf(b, end),
        cell: (b) => spanText(lifetimeOf(b, end)) },
      { name: "kind", title: "Kind", minor: true, value: (b) => b.site.kind.name, cell: (b) => b.site.kind.name },
      { name: "handle", title: "Address", minor: true, value: (b) => b.handle, cell: (b) => hexText(b.handle),
        raw: [["Address", (b) => hexText(b.handle)]] },
      { name: "site", title: "Where", value: (b) => placeText(b.site.place), cell: (b) => placeLine(b.site.place),
        raw: [["Where", (b) => placeText(b.site.place)], ["Freed by", (b) => placeText(blocks.freedBy(b)?.place ??
          { name: "", where: "", via: "", callers: "" })]] }];
    return new Table("Blocks", columns, rows, this.tableState, { key: (b) => blockName(b),
      words: (b) => `${b.site.kind.name} ${siteWords(b.site)}`.toLowerCase(),
      open: (b) => el("div", {}, ...blockDetail(this.set, b)[1]) });
  }
}

/* null where there is no block, or the browser cannot unpack them. */
export function blockView(set, tableState) {
  return set.blocks?.list.length || set.blocks?.segments.length ? new BlockView(set, tableState) : null;
}
