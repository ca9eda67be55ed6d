// SPDX-License-Identifier: MIT
// weights.js - bytes and resources by call stack, for whatever is selected (state.js).

/* The fields of a site, and of one of its stacks, that answer what needs no time. */
const WEIGHT_FIELDS = { leaked: ["leakedBytes", "leaked"], live: ["unreleasedBytes", "unreleased"],
  peak: ["peakBytes", "peak"], total: ["totalBytes", "created"] };
const REST_FIELDS = { leaked: ["leaked_bytes", "leaked"], live: ["live_bytes", "live"],
  peak: ["peak_bytes", "peak"], total: ["total_bytes", "created"] };

/*
 * { stacks: [{ site, frames, bytes, count }], rest: { sites, bytes, count }, note }: `rest` is what
 * the page has no stacks of, `note` says what the filter could not tell ("": nothing). Values of
 * "net" may be negative. `filter` is null, or one of filter.js.
 */
export function weights(set, selection, filter = null) {
  const { what } = selection, fields = WEIGHT_FIELDS[what];
  if (!fields)
    return livesWeights(set, { ...selection }, filter);
  const known = filter?.needsLives && set.lives ? knownByLives(set, what) : null;
  const lives = known && livesWeights(set, LIVES_OF[what](set), filter);
  const stacks = known ? lives.stacks.filter(({ site }) => known.has(site)) : [];
  let unknown = 0;
  for (const site of set.sites) {
    if ((filter && !filter.site(site)) || known?.has(site))
      continue;
    for (const part of set.partsOf(site))
      if (part[fields[0]] || part[fields[1]])
        stacks.push({ site, frames: part.frames, bytes: part[fields[0]], count: part[fields[1]] });
    unknown += site[fields[1]] > 0;
  }
  const [bytes, count] = REST_FIELDS[what], { rest } = set.raw;
  const notes = filter ? [known ? filter.beyondLives(set) : "", filter.beyondSites(unknown)] : [];
  return { stacks, note: notes.filter(Boolean).join(" "), rest: known && what === "total" ? lives.rest :
    filter ? noRest() : { sites: rest.sites, bytes: rest[bytes], count: rest[count] } };
}

/* What lives have of that. */
const alive = (to) => ({ what: "moment", to });
const LIVES_OF = { leaked: () => alive(Infinity), live: () => alive(Infinity),
  peak: (set) => alive(set.raw.peak.time_ns / 1e9), total: () => ({ what: "allocated", to: Infinity }) };

/*
 * The call sites of which lives have the same: there, words about single resources can be heeded. Not
 * so if some of what a site left is no leak, or if a step of the page passes over the peak.
 */
function knownByLives(set, what) {
  set.known ??= {};
  if (!set.known[what]) {
    const [bytes, count] = WEIGHT_FIELDS[what], sums = new Map();
    for (const one of livesWeights(set, LIVES_OF[what](set), null).stacks) {
      const sum = sums.get(one.site) || { bytes: 0, count: 0 };
      sums.set(one.site, { bytes: sum.bytes + one.bytes, count: sum.count + one.count });
    }
    set.known[what] = new Set(set.sites.filter((site) => {
      const sum = sums.get(site) || noRest();
      return sum.bytes === site[bytes] && sum.count === site[count];
    }));
  }
  return set.known[what];
}

function noRest() {
  return { sites: 0, bytes: 0, count: 0 };
}

function livesWeights(set, selection, filter) {
  const stacks = new Map(), rest = noRest();
  if (selection.from !== undefined && set.lives)
    [selection.from, selection.to] = set.lives.around(selection.from, selection.to);
  set.lives?.sum(selection, filter && filter.over(set), (origin, bytes, count) => {
    const site = set.sites[origin.site], key = origin.site * 2 ** 32 + origin.stack;
    if (!site) {
      Object.assign(rest, { sites: set.raw.rest.sites, bytes: rest.bytes + bytes,
        count: rest.count + count });
      return;
    }
    const one = stacks.get(key);
    if (one) {
      one.bytes += bytes;
      one.count += count;
    } else {
      stacks.set(key, { site, frames: set.data.stack(origin.stack), bytes, count });
    }
  });
  return { stacks: [...stacks.values()], rest, note: filter?.beyondLives(set) ?? "" };
}

/* The same by call site: [{ site, bytes, count }], the biggest first. */
export function siteWeights(set, selection, filter = null) {
  const { stacks, rest, note } = weights(set, selection, filter), sites = new Map();
  for (const { site, bytes, count } of stacks) {
    const one = sites.get(site) || { site, bytes: 0, count: 0 };
    one.bytes += bytes;
    one.count += count;
    sites.set(site, one);
  }
  return { sites: [...sites.values()].filter((one) => one.bytes || one.count)
    .sort((a, b) => Math.abs(b.bytes) - Math.abs(a.bytes) || Math.abs(b.count) - Math.abs(a.count)),
  rest, note };
}
