// SPDX-License-Identifier: MIT
// filter.js - words that say what to show, as `kind:buffer size>1M place:model.py -thread:7`.
import { plural } from "./format.js";
import { placeText, siteWords } from "./stack.js";

const SIZES = { "": 1, b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };
const SPANS = { "": 1, ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400 };

function sizeOf(word) {
  const [, number, unit] = /^(\d+(?:\.\d+)?)([bkmgt]?)(?:i?b)?$/.exec(word) || [];
  return number === undefined ? null : Number(number) * SIZES[unit];
}

function spanOf(word) {
  const [, number, unit] = /^(\d+(?:\.\d+)?)([a-zµ]*)$/.exec(word) || [];
  return number === undefined || !(unit in SPANS) ? null : Number(number) * SPANS[unit];
}

/*
 * What can be asked. `of(site)`, `from(origin, set)`: the text that is searched, for what is known
 * of a call site, and of what is known of an origin alone (lives.js). `whole`: it must be equal;
 * `words`: from the start of a word on.
 * `value`: it is a number, compared by > < >= <= and =.
 */
export const DIMENSIONS = {
  api: { help: "opencl, level zero, cuda …", words: true, of: (site) => site.kind.api },
  kind: { help: "buffer, event, device memory …", words: true, of: (site) => site.kind.name },
  place: { help: "a part of a function, file or caller", of: (site) => siteWords(site),
    exactly: (site) => placeText(site.place) },
  device: { told: "place", help: "a part of the device's name",
    from: (origin, set) => set.data.raw.names[origin.place] },
  process: { told: "process", help: "a pid", whole: true,
    from: (origin, set) => String(set.data.raw.recording.processes[origin.process]?.pid ?? "") },
  thread: { told: "tid", help: "a thread's number", whole: true, from: (origin) => String(origin.tid) },
  rank: { told: "process", help: "of an MPI job", whole: true,
    from: (origin, set) => set.data.raw.recording.processes[origin.process]?.rank ?? "" },
  phase: { told: "phase", help: "a part of a range's name",
    from: (origin, set) => set.data.raw.names[origin.phase] },
  size: { told: "size", help: "of one resource: size>1M", value: sizeOf },
  lifetime: { help: "lifetime<10ms", value: spanOf },
};

const COMPARISONS = { ">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b,
  "<=": (a, b) => a <= b, "=": (a, b) => a === b, ":": (a, b) => a === b };

/* One word: { text, name, sign, words | value, not }; `error` where it cannot be understood. */
function termOf(text) {
  const not = text.startsWith("-") && text.length > 1, word = (not ? text.slice(1) : text);
  const [, name, sign, rest] = /^([a-z]+)(>=|<=|[:=<>])(.*)$/is.exec(word) || [];
  const known = name && Object.hasOwn(DIMENSIONS, name.toLowerCase());
  const dimension = known ? DIMENSIONS[name.toLowerCase()] : null;
  if (!dimension)
    return { text, not, name: "", words: [unquoted(word).toLowerCase()] };
  const term = { text, not, name: name.toLowerCase(), sign, dimension };
  if (dimension.value) {
    term.value = dimension.value(rest.toLowerCase());
    return term.value === null ? { ...term, error: `${rest || "nothing"} is no number` } : term;
  }
  if (sign !== ":" && sign !== "=")
    return { ...term, error: `${term.name} takes a colon` };
  /* commas mean or, but not within quotes */
  term.words = (rest.match(/(?:"[^"]*"?|[^,"])+/g) || []).map((word) => unquoted(word).toLowerCase()).filter(Boolean);
  return term.words.length ? term : { ...term, error: "nothing after the colon" };
}

function unquoted(text) {
  return text.replace(/"/g, "");
}

/* Blanks part words, but not within quotes. */
export function filterWords(text) {
  return text.match(/(?:"[^"]*"?|[^\s"])+/g) || [];
}

/* `=` asks for all of the text, `:` for a part of it. */
function matchesText(term, text) {
  const low = unquoted(text).toLowerCase();
  const { whole, words } = term.dimension || {};
  /* a buffer is no sub-buffer */
  return term.words.some((word) => whole || term.sign === "=" ? low === word : words ? ` ${low}`.includes(` ${word}`) :
    low.includes(word)) !== term.not;
}

function listed(names) {
  return [...new Set(names)].join(" and ");
}

export class Filter {
  constructor(terms) {
    this.terms = terms.filter((term) => !term.error);
    this.ofSites = this.terms.filter((term) => !term.name || term.dimension.of);
    this.ofOrigins = this.terms.filter((term) => term.dimension && !term.dimension.of);
    this.needsLives = this.ofOrigins.length > 0;
  }

  /* True for a call site that the words about call sites let through. */
  site(site) {
    return this.ofSites.every((term) => matchesText(term, !term.name ?
      `${site.kind.api} ${site.kind.name} ${siteWords(site)}` : (term.sign === "=" && term.dimension.exactly ||
        term.dimension.of)(site)));
  }

  /* That so many call sites are not known by single resources. */
  beyondSites(sites) {
    return this.needsLives && sites ? `The page does not have ${plural(sites, "call site", "call sites")} by ${
      listed(this.ofOrigins.map((term) => term.name))}: that part of the filter is not applied to ${
      sites === 1 ? "it" : "them"}.` : "";
  }

  /* What is not known of lives over time. */
  lostIn(set) {
    return this.ofOrigins.filter(({ name, dimension }) => name !== "lifetime" &&
      !set.lives?.told.has(dimension.told)).map((term) => term.name);
  }

  beyondLives(set) {
    const lost = this.lostIn(set);
    const notes = lost.length ? [`This recording is too large for the page to tell it by ${
      listed(lost)}: that part of the filter is not applied.`] : [];
    const sizes = this.ofOrigins.some((term) => term.name === "size") && !lost.includes("size");
    if (sizes && set.lives.detail !== "size")
      notes.push("Sizes are known to a power of two.");
    if (this.ofOrigins.some((term) => term.name === "lifetime"))
      notes.push("Lifetimes are known to a step.");
    return notes.join(" ");
  }

  /* For Lives.sum: { origin(origin), life(seconds) | null }. */
  over(set) {
    const sites = new Map(), lifetimes = this.ofOrigins.filter((term) => term.name === "lifetime");
    const terms = this.ofOrigins.filter((term) => term.name !== "lifetime" &&
      set.lives.told.has(term.dimension.told));
    const site = (number) => {
      if (!sites.has(number))
        sites.set(number, number < set.sites.length ? this.site(set.sites[number]) : !this.ofSites.length);
      return sites.get(number);
    };
    return {
      origin: (origin) => site(origin.site) && terms.every((term) => term.name === "size" ?
        this.compare(term, sizeIn(set.lives, origin)) : matchesText(term, term.dimension.from(origin, set))),
      life: lifetimes.length ? (seconds) => lifetimes.every((term) => this.compare(term, nanoseconds(seconds))) : null,
    };
  }

  /* True for a single block (blocks.js), of which everything is known. `until`: the end of time. */
  block(block, set, until) {
    return this.site(block.site) && this.ofOrigins.every((term) => term.name === "size" ?
      this.compare(term, block.size) : term.name === "lifetime" ?
        this.compare(term, nanoseconds(Math.min(block.ended, until) - block.born)) :
        matchesText(term, term.dimension.from(block, set)));
  }

  compare(term, value) {
    return COMPARISONS[term.sign](value, term.value) !== term.not;
  }
}

/* Differences of times are not what they look like: 2.4 - 1.4 is less than 1. */
function nanoseconds(seconds) {
  return Math.round(seconds * 1e9) / 1e9;
}

/* A size class counts as its smallest size. */
function sizeIn(lives, { size }) {
  return lives.detail === "size" ? size : size ? 2 ** (size - 1) : 0;
}

/* The same filter with another word in the place of those about `name`. */
export function withWord(text, name, word) {
  const isOther = (one) => !new RegExp(`^${name}[:=]`, "i").test(one);
  return [...filterWords(text).filter(isOther), word].join(" ");
}

/* The word that lets one place through, and no other. */
export function placeWord(place) {
  return `place="${placeText(place).replace(/"/g, "")}"`;
}

/* { filter, terms }: filter is null where the text has no word that can be understood. */
export function parseFilter(text) {
  const terms = filterWords(text).map(termOf), filter = new Filter(terms);
  return { filter: filter.terms.length ? filter : null, terms };
}
