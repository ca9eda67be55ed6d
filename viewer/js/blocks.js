// SPDX-License-Identifier: MIT
// blocks.js - single blocks of device memory and the segments of pools (src/page/blocks.h), unpacked.
import { indexUpTo } from "./data.js";
import { Columns } from "./lives.js";

/* As src/page/blocks_json.c writes them. */
const BLOCK = ["site", "kind", "stack", "words", "process", "place", "tid", "phase", "size", "handle",
  "born", "life", "freedStack", "freedWords", "flags"];
const SEGMENT = ["site", "kind", "stack", "process", "place", "address", "size", "born", "life", "points"];
const HAS_ADDRESS = 1, STACK_LEFT_OUT = 2;
const ENDED_BY = ["call", "creation", "owner", "holder", "process"];

/* Rows of a table that is written column by column; births are differences, times nanoseconds. */
function readRows(columns, names, count) {
  const table = names.map(() => columns.read(count)), rows = [];
  for (let i = 0, now = 0; i < count; i++) {
    const row = Object.fromEntries(names.map((name, k) => [name, table[k][i]]));
    now += row.born;
    row.born = now / 1e9;
    row.ended = row.life ? (now + row.life - 1) / 1e9 : Infinity;
    rows.push(Object.assign(row, { index: i, bornNs: now }));
  }
  return rows;
}

function readPoints(columns, segments) {
  const times = segments.map((segment) => columns.read(segment.points));
  const used = segments.map((segment) => columns.read(segment.points));
  segments.forEach((segment, i) => {
    let now = segment.bornNs, bytes = 0;
    segment.times = times[i].map((step) => (now += step) / 1e9);
    segment.used = used[i].map((step) => bytes += step % 2 ? -(step + 1) / 2 : step / 2);
  });
}

export class Blocks {
  constructor(raw, bytes, set) {
    const columns = new Columns(bytes);
    this.set = set;
    this.total = raw.total;
    this.segmentTotal = raw.segment_total;
    this.list = readRows(columns, BLOCK, raw.count);
    this.segments = readRows(columns, SEGMENT, raw.segments);
    readPoints(columns, this.segments);
    for (const block of this.list)
      Object.assign(block, { site: this.siteOf(block), hasAddress: (block.flags & HAS_ADDRESS) > 0,
        address: block.handle, isStackLeftOut: (block.flags & STACK_LEFT_OUT) > 0,
        endedBy: block.life ? ENDED_BY[block.flags >> 2] : "" });
    for (const segment of this.segments)
      Object.assign(segment, { isSegment: true, words: 0, site: this.siteOf(segment),
        hasAddress: segment.address > 0 });
  }

  /* Everything is drawn one by one. */
  get isComplete() {
    return this.list.length === this.total && this.segments.length === this.segmentTotal;
  }

  /* Its call site; where the page has none of it, one made of what is known. */
  siteOf({ site, kind, stack, words }) {
    const { sites, kinds, data } = this.set;
    return sites[site] || { index: -1 - words, kind: kinds[kind], frames: data.stack(stack),
      place: data.place(words), parts: [], stackCount: 1 };
  }

  /* { frames, place } of the call that created it, and of the one that freed it; null: unknown. */
  createdBy(block) {
    const { data } = this.set;
    return { frames: data.stack(block.stack), place: block.words ? data.place(block.words) : block.site.place };
  }

  freedBy({ freedStack, freedWords }) {
    const { data } = this.set;
    return freedStack ? { frames: data.stack(freedStack), place: data.place(freedWords) } : null;
  }

  /* By what a link says; null for none. */
  byName(name) {
    this.names ??= new Map([...this.list, ...this.segments].map((block) => [blockName(block), block]));
    return this.names.get(name) ?? null;
  }
}

/* When and where it was allocated: newer data of a running program have the same name for it. */
export function blockName({ isSegment, bornNs, address }) {
  return `${isSegment ? "s" : ""}${bornNs}.${address.toString(16)}`;
}

/* Bytes of a segment that lie in blocks at a moment. */
export function usedAt(segment, time) {
  const at = indexUpTo(segment.times, time);
  return at < 0 ? 0 : segment.used[at];
}
