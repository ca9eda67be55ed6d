// SPDX-License-Identifier: MIT
// compare_flame.js - the differential flame graph: both recordings' stacks, grown red, shrunk blue.
import { Flame } from "./flame.js";
import { chosenFilter } from "./filterbar.js";
import { formatCount, formatValue } from "./format.js";
import { stackKey } from "./flame_tree.js";
import { weights } from "./weights.js";

const COMPARED = [["leaked", "Leaked"], ["live", "Not released"], ["peak", "At the peak"], ["total", "All created"]];

export class CompareFlame extends Flame {
  constructor(old, now, tableState) {
    super(now, tableState, { old, isDiff: true });
  }

  get choices() {
    return COMPARED;
  }

  get preferred() {
    return this.old.raw.unreleased || this.set.raw.unreleased ? "leaked" : "peak";
  }

  /* A stack of both recordings is one entry; functions and files make it the same, not lines. */
  weighted() {
    const filter = chosenFilter(), selection = { what: this.mode }, pairs = new Map(), rests = [];
    const sides = [["old", this.old], ["value", this.set]].map(([side, set]) =>
      ({ side, ...weights(set, selection, filter) }));
    const field = this.chooseUnit(...sides.map(({ stacks }) => stacks), ...sides.map(({ rest }) => rest));
    this.hasOther = sides.some(({ stacks }) => stacks.length > 0);
    for (const { side, stacks, rest } of sides) {
      for (const { site, frames, [field]: value } of stacks) {
        const key = stackKey(frames, site.kind);
        if (!value)
          continue;
        if (!pairs.has(key))
          pairs.set(key, { site, frames, value: 0, old: 0 });
        pairs.get(key)[side] += value;
        if (side === "value")
          Object.assign(pairs.get(key), { site, frames });
      }
      rests.push(rest[field]);
    }
    const entries = [...pairs.values()];
    if (rests[0] || rests[1])
      entries.push({ name: "other call sites", value: rests[1], old: rests[0] });
    return { entries, differs: true, note: ["The width of a box is the larger of both recordings; " +
      "red has grown, blue has shrunk.", sides[1].note].join(" ").trim() };
  }

  emptyText() {
    return this.hasOther || chosenFilter() ? super.emptyText() : "Neither recording has any.";
  }

  valueText({ value, old }) {
    const words = (number) => formatValue(number, this.unit);
    return `${words(old)} → ${words(value)}${this.unit === "bytes" ? "" : " resources"}` +
      (old && value !== old ? `, ${value > old ? "+" : "−"}${formatCount(Math.abs(value - old) / old * 100)} %` :
        value === old ? ", as before" : ", new");
  }
}
