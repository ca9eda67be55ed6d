// SPDX-License-Identifier: MIT
// picture.js - views as files: PNG of a canvas, SVG of a drawing, CSV of their values.
import { chartCanvas, chartRows, chartSvg } from "./chart_svg.js";
import { csvText } from "./copy.js";
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

/* `rows()`: titles, then the values of each row. */
export function saveCsv(view, rows) {
  download(fileName(view, "csv"), new Blob([csvText(rows())], { type: "text/csv" }));
}

/* Buttons that save a view. `canvas()` is painted on, `svg()` drawn; any may be left out. */
export function pictureButtons(view, { canvas, svg, rows }) {
  const button = (text, title, act) => el("button", { type: "button", class: `tool ${text.toLowerCase()}`, text, title,
    aria: { label: title }, on: { click: act } });
  return el("div", { class: "controls pictures" },
    canvas && button("PNG", `Download the ${view} as PNG`, () =>
      canvas().toBlob((blob) => blob && download(fileName(view, "png"), blob))),
    svg && button("SVG", `Download the ${view} as SVG`, () => download(fileName(view, "svg"),
      new Blob([new XMLSerializer().serializeToString(svg())], { type: "image/svg+xml" }))),
    rows && button("CSV", `Download the ${view} as comma-separated values`, () => saveCsv(view, rows)));
}

/* The same of a chart. `data(chart)`: its values, where it paints others. */
export function chartButtons(view, chart, data = () => undefined) {
  return pictureButtons(view, { canvas: () => chartCanvas(chart()), svg: () => chartSvg(chart()),
    rows: () => chartRows(chart(), data(chart())) });
}
