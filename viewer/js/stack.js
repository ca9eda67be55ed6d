// SPDX-License-Identifier: MIT
// stack.js - stacks and places as text on the page.
import { el } from "./dom.js";
import { lastPart } from "./format.js";

/* A path that is too long for its line keeps its end. */
export function whereOf(frame) {
  return el("span", { class: "where", title: frame.file || frame.module },
    frame.where.length > 64 ? "…" + frame.where.slice(-63) : frame.where);
}

/* The frames that fit on one line: without the C++ library's, unless there are no others. */
export function briefly(frames) {
  const own = frames.filter((frame) => !frame.library);
  return (own.length ? own : frames).slice(0, 3);
}

/* The innermost frame and its callers, each with the line it called from, on one line. */
export function placeLine(frames) {
  if (!frames.length)
    return el("span", { class: "dim", text: "(no stack)" });
  const told = briefly(frames), names = told.map((frame, i) =>
    i && frame.known && frame.line ? `${frame.name}:${frame.line}` : frame.name).join(" < ");
  return el("span", { class: "place" },
    el("code", { class: "fn", text: names, title: names }), " ", whereOf(told[0]));
}

export function stackList(frames) {
  if (!frames.length)
    return el("p", { class: "dim", text: "No stack recorded." });
  return el("ol", { class: "stack" }, frames.map((frame) => el("li", {},
    el("code", { class: "fn", text: frame.name }), " ", whereOf(frame),
    frame.inlined ? el("span", { class: "tag", text: "inlined" }) : null,
    frame.known || !frame.module ? null :
      el("span", { class: "dim", text: " " + lastPart(frame.module) }))));
}

/* The text a filter searches. */
export function stackWords(frames) {
  return frames.map((frame) => `${frame.name} ${frame.where}`).join(" ").toLowerCase();
}
