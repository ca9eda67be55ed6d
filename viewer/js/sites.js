// SPDX-License-Identifier: MIT
// sites.js - call sites: memory held and created by each, over time, and its growth.
import { el, section, svg } from "./dom.js";
import { formatBytes, formatCount, formatTime, formatValue } from "./format.js";
import { placeLine, placeText, siteStack, siteWords } from "./stack.js";
import { Table } from "./table.js";
import { siteWeights } from "./weights.js";

const WIDE = 120, TALL = 22;
const RATES = [[1, "s"], [60, "min"], [3600, "h"], [86400, "day"]];

/* A site's points over time: [time, value], by bytes where it has any. */
function pointsOf(set, site) {
  if (!set.lives)
    return null;
  const track = set.lives.track(site.index, site.keeps), values = site.totalBytes ? track.bytes : track.counts;
  return Array.from(set.lives.times, (time, step) => [time, values[step]]);
}

function sparkline(set, site) {
  const points = pointsOf(set, site);
  if (!points || !points.length)
    return "";
  const end = set.end || 1, top = Math.max(...points.map(([, value]) => value), 1);
  const x = (time) => (time / end * WIDE).toFixed(1);
  const y = (value) => (TALL - 1 - value / top * (TALL - 3)).toFixed(1);
  const steps = points.length > 2 * WIDE ? Math.ceil(points.length / (2 * WIDE)) : 1;
  let path = `M0 ${y(0)}`;
  for (let i = 0; i < points.length; i += steps) {
    let value = 0;
    for (let k = i; k < i + steps && k < points.length; k++)
      value = Math.max(value, points[k][1]);
    path += `H${x(points[i][0])}V${y(value)}`;
  }
  path += `V${y(points.at(-1)[1])}H${WIDE}`;
  return svg("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, width: WIDE, height: TALL,
    "aria-hidden": "true" }, svg("path", { class: "fill", d: `${path}V${y(0)}Z` }),
  svg("path", { class: "stroke", d: path }));
}

/* In the smallest unit of time that gives at least 1. */
function rateOf(rise) {
  const [seconds, name] = RATES.find(([unit]) => rise.per_second * unit >= 1) || RATES.at(-1);
  const value = rise.per_second * seconds;
  const text = rise.unit === "bytes" ? formatBytes(value) : formatCount(value, value < 100 ? 1 : 0);
  return `+${text}/${name}`;
}

function riseText(rise) {
  const value = (number) => formatValue(number, rise.unit);
  return `; keeps growing: from ${value(rise.from)} at ${formatTime(rise.since_ns / 1e9)} to ` +
    `${value(rise.to)} at ${formatTime(rise.until_ns / 1e9)}, ` +
    `${formatCount(rise.steadiness * 100)} % steady` +
    (rise.given_back ? ", released only at the end" : "");
}

/* Call sites with what a filter leaves of each; `keeps`: the filter, where it is about single resources. */
function filteredSites(set, filter) {
  const { sites, note } = siteWeights(set, { what: "total" }, filter);
  if (!filter.needsLives || !set.lives)
    return { rows: set.sites.filter((site) => filter.site(site)), note };
  const keeps = filter.over(set);
  const left = new Map(siteWeights(set, { what: "moment", to: Infinity }, filter).sites.map((one) => [one.site, one]));
  return { note, rows: sites.map(({ site, bytes, count }) => ({ ...site, keeps, totalBytes: bytes, created: count,
    live: left.get(site)?.count ?? 0, liveBytes: left.get(site)?.bytes ?? 0,
    mostBytes: set.lives.track(site.index, keeps).bytes.reduce((most, value) => Math.max(most, value), 0) })) };
}

export function sitesSection(set, state) {
  const node = section("sites", "Call sites", "Resources of one kind created at one place.");
  const growth = new Map(set.raw.growth.map((rise) => [set.sites[rise.site], rise]));
  const words = new Map();
  const bytes = (value) => value ? formatBytes(value) : "–";
  const columns = [
    { name: "live", title: "Alive at end", num: true, value: (s) => s.liveBytes || s.live / 1e6,
      cell: (s) => s.liveBytes ? formatBytes(s.liveBytes) : formatCount(s.live),
      raw: [["Alive at end (bytes)", (s) => s.liveBytes], ["Alive at end (resources)", (s) => s.live]] },
    { name: "most", title: "Peak", num: true, minor: true, value: (s) => s.mostBytes,
      cell: (s) => (s.keeps && s.mostBytes && !set.exact ? "≥ " : "") + bytes(s.mostBytes) },
    { name: "total", title: "Total", num: true, value: (s) => s.totalBytes,
      cell: (s) => bytes(s.totalBytes) },
    { name: "created", title: "Created", num: true, minor: true, value: (s) => s.created,
      cell: (s) => formatCount(s.created) },
    { name: "spark", title: "Over time", minor: true, cell: (s) => sparkline(set, s) },
    { name: "growth", title: "Growth", num: true, value: (s) => growth.get(s)?.per_second || 0,
      cell: (s) => growth.has(s) ?
        el("span", { class: "warn", text: rateOf(growth.get(s)) }) : "" },
    { name: "kind", title: "Kind", value: (s) => s.kind.name, cell: (s) => s.kind.name },
    { name: "site", title: "Where", value: (s) => placeText(s.place),
      cell: (s) => placeLine(s.place) },
  ];
  const table = new Table("Call sites", columns, set.sites, state, {
    key: (site) => site.stack + ":" + site.kind.index,
    filtered: (filter) => filteredSites(set, filter),
    open: (site) => el("div", {}, siteStack(site), el("p", { class: "facts",
      text: `${formatCount(site.created)} created from ${formatTime(site.first)} to ` +
        `${formatTime(site.last)}, ${formatCount(site.live)} alive at the end` +
        (growth.has(site) ? riseText(growth.get(site)) : "") })),
    words: (site) => {
      if (!words.has(site))
        words.set(site, `${site.kind.name} ${site.kind.api} ${siteWords(site)}`.toLowerCase());
      return words.get(site);
    } });
  node.append(table.node);
  if (set.raw.rest.sites)
    node.append(el("p", { class: "dim", text: `${formatCount(set.raw.rest.sites)} smaller ` +
      "call sites are not shown: gputrack report -a sites lists all." }));
  return node;
}
