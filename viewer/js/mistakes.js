// SPDX-License-Identifier: MIT
// mistakes.js - mistakes other than leaks.
import { el, section } from "./dom.js";
import { formatBytes, formatCount, formatTime, plural } from "./format.js";
import { placeLine, placeText, stackList } from "./stack.js";
import { pictureButtons } from "./picture.js";

function resultText(call) {
  return call.result_name ? ` with ${call.result_name}` :
    call.result ? ` with error ${call.result}` : "";
}

function labelled(set, label, stack) {
  return [el("h4", { text: label }), stackList(set.data.stack(stack))];
}

function entry(set, call, title, ...content) {
  return el("details", { class: "card mistake" }, el("summary", {}, title,
    call.place ? el("span", { class: "at" }, " at ", placeLine(set.data.place(call.place))) : null),
  ...content);
}

function redundantEntry(set, call) {
  return entry(set, call, `${formatCount(call.count)} × ${call.function} on ${call.kind} ${call.handle}` +
    resultText(call) + (call.fatal ? ", during which the process died" : ""),
  labelled(set, "released again at", call.stack), labelled(set, "already released at", call.ended),
  labelled(set, "created at", call.created));
}

function interiorEntry(set, call) {
  return entry(set, call, `${formatCount(call.count)} × ${call.function} of ${call.handle} + ${call.offset}, in a block of ` +
    formatBytes(call.bytes), labelled(set, "freed at", call.stack), labelled(set, "created at", call.created));
}

function failureEntry(set, call) {
  return entry(set, call, `${formatCount(call.count)} × ${call.function}${resultText(call)}` +
    (call.bytes ? `, ${formatBytes(call.bytes)} requested` : ""),
  labelled(set, `first at ${formatTime(call.time_ns / 1e9)}`, call.stack));
}

function lastCallEntry(set, call) {
  const list = (call.arguments || []).map((a) => `${a.name}=${a.value}`).join(", ");
  return entry(set, call, `pid ${call.pid}, thread ${call.tid}, ${call.end}: ${call.function}` +
    (list ? `(${list})` : ` on ${call.handle}`), labelled(set, "called at", call.stack));
}

/* null when there are none. */
export function mistakesSection(set) {
  const m = set.raw.mistakes, node = section("mistakes", "Mistakes");
  const rows = [["Mistake", "Function", "Kind", "Count", "Result", "Where"]];
  const group = (title, list, draw) => {
    rows.push(...list.map((call) => [title, call.function, call.kind, call.count ?? 1, call.result_name ||
      call.result || "", call.place ? placeText(set.data.place(call.place)) : ""]));
    if (list.length)
      node.append(el("h3", { text: title }), ...list.map((call) => draw(set, call)));
  };
  group("Redundant releases", m.redundant, redundantEntry);
  group("Blocks freed by an address inside them", m.interior, interiorEntry);
  group("Failed calls", m.failures, failureEntry);
  group("Calls during which a process ended", m.last_calls, lastCallEntry);
  if (m.left_out)
    node.append(el("p", { class: "dim", text: `${formatCount(m.left_out)} more are not shown.` }));
  if (m.unknown_ends)
    node.append(el("p", { text: plural(m.unknown_ends, "release", "releases") +
      " of resources created before tracking began" }));
  if (m.unsure_ends)
    node.append(el("p", { text: plural(m.unsure_ends, "release", "releases") +
      " of resources already released, or created by calls that were not recorded" }));
  if (m.replaced)
    node.append(el("p", { text: plural(m.replaced, "resource was", "resources were") +
      " created with a handle still in use: the previous release was not recorded" }));
  if (m.size_mismatches)
    node.append(el("p", { text: plural(m.size_mismatches, "block was", "blocks were") +
      " freed with a size other than the allocated one" }));
  if (rows.length > 1)
    node.querySelector(".section-head").append(pictureButtons("mistakes", { rows: () => rows }));
  return node.children.length > 1 ? node : null;
}
