// SPDX-License-Identifier: MIT
// mistakes.js - what the program did wrong besides leaking.
import { el, section } from "./dom.js";
import { formatBytes, formatCount, formatTime, plural } from "./format.js";
import { stackList } from "./stack.js";

function resultText(call) {
  return call.result_name ? ` with ${call.result_name}` :
    call.result ? ` with error ${call.result}` : "";
}

function labelled(set, label, stack) {
  return [el("h4", { text: label }), stackList(set.data.stack(stack))];
}

function entry(title, ...content) {
  return el("details", { class: "card mistake" }, el("summary", { text: title }), ...content);
}

function redundantEntry(set, call) {
  return entry(`${formatCount(call.count)} × ${call.function} of the ${call.kind} ${call.handle}` +
    resultText(call) + (call.fatal ? ", in which the process died" : ""),
  labelled(set, "released again at", call.stack), labelled(set, "already released at", call.ended),
  labelled(set, "created at", call.created));
}

function failureEntry(set, call) {
  return entry(`${formatCount(call.count)} × ${call.function}${resultText(call)}` +
    (call.bytes ? `, ${formatBytes(call.bytes)} asked for` : ""),
  labelled(set, `first at ${formatTime(call.time_ns / 1e9)}`, call.stack));
}

function lastCallEntry(set, call) {
  return entry(`pid ${call.pid}, thread ${call.tid} ended in ${call.function} of ${call.handle}`,
    labelled(set, "called at", call.stack));
}

/* null when there is nothing to tell. */
export function mistakesSection(set) {
  const m = set.raw.mistakes, node = section("mistakes", "Mistakes");
  const group = (title, list, draw) => {
    if (list.length)
      node.append(el("h3", { text: title }), ...list.map((call) => draw(set, call)));
  };
  group("Released when it was dead already", m.redundant, redundantEntry);
  group("Calls that failed", m.failures, failureEntry);
  group("Calls that a process ended in", m.last_calls, lastCallEntry);
  if (m.left_out)
    node.append(el("p", { class: "dim", text: `${formatCount(m.left_out)} more are left out.` }));
  if (m.unknown_ends)
    node.append(el("p", { text: plural(m.unknown_ends, "release", "releases") +
      " of what was created before tracking began" }));
  if (m.replaced)
    node.append(el("p", { text: plural(m.replaced, "resource was", "resources were") +
      " created under a handle that was still alive: the release before it was not seen" }));
  if (m.size_mismatches)
    node.append(el("p", { text: plural(m.size_mismatches, "release", "releases") +
      " named another size than was created" }));
  return node.children.length > 1 ? node : null;
}
