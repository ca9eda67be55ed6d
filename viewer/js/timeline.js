// SPDX-License-Identifier: MIT
// timeline.js - live bytes and resources over time by kind: zoom, pan, the peak, a chosen moment.
import { color, el, section, segmented } from "./dom.js";
import { FAR, fromZero, kindColor, levelLine, makeChart, mixed, momentLine, steps, stepsBack,
  timeAxis, valueAxis } from "./charts.js";
import { formatTime, formatValue } from "./format.js";
import { chosenFilter } from "./filterbar.js";
import { indexUpTo } from "./data.js";
import { chartButtons } from "./picture.js";
import { unstacked } from "./chart_svg.js";
import { state } from "./state.js";
import { TimeWindow, drawSelection } from "./window.js";

const HEIGHT = 280, DRAWN_FROM = 4; // pixels

export class Timeline extends TimeWindow {
  /* `hidden`: kinds that are not shown; it outlives this. */
  constructor(set, hidden) {
    super();
    Object.assign(this, { set, hidden });
    this.node = section("timeline", "Timeline");
    this.host = el("div", { class: "chart", tabIndex: 0, role: "img",
      aria: { label: "Live memory and resources over time. Arrow keys move the selected " +
        "moment, Shift and arrows select a range, Escape clears it, plus and minus zoom, " +
        "comma and full stop pan, 0 shows all, P shows the peak, F zooms to the range." },
      on: { keydown: (event) => this.key(event) } });
    this.readout = el("p", { class: "readout", aria: { live: "off" } });
    this.legend = el("div", { class: "legend" });
    this.overview = el("div", { class: "overview", aria: { hidden: "true" } });
    this.node.querySelector(".section-head").append(this.controls());
    this.node.append(this.legend, this.host, this.overview, this.readout);
    state.on(["unit"], () => this.draw());
    state.on(["zoom"], () => this.update());
    state.on(["at", "range"], () => this.chart?.redraw(false));
    state.on(["filter"], () => this.draw());
  }

  controls() {
    const button = (text, title, act) => el("button", { type: "button", class: "tool", text,
      title, aria: { label: title }, on: { click: act } });
    return el("div", { class: "controls" },
      segmented("Unit", [["bytes", "Bytes"], ["objects", "Resources"]],
        this.unit, (unit) => state.set({ unit })),
      el("div", { class: "segmented" },
        button("+", "Zoom in", () => this.zoom(0.5)),
        button("−", "Zoom out", () => this.zoom(2)),
        button("‹", "Earlier", () => this.pan(-0.25)),
        button("›", "Later", () => this.pan(0.25)),
        button("All", "Show all", () => this.setWindow(0, this.set.end))),
      chartButtons("timeline", () => this.chart, (chart) => unstacked(chart.data,
        this.kinds.filter((kind) => !this.hidden.has(kind.key)).length)));
  }

  get unit() {
    return state.values.unit || (this.set.raw.peak.bytes ? "bytes" : "objects");
  }

  /* To the next or previous change. */
  stepMoment(direction) {
    const times = this.set.rowTimes, at = indexUpTo(times, this.moment);
    const next = Math.min(Math.max(at + direction, 0), times.length - 1);
    if (times.length)
      this.pick(times[next]);
  }

  /* Seconds, or "peak". */
  pick(at) {
    const [from, to] = this.window;
    state.set({ at, range: null, what: "chosen" }, { passing: true });
    if (this.moment < from || this.moment > to)
      this.setWindow(this.moment - (to - from) / 2, this.moment + (to - from) / 2);
  }

  pickPeak() {
    this.pick("peak");
  }

  /* The range grows or shrinks by a step at the end that moves; without one it begins here. */
  stepRange(direction) {
    const { times } = this.set.lives || { times: [] }, { range } = state.values;
    if (!range || (this.fixed !== range[0] && this.fixed !== range[1]))
      this.fixed = range ? range[0] : times[indexUpTo(times, this.moment)] ?? 0;
    const moving = !range ? this.fixed : this.fixed === range[0] ? range[1] : range[0];
    const next = indexUpTo(times, moving) + direction;
    const goal = next < 0 ? 0 : times[Math.min(next, times.length - 1)];
    if (goal === this.fixed)
      state.set({ range: null }, { passing: true });
    else
      this.pickRange(this.fixed, goal);
  }

  key(event) {
    const acts = { "+": () => this.zoom(0.5), "=": () => this.zoom(0.5),
      "-": () => this.zoom(2), "0": () => this.setWindow(0, this.set.end),
      p: () => this.pickPeak(), ",": () => this.pan(-0.25), ".": () => this.pan(0.25),
      w: () => this.zoom(0.5), s: () => this.zoom(2), a: () => this.pan(-0.25), d: () => this.pan(0.25),
      f: () => state.values.range && this.setWindow(...this.set.lives.around(...state.values.range)),
      Escape: () => state.set({ range: null }),
      ArrowLeft: () => event.shiftKey ? this.stepRange(-1) : this.stepMoment(-1),
      ArrowRight: () => event.shiftKey ? this.stepRange(1) : this.stepMoment(1) };
    const act = acts[event.key] || acts[event.key.toLowerCase()];
    if (!act || event.ctrlKey || event.metaKey || event.altKey)
      return;
    event.preventDefault();
    act();
  }

  /* Kinds with something to show, those that hold most at the bottom. */
  shownKinds() {
    const { unit } = this;
    return this.set.kinds.filter((kind) => !kind[unit].empty &&
      (unit === "objects" || kind.onDevice));
  }

  /* The same of what the filter lets through: by steps, without host memory of its own. */
  filteredData(filter) {
    const { lives, sites } = this.set, field = this.unit === "bytes" ? "bytes" : "counts";
    const kinds = this.kinds.filter((kind) => !this.hidden.has(kind.key));
    const numbers = new Map(kinds.map((kind, i) => [kind.index, i]));
    const series = lives.series(filter.over(this.set), kinds.length,
      (site) => numbers.get(sites[site]?.kind.index) ?? -1);
    const times = [0, ...lives.times, this.set.end];
    let below = new Float64Array(times.length);
    const stacked = series.map((one) => {
      below = below.map((sum, i) => sum + (i ? one[field][Math.min(i, lives.times.length) - 1] : 0));
      return below;
    });
    this.pointwise = true;
    return [times, ...[...stacked].reverse(), below];
  }

  get filter() {
    return this.set.lives?.times.length ? chosenFilter() : null;
  }

  /* x, the stacked kinds from the top of the stack down, host memory, the highest total. */
  data() {
    const { filter } = this;
    if (filter)
      return this.filteredData(filter);
    const { unit } = this, [from, to] = this.window;
    const level = this.set.totals.level(from, to, Math.max(400, this.host.clientWidth * 2));
    const totals = level.channels[unit === "bytes" ? "device" : "objects"];
    const first = Math.max(indexUpTo(level.times, from), 0);
    const last = indexUpTo(level.times, to) + 1;
    const times = [0], rows = [-1];
    for (let i = first; i <= last && i < level.times.length; i++) {
      times.push(level.times[i]);
      rows.push(i);
    }
    if (times.at(-1) < this.set.end) {
      times.push(this.set.end);
      rows.push(last >= level.times.length ? level.times.length - 1 : Math.max(last, -1));
    }
    const lookup = times.map((time) => indexUpTo(this.set.rowTimes, time));
    const share = this.shares(lookup, rows.map((row) => row < 0 ? 0 : totals.last[row]));
    const kinds = this.kinds.filter((kind) => !this.hidden.has(kind.key));
    let below = new Float64Array(times.length);
    const stacked = kinds.map((kind) => {
      const values = kind[unit].last;
      below = below.map((sum, i) => sum + (lookup[i] < 0 ? 0 : values[lookup[i]] * share[i]));
      return below;
    });
    /* a row's highest lies before its moment, unless the row is one change */
    this.pointwise = this.set.totals.exact && level === this.set.totals.levels[0];
    const line = this.pointwise ? totals.last : totals.high;
    const high = rows.map((row) => row < 0 ? 0 : line[row]);
    const host = level.channels.host;
    return [times, ...stacked.reverse(), ...(this.hostShown ?
      [rows.map((row) => row < 0 ? 0 : host.last[row])] : []), high];
  }

  /*
   * Kinds have fewer rows than the total: between two of them the total is right, and is
   * divided among the kinds as it last was.
   */
  shares(lookup, totals) {
    const values = this.kinds.map((kind) => kind[this.unit].last);
    return totals.map((total, i) => {
      const sum = lookup[i] < 0 ? 0 : values.reduce((a, list) => a + list[lookup[i]], 0);
      return sum && !this.set.exact ? total / sum : 1;
    });
  }

  /* Bytes that the devices in use have, where a line for it helps; 0: none. */
  get capacity() {
    const { capacity, peak } = this.set.raw;
    return capacity && this.unit === "bytes" && capacity.bytes <= FAR * peak.bytes ?
      capacity.bytes : 0;
  }

  get capacityText() {
    const { devices } = this.set.raw.capacity;
    return `capacity ${formatValue(this.capacity, "bytes")}` +
      (devices > 1 ? ` of ${devices} GPUs` : "");
  }

  get hostShown() {
    return !this.filter && this.unit === "bytes" && !this.set.totals.levels[0].channels.host.empty;
  }

  draw() {
    this.kinds = this.shownKinds();
    this.drawLegend();
    this.host.replaceChildren();
    const unit = this.unit === "bytes" ? "bytes" : "";
    const shown = this.kinds.filter((kind) => !this.hidden.has(kind.key)).reverse();
    const series = [{}, ...shown.map((kind) => ({ label: kind.name, paths: steps, width: 0,
      points: { show: false }, stroke: kindColor(kind.index),
      fill: mixed(kindColor(kind.index)) }))];
    if (this.hostShown)
      series.push({ label: "host memory", paths: steps, stroke: color("dim"), width: 1.5,
        dash: [4, 3], points: { show: false } });
    series.push({ label: this.filter || this.set.totals.exact ? "total" : "highest total",
      paths: (...how) => (this.pointwise ? steps : stepsBack)(...how), stroke: color("ink"),
      width: 1,
      points: { show: false } });
    this.chart = makeChart(this.host, { height: HEIGHT, series,
      /* uPlot takes a click for a drag when the page has just been scrolled */
      cursor: { drag: { x: true, y: false, setScale: false, click: () => {} }, points: { show: false },
        y: false },
      scales: { x: { time: false, range: () => this.window }, y: { range: (chart, low, high) =>
        fromZero(chart, low, Math.max(high ?? 0, this.capacity)) } },
      axes: [timeAxis(), valueAxis(unit)],
      hooks: { draw: [(chart) => this.drawMarks(chart)],
        setCursor: [(chart) => this.showReadout(chart)],
        setSelect: [(chart) => this.selected(chart)],
        setSize: [() => this.update()],
        ready: [(chart) => this.listen(chart)] } }, this.data());
    this.drawOverview();
    this.showReadout(this.chart);
  }

  update() {
    if (!this.chart)
      return;
    this.chart.setData(this.data());
    this.placeWindow();
  }

  selected(chart) {
    const { left, width } = chart.select;
    if (width < 4)
      return;
    this.dragged = true;
    const from = chart.posToVal(left, "x"), to = chart.posToVal(left + width, "x");
    const [first, last] = this.extends && state.values.range || [from, to];
    chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.fixed = null;
    this.pickRange(Math.min(from, first), Math.max(to, last));
  }

  listen(chart) {
    chart.over.addEventListener("mousedown", (event) => {
      this.dragged = false;
      this.extends = event.shiftKey;
    });
    chart.over.addEventListener("click", (event) => {
      const time = chart.posToVal(event.offsetX, "x"), { range } = state.values;
      if (this.dragged)
        return;
      if (event.shiftKey)
        this.pickRange(range ? Math.min(range[0], time) : this.moment, range ?
          Math.max(range[1], time) : time);
      else
        this.pick(time);
    });
    chart.over.addEventListener("pointerdown", (event) => event.pointerType === "touch" && this.touch(chart, event));
    chart.over.addEventListener("dblclick", () => this.setWindow(0, this.set.end));
    chart.over.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey)
        this.zoom(event.deltaY > 0 ? 1.25 : 0.8, chart.posToVal(event.offsetX, "x"));
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        this.pan((event.deltaX || event.deltaY) / 800);
      else
        return;
      event.preventDefault();
    }, { passive: false });
  }

  /* A finger selects a range as the mouse does; up and down, it scrolls the page. */
  touch(chart, { offsetX, clientX }) {
    const move = (event) => {
      const x = Math.min(Math.max(offsetX + event.clientX - clientX, 0), chart.over.clientWidth);
      chart.setSelect({ left: Math.min(x, offsetX), width: Math.abs(x - offsetX), top: 0,
        height: chart.over.clientHeight }, false);
    };
    const stop = (event) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
      removeEventListener("pointercancel", stop);
      this.extends = false;
      if (event.type === "pointerup")
        this.selected(chart);
      chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
    addEventListener("pointercancel", stop);
  }

  /* The capacity, the peak and the chosen moment. */
  drawMarks(chart) {
    const peak = this.set.raw.peak, { bbox } = chart;
    /* the peak's own words stand beside it */
    const isEarly = chart.valToPos(peak.time_ns / 1e9, "x", true) < bbox.left + bbox.width / 2;
    if (this.capacity)
      levelLine(chart, this.capacity, this.capacityText, isEarly);
    drawSelection(chart, this.set);
    if (peak.bytes && !this.filter)
      momentLine(chart, peak.time_ns / 1e9, color("bad"), [4, 3],
        `peak ${formatValue(peak.bytes, "bytes")}`);
  }

  showReadout(chart) {
    const index = chart.cursor.idx, { unit } = this;
    if (index === null || index === undefined) {
      this.readout.textContent = "Click to select a moment, drag to select a range, " +
        "with Shift to extend it. Ctrl+wheel zooms, Shift+wheel pans, double-click shows all.";
      return;
    }
    const [from, to] = this.window, time = chart.data[0][index];
    this.readout.textContent = `${formatTime(time, (to - from) / 1000)}   ` +
      `${formatValue(chart.data.at(-1)[index], unit)}` +
      (unit === "bytes" ? " of device memory" : " resources") +
      (this.set.totals.exact || this.filter ? "" : " at most");
  }

  drawLegend() {
    const toggles = this.kinds.map((kind) => {
      const swatch = el("span", { class: "swatch" });
      swatch.style.background = kindColor(kind.index);
      return el("button", { type: "button", class: "key",
        aria: { pressed: String(!this.hidden.has(kind.key)) },
        on: { click: () => {
          if (!this.hidden.delete(kind.key))
            this.hidden.add(kind.key);
          this.draw();
        } } }, swatch, this.kinds.some((other) => other !== kind &&
          other.name === kind.name) ? `${kind.name} (${kind.api})` : kind.name);
    });
    const peak = this.set.raw.peak;
    this.legend.replaceChildren(...toggles,
      el("span", { class: "key plain" }, el("span", { class: "swatch line" }),
        this.filter ? "total of the filter, by steps" :
        this.set.totals.exact ? "total" : "highest total"));
    if (this.hostShown)
      this.legend.append(el("span", { class: "key plain" },
        el("span", { class: "swatch dash" }), "host memory"));
    if (this.capacity)
      this.legend.append(el("span", { class: "key plain capacity" },
        el("span", { class: "swatch dash" }), this.capacityText));
    if (peak.bytes)
      this.legend.append(el("button", { type: "button", class: "key peak", text: "Show the peak",
        on: { click: () => this.pickPeak() } }));
  }

  /* The whole time, with the window on it to be dragged. */
  drawOverview() {
    const level = this.set.totals.levels.findLast((one) => one.times.length > 256) ||
      this.set.totals.levels[0];
    const canvas = el("canvas"), pane = el("div", { class: "pane" });
    const width = Math.max(this.overview.clientWidth, 120), height = 36;
    const values = level.channels[this.unit === "bytes" ? "device" : "objects"].last;
    const top = values.reduce((a, b) => Math.max(a, b), 1), ctx = canvas.getContext("2d");
    canvas.width = width * devicePixelRatio;
    canvas.height = height * devicePixelRatio;
    ctx.scale(devicePixelRatio, devicePixelRatio);
    ctx.fillStyle = color("faint");
    level.times.forEach((time, i) => {
      const next = i + 1 < level.times.length ? level.times[i + 1] : this.set.end;
      const x = Math.floor(time / (this.set.end || 1) * width);
      const tall = values[i] / top * (height - 4);
      ctx.fillRect(x, height - tall, Math.ceil(next / (this.set.end || 1) * width) - x, tall);
    });
    this.overview.replaceChildren(canvas, pane);
    this.pane = pane;
    this.overview.onpointerdown = (event) => this.dragWindow(event, width);
    this.placeWindow();
  }

  placeWindow() {
    const [from, to] = this.window, end = this.set.end || 1;
    this.pane.style.left = `${from / end * 100}%`;
    this.pane.style.width = `${Math.max((to - from) / end * 100, 0.4)}%`;
    this.overview.classList.toggle("whole", !state.values.zoom);
  }

  /* Moves the window; a drag that begins outside of it draws another. */
  dragWindow(event, width) {
    const [from, to] = this.window, perPixel = this.set.end / width;
    const timeAt = (now) => (now.clientX - this.overview.getBoundingClientRect().left) * perPixel;
    const at = timeAt(event), isInside = state.values.zoom && at >= from && at <= to;
    const grip = isInside ? at - from : (to - from) / 2;
    const move = (now) => {
      const x = timeAt(now), isDrawn = Math.abs(x - at) > DRAWN_FROM * perPixel;
      if (isInside)
        this.setWindow(x - grip, x - grip + (to - from));
      else if (isDrawn)
        this.setWindow(Math.min(x, at), Math.max(x, at));
    };
    const stop = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
    };
    if (state.values.zoom && !isInside)
      this.setWindow(at - grip, at - grip + (to - from));
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
  }
}
