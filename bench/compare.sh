#!/bin/sh
# SPDX-License-Identifier: MIT
# compare.sh BUILD_DIR OLD_BUILD_DIR - processor time of commands against that of an older build.
#
# The builds take turns, so that other load on the machine meets both. BENCH_ROUNDS is the number of
# turns (7).
set -eu
. "$(dirname -- "$0")/common.sh"

[ $# -eq 1 ] || { echo "usage: $0 BUILD_DIR OLD_BUILD_DIR" >&2; exit 2; }
old=$(CDPATH= cd -- "$1" && pwd) || exit 1
rounds=${BENCH_ROUNDS:-7}

# NAME BUILD COMMAND…: runs it once.
time_once() {
	times=$work/$1.times program=$2/gputrack
	shift 2
	"$build/bench/measure" "$times" "$program" "$@" >/dev/null 2>"$work/err" ||
		die "$program $*: $(head -n 1 "$work/err")"
}

# NAME: the least and the median of its CPU seconds, and its peak in MB.
figures() {
	sort -t "$tab" -k 2 -g "$work/$1.times" | awk -F '\t' '
		{ s[NR] = $2; if ($3 > peak) peak = $3 }
		END { print s[1], s[int((NR + 1) / 2)], peak * 1024 / 1e6 }'
}

# WHAT COMMAND…
row() {
	what=$1
	shift
	rm -f "$work"/*.times
	for i in $(seq "$rounds"); do
		time_once before "$old" "$@"
		time_once now "$build" "$@"
	done
	echo "$(figures before) $(figures now)" | awk -v what="$what" '{
		printf "| %s | %.2f, %.2f | %.2f, %.2f | %.2f | %.1f | %.1f |\n", what, $1, $2, $4, $5,
			$5 / $2, $3, $6 }'
}

"$build/bench/make_events" "$work/big.gt" 10000000 balanced || die "cannot make events"
"$build/bench/make_events" "$work/distinct.gt" 200000 distinct || die "cannot make stacks"
echo "| command | before, CPU s: min, median | now | ratio of medians | before, peak MB | now |"
echo "|---|--:|--:|--:|--:|--:|"
row '`report`, 10 million events, 1,000 stacks' report "$work/big.gt"
row '`html`, 10 million events, 1,000 stacks' html "$work/big.gt" -o "$work/page.html"
row '`report`, 200,000 distinct stacks' report "$work/distinct.gt"
row '`report -a sites`, 200,000 distinct stacks' report -a sites "$work/distinct.gt"
echo
echo "$rounds rounds, the two builds in turn."
