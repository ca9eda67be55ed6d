// SPDX-License-Identifier: MIT
// copy.js - what the reader takes along: a link, a table as text, a table as a CSV file.
import { el } from "./dom.js";

/* Where a page may not use the clipboard (a host of one's network), a selection does it. */
function copyBySelection(text) {
  const area = document.body.appendChild(el("textarea", { value: text }));
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  return isDone;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/* A button that copies what `text()` gives, and says so. */
export function copyButton(label, title, text) {
  const button = el("button", { type: "button", class: "tool copy", text: label, title,
    on: { click: async () => {
      const isDone = await copyText(text());
      button.textContent = isDone ? "Copied" : "Not allowed";
      button.dataset.copied = String(isDone);
      setTimeout(() => { button.textContent = label; }, 1500);
    } } });
  return button;
}

/* Names come from the traced program: none of them may be a formula. */
function csvField(value) {
  const text = typeof value === "number" ? String(value) : String(value).replace(/^[=+\-@\t\r]/, "'$&");
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/* Rows of values, the first one the titles. */
export function csvText(rows) {
  return rows.map((row) => row.map(csvField).join(",")).join("\r\n") + "\r\n";
}

/* The same in columns of equal width. */
export function alignedText(rows) {
  const widths = rows[0].map((_, i) => Math.min(60, rows.reduce((most, row) => Math.max(most, String(row[i]).length), 0)));
  return rows.map((row) => row.map((value, i) => typeof value === "number" ?
    String(value).padStart(widths[i]) : String(value).padEnd(widths[i])).join("  ").trimEnd()).join("\n") + "\n";
}
