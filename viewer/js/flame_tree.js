// SPDX-License-Identifier: MIT
// flame_tree.js - weighted stacks as a tree of boxes: callers or callees first, libraries folded.
import { lastPart } from "./format.js";
import { placeText } from "./stack.js";

const LINES = 6;   // of a function that calls from many

/* Equal words, equal number. */
const numbers = new Map(), wordsOf = [""];
function numberOf(words) {
  if (!numbers.has(words))
    numbers.set(words, wordsOf.push(words) - 1);
  return numbers.get(words);
}

/* A function's name and place by its number, and back; 0 and "": none. */
export const functionWords = (fn) => wordsOf[fn] || "";
export const functionOf = (words) => numbers.get(words) || 0;

/* A frame as a step of a path. Callers are functions, whichever of their lines call. */
function stepOf(frame, isCalled) {
  const place = isCalled ? frame.where : frame.path;
  return { name: frame.brief, place, path: frame.path, whole: frame.name, library: frame.library, folded: 0,
    line: !isCalled && frame.file ? frame.line : 0,
    key: numberOf(`${frame.brief}\n${place}`), fn: numberOf(`${frame.brief}\n${frame.path}`) };
}

/* Consecutive frames of libraries as one step: the function that the program called. */
function foldLibraries(steps) {
  const folded = [];
  for (let i = 0, next; i < steps.length; i = next) {
    next = i + 1;
    while (steps[i].library && next < steps.length && steps[next].library)
      next++;
    const outer = steps[next - 1], count = next - i;
    folded.push(count === 1 ? outer : { ...outer, folded: count,
      key: numberOf(`folded\n${outer.name}\n${outer.place}`) });
  }
  return folded;
}

/* Two recordings have functions in common, not lines, nor the folders that they were built in. */
function comparedStep(frame) {
  const step = stepOf(frame, false), key = numberOf(`${frame.brief}\n${lastPart(frame.path)}`);
  return { ...step, key, fn: key };
}

const known = new WeakMap();
/* The steps of a stack, innermost first. */
function stepsOf(frames, { libraries, isDiff }) {
  if (!known.has(frames)) {
    const all = frames.map((frame, i) => isDiff ? comparedStep(frame) : stepOf(frame, !i));
    known.set(frames, { all, folded: foldLibraries(all) });
  }
  return known.get(frames)[libraries ? "all" : "folded"];
}

/* The same for equal stacks of two recordings. */
export function stackKey(frames, kind) {
  return stepsOf(frames, { libraries: true, isDiff: true }).map((step) => step.key).join() + kind.key;
}

const NO_CHILDREN = new Map();

/* A box of a tree, with what the latest weighing of that tree made of it. */
class FlameNode {
  constructor(step, parent, tree) {
    Object.assign(this, { name: step.name, place: step.place, fn: step.fn || 0, library: !!step.library,
      kind: step.kind || null, parent, tree, depth: parent ? parent.depth + 1 : 0, children: NO_CHILDREN,
      weighing: 0, value: 0, old: 0, size: 0, whole: "", folded: 0, at: "", lines: null, words: "", ordered: null,
      foundBy: 0, hue: -1 });
  }

  child(step) {
    if (this.children === NO_CHILDREN)
      this.children = new Map();
    if (!this.children.has(step.key))
      this.children.set(step.key, new FlameNode(step, this, this.tree));
    return this.children.get(step.key);
  }

  /* False for boxes that the latest weighing has nothing of. */
  get isShown() {
    return this.weighing === this.tree.weighing;
  }

  add(step, entry) {
    if (this.isShown)
      this.merge(step);
    else
      this.begin(step);
    this.value += entry.value;
    this.old += entry.old || 0;
    this.size += Math.max(entry.value, entry.old || 0);
    if (step.line)
      (this.lines ||= new Set()).add(step.line);
  }

  /* The first of a weighing: nothing of the one before counts. */
  begin(step) {
    const whole = step.whole || "";
    if (this.lines || this.whole !== whole)
      this.words = "";
    this.weighing = this.tree.weighing;
    this.whole = whole;
    this.folded = step.folded || 0;
    this.at = step.at || "";
    this.value = this.old = this.size = 0;
    this.ordered = null;
    this.lines?.clear();
  }

  merge(step) {
    /* instances of a template are one box; so are the ways through a library */
    if (step.whole && this.whole !== step.whole) {
      this.whole = this.name;
      this.words = "";
    }
    if (step.folded > this.folded)
      this.folded = step.folded;
    /* a tip of several places names none of them */
    if (step.at !== undefined && this.at !== step.at)
      this.at = "";
  }

  /* The widest first. */
  get sorted() {
    return this.ordered ||= [...this.children.values()].filter((child) => child.isShown)
      .sort((a, b) => b.size - a.size);
  }

  get where() {
    const lines = this.lines ? [...this.lines].sort((a, b) => a - b) : [];
    return lines.length ? `${this.place}:${lines.slice(0, LINES).join(", ")}` +
      `${lines.length > LINES ? ", …" : ""}` : this.place;
  }

  /* What a search looks through, in small letters. */
  get searched() {
    return this.words ||= `${this.name} ${this.whole} ${this.where}`.toLowerCase();
  }
}

const tipOf = ({ site }, withPlace) => ({ name: site.kind.name, place: site.kind.api, kind: site.kind,
  at: withPlace ? placeText(site.place) : "", key: numberOf(`kind\n${site.kind.key}`) });

/*
 * Boxes of all stacks that were weighed so far: another selection finds most of its boxes here, and
 * only their numbers are new. `how.inverted`: the kind and the innermost frame first; otherwise the
 * outermost, the kind last.
 */
export class FlameTree {
  constructor(how) {
    Object.assign(this, { how, weighing: 0, paths: new Map() });
    this.root = new FlameNode({ name: "all", place: "" }, null, this);
  }

  /* The root, with what these stacks add up to. */
  weigh(entries) {
    this.weighing++;
    this.root.begin({});
    for (const entry of entries) {
      const { steps, nodes } = this.pathOf(entry);
      this.root.add({}, entry);
      for (let i = 0; i < nodes.length; i++)
        nodes[i].add(steps[i], entry);
    }
    return this.root;
  }

  pathOf(entry) {
    const { frames, site } = entry;
    if (!site)
      return this.pathAlong([{ name: entry.name, place: "", key: numberOf(`rest\n${entry.name}`) }]);
    if (!this.paths.has(frames))
      this.paths.set(frames, new Map());
    const ofSites = this.paths.get(frames);
    if (!ofSites.has(site))
      ofSites.set(site, this.pathAlong(this.stepsTo(entry)));
    return ofSites.get(site);
  }

  stepsTo(entry) {
    const { inverted } = this.how, steps = stepsOf(entry.frames, this.how), tip = tipOf(entry, !inverted);
    return inverted ? [tip, ...steps] : [...steps].reverse().concat(tip);
  }

  pathAlong(steps) {
    let at = this.root;
    return { steps, nodes: steps.map((step) => at = at.child(step)) };
  }
}

/* The callers and the callees of a function, by the outermost call of each stack. */
export function sandwichTrees(entries, fn, how) {
  const tree = { weighing: 1 };
  let callers = null, callees = null;
  const addPath = (root, steps, entry) => {
    let at = root;
    root.add({ whole: root.whole }, entry);
    for (const step of steps)
      (at = at.child(step)).add(step, entry);
  };
  for (const entry of entries) {
    const steps = entry.site ? stepsOf(entry.frames, how) : [];
    const at = steps.findLastIndex((step) => step.fn === fn);
    if (at < 0)
      continue;
    if (!callers) {
      const middle = { ...steps[at], place: steps[at].path };
      [callers, callees] = [new FlameNode(middle, null, tree), new FlameNode(middle, null, tree)];
      callers.begin(middle);
      callees.begin(middle);
    }
    addPath(callers, steps.slice(at + 1), entry);
    addPath(callees, steps.slice(0, at).reverse().concat(tipOf(entry, true)), entry);
  }
  return { callers, callees };
}

/* A box's name, short enough for a link. */
function boxWord({ name, place }) {
  let hash = 7;
  for (const letter of `${name}\n${place}`)
    hash = (Math.imul(hash, 31) + letter.codePointAt(0)) | 0;
  return (hash >>> 0).toString(36);
}

/* The way to a box from the root, and the box at its end, or as far as there is one. */
export function boxPath(node) {
  return node.parent ? [...boxPath(node.parent), boxWord(node)] : [];
}

export function boxAtPath(root, path) {
  let at = root;
  for (const word of path) {
    const next = at.sorted.find((child) => boxWord(child) === word);
    if (!next)
      break;
    at = next;
  }
  return at;
}

/* True if folding makes the stacks shorter. */
export function hasLibraryRuns(entries) {
  return entries.some(({ site, frames }) => site && stepsOf(frames, {}).length < frames.length);
}

/* Prepares a search, while nobody waits for it. */
export function warmSearch(root) {
  requestIdleCallback(() => {
    const visit = (node) => {
      node.searched.includes("\n");
      for (const child of node.children.values())
        if (child.isShown)
          visit(child);
    };
    visit(root);
  });
}

/* Makes the boxes of these stacks, so that the first range finds them. */
export function warmTree(tree, entries) {
  const rest = entries[Symbol.iterator]();
  const go = (deadline) => {
    for (let next = rest.next(); !next.done; next = rest.next()) {
      tree.pathOf(next.value);
      if (deadline.timeRemaining() < 1) {
        requestIdleCallback(go);
        return;
      }
    }
  };
  requestIdleCallback(go);
}

/* Every function once: what it and its callees created, and what it created itself. */
export function functionsOf(entries, how) {
  const all = new Map();
  for (const entry of entries) {
    const steps = entry.site ? stepsOf(entry.frames, how) : [], seen = new Set();
    steps.forEach((step, i) => {
      if (!all.has(step.fn))
        all.set(step.fn, { ...step, total: 0, self: 0, old: 0 });
      const one = all.get(step.fn);
      if (!i)
        one.self += entry.value;
      if (seen.has(step.fn))
        return;
      seen.add(step.fn);
      one.total += entry.value;
      one.old += entry.old || 0;
    });
  }
  return [...all.values()];
}

/* Boxes at least half a pixel wide: { node, left, share, row }, `row` counted from `focus`'s tree. */
export function layOut(root, focus, width) {
  const least = 0.5 / Math.max(width, 1), boxes = [], path = [];
  for (let node = focus; node; node = node.parent)
    path.unshift(node);
  for (const node of path.slice(0, -1))
    boxes.push({ node, left: 0, share: 1, row: node.depth, above: true });
  const place = (node, left, share) => {
    boxes.push({ node, left, share, row: node.depth, above: false });
    let at = left;
    for (const child of node.sorted) {
      const part = node.size ? child.size / node.size * share : 0;
      if (part < least)
        break;
      place(child, at, part);
      at += part;
    }
  };
  place(focus, 0, 1);
  return boxes;
}
