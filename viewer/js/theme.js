// SPDX-License-Identifier: MIT
// theme.js - dark or light: as the system has it, or as the reader wants it.
import { el } from "./dom.js";

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

let redraw = () => {};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw());

/* Paper is white: charts are drawn for it, and back again. */
let onScreen = null;
addEventListener("beforeprint", () => {
  if (!isDark())
    return;
  onScreen = { theme: document.documentElement.dataset.theme };
  document.documentElement.dataset.theme = "light";
  redraw();
});
addEventListener("afterprint", () => {
  if (!onScreen)
    return;
  if (onScreen.theme)
    document.documentElement.dataset.theme = onScreen.theme;
  else
    delete document.documentElement.dataset.theme;
  onScreen = null;
  redraw();
});

export function themeButton(changed) {
  redraw = changed;
  const button = el("button", { type: "button", class: "tool", id: "theme",
    text: isDark() ? "Light" : "Dark", title: "Change between dark and light",
    on: { click: () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      changed();
      document.getElementById("theme").focus();
    } } });
  return button;
}
