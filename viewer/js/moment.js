// SPDX-License-Identifier: MIT
// moment.js - resources alive at the selected moment.
import { el } from "./dom.js";
import { kindColor } from "./charts.js";
import { chosenFilter } from "./filterbar.js";
import { formatBytes, formatCount, formatKind, formatTime, plural } from "./format.js";
import { placeLine, placeText, siteStack } from "./stack.js";
import { pictureButtons } from "./picture.js";
import { state } from "./state.js";
import { rowsSvg } from "./table_svg.js";

const SHOWN = 12, MORE = 200, NOTHING = { bytes: 0, count: 0 };

function sumOf(list, what) {
  return list.reduce((sum, one) => sum + one[what], 0);
}

export class Moment {
  constructor(set) {
    this.set = set;
    this.shown = SHOWN;
    this.node = el("div", { class: "card moment", aria: { live: "polite" } });
    state.on(["at", "range", "filter"], () => {
      this.shown = SHOWN;
      this.draw();
    });
  }

  draw() {
    const { at, range } = state.values, peak = at === "peak" && this.set.raw.peak.bytes > 0;
    this.node.hidden = !!range;
    if (!range)
      this.show(at === "peak" ? this.set.end : at, peak);
  }

  show(time, peak) {
    const filter = chosenFilter(), now = peak ? this.set.atPeak(filter) : this.set.at(time, filter);
    const shown = sumOf(now.kinds.filter((k) => k.kind.onDevice), "bytes");
    const device = peak && !filter ? this.set.raw.peak.bytes : shown, rest = now.rest || NOTHING;
    const host = sumOf(now.kinds.filter((k) => k.kind.memory === "host"), "bytes") + rest.bytes -
      (device - shown);
    const count = sumOf(now.kinds, "count") + rest.count;
    const kinds = now.kinds.filter((k) => k.count).sort((a, b) => b.bytes - a.bytes ||
      b.count - a.count);
    const left = { bytes: sumOf(kinds, "bytes") + rest.bytes - sumOf(now.sites, "bytes"),
      count: count - sumOf(now.sites, "count") };
    this.node.replaceChildren(
      el("div", { class: "section-head" }, el("h3", { text: peak ?
        `At the peak, ${formatTime(now.time, 1e-4)}` : `Alive at ${formatTime(time, 1e-4)}` }),
      pictureButtons("moment", { rows: () => this.rows(now.sites, left),
        svg: () => rowsSvg(this.node.querySelector("h3").textContent, this.rows(now.sites.slice(0, this.shown),
          now.sites.length > this.shown ? NOTHING : left)) })),
      el("p", { class: "sum" }, el("strong", { text: formatBytes(device) }),
        " of device memory", host ? `, ${formatBytes(host)} of host memory` : "",
        `, ${plural(count, "resource", "resources")}`),
      el("p", { class: "dim", text: kinds.map((k) => formatKind(k.count, k.kind) +
        (k.bytes ? ` (${formatBytes(k.bytes)})` : "")).join(", ") }),
      this.list(now.sites, left),
      el("p", { class: "dim small", text: [this.precision(now), now.note].join(" ") }));
  }

  precision(now) {
    if (this.set.exact)
      return "Exact: the page contains every change of this recording.";
    if (now.peak)
      return "Exact: the page contains what each call site held at the peak.";
    if (now.isBefore)
      return "Nothing had happened yet.";
    return `Exact as of ${formatTime(now.time, 1e-4)}: ${stepText(this.set)}.`;
  }

  row(s, most, mostCount, inBytes) {
    const bar = el("span", { class: "bar", hidden: inBytes && !s.bytes });
    bar.style.width = `${Math.max(inBytes ? s.bytes / most : s.count / mostCount, 0) * 100}%`;
    bar.style.background = kindColor(s.site.kind.index);
    return el("li", {}, el("details", {}, el("summary", {},
      el("span", { class: "num", text: s.bytes ? formatBytes(s.bytes) : formatCount(s.count) }),
      el("span", { class: "track" }, bar),
      el("span", { class: "what", text: s.bytes ? formatKind(s.count, s.site.kind) :
        s.site.kind[s.count === 1 ? "name" : "plural"] }),
      el("span", { class: "at" }, placeLine(s.site.place))), ...siteStack(s.site)));
  }

  rows(sites, left) {
    return [["Bytes", "Resources", "Kind", "API", "Where"],
      ...sites.map(({ site, bytes, count }) => [bytes, count, site.kind.name, site.kind.api, placeText(site.place)]),
      ...(left.count > 0 ? [[left.bytes, left.count, "", "", "call sites that are not in the page"]] : [])];
  }

  /* The call sites, the biggest first; `left` is what those that are not in the page hold. */
  list(sites, left) {
    const most = Math.max(sites[0]?.bytes ?? 0, 1), inBytes = sites.some((s) => s.bytes);
    const mostCount = sites.reduce((a, s) => Math.max(a, s.count), 1);
    const rows = sites.slice(0, this.shown).map((s) => this.row(s, most, mostCount, inBytes));
    const hidden = sites.slice(this.shown), count = sumOf(hidden, "count");
    const bytes = sumOf(hidden, "bytes");
    if (hidden.length)
      rows.push(el("li", { class: "rest" }, el("button", { type: "button", class: "tool more",
        text: `Show ${plural(count, "more resource", "more resources")}` +
          (bytes ? `, ${formatBytes(bytes)},` : "") + ` from ${
            plural(hidden.length, "other call site", "other call sites")}`,
        on: { click: () => {
          this.shown += MORE;
          this.draw();
        } } })));
    if (left.count > 0)
      rows.push(el("li", { class: "dim rest", text: `${plural(left.count, "more resource",
        "more resources")}` + (left.bytes ? `, ${formatBytes(left.bytes)},` : "") +
        " from call sites that are not in the page" }));
    return el("ul", { class: "holders" }, rows);
  }
}

/* How exact call sites over time are. */
export function stepText(set) {
  const { lives } = set, merged = set.raw.lives.merged_sites;
  if (!lives)
    return "this browser cannot unpack what the page has of call sites over time";
  return `the page has call sites over time in ${formatCount(lives.times.length)} steps of about ` +
    formatTime(set.end / Math.max(lives.times.length, 1), 1e-4) +
    (merged ? `, and the smallest ${formatCount(merged)} of them only together` : "");
}
