// SPDX-License-Identifier: MIT
// leaks.js - the table of what was never given back.
import { el, section } from "./dom.js";
import { formatBytes, formatCount, formatTime, plural } from "./format.js";
import { goesOn } from "./header.js";
import { briefly, placeLine, stackList, stackWords } from "./stack.js";
import { Table } from "./table.js";

function openedLeak(set, leak) {
  const { site } = leak, facts = [];
  facts.push(site.first === site.last ? `created at ${formatTime(site.first)}` :
    `created from ${formatTime(site.first)} to ${formatTime(site.last)}`);
  facts.push(`by ${leak.function} (${site.kind.api})`);
  if (leak.place)
    facts.push(`on ${leak.place}`);
  if (leak.pid && set.data.raw.recording.processes.length > 1)
    facts.push(`in process ${leak.pid}`);
  const more = site.live > leak.handles.length ? " …" : "";
  return el("div", {}, stackList(site.frames),
    el("p", { class: "facts", text: facts.join(", ") }),
    leak.references ? el("p", { class: "facts warn", text: "held by " +
      `${site.live > 1 ? "up to " : ""}${leak.references} references, last retained at` }) : null,
    leak.references ? stackList(set.data.stack(leak.retained)) : null,
    leak.kept ? el("p", { class: "facts warn", text:
      (leak.kept < site.live ? `${formatCount(leak.kept)} of them ` : "") +
      `released, but kept by ${leak.kept_by}` }) : null,
    el("p", { class: "facts" }, leak.handles.length === 1 ? "handle " : "handles ",
      el("code", { text: leak.handles.join(" ") + more })));
}

/* What lives on, or went without a call, by the API's rules; null for nothing. */
function notLeakedNote({ lasting, freed_with_owner: freed }) {
  const parts = [];
  if (lasting)
    parts.push(`${plural(lasting, "resource lives", "resources live")} as long as the process`);
  if (freed)
    parts.push(`${plural(freed, "resource was", "resources were")} freed with their owner`);
  return parts.length ? el("p", { class: "dim", text: `Not leaked: ${parts.join("; ")}.` }) : null;
}

function noLeaks({ created, lasting }, recording) {
  if (!created)
    return el("p", { class: "card good", text: "Nothing was tracked." });
  return recording.gaps ?
    el("p", { class: "card warn", text: "No leaks in what was recorded, which is not all." }) :
    el("p", { class: "card good", text: "No leaks: " +
      `${plural(created - lasting, "resource was", "resources were")} created and given back.` });
}

/* Whether it leaked is not known of what programs hold that go on. */
function leaksTitle(raw, { processes }) {
  const some = (state) => processes.some((p) => p.state === state);
  const when = some("went_on") ? "when gputrack let go" :
    some("stopped") ? "when recording stopped" : "";
  if (goesOn(raw))
    return ["Alive", `Created and not given back ${when || "so far"}, by call site: ` +
      "this may be in use."];
  return ["Leaks", "Created and never given back, by call site." + (raw.in_use ?
    ` ${formatCount(raw.in_use)} of them in programs that ${when ? "went on " + when :
      "still run"}: ` +
      `${raw.in_use === 1 ? "it" : "they"} may be in use.` : "")];
}

/* What the driver kept, of all processes together; null for nothing, or not measured. */
function residueNote({ residue }) {
  return residue?.kb ? el("p", { class: "card warn", id: "residue", text: "The process grew by " +
    `${formatBytes(residue.kb * 1024)} that the driver kept when these were destroyed: ` +
    residue.labels.map(({ label, kb }) => `${label} ${formatCount(kb)} KB`).join(", ") +
    ". This is an estimate of the resource tracker and no leaked resource." }) : null;
}

export function leaksSection(set, state) {
  const { recording } = set.data.raw;
  const node = section("leaks", ...leaksTitle(set.raw, recording));
  const notes = [notLeakedNote(set.raw), set.raw.pid ? null : residueNote(set.data.raw)]
    .filter(Boolean);
  if (!set.leaks.length) {
    node.append(noLeaks(set.raw, recording), ...notes);
    return node;
  }
  const words = new Map();
  const columns = [
    { name: "bytes", title: "Bytes", num: true, value: (l) => l.site.liveBytes,
      cell: (l) => l.site.liveBytes ? formatBytes(l.site.liveBytes) : "–" },
    { name: "count", title: "Count", num: true, value: (l) => l.site.live,
      cell: (l) => formatCount(l.site.live) },
    { name: "kind", title: "Kind", value: (l) => l.site.kind.name,
      cell: (l) => l.site.kind.name },
    { name: "function", title: "Created by", minor: true, value: (l) => l.function,
      cell: (l) => el("code", { text: l.function }) },
    { name: "first", title: "First", num: true, minor: true, value: (l) => l.site.first,
      cell: (l) => formatTime(l.site.first) },
    { name: "site", title: "Where", value: (l) => briefly(l.site.frames)[0]?.where || "",
      cell: (l) => placeLine(l.site.frames) },
  ];
  const table = new Table("Leaks", columns, set.leaks, state, {
    key: (leak) => leak.site.stack + ":" + leak.site.kind.index,
    open: (leak) => openedLeak(set, leak),
    words: (leak) => {
      if (!words.has(leak))
        words.set(leak, `${leak.function} ${leak.site.kind.name} ${leak.site.kind.api} `
          .toLowerCase() + `${leak.place || ""} `.toLowerCase() +
          stackWords(leak.site.frames));
      return words.get(leak);
    } });
  node.append(table.node, ...notes);
  if (set.raw.rest.live)
    node.append(el("p", { class: "dim", text: `Besides ${plural(set.raw.rest.live, "resource",
      "resources")} from call sites that are not in the page: gputrack report -a leakage ` +
      "lists all." }));
  return node;
}
