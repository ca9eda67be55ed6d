// SPDX-License-Identifier: MIT
// picture.js - views as files: PNG of a canvas, SVG of a drawing, text of a table.
import { el } from "./dom.js";

/* Hands the reader a file; nothing leaves the page. */
export function download(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* The program's name as a file's. */
const stem = () => (document.title.split(" – ")[0].split(/\s/)[0].split("/").pop() || "gputrack")
  .replace(/[^\w.-]+/g, "_").slice(0, 60);

export const fileName = (view, ending) => `${stem()}-${view}.${ending}`;

/* Buttons that save a view. `canvas()` is painted on, `svg()` drawn; either may be left out. */
export function pictureButtons(view, { canvas, svg }) {
  const button = (text, title, act) => el("button", { type: "button", class: "tool", text, title,
    aria: { label: title }, on: { click: act } });
  return el("div", { class: "controls pictures" },
    canvas && button("PNG", `Download the ${view} as PNG`, () =>
      canvas().toBlob((blob) => blob && download(fileName(view, "png"), blob))),
    svg && button("SVG", `Download the ${view} as SVG`, () => download(fileName(view, "svg"),
      new Blob([new XMLSerializer().serializeToString(svg())], { type: "image/svg+xml" }))));
}
