// SPDX-License-Identifier: MIT
// weights.js - bytes and resources by call stack, for whatever is selected (state.js).

/* The fields of a site, and of one of its stacks, that answer what needs no time. */
const WEIGHT_FIELDS = { leaked: ["leakedBytes", "leaked"], live: ["unreleasedBytes", "unreleased"],
  peak: ["peakBytes", "peak"], total: ["totalBytes", "created"] };
const REST_FIELDS = { leaked: ["leaked_bytes", "leaked"], live: ["live_bytes", "live"],
  peak: ["peak_bytes", "peak"], total: ["total_bytes", "created"] };

/*
 * { stacks: [{ site, frames, bytes, count }], rest: { sites, bytes, count }, note }: `rest` is what
 * the page has no stacks of, `note` says how exact this is ("": exactly). Values of "net" may be
 * negative. `keeps(site)` is the filter.
 */
export function weights(set, selection, keeps = () => true) {
  const fields = WEIGHT_FIELDS[selection.what];
  if (!fields)
    return timedWeights(set, selection, keeps);
  const stacks = [];
  for (const site of set.sites)
    if (keeps(site))
      for (const part of set.partsOf(site))
        if (part[fields[0]] || part[fields[1]])
          stacks.push({ site, frames: part.frames, bytes: part[fields[0]], count: part[fields[1]] });
  const [bytes, count] = REST_FIELDS[selection.what];
  return { stacks, note: "", rest: { sites: set.raw.rest.sites, bytes: set.raw.rest[bytes],
    count: set.raw.rest[count] } };
}

function timedWeights(set, { what, from, to }, keeps) {
  const after = set.at(to), before = what === "moment" ? null : set.at(from);
  const held = new Map(before?.sites.map((one) => [one.site, one]));
  const stacks = [];
  for (const site of set.sites) {
    const now = after.sites.find((one) => one.site === site), then = held.get(site);
    const bytes = (now?.bytes ?? 0) - (then?.bytes ?? 0), count = (now?.count ?? 0) - (then?.count ?? 0);
    if ((bytes || count) && keeps(site))
      stacks.push({ site, frames: site.frames, bytes, count });
  }
  return { stacks, note: "", rest: { sites: 0, bytes: 0, count: 0 } };
}
