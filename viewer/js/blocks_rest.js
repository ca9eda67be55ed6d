// SPDX-License-Identifier: MIT
// blocks_rest.js - what all blocks add up to: those that the page has one by one, all others by place,
// and the cached and fragmented parts of segments. The sum is the timeline's.
import { indexUpTo } from "./data.js";
import { EVERYTHING } from "./lives.js";

const GROUPS = 24; // places whose other blocks are told apart

/* The first index whose value is at least `value`. */
function indexFrom(sorted, value) {
  let at = indexUpTo(sorted, value);
  while (at >= 0 && sorted[at] === value)
    at--;
  return at + 1;
}

/* Adds `bytes` to the rows from one moment up to another. */
function addSpan(row, times, from, to, bytes) {
  row[indexFrom(times, from)] += bytes;
  row[indexFrom(times, to)] -= bytes;
}

/* Differences become sums. */
function summed(row) {
  for (let i = 1; i < row.length; i++)
    row[i] += row[i - 1];
  return row;
}

/* Calls each(from, to, used): how long blocks had so many of a segment's bytes. */
export function segmentSpans({ born, ended, times, used }, each) {
  let from = born, now = 0;
  for (let i = 0; i < times.length; i++) {
    if (times[i] > from)
      each(from, times[i], now);
    from = times[i];
    now = used[i];
  }
  if (ended > from)
    each(from, ended, now);
}

export class BlockSums {
  /* `filter` is null, or one of filter.js. */
  constructor(set, filter) {
    const { blocks, end } = set, { totals } = set;
    Object.assign(this, { set, filter });
    const keeps = (block) => !filter || filter.block(block, set, end);
    this.blocks = blocks.list.filter(keeps);
    this.segments = blocks.segments.filter(keeps);
    this.keeps = filter && set.lives ? filter.over(set) : EVERYTHING;
    /* what the page cannot tell of all blocks, it cannot tell of the others */
    this.restNote = filter?.beyondLives(set) ?? "";
    this.isListOnly = !!filter && (!set.lives || filter.lostIn(set).length > 0);
    this.times = filter ? set.lives?.times ?? totals.levels[0].times : totals.levels[0].times;
    this.addUp(filter ? this.filteredTotal() : totals.levels[0].channels.device.last);
  }

  filteredTotal() {
    const { lives, sites } = this.set;
    return this.isListOnly ? null :
      lives.series(this.keeps, 1, (site) => sites[site]?.kind.onDevice ? 0 : -1)[0].bytes;
  }

  /* Rows: at the end of each of `times`. */
  addUp(total) {
    const { times } = this, room = () => new Float64Array(times.length + 1);
    Object.assign(this, { listed: room(), counts: room(), cached: room(), fragmented: room() });
    for (const { born, ended, size } of this.blocks) {
      addSpan(this.listed, times, born, ended, size);
      addSpan(this.counts, times, born, ended, 1);
    }
    for (const segment of this.segments)
      segmentSpans(segment, (from, to, used) => addSpan(used ? this.fragmented : this.cached, times,
        from, to, segment.size - used));
    for (const row of [this.listed, this.counts, this.cached, this.fragmented])
      summed(row);
    this.total = room();
    this.rest = room();
    for (let i = 0; i < times.length; i++) {
      const parts = this.cached[i] + this.fragmented[i];
      this.total[i] = total ? total[i] : this.listed[i] + parts;
      this.rest[i] = Math.max(this.total[i] - this.listed[i] - parts, 0);
      /* segments are known in steps of their own: the total is right */
      const over = Math.max(this.listed[i] + parts - this.total[i], 0), less = Math.min(over, this.cached[i]);
      this.cached[i] -= less;
      this.fragmented[i] = Math.max(this.fragmented[i] - (over - less), 0);
    }
  }

  /*
   * At a moment: { time, total, listed, count, rest, cached, fragmented } as of the last row before it,
   * or exactly at the peak.
   */
  at(time) {
    const { peak } = this.set.raw, isPeak = !this.filter && peak.bytes > 0 && time === peak.time_ns / 1e9;
    const row = indexUpTo(this.times, time);
    if (isPeak)
      return this.atPeak(time, row, peak.bytes);
    const value = (name) => row < 0 ? 0 : this[name][row];
    return { time: row < 0 ? 0 : this.times[row], total: value("total"), listed: value("listed"),
      count: value("counts"), rest: value("rest"), cached: value("cached"), fragmented: value("fragmented") };
  }

  atPeak(time, row, total) {
    const alive = this.blocks.filter(({ born, ended }) => born <= time && ended > time);
    const listed = alive.reduce((sum, { size }) => sum + size, 0);
    let cached = 0, fragmented = 0;
    for (const segment of this.segments)
      segmentSpans(segment, (from, to, used) => {
        if (from <= time && to > time && used)
          fragmented += segment.size - used;
        else if (from <= time && to > time)
          cached += segment.size;
      });
    cached = Math.min(cached, Math.max(total - listed - fragmented, 0));
    fragmented = Math.min(fragmented, Math.max(total - listed - cached, 0));
    return { time, total, listed, count: alive.length, cached, fragmented,
      rest: Math.max(total - listed - cached - fragmented, 0) };
  }

  /* The highest total between two moments. */
  highest(from, to) {
    const { peak } = this.set.raw, at = peak.time_ns / 1e9;
    let most = !this.filter && peak.bytes && at >= from && at <= to ? peak.bytes : 0;
    const last = indexUpTo(this.times, to);
    for (let i = Math.max(indexUpTo(this.times, from), 0); i <= last; i++)
      most = Math.max(most, this.total[i]);
    return most;
  }

  /* Sites of segments: what the matrix of lives has of them is their cached part. */
  get segmentSites() {
    this.ofSegments ??= new Set(this.set.blocks.segments.map(({ site }) => site.index));
    return this.ofSegments;
  }

  /*
   * The places of other blocks, those that take the most first, and `null` for all the rest:
   * [{ site, bytes }], bytes by step of the lives.
   */
  get groups() {
    this.grouped ??= this.set.lives && !this.isListOnly ? this.groupRest() : [];
    return this.grouped;
  }

  /* Byte seconds by site that no listed block took. */
  restWeights() {
    const { lives, end } = this.set, weights = new Map();
    const add = (site, weight) => weights.set(site, (weights.get(site) || 0) + weight);
    for (const origin of lives.origins)
      if (this.isOther(origin.site) && this.keeps.origin(origin))
        for (let i = origin.first; i < origin.end; i++)
          add(origin.site, lives.bytes[i] * lives.lifetime(i));
    for (const { site, size, born, ended } of this.blocks)
      if (weights.has(site.index))
        add(site.index, -size * (Math.min(ended, end) - born));
    return weights;
  }

  isOther(site) {
    const known = this.set.sites[site];
    return (known ? known.kind.onDevice : !this.filter) && !this.segmentSites.has(site);
  }

  groupRest() {
    const { lives, sites } = this.set;
    const chosen = [...this.restWeights()].filter(([site, weight]) => weight > 0 && sites[site])
      .sort(([, a], [, b]) => b - a).slice(0, GROUPS).map(([site]) => site);
    const numbers = new Map(chosen.map((site, i) => [site, i]));
    const series = lives.series(this.keeps, chosen.length + 1, (site) => !this.isOther(site) ? -1 :
      numbers.get(site) ?? chosen.length);
    const listed = series.map(() => new Float64Array(lives.times.length + 1));
    for (const { site, born, ended, size } of this.blocks)
      addSpan(listed[numbers.get(site.index) ?? chosen.length], lives.times, born, ended, size);
    return series.map(({ bytes }, i) => {
      const taken = summed(listed[i]);
      return { site: i < chosen.length ? sites[chosen[i]] : null,
        bytes: bytes.map((value, step) => Math.max(value - taken[step], 0)) };
    });
  }

  /* How `rest` bytes of other blocks are divided among the groups at a moment. */
  divideRest(time, rest) {
    const { groups } = this, step = this.set.lives && groups.length ? this.set.lives.stepAt(time) : -1;
    const sum = step < 0 ? 0 : groups.reduce((all, { bytes }) => all + bytes[step], 0);
    if (!sum)
      return groups.length ? groups.map((_, i) => i === groups.length - 1 ? rest : 0) : [rest];
    return groups.map(({ bytes }) => bytes[step] / sum * rest);
  }

  /* Other blocks at a moment by call site: [{ site, bytes, count }], as of `time`. */
  othersAt(time) {
    const { lives, sites } = this.set, found = new Map(), step = lives ? lives.stepAt(time) : -1;
    if (step < 0 || this.isListOnly)
      return { time: 0, list: [] };
    const at = lives.times[step], rowOf = (site) => {
      if (!found.has(site))
        found.set(site, { site: sites[site] || null, bytes: 0, count: 0 });
      return found.get(site);
    };
    lives.sum({ what: "moment", to: at }, this.keeps, (origin, bytes, count) => {
      if (!this.isOther(origin.site))
        return;
      const row = rowOf(Math.min(origin.site, sites.length));
      row.bytes += bytes;
      row.count += count;
    });
    for (const { site, born, ended, size } of this.blocks)
      if (born <= at && ended > at && found.has(site.index < 0 ? sites.length : site.index)) {
        const row = rowOf(site.index < 0 ? sites.length : site.index);
        row.bytes -= size;
        row.count--;
      }
    return { time: at, list: [...found.values()].filter(({ bytes, count }) => bytes > 0 && count > 0)
      .sort((a, b) => b.bytes - a.bytes) };
  }
}
