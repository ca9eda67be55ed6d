#!/bin/sh
# report.sh BUILD_DIR - how fast recordings are read, and with how much memory.
set -u
. "$(dirname -- "$0")/common.sh"

rounds=5
rounds_leaky=2 # the slowest by far

# NAME EVENTS SHAPE
make() {
	"$build/bench/make_events" "$work/$1.gt" "$2" "$3" || die "cannot make $1"
}

make small 1000000 balanced
make big 10000000 balanced
make leaky 10000000 alive

# NAME
time_once() {
	"$build/bench/measure" "$work/$1-replay.times" "$build/bench/replay" "$work/$1.gt" \
		>"$work/$1.replayed" || die "cannot read $1"
	[ "$commands" = replay ] ||
		"$build/bench/measure" "$work/$1-report.times" "$build/gputrack" report \
			"$work/$1.gt" >"$work/out" || die "gputrack report fails on $1"
}

commands=replay
[ ! -x "$build/gputrack" ] || commands="replay report"
for i in $(seq $rounds); do
	time_once small
	time_once big
	[ "$i" -gt $rounds_leaky ] || time_once leaky
done

# NAME LABEL WHAT WHICH
row() {
	bytes=$(cat "$work/$1.gt"/*.trace | wc -c)
	sort -g "$work/$1-$2.times" | awk -F '\t' -v events="$(value_of events "$work/$1.replayed")" \
		-v alive="$(value_of alive "$work/$1.replayed")" -v bytes="$bytes" -v what="$3" \
		-v which="$4" '
		{ s[NR] = $1; if ($3 > peak) peak = $3 }
		END {
			printf "| %s | %s | %d | %d | %.1f | %.2f | %.2f | %.1f | %.1f | ≥ 5 | %.1f |\n",
				what, which, events, alive, bytes / events, s[1], s[int((NR + 1) / 2)],
				events / s[1] / 1e6, events / s[int((NR + 1) / 2)] / 1e6, peak / 1024
		}'
}

echo "| command | recording | events | alive at the end | bytes per event | s: min | median" \
	"| million events/s: best | median | goal | peak MiB |"
echo "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
for command in $commands; do
	case $command in
	replay) what="reader and ledger alone" ;;
	report) what='`gputrack report`' ;;
	esac
	row small $command "$what" "10,000 alive at a time"
	row big $command "$what" "10,000 alive at a time"
	row leaky $command "$what" "all stay alive"
done
echo
growth=$(for name in small big; do
	sort -t "$tab" -k3,3n "$work/$name-${commands##* }.times" | awk -F '\t' 'END { print $3 }'
done | awk '{ kib[NR] = $1 } END { printf "%.2f", kib[2] / kib[1] }')
echo "Four threads, 1,000 stacks of 16 frames; $rounds rounds, $rounds_leaky where all stay alive;" \
	"recordings in the page cache." \
	"Ten times the events with as many alive: peak memory × $growth (goal: 1)."
