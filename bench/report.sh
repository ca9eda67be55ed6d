#!/bin/sh
# SPDX-License-Identifier: MIT
# report.sh BUILD_DIR - how fast recordings are read, and with how much memory.
set -eu
. "$(dirname -- "$0")/common.sh"

rounds=${ROUNDS:-5}
rounds_slow=2 # of those recordings that take the longest

commands="read replay"
[ ! -x "$build/gputrack" ] || commands="$commands report"

make() {
	"$build/bench/make_events" "$work/$1.gt" "$2" "$3" || die "cannot make $1"
}

# RECORDING COMMAND: runs it once.
time_once() {
	case $2 in
	read) set -- "$1" "$2" "$build/bench/replay" --read-only "$work/$1.gt" ;;
	replay) set -- "$1" "$2" "$build/bench/replay" "$work/$1.gt" ;;
	report) set -- "$1" "$2" "$build/gputrack" report "$work/$1.gt" ;;
	esac
	times=$work/$1-$2.times out=$work/$1-$2.out
	shift 2
	"$build/bench/measure" "$times" "$@" >"$out" || die "$* failed"
}

# RECORDING COMMAND
row() {
	case $1 in
	small | big) which="10,000 alive at a time" ;;
	reused) which="one handle per thread, reused at once" ;;
	leaky) which="all stay alive" ;;
	esac
	case $2 in
	read) what="reader alone" ;;
	replay) what="reader and ledger" ;;
	report) what='`gputrack report`' ;;
	esac
	sort -g "$work/$1-$2.times" | awk -F '\t' -v what="$what" -v which="$which" \
		-v events="$(value_of events "$work/$1-replay.out")" \
		-v alive="$(value_of alive "$work/$1-replay.out")" \
		-v bytes="$(cat "$work/$1.gt"/*.trace | wc -c)" '
		{ s[NR] = $1; if ($3 > peak) peak = $3 }
		END {
			median = s[int((NR + 1) / 2)]
			printf "| %s | %s | %d | %d | %.1f | %.2f | %.2f ", what, which, events,
				alive, bytes / events, s[1], median
			printf "| %.2f | %.2f | ≥ 5 | %.1f |\n", events / s[1] / 1e6,
				events / median / 1e6, peak / 1024
		}'
}

peak_of() {
	awk -F '\t' '$3 > peak { peak = $3 } END { print peak }' "$work/$1-${commands##* }.times"
}

make small 1000000 balanced
make big 10000000 balanced
make reused 1000000 reused
make leaky 10000000 alive
for i in $(seq $rounds); do
	for name in small big reused leaky; do
		case $name in
		reused | leaky) [ "$i" -le $rounds_slow ] || continue ;;
		esac
		for command in $commands; do
			time_once $name $command
		done
	done
done

echo "| command | recording | events | alive at the end | bytes per event | s: min | median" \
	"| million events/s: best | median | goal | peak MiB |"
echo "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
for command in $commands; do
	for name in small big reused leaky; do
		row $name $command
	done
done
echo
echo "Four threads, 1,000 stacks of 16 frames; $rounds rounds, $rounds_slow for the last two" \
	"recordings, all in the page cache. With ten times the events and as many resources alive," \
	"peak memory is × $(echo "$(peak_of small) $(peak_of big)" | awk '{ printf "%.2f", $2 / $1 }')" \
	"(goal: 1)."
