// SPDX-License-Identifier: MIT
// window.js - the part of the time that views show together: zoom, pan, the moment, a range.
import { state } from "./state.js";

const SMALLEST_WINDOW = 1e-7;

/* What the timeline and the blocks have in common: both show `this.set`. */
export class TimeWindow {
  /* The selected moment; the peak's, or the end where nothing peaked. */
  get moment() {
    const { at } = state.values, { peak } = this.set.raw;
    return at !== "peak" ? at : peak.bytes ? peak.time_ns / 1e9 : this.set.end;
  }

  get window() {
    const [from, to] = state.values.zoom || [0, this.set.end];
    return to > from && from < this.set.end ? [from, to] : [0, Math.max(this.set.end, 1e-6)];
  }

  setWindow(from, to) {
    const end = Math.max(this.set.end, 1e-6);
    const span = Math.min(Math.max(to - from, Math.min(SMALLEST_WINDOW, end)), end);
    const start = Math.min(Math.max(from, 0), end - span);
    state.set({ zoom: span >= end ? null : [start, start + span] }, { passing: true });
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
