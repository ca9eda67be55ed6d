// SPDX-License-Identifier: MIT
// keys.js - the keys of the page: a list of them, and those that work everywhere.
import { el } from "./dom.js";

/* Where, the key, and what it does; doc/html.md has the same table. */
const KEYS = [
  ["everywhere", "?", "this list"],
  ["", "/", "search the flame graph"],
  ["", "1 to 9", "go to a section"],
  ["", "W S A D", "zoom the timeline in, out, move it"],
  ["", "F", "zoom to the selected range"],
  ["", "T", "dark or light"],
  ["timeline", "← →", "previous, next change"],
  ["", "shift ← →", "select a range, move its end"],
  ["", ", .", "earlier, later"],
  ["", "+ − 0", "zoom in, out, show all"],
  ["", "P", "the peak"],
  ["", "Escape", "no range"],
  ["search", "Enter, shift Enter", "next, previous box that is found"],
  ["flame graph", "← → ↑ ↓", "move between boxes"],
  ["", "Enter", "zoom to a box"],
  ["", "S, shift Enter", "callers and callees of the box's function"],
  ["", "Escape", "show all"],
  ["blocks", "← →", "previous, next block"],
  ["", "↑ ↓", "block above, below"],
  ["", "Enter", "zoom to a block"],
  ["", "+ − 0", "zoom in, out, show all"],
  ["", "V, shift V", "zoom in, out upwards"],
  ["", ", .", "earlier, later"],
  ["", "Page Up, Page Down", "higher, lower"],
  ["", "O", "by age or by address"],
  ["", "Escape", "show all"],
  ["tables", "↑ ↓ Enter", "move between rows, open one"],
];

function keyDialog() {
  const close = el("button", { type: "button", class: "tool", text: "Close", on: { click: () => dialog.close() } });
  const rows = KEYS.map(([where, key, action]) => el("tr", {}, el("th", { scope: "row", text: where }),
    el("td", {}, el("kbd", { text: key })), el("td", { text: action })));
  const dialog = el("dialog", { id: "keys", aria: { label: "Keys" } },
    el("div", { class: "section-head" }, el("h2", { text: "Keys" }), el("div", { class: "controls" }, close)),
    el("table", {}, el("tbody", {}, rows)));
  return document.body.appendChild(dialog);
}

function showKeys() {
  const dialog = document.getElementById("keys") || keyDialog();
  if (!dialog.open)
    dialog.showModal();
}

export function keysButton() {
  return el("button", { type: "button", class: "tool", id: "show-keys", text: "?", title: "Keys",
    aria: { label: "Show the keys" }, on: { click: showKeys } });
}

/* Keys that need no focus; none while the reader types. */
export function listenToKeys() {
  const acts = { "?": showKeys, "/": () => document.querySelector("#flame input")?.focus(),
    t: () => document.getElementById("theme")?.click() };
  for (const key of "wasdf")
    acts[key] = () => document.querySelector("#timeline .chart")?.dispatchEvent(new KeyboardEvent("keydown", { key }));
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, select, textarea, dialog");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const link = /^[1-9]$/.test(event.key) && document.querySelectorAll("#nav a")[event.key - 1];
    const act = link ? () => link.click() : acts[event.key] || acts[event.key.toLowerCase()];
    if (!act || event.defaultPrevented)
      return;
    event.preventDefault();
    act();
  });
}
