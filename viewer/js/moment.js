// SPDX-License-Identifier: MIT
// moment.js - resources alive at a chosen moment.
import { el } from "./dom.js";
import { kindColor } from "./charts.js";
import { formatBytes, formatCount, formatKind, formatTime } from "./format.js";
import { placeLine, siteStack } from "./stack.js";
import { state } from "./state.js";

const SHOWN = 12, NOTHING = { bytes: 0, count: 0 };

export class Moment {
  constructor(set) {
    this.set = set;
    this.node = el("div", { class: "card moment", aria: { live: "polite" } });
    state.on(["at"], () => this.draw());
  }

  draw() {
    const { at } = state.values, peak = at === "peak" && this.set.raw.peak.bytes > 0;
    this.show(at === "peak" ? this.set.end : at, peak);
  }

  show(time, peak) {
    const now = peak ? this.set.atPeak() : this.set.at(time);
    const shown = now.kinds.filter((k) => k.kind.onDevice).reduce((a, k) => a + k.bytes, 0);
    const device = peak ? this.set.raw.peak.bytes : shown, rest = now.rest || NOTHING;
    const host = now.kinds.filter((k) => k.kind.memory === "host")
      .reduce((a, k) => a + k.bytes, 0) + rest.bytes - (device - shown);
    const count = now.kinds.reduce((a, k) => a + k.count, 0) + rest.count;
    const kinds = now.kinds.filter((k) => k.count).sort((a, b) => b.bytes - a.bytes ||
      b.count - a.count);
    now.sites.sort((a, b) => b.bytes - a.bytes || b.count - a.count);
    this.node.replaceChildren(
      el("h3", { text: peak ? `At the peak, ${formatTime(now.time, 1e-4)}` :
        `Alive at ${formatTime(time, 1e-4)}` }),
      el("p", { class: "sum" }, el("strong", { text: formatBytes(device) }),
        " of device memory", host ? `, ${formatBytes(host)} of host memory` : "",
        `, ${formatCount(count)} ${count === 1 ? "resource" : "resources"}`),
      el("p", { class: "dim", text: kinds.map((k) => formatKind(k.count, k.kind) +
        (k.bytes ? ` (${formatBytes(k.bytes)})` : "")).join(", ") }),
      this.list(now, kinds),
      el("p", { class: "dim small", text: this.precision(now, time) }));
  }

  precision(now, time) {
    if (this.set.exact)
      return "Exact: the page contains every change of this recording.";
    if (now.peak)
      return "Exact: the page contains what each call site held at the peak.";
    if (time < this.set.rowTimes[0])
      return "Nothing had happened yet.";
    return `Exact as of ${formatTime(now.time, 1e-4)}. The page contains the state at most ` +
      `every ${formatTime(this.set.rowStep, this.set.rowStep)}, for the ` +
      `${this.set.tracks.length} largest call sites; the others are combined.`;
  }

  list(now, kinds) {
    const most = Math.max(...now.sites.map((s) => s.bytes), 1);
    const mostCount = Math.max(...now.sites.map((s) => s.count), 1);
    const inBytes = now.sites.some((s) => s.bytes);
    const rows = now.sites.slice(0, SHOWN).map((s) => {
      const bar = el("span", { class: "bar", hidden: inBytes && !s.bytes });
      bar.style.width = `${inBytes ? s.bytes / most * 100 : s.count / mostCount * 100}%`;
      bar.style.background = kindColor(s.site.kind.index);
      return el("li", {}, el("details", {}, el("summary", {},
        el("span", { class: "num", text: s.bytes ? formatBytes(s.bytes) :
          formatCount(s.count) }),
        el("span", { class: "track" }, bar),
        el("span", { class: "what", text: s.bytes ? formatKind(s.count, s.site.kind) :
          s.site.kind[s.count === 1 ? "name" : "plural"] }),
        el("span", { class: "at" }, placeLine(s.site.place))), ...siteStack(s.site)));
    });
    const named = (what) => now.sites.slice(0, SHOWN).reduce((a, s) => a + s[what], 0);
    const all = (what) => kinds.reduce((a, k) => a + k[what], 0) + (now.rest || NOTHING)[what];
    const left = { bytes: all("bytes") - named("bytes"), count: all("count") - named("count") };
    if (left.count > 0)
      rows.push(el("li", { class: "dim rest", text: `${formatCount(left.count)} more resources` +
        (left.bytes ? `, ${formatBytes(left.bytes)},` : "") + " from other call sites" }));
    return el("ul", { class: "holders" }, rows);
  }
}
