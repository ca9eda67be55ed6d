// SPDX-License-Identifier: MIT
// blocks_layout.js - which block each pixel shows: stacked by age, or by address.
import { segmentSpans } from "./blocks_rest.js";

/* What a pixel shows: 0 nothing; from each of these on a block, a group of others, a segment. */
export const SHOWS = { block: 1, group: 1e6, cached: 2e6, fragmented: 2e6 + 1, segment: 3e6 };
const HEADROOM = 1.06, GAPS = 0.2, GAP = 0.015, NEAR = 0.004;

/* { what, ...} for the number in a pixel. */
export function shownBy(number, sums) {
  if (!number)
    return null;
  if (number >= SHOWS.segment) {
    const index = number - SHOWS.segment;
    return { what: "segment", block: sums.segments[index >> 1], isFragmented: index % 2 > 0 };
  }
  if (number >= SHOWS.cached)
    return { what: number === SHOWS.cached ? "cached" : "fragmented" };
  if (number >= SHOWS.group)
    return { what: "group", group: sums.groups[number - SHOWS.group] || { site: null } };
  return { what: "block", block: sums.blocks[number - SHOWS.block] };
}

/* The moment of each column; the peak's column shows the peak. */
function columnTimes({ from, to, width }, sums) {
  const { peak } = sums.set.raw, at = peak.time_ns / 1e9, step = (to - from) / width;
  const times = Float64Array.from({ length: width }, (_, i) => from + (i + 0.5) * step);
  const column = Math.floor((at - from) / step);
  if (!sums.filter && peak.bytes && column >= 0 && column < width)
    times[column] = at;
  return times;
}

/* Blocks on top of each other, the oldest at the bottom, then the others, then free parts of segments. */
class AgeLayout {
  constructor(sums) {
    this.sums = sums;
  }

  /* The bytes that a window of time needs. */
  reach(from, to) {
    return Math.max(this.sums.highest(from, to) * HEADROOM, 1);
  }

  /* The blocks' numbers in arrays of their own: a column visits each that is alive. */
  get arrays() {
    const { blocks } = this.sums;
    this.flat ??= { sizes: Float64Array.from(blocks, ({ size }) => size),
      ends: Float64Array.from(blocks, ({ ended }) => ended) };
    return this.flat;
  }

  fill(view) {
    const { width, height } = view, { blocks } = this.sums, pixels = new Int32Array(width * height);
    const times = columnTimes(view, this.sums), alive = new Int32Array(blocks.length);
    for (let x = 0, next = 0, count = 0; x < width; x++) {
      while (next < blocks.length && blocks[next].born <= times[x])
        alive[count++] = next++;
      count = this.fillColumn(pixels, view, x, times[x], alive, count);
    }
    return pixels;
  }

  /* Gives how many are still alive: they move to the front. */
  fillColumn(pixels, { width, height, low, high }, x, time, alive, count) {
    const { sums } = this, { sizes, ends } = this.arrays, scale = height / (high - low);
    let bytes = 0, kept = 0, y = Math.min(Math.round(height + low * scale), height);
    const add = (number) => {
      const top = Math.max(Math.round(height - (bytes - low) * scale), 0);
      for (; y > top; y--)
        pixels[(y - 1) * width + x] = number;
    };
    for (let i = 0; i < count; i++) {
      const number = alive[i];
      if (ends[number] <= time)
        continue;
      alive[kept++] = number;
      bytes += sizes[number];
      if (height - (bytes - low) * scale < y - 0.5)
        add(SHOWS.block + number);
    }
    const now = sums.at(time), rest = [...sums.divideRest(time, now.rest), now.fragmented, now.cached];
    rest.forEach((size, i) => {
      bytes += size;
      add(i < rest.length - 2 ? SHOWS.group + i : i < rest.length - 1 ? SHOWS.fragmented : SHOWS.cached);
    });
    return kept;
  }

  /* Where a block lies within a window of time: [low, high] of bytes. Older ones only go: it sinks. */
  extent(block, from, to) {
    const below = (time) => this.sums.blocks.reduce((sum, other) => sum + (other.index < block.index &&
      other.born <= time && other.ended > time ? other.size : 0), 0);
    return [below(Math.min(block.ended, to)), below(Math.max(block.born, from)) + block.size];
  }

  labels() {
    return [];
  }
}

/* Addresses upwards; where none is in use for long, the axis is cut. */
class AddressLayout {
  constructor(sums) {
    this.sums = sums;
    const ranges = [...sums.blocks, ...sums.segments].filter(({ hasAddress }) => hasAddress)
      .map((block) => ({ block, process: block.process, place: block.place, start: block.address,
        end: block.address + block.size }))
      .sort((a, b) => a.process - b.process || a.place - b.place || a.start - b.start);
    this.regions = this.cut(ranges);
  }

  /* Regions: ranges that lie near to each other, with `at`, where each begins on the axis. */
  cut(ranges) {
    const merge = (slack) => {
      const regions = [];
      for (const { process, place, start, end } of ranges) {
        const last = regions.at(-1);
        if (last && last.process === process && last.place === place && start <= last.end + slack)
          last.end = Math.max(last.end, end);
        else
          regions.push({ process, place, start, end });
      }
      return regions;
    };
    const sizeOf = (regions) => regions.reduce((sum, { start, end }) => sum + end - start, 0);
    const used = sizeOf(merge(0)), regions = merge(used * NEAR), size = sizeOf(regions);
    const gap = Math.min(size * GAP, size * GAPS / Math.max(regions.length, 1));
    let at = 0;
    for (const region of regions) {
      region.at = at;
      at += region.end - region.start + gap;
    }
    this.size = Math.max(at - gap, 1);
    return regions;
  }

  positionOf({ process, place, address }) {
    const { regions } = this;
    let from = 0, to = regions.length;
    const isUpTo = (region) => region.process - process || region.place - place || region.start - address;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (isUpTo(regions[middle]) <= 0)
        from = middle + 1;
      else
        to = middle;
    }
    return regions[from - 1].at + address - regions[from - 1].start;
  }

  reach() {
    return this.size;
  }

  fill(view) {
    const { width, height, from, to, low, high } = view, pixels = new Int32Array(width * height);
    const across = width / (to - from), up = height / (high - low), { sums } = this;
    const fill = (start, end, bottom, size, number) => {
      if (end < from || start > to || bottom > high || bottom + size < low)
        return;
      const left = Math.max(Math.floor((start - from) * across), 0);
      const right = Math.min(Math.max(Math.round((Math.min(end, to) - from) * across), left + 1), width);
      const y = Math.max(Math.round(height - (bottom + size - low) * up), 0);
      const last = Math.min(Math.max(Math.round(height - (bottom - low) * up), y + 1), height);
      for (let row = y; row < last; row++)
        pixels.fill(number, row * width + left, row * width + right);
    };
    sums.segments.forEach((segment, i) => {
      if (!segment.hasAddress)
        return;
      const bottom = this.positionOf(segment);
      segmentSpans(segment, (start, end, used) =>
        fill(start, end, bottom, segment.size, SHOWS.segment + 2 * i + (used ? 1 : 0)));
    });
    sums.blocks.forEach((block, i) => block.hasAddress &&
      fill(block.born, block.ended, this.positionOf(block), block.size, SHOWS.block + i));
    return pixels;
  }

  extent(block) {
    const bottom = this.positionOf(block);
    return [bottom, bottom + block.size];
  }

  /* [{ at, size, text }]: where a region begins, and how it is named. */
  labels() {
    const { data } = this.sums.set, isOne = (key) => new Set(this.regions.map((region) => region[key])).size < 2;
    const names = { process: isOne("process"), place: isOne("place") };
    return this.regions.map(({ process, place, start, end, at }) => ({ at, size: end - start,
      text: [`0x${start.toString(16)}`, names.place ? "" : data.raw.names[place],
        names.process ? "" : `process ${data.raw.recording.processes[process]?.pid ?? ""}`]
        .filter(Boolean).join(", ") }));
  }
}

export function layOutBlocks(order, sums) {
  return order === "address" ? new AddressLayout(sums) : new AgeLayout(sums);
}
