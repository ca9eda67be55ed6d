// SPDX-License-Identifier: MIT
// picture.js - views as files and as text: PNG, SVG, CSV of their values, the same to paste.
import { chartCanvas, chartRows, chartSvg } from "./chart_svg.js";
import { alignedText, copyButton, csvText } from "./copy.js";
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

export const fileName = (view, ending) =>
  `${stem()}-${view.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.${ending}`;

const textOf = (node) => new XMLSerializer().serializeToString(node);

/* A drawing as a picture. */
async function paintedSvg(node) {
  const image = new Image(), scale = devicePixelRatio, canvas = document.createElement("canvas");
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(textOf(node))}`;
  await image.decode();
  canvas.width = Math.round(node.getAttribute("width") * scale);
  canvas.height = Math.round(node.getAttribute("height") * scale);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/*
 * Buttons that save a view. `canvas()` is painted on, and made of `svg()` where there is none; `svg()`
 * is drawn; `rows()`: titles, then the values of each row.
 */
export function pictureButtons(view, { canvas, svg, rows }) {
  const button = (text, title, act) => el("button", { type: "button", class: `tool ${text.toLowerCase()}`, text, title,
    aria: { label: title }, on: { click: act } });
  const painted = canvas || (async () => paintedSvg(svg()));
  return el("div", { class: "controls pictures" },
    button("PNG", `Download the ${view} as PNG`, async () =>
      (await painted()).toBlob((blob) => blob && download(fileName(view, "png"), blob))),
    button("SVG", `Download the ${view} as SVG`, () => download(fileName(view, "svg"),
      new Blob([textOf(svg())], { type: "image/svg+xml" }))),
    button("CSV", `Download the ${view} as comma-separated values`, () =>
      download(fileName(view, "csv"), new Blob([csvText(rows())], { type: "text/csv" }))),
    copyButton("Copy as text", `Copy the ${view} as text, in columns`, () => alignedText(rows())));
}

/* The same of a chart. `data(chart)`: its values, where it paints others. */
export function chartButtons(view, chart, data = () => undefined) {
  return pictureButtons(view, { canvas: () => chartCanvas(chart()), svg: () => chartSvg(chart()),
    rows: () => chartRows(chart(), data(chart())) });
}
