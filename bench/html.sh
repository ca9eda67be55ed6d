#!/bin/sh
# SPDX-License-Identifier: MIT
# html.sh BUILD_DIR - how long the page of a recording takes to make and to show, and how big it is.
set -eu
. "$(dirname -- "$0")/common.sh"

rounds=${ROUNDS:-3}

"$build/gputrack" html --help >/dev/null || die "this gputrack has no html"

# NAME WHAT FILE: makes the page so often, and prints its row.
row() {
	for i in $(seq $rounds); do
		"$build/bench/measure" "$work/$1.times" "$build/gputrack" html "$3" \
			-o "$work/$1.html" 2>"$work/$1.err" || die "$(cat "$work/$1.err")"
	done
	shown=$(python3 "$bench/first_picture.py" "$work/$1.html" $rounds) || shown="- | -"
	sort -n "$work/$1.times" | awk -F '\t' -v what="$2" -v bytes="$(wc -c <"$work/$1.html")" \
		-v shown="$shown" '
		{ s[NR] = $1; cpu[NR] = $2; if ($3 > peak) peak = $3 }
		END {
			printf "| %s | %.2f | %.2f | %.2f | %.1f | %.2f | %s |\n", what, s[1],
				s[int((NR + 1) / 2)], cpu[1], peak / 1024, bytes / 1e6, shown
		}'
}

"$build/bench/make_events" "$work/small.gt" 1000000 balanced || die "cannot make events"
"$build/bench/make_events" "$work/big.gt" 10000000 balanced || die "cannot make events"
python3 "$bench/make_tracker_csv.py" 1000000 >"$work/million.csv"

echo "| page of | s: min | median | CPU s | peak MiB | MB (goal: ≤ 5)" \
	"| first picture, ms: min, median (goal: ≤ 2000) | all drawn, ms: min, median |"
echo "|---|--:|--:|--:|--:|--:|--:|--:|"
row small "1 million events, 10,000 alive at a time" "$work/small.gt"
row big "10 million events, 10,000 alive at a time" "$work/big.gt"
"$build/bench/make_events" "$work/alive.gt" 10000000 alive || die "cannot make events"
row alive "10 million events, all alive" "$work/alive.gt"
row csv "a tracker's CSV of 1 million rows" "$work/million.csv"
echo
echo "$rounds rounds. Four threads, 1,000 stacks of 16 frames. \"First picture\" is the time" \
	"from the start of loading until headless Chromium has painted the timeline."
echo
python3 "$bench/page.py" "$build" || echo "No browser: how quickly pages answer was not measured."
