// SPDX-License-Identifier: MIT
// theme.js - dark or light: as the system has it, or as the reader wants it.
import { el } from "./dom.js";

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

let redraw = () => {};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw());

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
