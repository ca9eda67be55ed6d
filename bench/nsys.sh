#!/bin/sh
# SPDX-License-Identifier: MIT
# nsys.sh BUILD_DIR [ROWS…] - how fast Nsight exports are imported and analysed, and with how much memory.
#
# ROWS: sizes of the exports (default: 1000000 10000000); each once in order of time, once shuffled.
set -eu
. "$(dirname -- "$0")/common.sh"

[ -x "$build/bench/make_nsys" ] || die "$build cannot make exports: it was built without SQLite"
[ $# -ge 1 ] || set -- 1000000 10000000

# NAME WHAT COMMAND…: runs it once and prints its row.
row() {
	name=$1 what=$2
	shift 2
	rm -f "$work/times"
	"$build/bench/measure" "$work/times" "$@" >/dev/null || die "$* failed"
	awk -F '\t' -v what="$what" -v name="$name" -v rows="$rows" \
		-v bytes="$(stat -c %s "$work/export.sqlite")" '
		{ printf "| %s | %s | %d | %.0f | %.2f | %.2f | %.2f | %.1f |\n", what, name, rows,
			bytes / 1048576, $1, $2, rows / $2 / 1e6, $3 / 1024 }' "$work/times"
}

echo "| command | order | rows read | export, MiB | s | CPU s | million rows a CPU second | peak MiB |"
echo "|---|---|--:|--:|--:|--:|--:|--:|"
for size; do
	for order in ordered shuffled; do
		"$build/bench/make_nsys" "$work/export.sqlite" "$size" $order || die "no export"
		rows=$((2 * size - 10000)) # each memory row has a call
		rm -rf "$work/x.gt"
		[ $order = shuffled ] || row $order 'SQLite alone, the same rows' \
			"$build/bench/scan_nsys" "$work/export.sqlite"
		row $order '`gputrack import`' "$build/gputrack" import -q "$work/export.sqlite" \
			-o "$work/x.gt"
		[ $order = ordered ] || continue
		rows=$((size - 10000))
		for analysis in watermark usage leakage; do
			row $order "\`report -a $analysis --format tsv\`" "$build/gputrack" report \
				"$work/x.gt" -a $analysis --format tsv
		done
	done
done
echo
echo "Rows read are memory rows and their calls; of a report, memory rows. Allocations alternate with frees, 10,000 alive at a time, each in a call with one of 1,000 call" \
	"chains of 16 frames; one run each. SQLite sorts shuffled rows in temporary files."
