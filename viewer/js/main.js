// SPDX-License-Identifier: MIT
// main.js - puts the page together, and again when its data changes.
import { el, forgetColors, visible } from "./dom.js";
import { Flame } from "./flame.js";
import { blockView } from "./blocks_view.js";
import { Moment } from "./moment.js";
import { PageData } from "./data.js";
import { RangeView } from "./range.js";
import { Timeline } from "./timeline.js";
import { charts } from "./charts.js";
import { compareHeader, drawComparison } from "./compare.js";
import { copyButton } from "./copy.js";
import { filterBar } from "./filterbar.js";
import { withWord } from "./filter.js";
import { keysButton, listenToKeys } from "./keys.js";
import { follow } from "./live.js";
import { headerContent, verdicts } from "./header.js";
import { drawTracker, trackerHeader } from "./tracker.js";
import { memorySection } from "./memory.js";
import { metricsSection } from "./metrics.js";
import { leaksSection } from "./leaks.js";
import { mistakesSection } from "./mistakes.js";
import { samplesSection } from "./samples.js";
import { shortageBanner } from "./shortage.js";
import { sitesSection } from "./sites.js";
import { state } from "./state.js";
import { tableState } from "./table.js";
import { drawTests, recordingOfAll, testsHeader } from "./tests.js";
import { isDark, themeButton } from "./theme.js";

/* What the reader did to a view and no link repeats; it survives new data. */
const kept = {
  hiddenKinds: new Set(),
  functions: { ...tableState("total"), isOpen: false },
  range: tableState("left", 15),
  blocks: { ...tableState("bytes"), isOpen: false },
  leaks: tableState("bytes"),
  held: tableState("bytes"),
  sites: tableState("total"),
  metrics: { trace: null },
};
let data;
/* Of several recordings: the data of all, and by recording what has been unpacked. */
let several = null;
const unpacked = new Map();

function jump() {
  document.getElementById(state.values.view)?.scrollIntoView();
}

function sectionLinks(main) {
  return [...main.querySelectorAll("section[id]")].map(({ id, ariaLabel }) =>
    el("a", { href: `#${id}`, text: ariaLabel }));
}

/* A link within the page keeps the other choices. */
function followLink(event) {
  const link = event.target.closest('a[href^="#"]'), view = link?.getAttribute("href").slice(1);
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey)
    return;
  event.preventDefault();
  state.set({ view });
  jump();
  if (link.className === "skip")
    document.getElementById(view).focus();
}

function nothingTracked() {
  return el("div", { class: "card nothing" }, el("h2", { text: "Nothing was tracked" }),
    el("p", { text: data.raw.recording.processes.length ?
      "The program loaded a GPU API, but no call that creates or releases a resource was " +
      "seen. It may have exited too early, or found no device." :
      "The program never loaded a GPU API that gputrack can track." }),
    el("p", { class: "dim", text: "gputrack doctor shows what can be tracked on a machine." }));
}

function drawRecording(main) {
  if (!data.raw.recording.events) {
    main.append(nothingTracked());
    return () => {};
  }
  const set = data.set(state.values.pid), moment = new Moment(set);
  const timeline = new Timeline(set, kept.hiddenKinds), range = new RangeView(set, kept.range);
  main.append(...[shortageBanner(set), verdicts(set), filterBar(), timeline.node].filter(Boolean));
  timeline.node.append(moment.node, range.node);
  timeline.draw();
  moment.draw();
  range.draw();
  return () => {
    const flame = new Flame(set, kept.functions), samples = samplesSection(set);
    const metrics = metricsSection(set, kept.metrics), memory = memorySection(set);
    const blocks = blockView(set, kept.blocks);
    main.append(...[blocks?.node, memory?.node, samples?.node, flame.node, leaksSection(set, kept.leaks, kept.held),
      sitesSection(set, kept.sites), mistakesSection(set), metrics?.node].filter(Boolean));
    blocks?.draw();
    memory?.draw();
    samples?.draw();
    flame.draw();
    metrics?.draw();
  };
}

const tools = () => [copyButton("Copy link", "Copies this page's address with everything selected: moment, " +
  "range, filter, search", () => location.href), keysButton(), themeButton(draw)];

function recordingHeader() {
  const back = several ? recordingOfAll(several.raw) : [];
  return headerContent(data, { pid: state.values.pid, tools: [...back, ...tools()], live: data.live,
    /* a process that has no page of its own is a word of the filter */
    pick: (pid, hasSet) => state.set(hasSet ? { pid, zoom: null, at: "peak", range: null } :
      { pid: 0, filter: withWord(state.values.filter, "process", `process:${pid}`) }) }).filter(Boolean);
}

/* Remembers where the reader is typing; returns a function that restores it after a redraw. */
function keepFocus() {
  const active = document.activeElement, label = active?.getAttribute("aria-label");
  const from = active?.selectionStart, to = active?.selectionEnd;
  return () => {
    const again = label && document.querySelector(`[aria-label="${CSS.escape(label)}"]`);
    if (!again)
      return;
    again.focus({ preventScroll: true });
    if (from !== undefined && from !== null)
      again.setSelectionRange(from, to);
  };
}

function draw() {
  const main = document.getElementById("main");
  const byId = (id) => document.getElementById(id);
  const top = scrollY, restoreFocus = keepFocus();
  charts.clear();
  forgetColors();
  state.forget();
  state.on(["recording"], drawChosen);
  state.on(["pid"], draw);
  state.on(["view"], jump);
  /* for printing: canvases keep the colours they were drawn in */
  document.documentElement.dataset.ink = isDark() ? "light" : "dark";
  byId("header").replaceChildren(...(data.raw.tracker ? trackerHeader(data.raw, tools()) :
    data.raw.diff ? compareHeader(data.raw, tools()) :
      data.raw.all ? testsHeader(data.raw, tools()) : recordingHeader()));
  main.replaceChildren();
  const later = data.raw.tracker ? drawTracker(data.raw, main) :
    data.raw.diff ? drawComparison(data, main) :
      data.raw.all ? drawTests(data.raw, main) : drawRecording(main);
  document.body.dataset.drawn = "first";
  performance.mark("first picture");
  /* the first picture before everything else */
  const finish = () => {
    later();
    byId("nav").replaceChildren(...sectionLinks(main));
    document.body.dataset.drawn = "all";
    performance.mark("all drawn");
    restoreFocus();
    if (!data.drawn && state.values.view)
      jump();
    else
      scrollTo({ top, behavior: "instant" });
    data.drawn = true;
  };
  if (data.drawn)
    finish();
  else
    setTimeout(finish);
}

function titleOf(raw) {
  return visible(raw.tracker ? raw.tracker.path : raw.diff ? `${raw.diff.old} → ${raw.diff.new}` :
    raw.all ? `${raw.all.recordings.length} recordings` :
      raw.recording.command || raw.recording.path) + " – gputrack";
}

/* Of several recordings: the page of one, or of all together. */
async function choose() {
  const index = state.values.recording - 1, raw = several.raw.pages[index];
  if (raw && !unpacked.has(index))
    unpacked.set(index, await new PageData(raw).unpack());
  data = unpacked.get(index) || several;
  document.title = titleOf(data.raw);
}

async function drawChosen() {
  await choose();
  draw();
}

async function start() {
  const raw = JSON.parse(document.getElementById("data").textContent);
  data = await new PageData(raw).unpack();
  document.title = titleOf(raw);
  if (raw.all) {
    several = data;
    await choose();
  }
  data.live = follow(async (fresh) => {
    const next = await new PageData(fresh).unpack();
    next.live = next.drawn = true;
    data = next;
    draw();
  });
  document.addEventListener("click", followLink);
  document.getElementById("footer").append(el("p", { class: "dim", text: "Made by gputrack " +
    `${(raw.new || raw).made_by}. ` + (data.live ? "It fetches new data from the gputrack that serves it." :
      "This page is self-contained and makes no network requests.") }));
  draw();
}

listenToKeys();
start();
