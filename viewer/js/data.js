// SPDX-License-Identifier: MIT
// data.js - what the page carries, unpacked: rows over time, call sites, stacks.
import { Blocks } from "./blocks.js";
import { Lives, inflate } from "./lives.js";
import { lastPart } from "./format.js";
import { siteWeights } from "./weights.js";

/* The order of a site's numbers, as src/page/data.c writes them. */
const SITE = ["stack", "kind", "live", "liveBytes", "peak", "peakBytes", "created", "totalBytes",
  "mostBytes", "first", "last", "held", "leaked", "leakedBytes", "unreleased",
  "unreleasedBytes", "place", "stackCount", "parts"];
/* The same of one of several stacks of a site. */
const PART = ["stack", "leaked", "leakedBytes", "unreleased", "unreleasedBytes", "peak",
  "peakBytes", "created", "totalBytes"];

export function* varints(base64) {
  const text = atob(base64);
  for (let i = 0; i < text.length;) {
    let value = 0, scale = 1, byte;
    do {
      byte = text.charCodeAt(i++);
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127 && i < text.length);
    yield value;
  }
}

/* Numbers beyond 32 bits: no shifts. */
export function unzigzag(value) {
  return value % 2 ? -(value + 1) / 2 : value / 2;
}

function unpackTimes(base64) {
  let now = 0;
  return Float64Array.from(varints(base64), (step) => (now += step) / 1e9);
}

function unpackChannel(base64, count) {
  const low = new Float64Array(count), high = new Float64Array(count);
  const last = new Float64Array(count);
  if (!base64)
    return { low, high, last, empty: true };
  const words = varints(base64);
  for (let i = 0, now = 0; i < count; i++) {
    now += unzigzag(words.next().value);
    last[i] = now;
    low[i] = now - words.next().value;
    high[i] = now + words.next().value;
  }
  return { low, high, last, empty: false };
}

/* The last index whose value is at most `value`; -1 for none. */
export function indexUpTo(sorted, value) {
  let from = 0, to = sorted.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sorted[middle] <= value)
      from = middle + 1;
    else
      to = middle;
  }
  return from - 1;
}

/* Pairs of rows become one: nothing low or high is lost. */
function coarser(level) {
  const count = Math.ceil(level.times.length / 2), times = new Float64Array(count);
  const channels = {};
  for (let i = 0; i < count; i++)
    times[i] = level.times[Math.min(2 * i + 1, level.times.length - 1)];
  for (const [name, c] of Object.entries(level.channels)) {
    const low = new Float64Array(count), high = new Float64Array(count);
    const last = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      const a = 2 * i, b = Math.min(a + 1, level.times.length - 1);
      low[i] = Math.min(c.low[a], c.low[b]);
      high[i] = Math.max(c.high[a], c.high[b]);
      last[i] = c.last[b];
    }
    channels[name] = { low, high, last, empty: c.empty };
  }
  return { times, channels };
}

/* Totals over time; level(from, to, most) has at most about `most` rows between these moments. */
class Pyramid {
  constructor(rows) {
    const times = unpackTimes(rows.times);
    this.step = rows.step_ns / 1e9;
    this.exact = rows.step_ns === 1;
    this.levels = [{ times, channels: {} }];
    for (const name of ["device", "host", "objects"])
      this.levels[0].channels[name] = unpackChannel(rows[name], times.length);
    while (this.levels.at(-1).times.length > 256)
      this.levels.push(coarser(this.levels.at(-1)));
  }

  level(from, to, most) {
    for (const level of this.levels) {
      const first = indexUpTo(level.times, from), last = indexUpTo(level.times, to);
      if (last - first <= most)
        return level;
    }
    return this.levels.at(-1);
  }
}

class RecordingSet {
  constructor(raw, data) {
    Object.assign(this, { raw, data, pid: raw.pid });
    this.totals = new Pyramid(raw.rows);
    this.rowTimes = unpackTimes(raw.kind_rows.times);
    this.rowStep = raw.kind_rows.step_ns / 1e9;
    this.exact = raw.kind_rows.step_ns === 1;
    this.kinds = raw.kinds.map((kind, index) => ({ ...kind, index, key: `${kind.api} ${kind.name}`,
      onDevice: kind.memory === "device" || kind.memory === "shared",
      bytes: unpackChannel(kind.bytes, this.rowTimes.length),
      objects: unpackChannel(kind.objects, this.rowTimes.length) }));
    this.lives = raw.lives.bytes ? new Lives(raw.lives, raw.lives.bytes, this.rowTimes, data.end) : null;
    this.sites = raw.sites.map((numbers, index) => {
      const site = Object.fromEntries(SITE.map((name, i) => [name, numbers[i]]));
      return Object.assign(site, { index, kind: this.kinds[site.kind],
        frames: data.stack(site.stack), place: data.place(site.place), first: site.first / 1e9,
        last: site.last / 1e9, allParts: () => this.partsOf(site) });
    });
    this.leaks = raw.leaks.map((leak) => ({ ...leak, site: this.sites[leak.site] }));
    this.held = raw.held.map((leak) => ({ ...leak, site: this.sites[leak.site] }));
    this.end = data.end;
  }

  /* Single blocks of memory; null where the browser cannot unpack them. */
  get blocks() {
    const { blocks } = this.raw;
    this.unpackedBlocks ??= blocks.bytes && new Blocks(blocks, blocks.bytes, this);
    return this.unpackedBlocks;
  }

  /* Each stack of a site with what it created; the site itself where there is one. */
  partsOf(site) {
    const parts = [];
    for (let i = 0; i < site.parts.length; i += PART.length) {
      const part = Object.fromEntries(PART.map((name, k) => [name, site.parts[i + k]]));
      parts.push(Object.assign(part, { frames: this.data.stack(part.stack) }));
    }
    return parts.length ? parts : [site];
  }

  /*
   * What was alive at a moment: by kind, and by site as of the last step before it. Sites that are
   * not in the page are `rest`.
   */
  at(time, filter = null) {
    const step = this.lives ? this.lives.stepAt(time) : -1;
    const row = this.lives ? (step < 0 ? -1 : this.lives.rowOf(step)) : indexUpTo(this.rowTimes, time);
    const { sites, rest, note } = siteWeights(this, { what: "moment", to: time }, filter);
    const kinds = this.kinds.map((kind) => ({ kind, bytes: row < 0 || filter ? 0 : kind.bytes.last[row],
      count: row < 0 || filter ? 0 : kind.objects.last[row] }));
    if (filter)
      for (const { site, bytes, count } of sites) {
        kinds[site.kind.index].bytes += bytes;
        kinds[site.kind.index].count += count;
      }
    return { time: row < 0 ? 0 : this.rowTimes[row], kinds, sites, note,
      rest: filter ? rest : null, isBefore: row < 0 };
  }

  /* At the peak every site's share is known exactly; sites that are not in the page are `rest`. */
  atPeak(filter = null) {
    const kinds = this.kinds.map((kind) => ({ kind, bytes: 0, count: 0 }));
    const { sites, rest, note } = siteWeights(this, { what: "peak" }, filter);
    for (const { site, bytes, count } of sites) {
      kinds[site.kind.index].bytes += bytes;
      kinds[site.kind.index].count += count;
    }
    return { time: this.raw.peak.time_ns / 1e9, kinds, sites, rest, note, peak: true };
  }
}

export class PageData {
  constructor(raw) {
    this.raw = raw;
    this.end = raw.end_ns / 1e9;
    this.stacks = new Map();
    this.sets = [];
  }

  /* Before anything else: unpacks what is compressed, here and in the recordings that are compared. */
  async unpack() {
    this.sides = await Promise.all([this.raw.old, this.raw.new].filter(Boolean).map((one) =>
      new PageData(one).unpack()));
    await Promise.all((this.raw.sets || []).map(async ({ lives, blocks }) => {
      lives.bytes = lives.packed ? await inflate(lives.packed) : null;
      lives.packed = "";
      blocks.bytes = await inflate(blocks.packed);
      blocks.packed = "";
    }));
    return this;
  }

  /* Frames of a stack, innermost first. */
  stack(number) {
    if (!this.stacks.has(number))
      this.stacks.set(number, this.raw.stacks[number].map((i) => this.frame(i)));
    return this.stacks.get(number);
  }

  /* How a stack is said (src/replay/place.h): its words, all "" without a stack. */
  place(number) {
    const [name, where, via, callers] = this.raw.places[number].map((i) => this.raw.names[i]);
    return { name, where, via, callers };
  }

  frame(number) {
    const [fn, file, line, module, offset, flags, brief, below] = this.raw.frames[number];
    const names = this.raw.names, moduleName = names[module];
    const place = file ? names[file] : "";
    const path = place ? this.relative(names[below || file]) : moduleName;
    const name = fn ? names[fn] : `${lastPart(moduleName) || "?"}+${offset}`;
    return { name, brief: brief ? names[brief] : name, known: fn > 0, file: place, line, module: moduleName, inlined: !!(flags & 1),
      library: !!(flags & 2),
      path, where: place && line ? `${path}:${line}` : path };
  }

  /* Without the detours of a compiler's paths, from where the program was started. */
  relative(file) {
    const folder = this.raw.directory;
    let path = file;
    for (let before = ""; before !== path;) {
      before = path;
      path = path.replace(/\/(?!\.\.\/)[^/]+\/\.\.\//, "/");
    }
    return folder && folder !== "/" && path.startsWith(folder + "/") ?
      path.slice(folder.length + 1) : path;
  }

  /* Of the process with this number; of all together where there is none. */
  set(pid) {
    const index = Math.max(0, this.raw.sets.findIndex((set) => set.pid === pid));
    return this.sets[index] ||= new RecordingSet(this.raw.sets[index], this);
  }
}
