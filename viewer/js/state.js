// SPDX-License-Identifier: MIT
// state.js - what the reader has chosen: kept in the page's address, and announced to every view.

const DIGITS = 9; // of a second: times are nanoseconds

function timeText(seconds) {
  return seconds.toFixed(DIGITS).replace(/\.?0+$/, "");
}

const numeric = (word) => /^\d+(\.\d+)?$/.test(word) ? Number(word) : null;

const spanForm = (isOne) => ({
  read: (word) => {
    const [from, to, ...more] = word.split("-").map(numeric);
    return !more.length && from !== null && to !== null && isOne(from, to) ? [from, to] : null;
  },
  write: (value) => value.map(timeText).join("-"),
});

/* How a choice is written in a link; read() gives null for what is none. */
export const FORMS = {
  text: { read: (word) => word, write: String },
  whole: { read: (word) => /^\d{1,15}$/.test(word) ? Number(word) : null, write: String },
  flag: { read: (word) => word === "1" || null, write: () => "1" },
  moment: { read: (word) => word === "peak" ? word : numeric(word),
    write: (value) => value === "peak" ? value : timeText(value) },
  span: spanForm((from, to) => to > from),
  /* events at 0 are in a range from 0, and may be all there are */
  range: spanForm((from, to) => to > from || (!from && !to)),
  oneOf: (...words) => ({ read: (word) => words.includes(word) ? word : null, write: String }),
};

/*
 * What a link says. Each has a value when the page opens, which no link needs to repeat, and the
 * way it is written. A view that needs another adds a row.
 */
const CHOICES = {
  view: ["", FORMS.text],    // the section that the reader jumped to
  recording: [0, FORMS.whole], // of several: the one whose page is shown, from 1; 0: none
  pid: [0, FORMS.whole],     // 0: all processes
  unit: ["", FORMS.oneOf("bytes", "objects")], // of the timeline; "": what suits the recording
  zoom: [null, FORMS.span],  // the part of the timeline that is shown
  at: ["peak", FORMS.moment], // the selected moment, in seconds
  range: [null, FORMS.range], // the selected range; it goes before the moment
  part: ["left", FORMS.oneOf("left", "freed", "allocated", "net")], // of the range
  what: ["", FORMS.oneOf("leaked", "live", "peak", "total", "chosen")], // of the flame graph
  measure: ["", FORMS.oneOf("bytes", "objects")], // of the flame graph
  filter: ["", FORMS.text],  // words, as filter.js reads them
  search: ["", FORMS.text],  // in the flame graph
  form: ["icicle", FORMS.oneOf("icicle", "flame")],
  inverted: [false, FORMS.flag],  // callees first
  libraries: [false, FORMS.flag], // each of their frames
  fn: ["", FORMS.text],      // the function whose callers and callees are shown
  box: ["", FORMS.text],     // the box that is zoomed to
  order: ["age", FORMS.oneOf("age", "address")], // of the blocks
  level: [null, FORMS.span], // the part of their bytes that is shown
  block: ["", FORMS.text],   // the one that is selected
  align: ["start", FORMS.oneOf("start", "peak", "length", "phase")], // of two recordings
  phase: ["", FORMS.text],   // by which they are aligned
};

function sameValue(a, b) {
  return Array.isArray(a) && Array.isArray(b) ? a.length === b.length && a.every((x, i) => x === b[i]) :
    a === b;
}

/* The choices in a fragment; what it does not name, or names wrongly, is as when the page opens. */
export function readFragment(fragment, choices = CHOICES) {
  const values = Object.fromEntries(Object.entries(choices).map(([name, [first]]) => [name, first]));
  for (const pair of fragment.replace(/^#/, "").split("&").filter(Boolean)) {
    const at = pair.indexOf("=");
    let name = at < 0 ? "view" : pair.slice(0, at), word = pair.slice(at + 1);
    try {
      word = decodeURIComponent(word);
    } catch {
      continue; // cut in the middle of a character
    }
    if (!Object.hasOwn(choices, name))
      continue;
    const value = choices[name][1].read(word);
    if (value !== null)
      values[name] = value;
  }
  return values;
}

export function writeFragment(values, choices = CHOICES) {
  const parts = [];
  for (const [name, [first, how]] of Object.entries(choices))
    if (!sameValue(values[name], first))
      parts.push((name === "view" ? "" : `${name}=`) +
        encodeURIComponent(how.write(values[name])).replace(/%(3A|2C|2F|20)/g,
          (code) => code === "%20" ? code : decodeURIComponent(code)));
  return parts.join("&");
}

class ViewState {
  constructor() {
    this.values = readFragment(location.hash);
    this.listeners = [];
    addEventListener("popstate", () => this.follow());
    addEventListener("hashchange", () => this.follow());
  }

  /*
   * Calls `listener(changed)` when one of these choices changes, with the set of their names,
   * until forget(): a page that is drawn anew has new views.
   */
  on(names, listener) {
    this.listeners.push([names, listener]);
  }

  forget() {
    this.listeners = [];
  }

  /*
   * Changes some choices, tells the views, and puts them into the address: as a step that the
   * reader can go back from, unless it is one of many (`passing`: a key typed, a drag).
   */
  set(changes, { passing = false } = {}) {
    const changed = this.assign(changes);
    if (!changed.size)
      return;
    const address = `#${writeFragment(this.values)}`;
    try {
      /* a search is one step, not one for each of its letters */
      if (passing && this.wasPassing === [...changed].join())
        history.replaceState(null, "", address);
      else
        history.pushState(null, "", address);
    } catch {
      // browsers limit how often; the next change writes all of it
    }
    this.wasPassing = passing ? [...changed].join() : "";
    this.announce(changed);
  }

  assign(changes) {
    const changed = new Set();
    for (const [name, value] of Object.entries(changes))
      if (!sameValue(this.values[name], value)) {
        this.values[name] = value;
        changed.add(name);
      }
    return changed;
  }

  announce(changed) {
    for (const [names, listener] of [...this.listeners])
      if (names.some((name) => changed.has(name)))
        listener(changed);
  }

  /* The reader went back or forward, or typed an address. */
  follow() {
    this.wasPassing = "";
    const changed = this.assign(readFragment(location.hash));
    if (changed.size)
      this.announce(changed);
  }

  /*
   * What the flame graph and the tables are asked for:
   *   { what: "leaked" | "live" | "peak" | "total" }
   *   { what: "moment", to }                           alive at that moment
   *   { what: "left" | "freed" | "allocated", from, to }  of a range: see weights.js
   *   { what: "net", from, to }                        the difference between two moments
   */
  get selection() {
    const { what } = this.values;
    return what === "chosen" ? this.chosen : { what };
  }

  /* The same for what the timeline has selected. */
  get chosen() {
    const { range, part, at } = this.values;
    if (range)
      return { what: part, from: range[0], to: range[1] };
    return at === "peak" ? { what: "peak" } : { what: "moment", to: at };
  }
}

export const state = new ViewState();

/* state.on, where `state` is something else. */
export function listen(names, listener) {
  state.on(names, listener);
}
