// SPDX-License-Identifier: MIT
// lives.js - which resources were created when and ended when (src/page/lives.h): answers about any
// moment and any range of time, by call site and stack.
import { indexUpTo } from "./data.js";

const NEVER = 65535;
const ORIGIN = ["site", "stack", "process", "place", "tid", "phase", "size", "cells"];
/* What origins are told apart by, by the page's level of detail. */
const TOLD = { size: ["process", "place", "tid", "phase", "size"],
  class: ["process", "place", "tid", "phase", "size"], device: ["process", "place", "size"], site: [],
  row: [] };

/* Bytes that were compressed by zlib; null where the browser cannot. */
export async function inflate(base64) {
  if (!self.DecompressionStream)
    return null;
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Reads a column of variable-length integers after the other. */
export class Columns {
  constructor(bytes) {
    Object.assign(this, { bytes, at: 0 });
  }

  read(count) {
    const { bytes } = this, values = new Float64Array(count);
    let at = this.at;
    for (let i = 0; i < count; i++) {
      let byte = bytes[at++], value = byte & 127;
      for (let scale = 128; byte > 127; scale *= 128) {
        byte = bytes[at++];
        value += (byte & 127) * scale;
      }
      values[i] = value;
    }
    this.at = at;
    return values;
  }
}

/* A filter that lets all lives through. */
export const EVERYTHING = { origin: () => true, life: null };

/* What a range has of an origin, in the order of the columns below; see Lives.range. */
const RANGE_PARTS = ["left", "freed", "allocated"];
const COLUMNS = 2 * RANGE_PARTS.length; // bytes and count of each

export class Lives {
  /* `rowTimes`: when the rows of the recording end; `end`: when it ends itself. */
  constructor(raw, bytes, rowTimes, end) {
    const columns = new Columns(bytes), count = raw.origins;
    const table = ORIGIN.map(() => columns.read(count));
    const born = columns.read(raw.cells), ended = columns.read(raw.cells);
    Object.assign(this, { end, detail: raw.detail, told: new Set(TOLD[raw.detail]), shift: raw.shift,
      rows: rowTimes.length, counts: columns.read(raw.cells), bytes: columns.read(raw.cells),
      born: new Uint16Array(raw.cells), ended: new Uint16Array(raw.cells) });
    const steps = Math.ceil(rowTimes.length / 2 ** raw.shift);
    this.times = Float64Array.from({ length: steps }, (_, step) => rowTimes[this.rowOf(step)]);
    this.origins = [];
    for (let i = 0, site = 0, cell = 0; i < count; i++) {
      const origin = Object.fromEntries(ORIGIN.map((name, k) => [name, table[k][i]]));
      site += origin.site;
      this.origins.push(Object.assign(origin, { site, first: cell, end: cell + origin.cells }));
      this.unpackCells(this.origins[i], born, ended);
      cell += origin.cells;
    }
  }

  unpackCells({ first, end, size }, born, ended) {
    const exact = this.detail === "size" ? size : 0;
    for (let i = first, step = 0; i < end; i++) {
      step += born[i];
      this.born[i] = step;
      this.ended[i] = ended[i] ? step + ended[i] - 1 : NEVER;
      const more = this.bytes[i];
      this.bytes[i] = this.counts[i] * exact + (more % 2 ? -(more + 1) / 2 : more / 2);
    }
  }

  /* The last row of a step. */
  rowOf(step) {
    return Math.min((step + 1) * 2 ** this.shift, this.rows) - 1;
  }

  /* The last step that has ended by then; -1 for none. */
  stepAt(time) {
    return indexUpTo(this.times, time);
  }

  /* The ends of the steps around a range: what lies between them is what the answer is about. */
  around(from, to) {
    const a = from <= 0 ? -1 : this.stepAt(from), last = this.times.length - 1;
    let b = this.stepAt(to);
    if (b < 0 || this.times[b] < to)
      b++;
    b = Math.min(Math.max(b, a + 1), last);
    return [a < 0 || a >= b ? (b > 0 && a >= b ? this.times[b - 1] : 0) : this.times[a], this.times[b] ?? 0];
  }

  /*
   * By origin, what it left, freed and allocated after step a and up to step b: bytes and count of
   * each part. The last answer is kept: a table and a flame graph ask the same.
   */
  range(a, b, life) {
    if (!life && this.last?.a === a && this.last.b === b)
      return this.last.sums;
    const { born, ended, bytes, counts, origins } = this, sums = new Float64Array(COLUMNS * origins.length);
    for (let o = 0; o < origins.length; o++) {
      const { first, end } = origins[o], at = COLUMNS * o;
      for (let i = first; i < end; i++) {
        const from = born[i], to = ended[i];
        if (from > b)
          break;
        if (to <= a || (from <= a && to > b) || (life && !life(this.lifetime(i))))
          continue;
        if (to > b) {
          sums[at] += bytes[i];
          sums[at + 1] += counts[i];
        } else {
          sums[at + 2] += bytes[i];
          sums[at + 3] += counts[i];
        }
        if (from > a) {
          sums[at + 4] += bytes[i];
          sums[at + 5] += counts[i];
        }
      }
    }
    if (!life)
      this.last = { a, b, sums };
    return sums;
  }

  /* By origin, bytes and count of what was alive at the end of a step. */
  alive(step, life) {
    const { born, ended, bytes, counts, origins } = this, sums = new Float64Array(2 * origins.length);
    for (let o = 0; o < origins.length; o++) {
      const { first, end } = origins[o];
      for (let i = first; i < end && born[i] <= step; i++)
        if (ended[i] > step && (!life || life(this.lifetime(i)))) {
          sums[2 * o] += bytes[i];
          sums[2 * o + 1] += counts[i];
        }
    }
    return sums;
  }

  /*
   * Calls `each(origin, bytes, count)` for each origin with something selected (state.js): `what` is
   * "moment", "net", or a part of a range. `keeps` is null, or a filter (filter.js).
   */
  sum({ what, from, to }, keeps, each) {
    const a = from === undefined || from <= 0 ? -1 : this.stepAt(from), b = this.stepAt(to);
    const isMoment = what === "moment", at = 2 * RANGE_PARTS.indexOf(what);
    const sums = isMoment ? this.alive(b, keeps?.life) : this.range(a, b, keeps?.life);
    for (let o = 0; o < this.origins.length; o++) {
      const i = isMoment ? 2 * o : COLUMNS * o;
      const [bytes, count] = isMoment ? [sums[i], sums[i + 1]] : what === "net" ?
        [sums[i + 4] - sums[i + 2], sums[i + 5] - sums[i + 3]] : [sums[i + at], sums[i + at + 1]];
      if ((bytes || count) && (!keeps || keeps.origin(this.origins[o])))
        each(this.origins[o], bytes, count);
    }
  }

  /*
   * Calls `each(origin, sums, at)` for each origin with anything in a range: from `at` on, `sums` has
   * bytes and count of what it left, freed and allocated.
   */
  eachInRange(from, to, keeps, each) {
    const sums = this.range(from <= 0 ? -1 : this.stepAt(from), this.stepAt(to), keeps?.life);
    for (let o = 0, at = 0; o < this.origins.length; o++, at += COLUMNS)
      if ((sums[at + 1] || sums[at + 3] || sums[at + 5] || sums[at] || sums[at + 2] || sums[at + 4]) &&
        (!keeps || keeps.origin(this.origins[o])))
        each(this.origins[o], sums, at);
  }

  /* Seconds, to a step; of what was never released, until the end. */
  lifetime(cell) {
    const until = this.ended[cell] === NEVER ? this.end : this.times[this.ended[cell]];
    return until - this.times[this.born[cell]];
  }

  /* What a call site held at the end of each step; `keeps` is null, or a filter. */
  track(site, keeps = null) {
    this.bySite ||= this.originsBySite();
    return this.series(keeps || EVERYTHING, 1, () => 0, this.bySite.get(site) || [])[0];
  }

  originsBySite() {
    const bySite = new Map();
    for (const origin of this.origins) {
      if (!bySite.has(origin.site))
        bySite.set(origin.site, []);
      bySite.get(origin.site).push(origin);
    }
    return bySite;
  }

  /*
   * Bytes and counts at the end of each step, by `group(site)`: a small number, or -1 for none. There
   * is one more row than steps.
   */
  series(keeps, groups, group, origins = this.origins) {
    const empty = () => ({ bytes: new Float64Array(this.times.length + 1),
      counts: new Float64Array(this.times.length + 1) });
    const series = Array.from({ length: groups }, empty);
    for (const origin of origins) {
      const into = series[group(origin.site)];
      if (into && keeps.origin(origin))
        for (let i = origin.first; i < origin.end; i++)
          if (!keeps.life || keeps.life(this.lifetime(i))) {
            const until = Math.min(this.ended[i], this.times.length);
            into.bytes[this.born[i]] += this.bytes[i];
            into.counts[this.born[i]] += this.counts[i];
            into.bytes[until] -= this.bytes[i];
            into.counts[until] -= this.counts[i];
          }
    }
    for (const { bytes, counts } of series)
      for (let i = 1; i < bytes.length; i++) {
        bytes[i] += bytes[i - 1];
        counts[i] += counts[i - 1];
      }
    return series;
  }
}
