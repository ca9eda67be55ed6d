// SPDX-License-Identifier: MIT
// stack.js - stacks and places as text on the page.
import { el } from "./dom.js";
import { placeWord, withWord } from "./filter.js";
import { formatBytes, lastPart, plural } from "./format.js";
import { state } from "./state.js";

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

/* What one of several stacks of a place created. */
function partOfSite({ frames, totalBytes, created }) {
  return el("div", {}, el("p", { class: "facts", text: (totalBytes ? `${formatBytes(totalBytes)} in ` : "") +
    plural(created, "resource", "resources") }), stackList(frames));
}

/* The others are drawn when they are opened. */
function otherStacks(site) {
  const node = el("details", { class: "stacks", on: { toggle: () => {
    const [, ...others] = site.allParts().sort((a, b) => b.totalBytes - a.totalBytes || b.created - a.created);
    if (node.children.length < 2)
      node.append(...others.map(partOfSite), site.stackCount > others.length + 1 ? el("p", { class: "dim",
        text: `${plural(site.stackCount - others.length - 1, "more stack counts", "more stacks count")} as the largest.` }) : "");
  } } }, el("summary", { text: `the largest of ${site.stackCount} stacks of this place: show the others` }));
  return node;
}

/* The stack of a call site, whole; the biggest if several lead there. And the way to see it alone. */
export function siteStack(site) {
  return [stackList(site.frames), site.parts.length ? otherStacks(site) : null, site.place.name ?
    el("button", { type: "button", class: "tool only", text: "Only this place", title: "Filters every view by this place",
      on: { click: (event) => {
        event.stopPropagation();
        state.set({ filter: withWord(state.values.filter, "place", placeWord(site.place)) });
      } } }) : null];
}

/* The text a filter searches. */
export function siteWords(site) {
  return `${placeText(site.place)} ` +
    site.frames.map((frame) => `${frame.name} ${frame.where}`).join(" ");
}
