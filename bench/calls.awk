# SPDX-License-Identifier: MIT
# calls.awk - samples of timed calls as Markdown tables, one for each number of threads.
#
# Input, tab-separated: VARIANT CASE CALLS THREADS NS PROCESSOR_NS, or "goal" VARIANT NS. The first variant is
# the bare call that the others are compared with.

BEGIN {
	FS = "\t"
}

$1 == "goal" {
	goal[$2] = $3
	next
}

{
	if (!($1 in seen_variant)) {
		seen_variant[$1]
		variants[++variant_count] = $1
	}
	if (!($2 in calls)) {
		calls[$2] = $3
		cases[++case_count] = $2
	}
	if (!($4 in seen_threads)) {
		seen_threads[$4]
		threads[++thread_count] = $4
	}
	key = $1 SUBSEP $2 SUBSEP $4
	samples[key, ++sample_count[key]] = $5 + 0
}

# Puts a key's samples in order.
function settle(key,    i, j, v) {
	for (i = 2; i <= sample_count[key]; i++) {
		v = samples[key, i]
		for (j = i - 1; j >= 1 && samples[key, j] > v; j--)
			samples[key, j + 1] = samples[key, j]
		samples[key, j + 1] = v
	}
	least[key] = samples[key, 1]
	middle[key] = samples[key, int((sample_count[key] + 1) / 2)]
}

function number(v) {
	if (v < 0.05 && v > -0.05)
		v = 0 # not "-0.0"
	return sprintf((v < 20 && v > -20) ? "%.1f" : "%.0f", v)
}

function row(name, variant, t,    key, bare, over) {
	key = variant SUBSEP name SUBSEP t
	bare = variants[1] SUBSEP name SUBSEP t
	if (!(key in least))
		return
	printf "| %s | %s | %s | %s |", name, variant, number(least[key]), number(middle[key])
	if (key == bare) {
		print " 1 | | | |"
		return
	}
	over = (least[key] - least[bare]) / calls[name]
	printf " %.2f | %s | %s | %s |\n", middle[key] / middle[bare], number(over),
		number((middle[key] - middle[bare]) / calls[name]),
		((variant in goal) ? "≤ " goal[variant] : "")
}

END {
	for (key in sample_count)
		settle(key)
	for (t = 1; t <= thread_count; t++) {
		printf "%s**%d thread%s**\n\n", (t == 1 ? "" : "\n"), threads[t],
			(threads[t] == 1 ? "" : "s")
		print "| calls | how | ns: min | median | × bare | over bare, ns per call: min " \
			"| median | goal |"
		print "|---|---|--:|--:|--:|--:|--:|--:|"
		for (c = 1; c <= case_count; c++)
			for (v = 1; v <= variant_count; v++)
				row(cases[c], variants[v], threads[t])
	}
}
