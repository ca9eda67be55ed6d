// SPDX-License-Identifier: MIT
// window.js - the part of the time that views show together: zoom, pan, the moment, a range.
import { momentLine, timeBand } from "./charts.js";
import { color } from "./dom.js";
import { state } from "./state.js";

const SMALLEST_WINDOW = 1e-7;

/* The part of the time that is shown, in seconds. */
export function shownWindow({ end }) {
  const [from, to] = state.values.zoom || [0, end];
  return to > from && from < end ? [from, to] : [0, Math.max(end, 1e-6)];
}

/* For charts beside the timeline: the selected moment or range, in the same place. */
export function drawSelection(chart, { lives }) {
  const { range, at } = state.values;
  if (range)
    timeBand(chart, ...(lives?.around(...range) ?? range), color("accent"));
  else if (at !== "peak")
    momentLine(chart, at, color("accent"), []);
}

/* Keeps such a chart in step with the timeline; `chart()` is null until it is drawn. */
export function followTimeline(chart) {
  state.on(["zoom"], () => chart()?.setData(chart().data));
  state.on(["at", "range"], () => chart()?.redraw(false));
}

/* What the timeline and the blocks have in common: both show `this.set`. */
export class TimeWindow {
  /* The selected moment; the peak's, or the end where nothing peaked. */
  get moment() {
    const { at } = state.values, { peak } = this.set.raw;
    return at !== "peak" ? at : peak.bytes ? peak.time_ns / 1e9 : this.set.end;
  }

  get window() {
    return shownWindow(this.set);
  }

  setWindow(from, to) {
    const end = Math.max(this.set.end, 1e-6);
    const span = Math.min(Math.max(to - from, Math.min(SMALLEST_WINDOW, end)), end);
    const start = Math.min(Math.max(from, 0), end - span);
    /* sums of fractions may miss all of it by a hair */
    state.set({ zoom: span >= end * (1 - 1e-9) ? null : [start, start + span] }, { passing: true });
  }

  zoom(factor, around) {
    const [from, to] = this.window;
    const fixed = around === undefined ? (this.moment >= from && this.moment <= to ?
      this.moment : (from + to) / 2) : around;
    this.setWindow(fixed - (fixed - from) * factor, fixed + (to - fixed) * factor);
  }

  pan(share) {
    const [from, to] = this.window, by = (to - from) * share;
    this.setWindow(from + by, to + by);
  }

  /* From one moment to another, in any order; ends where the page's steps do. */
  pickRange(one, other) {
    if (!this.set.lives?.times.length)
      return;
    const range = this.set.lives.around(Math.max(Math.min(one, other), 0), Math.max(one, other));
    state.set({ range, what: "chosen" }, { passing: true });
  }
}
