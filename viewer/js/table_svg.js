// SPDX-License-Identifier: MIT
// table_svg.js - a table as a drawing, for those who want a picture of it.
import { color, svg, visible } from "./dom.js";

const LINE_HEIGHT = 22, TITLE_HEIGHT = 34, MARGIN = 12, COLUMN_GAP = 18, TEXT_SIZE = 12, WIDEST_CELL = 460;
const ROWS_DRAWN = 1000; // more than a picture can have in some browsers, or anybody reads

function measurer() {
  const ctx = document.createElement("canvas").getContext("2d");
  ctx.font = `${TEXT_SIZE}px system-ui`;
  return (text) => ctx.measureText(text).width;
}

/* As much of a text as has room. */
function cut(text, room, measure) {
  if (measure(text) <= room)
    return text;
  let length = Math.floor(text.length * room / measure(text));
  while (length > 1 && measure(`${text.slice(0, length)}…`) > room)
    length--;
  return `${text.slice(0, length)}…`;
}

/* What a cell of the page says; a small drawing in it stays one. */
function contentOf(cell) {
  if (cell instanceof SVGElement)
    return cell;
  return visible(typeof cell === "string" ? cell : cell?.textContent ?? "").replace(/\s+/g, " ").trim();
}

const isDrawing = (content) => content instanceof SVGElement;
const widthOf = (content, measure) => isDrawing(content) ? Number(content.getAttribute("width")) : measure(content);

function drawingAt(content, x, y) {
  const copy = content.cloneNode(true), ink = color("k0");
  copy.setAttribute("x", x);
  copy.setAttribute("y", y);
  for (const path of copy.querySelectorAll(".fill"))
    Object.entries({ fill: ink, "fill-opacity": 0.25 }).forEach(([name, value]) => path.setAttribute(name, value));
  for (const path of copy.querySelectorAll(".stroke"))
    Object.entries({ fill: "none", stroke: ink, "stroke-width": 1.2 }).forEach(([name, value]) =>
      path.setAttribute(name, value));
  return copy;
}

/* `heads`: { title, num }; `rows`: lists of cells, each a text or an element of the page. */
export function tableSvg(title, heads, rows) {
  const measure = measurer(), cells = rows.slice(0, ROWS_DRAWN).map((row) => row.map(contentOf));
  const widths = heads.map((head, i) => Math.min(WIDEST_CELL, cells.reduce((most, row) =>
    Math.max(most, widthOf(row[i], measure)), measure(head.title))));
  const lefts = widths.map((_, i) => MARGIN + widths.slice(0, i).reduce((sum, wide) => sum + wide + COLUMN_GAP, 0));
  const width = Math.ceil(Math.max(lefts.at(-1) + widths.at(-1), measure(title) * 1.3) + MARGIN);
  const height = TITLE_HEIGHT + (cells.length + 1) * LINE_HEIGHT + MARGIN;
  const nodes = [svg("rect", { width, height, fill: color("paper") })];
  const write = (text, i, y, ink) => {
    const isRight = heads[i].num, x = isRight ? lefts[i] + widths[i] : lefts[i];
    nodes.push(svg("text", { x, y, fill: color(ink), "text-anchor": isRight ? "end" : "start" },
      cut(text, widths[i] + 1, measure)));
  };
  nodes.push(svg("text", { x: MARGIN, y: 22, fill: color("ink"), "font-size": 14, "font-weight": 600 }, visible(title)));
  heads.forEach((head, i) => write(head.title, i, TITLE_HEIGHT + 15, "dim"));
  cells.forEach((row, k) => {
    const top = TITLE_HEIGHT + (k + 1) * LINE_HEIGHT;
    nodes.push(svg("rect", { x: MARGIN, y: top, width: width - 2 * MARGIN, height: 1, fill: color("line") }));
    row.forEach((content, i) => isDrawing(content) ? nodes.push(drawingAt(content, lefts[i], top)) :
      write(content, i, top + 15, "ink"));
  });
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-size": TEXT_SIZE,
    "font-family": "system-ui, sans-serif" }, ...nodes);
}

/* The same of rows of values, the first one the titles. */
export function rowsSvg(title, [titles, ...rows]) {
  const heads = titles.map((text, i) => ({ title: text, num: typeof rows[0]?.[i] === "number" }));
  return tableSvg(title, heads, rows.map((row) => row.map((value) => typeof value === "number" ?
    value.toLocaleString("en") : String(value))));
}
