// SPDX-License-Identifier: MIT
// shortage.js - that memory ran out: what was asked for, who held the rest.
import { el } from "./dom.js";
import { formatBytes, formatCount } from "./format.js";
import { placeLine, stackList } from "./stack.js";
import { state } from "./state.js";

function holderLine(set, holder) {
  return el("li", {}, el("span", { class: "num", text: formatBytes(holder.bytes) }),
    el("span", { text: holder.what }),
    el("span", { class: "at" }, placeLine(set.data.place(holder.place))));
}

/* null if memory never ran out. */
export function shortageBanner(set) {
  const short = set.raw.out_of_memory;
  if (!short)
    return null;
  const holders = short.holders.map((holder) => holderLine(set, holder));
  if (short.more_holders)
    holders.push(el("li", { class: "dim" }, el("button", { type: "button", class: "tool",
      text: `and ${formatCount(short.more_holders)} more: show all of that moment`,
      on: { click: () => state.set({ at: short.time_ns / 1e9, range: null, what: "chosen", view: "timeline" }) } })));
  return el("div", { class: "card shortage", id: "shortage" },
    el("p", {}, el("strong", { text: "OUT OF MEMORY" }), ` ${short.text}`,
      holders.length ? ", held by" : ""),
    holders.length ? el("ul", {}, holders) : null,
    el("p", { text: short.outcome + (short.count > 1 ?
      `: this was the last of ${formatCount(short.count)} such failures` : "") }),
    short.stack ? el("details", {}, el("summary", { text: "the call that failed" }),
      stackList(set.data.stack(short.stack))) : null);
}
