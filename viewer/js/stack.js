// SPDX-License-Identifier: MIT
// stack.js - stacks and places as text on the page.
import { el } from "./dom.js";
import { lastPart } from "./format.js";

/* A path that is too long for its line keeps its end. */
function cutStart(where) {
  return where.length > 64 ? "…" + where.slice(-63) : where;
}

function whereOf(frame) {
  return el("span", { class: "where", title: frame.file || frame.module }, cutStart(frame.where));
}

export function placeText(place) {
  return place.name + (place.where && " " + place.where) + place.via + place.callers;
}

/* The user's own line, what it called on the way to the API, and its callers, on one line. */
export function placeLine(place) {
  if (!place.name)
    return el("span", { class: "dim", text: "(no stack)" });
  return el("span", { class: "place", title: placeText(place) },
    el("code", { class: "fn", text: place.name }), place.where ? " " : null,
    place.where ? el("span", { class: "where", text: cutStart(place.where) }) : null,
    place.via ? el("span", { class: "via", text: place.via }) : null,
    place.callers ? el("span", { class: "callers", text: place.callers }) : null);
}

export function stackList(frames) {
  if (!frames.length)
    return el("p", { class: "dim", text: "No stack recorded." });
  return el("ol", { class: "stack" }, frames.map((frame) => el("li",
    { class: frame.library ? "library" : "" },
    el("code", { class: "fn", text: frame.name }), " ", whereOf(frame),
    frame.inlined ? el("span", { class: "tag", text: "inlined" }) : null,
    frame.known || !frame.module ? null :
      el("span", { class: "dim", text: " " + lastPart(frame.module) }))));
}

/* The stack of a call site, whole; the biggest if several lead there. */
export function siteStack(site) {
  return [stackList(site.frames), site.parts.length ? el("p", { class: "facts",
    text: `the largest of ${site.stackCount} stacks of this place` }) : null];
}

/* The text a filter searches. */
export function siteWords(site) {
  return `${placeText(site.place)} ` +
    site.frames.map((frame) => `${frame.name} ${frame.where}`).join(" ");
}
