// SPDX-License-Identifier: MIT
// filterbar.js - the filter of the whole page: a line to type into, and its words as chips.
import { el } from "./dom.js";
import { DIMENSIONS, filterWords, parseFilter } from "./filter.js";
import { state } from "./state.js";

let parsed = { text: "", filter: null, terms: [] };

/* The filter that is typed; null for none. */
export function chosenFilter() {
  const text = state.values.filter;
  if (text !== parsed.text)
    parsed = { text, ...parseFilter(text) };
  return parsed.filter;
}

const HELP = "Words that say what to show, in every view: " + Object.entries(DIMENSIONS)
  .map(([name, { help, value }]) => `${name}${value ? "" : ":"} ${value ? "" : "("}${help}${value ? "" : ")"}`)
  .join(", ") + ". A word without a colon is searched in kinds, places and stacks; a minus excludes; " +
  "commas mean or; quotes keep blanks.";

function chip(term, index) {
  const words = filterWords(state.values.filter);
  return el("span", { class: `chip${term.error ? " wrong" : ""}`, title: term.error || "" }, term.text,
    term.error ? el("span", { class: "why", text: ` ${term.error}` }) : null,
    el("button", { type: "button", text: "×", aria: { label: `Remove ${term.text}` },
      on: { click: () => state.set({ filter: words.filter((_, i) => i !== index).join(" ") }) } }));
}

/* A line for a view that no filter applies to; it is there while there is a filter. */
export function noFilterNote(text) {
  const note = el("p", { class: "dim small", text, hidden: !chosenFilter() });
  state.on(["filter"], () => { note.hidden = !chosenFilter(); });
  return note;
}

export function filterBar() {
  const input = el("input", { type: "search", id: "filter", value: state.values.filter,
    placeholder: "Filter everything: kind:buffer size>1M place:model.py", title: HELP,
    attr: { list: "dimensions", autocomplete: "off", spellcheck: "false" },
    aria: { label: "Filter everything" },
    on: { input: () => state.set({ filter: input.value }, { passing: true }) } });
  const chips = el("span", { class: "chips", aria: { live: "polite" } });
  const show = () => {
    chosenFilter();
    if (input.value !== state.values.filter)
      input.value = state.values.filter;
    chips.replaceChildren(...parsed.terms.map(chip));
  };
  const list = el("datalist", { id: "dimensions" }, Object.entries(DIMENSIONS)
    .map(([name, { value, help }]) => el("option", { value: value ? `${name}>` : `${name}:`, text: help })));
  state.on(["filter"], show);
  show();
  return el("div", { class: "filterbar", role: "search" }, input, list, chips);
}
