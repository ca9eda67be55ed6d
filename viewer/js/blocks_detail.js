// SPDX-License-Identifier: MIT
// blocks_detail.js - one block in words: what it is, its life, who allocated and who freed it.
import { el } from "./dom.js";
import { usedAt } from "./blocks.js";
import { formatBytes, formatCount, formatTime, plural } from "./format.js";
import { placeLine, placeText, siteStack, stackList } from "./stack.js";

const FINE = 1e-4, OTHERS_SHOWN = 12;

/* A span of time, to three digits or so. */
export const spanText = (seconds) => formatTime(seconds, Math.max(seconds / 1000, 1e-9));

export const hexText = (number) => `0x${number.toString(16)}`;

/* How long it lived; of what was never freed, until the end. */
export function lifetimeOf({ born, ended }, end) {
  return Math.min(ended, end) - born;
}

function lifeText(block, end) {
  const life = lifetimeOf(block, end), step = Math.min(Math.max(life / 100, 1e-6), FINE);
  const from = formatTime(block.born, step);
  return block.ended === Infinity ? `${spanText(life)}: from ${from} to the end` :
    `${spanText(life)}: from ${from} to ${formatTime(block.ended, step)}`;
}

/* How it ended, where no stack says it. */
const ENDINGS = {
  "": () => "Never freed.",
  call: ({ isStackLeftOut }) => isStackLeftOut ? "The page has no room for the stack of the call that freed it." :
    "No stack of the call that freed it was recorded.",
  creation: () => "Its end was not seen: its address was given out again.",
  owner: () => "Its owner ended and took it along.",
  holder: () => "It was freed, and ended with the last mapping that kept it alive.",
  process: () => "Never freed: its process ended.",
};

function callCard(title, said, frames, more) {
  return el("div", {}, el("h4", { text: title }), said, frames ? stackList(frames) : null,
    more ? el("p", { class: "facts", text: more }) : null);
}

function freedCard(blocks, block) {
  const by = blocks.freedBy(block), isCall = block.endedBy === "call";
  if (!by)
    return callCard("Freed by", el("p", { text: ENDINGS[block.endedBy](block) }), null);
  return callCard("Freed by", placeLine(by.place), by.frames, isCall ? "" : ENDINGS[block.endedBy](block));
}

function factList(facts) {
  return el("dl", { class: "block-facts" }, facts.filter(([, value]) => value)
    .flatMap(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })]));
}

function originFacts(set, { process, place, tid, phase }) {
  const { names, recording } = set.data.raw, many = recording.processes.length > 1;
  return [["Device", names[place]], ["Process", many ? String(recording.processes[process]?.pid ?? "") : ""],
    ["Thread", tid ? String(tid) : ""], ["Phase", phase ? names[phase] : ""]];
}

/* Segments are searched by address. */
export function segmentAround(blocks, { hasAddress, process, place, address, born }) {
  return hasAddress ? blocks.segments.find((segment) => segment.process === process &&
    segment.place === place && segment.address <= address && segment.address + segment.size > address &&
    segment.born <= born && segment.ended > born) ?? null : null;
}

/* [title, nodes]. */
export function blockDetail(set, block) {
  const { blocks } = set, created = blocks.createdBy(block), segment = segmentAround(blocks, block);
  return [`${formatBytes(block.size)}, ${block.site.kind.name}`, [
    factList([["Life", lifeText(block, set.end)], ["Size", `${formatCount(block.size)} bytes`],
      [block.hasAddress ? "Address" : "Handle", hexText(block.handle)],
      ["Segment", segment ? `${formatBytes(segment.size)} at ${hexText(segment.address)}` : ""],
      ...originFacts(set, block)]),
    el("div", { class: "calls" }, callCard("Allocated by", placeLine(created.place), created.frames),
      freedCard(blocks, block))]];
}

export function segmentDetail(set, segment, time) {
  const used = usedAt(segment, time), free = segment.size - used, isAlive = segment.born <= time && segment.ended > time;
  return [`${formatBytes(segment.size)}, ${segment.site.kind.name}`, [
    factList([["Life", lifeText(segment, set.end)], ["Address", hexText(segment.address)],
      [`At ${formatTime(time, FINE)}`, !isAlive ? "" : !used ? `${formatBytes(free)} cached: no block is alive in it` :
        `${formatBytes(used)} in blocks, ${formatBytes(free)} free: fragmented, since a living block pins it`],
      ...originFacts(set, segment)]),
    el("div", { class: "calls" }, callCard("Allocated by", null, set.data.stack(segment.stack)))]];
}

function otherRow({ site, bytes, count }) {
  const summary = [el("span", { class: "num", text: formatBytes(bytes) }),
    el("span", { class: "what", text: plural(count, "block", "blocks") }),
    el("span", { class: "at" }, site ? placeLine(site.place) : "call sites that are not in the page")];
  return el("li", {}, site ? el("details", {}, el("summary", { class: "other" }, summary), ...siteStack(site)) :
    el("p", { class: "other" }, summary));
}

/* What is not drawn block by block at a moment, by call site. */
export function othersDetail(sums, time) {
  const { time: at, list } = sums.othersAt(time), more = list.slice(OTHERS_SHOWN);
  const bytes = list.reduce((sum, one) => sum + one.bytes, 0), count = list.reduce((sum, one) => sum + one.count, 0);
  return [`${formatBytes(bytes)} in ${plural(count, "other block", "other blocks")} at ${formatTime(at, FINE)}`, [
    el("p", { class: "dim", text: "Each took less memory, or for a shorter time, than those that are drawn one by one." }),
    el("ul", { class: "holders others" }, list.slice(0, OTHERS_SHOWN).map(otherRow), more.length ?
      el("li", {}, el("details", {}, el("summary", { class: "dim plain", text: `${
        plural(more.length, "more call site", "more call sites")}` }), el("ul", { class: "holders others" },
        more.map(otherRow)))) : null)]];
}

export function freeDetail(sums, what, time) {
  const now = sums.at(time);
  const segments = sums.segments.filter((segment) => segment.born <= now.time && segment.ended > now.time)
    .map((segment) => ({ segment, used: usedAt(segment, now.time) }))
    .filter(({ segment, used }) => what === "cached" ? !used : used && used < segment.size);
  return [`${formatBytes(now[what])} ${what} at ${formatTime(now.time, FINE)}`, [
    el("p", { class: "dim", text: what === "cached" ?
      `In ${plural(segments.length, "segment", "segments")} without a living block: the pool could return them.` :
      `Between the blocks of ${plural(segments.length, "segment", "segments")}: the pool cannot return these ` +
      "while a block is alive in them." })]];
}

/* A line for whatever the mouse or the keyboard is on. */
export function shownText(shown, time, sums) {
  const { set } = sums, when = formatTime(time, FINE);
  if (shown.what === "block")
    return [formatBytes(shown.block.size), shown.block.site.kind.name, lifeText(shown.block, set.end),
      placeText(set.blocks.createdBy(shown.block).place)].filter(Boolean).join("  ·  ");
  if (shown.what === "segment") {
    const { block } = shown, used = usedAt(block, time);
    return `${formatBytes(block.size - used)} of a segment of ${formatBytes(block.size)} at ${
      hexText(block.address)}  ·  ${used ? "fragmented" : "cached"} at ${when}`;
  }
  if (shown.what === "group")
    return `Other blocks${shown.group.site ? ` of ${placeText(shown.group.site.place)}` : ""} at ${when}`;
  return `${formatBytes(sums.at(time)[shown.what])} ${shown.what} at ${when}`;
}
