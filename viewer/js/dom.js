// SPDX-License-Identifier: MIT
// dom.js - elements made without markup: whatever a recording says is text.

const TREACHEROUS =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/* Somebody else's words: what would hide or reorder a line is shown by its number. */
export function visible(text) {
  return text.replace(TREACHEROUS, (c) => {
    const code = c.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` :
      `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/* An element. `props` are its properties, but for class, text, title, on, data, aria and attr. */
export function el(tag, props, ...children) {
  const node = document.createElement(tag);
  fillElement(node, props || {});
  node.append(...children.flat().filter((child) => child !== null && child !== undefined)
    .map((child) => typeof child === "string" ? visible(child) : child));
  return node;
}

function fillElement(node, props) {
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null)
      continue;
    if (key === "class")
      node.className = value;
    else if (key === "text")
      node.textContent = visible(value);
    else if (key === "title")
      node.title = value.split("\n").map(visible).join("\n");
    else if (key === "on")
      for (const [name, handler] of Object.entries(value))
        node.addEventListener(name, handler);
    else if (key === "data")
      Object.assign(node.dataset, value);
    else if (key === "aria" || key === "attr")
      for (const [name, word] of Object.entries(value))
        node.setAttribute(key === "aria" ? "aria-" + name : name, word);
    else
      node[key] = value;
  }
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes))
    node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/* A section of the page with a heading; the caller fills what it gives back. */
export function section(id, title, hint) {
  return el("section", { id, aria: { label: title } },
    el("div", { class: "section-head" }, el("h2", { text: title }),
      hint ? el("p", { class: "hint", text: hint }) : null));
}

/* Buttons of which one is pressed. `choices`: [value, label]; show(value) presses another. */
export function segmented(label, choices, chosen, pick) {
  const group = el("div", { class: "segmented", role: "group", aria: { label } });
  const show = (value) => {
    for (const button of group.children)
      button.setAttribute("aria-pressed", String(button.dataset.value === value));
  };
  for (const [value, text] of choices)
    group.append(el("button", { type: "button", text, data: { value },
      on: { click: () => { show(value); pick(value); } } }));
  show(chosen);
  return Object.assign(group, { show });
}

/* A button that is pressed or not; show(isOn) changes that. */
export function switchButton(text, title, isOn, change) {
  const button = el("button", { type: "button", class: "tool switch", text, title,
    aria: { pressed: String(isOn) }, on: { click: () => {
      const now = button.getAttribute("aria-pressed") !== "true";
      button.show(now);
      change(now);
    } } });
  return Object.assign(button, { show: (now) => button.setAttribute("aria-pressed", String(now)) });
}

/*
 * A function that gives the width of a node. It asks the browser when that has changed, and not each
 * time, for the answer takes a layout of the page. `changed` is called then.
 */
export function watchWidth(node, changed) {
  let width = 0;
  new ResizeObserver(() => {
    const before = width;
    width = node.clientWidth;
    if (width !== before)
      changed();
  }).observe(node);
  return () => width ||= node.clientWidth;
}

/* Colours that were asked for; another theme has others. */
const colors = new Map();
export function forgetColors() {
  colors.clear();
}

/* A colour of the style sheet as the canvas takes it. */
export function color(name) {
  if (!colors.has(name))
    colors.set(name, readColor(name));
  return colors.get(name);
}

function readColor(name) {
  const probe = document.getElementById("probe") ||
    document.body.appendChild(el("span", { id: "probe", hidden: true }));
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

export function withAlpha(rgb, alpha) {
  const numbers = rgb.match(/[\d.]+/g) || ["0", "0", "0"];
  return `rgba(${numbers.slice(0, 3).join(",")},${alpha})`;
}

/* Two colours as "rgb(r, g, b)": so much of the first. */
export function mix(first, second, share) {
  const parts = (text) => (text.match(/[\d.]+/g) || []).slice(0, 3).map(Number);
  const a = parts(first), b = parts(second);
  return `rgb(${a.map((part, i) => Math.round(part * share + b[i] * (1 - share))).join(", ")})`;
}
