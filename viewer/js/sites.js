// sites.js - call sites: what each holds, held and created, how it went and whether it grows.
import { el, section, svg } from "./dom.js";
import { formatBytes, formatCount, formatTime } from "./format.js";
import { placeLine, stackList, stackWords } from "./stack.js";
import { Table } from "./table.js";

const WIDE = 120, TALL = 22;
const WARM_UP = 0.2;    // of the time
const GROWS_FOR = 0.4;  // of the time at least, or it is a burst

/* A site's points over time: [time, value], by bytes where it has any. */
function pointsOf(set, site) {
	if (site.track < 0)
		return null;
	const track = set.tracks[site.track];
	const values = site.totalBytes ? track.bytes : track.counts;
	return track.rows.map((row, i) => [set.rowTimes[row], values[i]]);
}

/* Of a step function, each value weighed by how long it lasted, after the warm-up. */
function growthOf(set, site) {
	const points = pointsOf(set, site), begin = set.end * WARM_UP;
	let weight = 0, sumT = 0, sumV = 0, sumTT = 0, sumTV = 0, sumVV = 0;
	if (!points || points.length < 4 ||
	    points.at(-1)[0] - Math.max(points[0][0], begin) < set.end * GROWS_FOR)
		return null;
	points.forEach(([time, value], i) => {
		const from = Math.max(time, begin), to = i + 1 < points.length ? points[i + 1][0] : set.end;
		const w = to - from;
		if (w <= 0)
			return;
		const t = (from + to) / 2;
		weight += w;
		sumT += w * t;
		sumV += w * value;
		sumTT += w * (t * t + w * w / 12);
		sumTV += w * t * value;
		sumVV += w * value * value;
	});
	const varT = sumTT - sumT * sumT / weight, varV = sumVV - sumV * sumV / weight;
	const both = sumTV - sumT * sumV / weight;
	if (!weight || varT <= 0 || varV <= 0)
		return null;
	const slope = both / varT, steady = both * both / (varT * varV);
	return slope > 0 && steady > 0.6 ? { slope, steady } : null;
}

function sparkline(set, site) {
	const points = pointsOf(set, site);
	if (!points || !points.length)
		return "";
	const end = set.end || 1, top = Math.max(...points.map(([, value]) => value), 1);
	const x = (time) => (time / end * WIDE).toFixed(1);
	const y = (value) => (TALL - 1 - value / top * (TALL - 3)).toFixed(1);
	const steps = points.length > 2 * WIDE ? Math.ceil(points.length / (2 * WIDE)) : 1;
	let path = `M0 ${y(0)}`;
	for (let i = 0; i < points.length; i += steps) {
		let value = 0;
		for (let k = i; k < i + steps && k < points.length; k++)
			value = Math.max(value, points[k][1]);
		path += `H${x(points[i][0])}V${y(value)}`;
	}
	path += `V${y(points.at(-1)[1])}H${WIDE}`;
	return svg("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, width: WIDE, height: TALL,
		"aria-hidden": "true" }, svg("path", { class: "fill", d: `${path}V${y(0)}Z` }),
	svg("path", { class: "stroke", d: path }));
}

function growthText(site, growth) {
	return growth ? `+${site.totalBytes ? formatBytes(growth.slope) :
		formatCount(growth.slope, growth.slope < 10 ? 1 : 0)}/s` : "";
}

export function sitesSection(set, state) {
	const node = section("sites", "Call sites", "Everything created through one stack, of one kind.");
	const growth = new Map(set.sites.map((site) => [site, growthOf(set, site)]));
	const words = new Map();
	const bytes = (value) => value ? formatBytes(value) : "–";
	const columns = [
		{ name: "live", title: "Alive at end", num: true, value: (s) => s.liveBytes || s.live / 1e6,
			cell: (s) => s.liveBytes ? formatBytes(s.liveBytes) : formatCount(s.live) },
		{ name: "most", title: "At most", num: true, minor: true, value: (s) => s.mostBytes,
			cell: (s) => bytes(s.mostBytes) },
		{ name: "total", title: "In all", num: true, value: (s) => s.totalBytes,
			cell: (s) => bytes(s.totalBytes) },
		{ name: "created", title: "Created", num: true, minor: true, value: (s) => s.created,
			cell: (s) => formatCount(s.created) },
		{ name: "spark", title: "Over time", minor: true, cell: (s) => sparkline(set, s) },
		{ name: "growth", title: "Growth", num: true, value: (s) => growth.get(s)?.slope || 0,
			cell: (s) => el("span", { class: growth.get(s) ? "warn" : "", text: growthText(s, growth.get(s)) }) },
		{ name: "kind", title: "Kind", value: (s) => s.kind.name, cell: (s) => s.kind.name },
		{ name: "site", title: "Where", value: (s) => s.frames[0]?.where || "",
			cell: (s) => placeLine(s.frames) },
	];
	const table = new Table("Call sites", columns, set.sites, state, {
		key: (site) => site.stack + ":" + site.kind.index,
		open: (site) => el("div", {}, stackList(site.frames), el("p", { class: "facts",
			text: `${formatCount(site.created)} created from ${formatTime(site.first)} to ` +
				`${formatTime(site.last)}, ${formatCount(site.live)} alive at the end` +
				(growth.get(site) ? `; grows by ${growthText(site, growth.get(site))}, ` +
					`steady to ${formatCount(growth.get(site).steady * 100)} %` : "") })),
		words: (site) => {
			if (!words.has(site))
				words.set(site, `${site.kind.name} ${site.kind.api} `.toLowerCase() +
					stackWords(site.frames));
			return words.get(site);
		} });
	node.append(table.node);
	if (set.raw.rest.sites)
		node.append(el("p", { class: "dim", text: `${formatCount(set.raw.rest.sites)} call sites ` +
			"that lead in nothing are left out: gputrack report -a sites lists all." }));
	return node;
}
