// SPDX-License-Identifier: MIT
// mistakes.js - mistakes other than leaks.
import { el, section } from "./dom.js";
import { chosenFilter } from "./filterbar.js";
import { formatBytes, formatCount, formatTime, plural } from "./format.js";
import { placeLine, placeText, stackList } from "./stack.js";
import { pictureButtons } from "./picture.js";
import { state } from "./state.js";
import { rowsSvg } from "./table_svg.js";

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

const GROUPS_OF_MISTAKES = [["Redundant releases", "redundant", redundantEntry],
  ["Blocks freed by an address inside them", "interior", interiorEntry], ["Failed calls", "failures", failureEntry],
  ["Calls during which a process ended", "last_calls", lastCallEntry]];

/* What a filter knows of a call: as a call site. */
function siteOfCall(set, call) {
  const apis = set.kinds.filter((kind) => kind.name === call.kind).map((kind) => kind.api);
  return { kind: { name: call.kind, api: apis.join(" ") }, place: set.data.place(call.place),
    frames: [...set.data.stack(call.stack), { name: call.function, where: "" }] };
}

/* [title, calls, entry] of those that the filter lets through. */
function shownMistakes(set) {
  const filter = chosenFilter();
  return GROUPS_OF_MISTAKES.map(([title, name, draw]) => [title, set.raw.mistakes[name].filter((call) =>
    !filter || filter.site(siteOfCall(set, call))), draw]);
}

function mistakeRows(set) {
  return [["Mistake", "Function", "Kind", "Count", "Result", "Where"], ...shownMistakes(set).flatMap(([title, calls]) =>
    calls.map((call) => [title, call.function, call.kind, call.count ?? 1, call.result_name || call.result || "",
      call.place ? placeText(set.data.place(call.place)) : ""]))];
}

/* What no call site has, in sentences. */
function mistakeNotes(m) {
  const notes = [];
  if (m.left_out)
    notes.push(el("p", { class: "dim", text: `${formatCount(m.left_out)} more are not shown: gputrack report lists all.` }));
  if (m.unknown_ends)
    notes.push(el("p", { text: plural(m.unknown_ends, "release", "releases") +
      " of resources created before tracking began" }));
  if (m.unsure_ends)
    notes.push(el("p", { text: plural(m.unsure_ends, "release", "releases") +
      " of resources already released, or created by calls that were not recorded" }));
  if (m.replaced)
    notes.push(el("p", { text: plural(m.replaced, "resource was", "resources were") +
      " created with a handle still in use: the previous release was not recorded" }));
  if (m.size_mismatches)
    notes.push(el("p", { text: plural(m.size_mismatches, "block was", "blocks were") +
      " freed with a size other than the allocated one" }));
  return notes;
}

/* null when there are none. */
export function mistakesSection(set) {
  const node = section("mistakes", "Mistakes"), notes = mistakeNotes(set.raw.mistakes), rows = () => mistakeRows(set);
  const count = rows().length - 1, list = el("div"), said = el("p", { class: "dim small", hidden: true });
  const draw = () => {
    const shown = rows().length - 1, filter = chosenFilter();
    list.replaceChildren(...shownMistakes(set).filter(([, calls]) => calls.length).flatMap(([title, calls, entryOf]) =>
      [el("h3", { text: title }), ...calls.map((call) => entryOf(set, call))]));
    said.hidden = !filter || (shown === count && !filter.needsLives);
    said.textContent = [shown === count ? "" : `${formatCount(shown)} of ${formatCount(count)}, by the filter.`,
      filter?.beyondSites(shown) ?? ""].filter(Boolean).join(" ");
  };
  if (!notes.length && !set.raw.mistakes.failed && GROUPS_OF_MISTAKES.every(([, name]) => !set.raw.mistakes[name].length))
    return null;
  if (count)
    node.querySelector(".section-head").append(pictureButtons("mistakes", { rows, svg: () => rowsSvg("Mistakes", rows()) }));
  node.append(list, said, ...notes);
  state.on(["filter"], draw);
  draw();
  return node;
}
