// SPDX-License-Identifier: MIT
// metrics.js - the resource tracker's charts in the page of a recording, one process at a time.
import { el, section } from "./dom.js";
import { lastPart, plural } from "./format.js";
import { trackerCharts, trackerFacts, trackerGaps, trackerVerdicts } from "./tracker.js";

/* A program that takes over by exec keeps the pid: those of one pid are told apart by number. */
function optionText(one, among) {
  const same = among.filter((other) => other.pid === one.pid);
  return `pid ${one.pid}${same.length > 1 ? `, program ${same.indexOf(one) + 1}` : ""}  ` +
    lastPart(one.program).slice(0, 40);
}

/* null when no process was measured. `state.trace`: whose charts the reader has chosen. */
export function metricsSection(set, state) {
  const { raw } = set.data, all = raw.metrics;
  const shown = all.filter((one) => !set.pid || one.pid === set.pid);
  if (!shown.length)
    return null;
  const node = section("metrics", "Process metrics", "Measured by the resource tracker around " +
    "each call.");
  const body = el("div");
  const fill = () => {
    const one = shown.find((other) => other.trace === state.trace) || shown[0];
    if (one.missing) {
      body.replaceChildren(el("p", { class: "card warn", title: one.csv,
        text: `The tracker's CSV ${lastPart(one.csv)} cannot be shown: ${one.missing}.` }));
      return () => {};
    }
    const { node: panels, draw } = trackerCharts(one.tracker);
    body.replaceChildren(...[trackerFacts(one.tracker), trackerGaps(one.tracker),
      trackerVerdicts(one.tracker), panels].filter(Boolean));
    return draw;
  };
  if (shown.length > 1) {
    const picker = el("select", { id: "measured-process", aria: { label: "Measured process" },
      on: { change: () => {
        state.trace = picker.value;
        fill()();
      } } }, shown.map((one) => el("option", { value: one.trace, text: optionText(one, shown),
      selected: one.trace === state.trace })));
    node.querySelector(".section-head").append(el("div", { class: "controls" }, picker));
  }
  node.append(body);
  if (raw.metrics_left_out && !set.pid)
    node.append(el("p", { class: "dim small", text: `${plural(raw.metrics_left_out,
      "more process was", "more processes were")} measured; gputrack html makes a page from any ` +
      "tracker CSV." }));
  return { node, draw: fill() };
}
