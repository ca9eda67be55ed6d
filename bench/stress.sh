#!/bin/sh
# SPDX-License-Identifier: MIT
# stress.sh BUILD_DIR - what `gputrack attach` costs beside a program that does nothing but allocate.
#
# The experiment of the tracer that gputrack is measured against, with its rates: `gputrack stress`
# makes the events, `gputrack attach` traces them, `gputrack monitor` watches attach. BENCH_SECONDS
# is how long each run takes (10). Leaves stress.csv, and stress.png where there is `gputrack plot`,
# in BUILD_DIR/bench.
set -eu
. "$(dirname -- "$0")/common.sh"

seconds=${BENCH_SECONDS:-10}
gputrack=$build/gputrack
csv=$build/bench/stress.csv
chart=$build/bench/stress.png
stand_in=$build/tests/fake/cuda/libcuda.so.1
stressor=

skip() {
	echo "Skipped: $*."
	exit 0
}

has_command() {
	"$gputrack" "$1" --help >/dev/null 2>&1
}

has_command attach || skip "this gputrack has no \`attach\`"
[ "$(id -u)" = 0 ] || skip "attaching needs root"

# A real device where there is one, then the stand-in, then OpenCL on the processor.
if "$gputrack" stress --api cuda --events 2 >/dev/null 2>&1; then
	set -- --api cuda
elif [ -f "$stand_in" ]; then
	set -- --api cuda --library "$stand_in"
else
	set -- --api opencl
fi
"$gputrack" stress "$@" --events 2 >"$work/try" 2>&1 || skip "$(head -n 1 "$work/try")"
device=$(sed -n 's/^pid [0-9]*, //p' "$work/try")

stop_all() {
	[ -z "$stressor" ] || kill "$stressor" 2>/dev/null || true
	rm -rf "$work" ${shm:+"$shm"}
}
trap stop_all EXIT

# Waits until the file has a line like that; the process must live on.
wait_for() {
	for _ in $(seq 200); do
		! grep -q "$1" "$2" 2>/dev/null || return 0
		kill -0 "$3" 2>/dev/null || break
		sleep 0.05
	done
	die "no \"$1\" in: $(tail -n 3 "$2")"
}

# FILE PID LOG: until attach has recorded the first call.
wait_for_file() {
	for _ in $(seq 400); do
		[ ! -f "$1" ] || return 0
		kill -0 "$2" 2>/dev/null || break
		sleep 0.05
	done
	die "attach has recorded nothing: $(tail -n 3 "$3")"
}

# NUMBER PRINTS THROUGHPUT RATIO STRESS_OPTION…
measure() {
	number=$1 prints=$2 rate=$3 ratio=$4
	shift 4
	description="--throughput $rate --allocate-size 2048 --free-ratio $ratio"
	[ "$prints" = yes ] || description="$description (no summaries printed)"
	"$gputrack" stress "$@" --throughput "$rate" --allocate-size 2048 --free-ratio "$ratio" \
		>"$work/stress.$number" 2>&1 &
	stressor=$!
	wait_for "^pid" "$work/stress.$number" $stressor
	interval="--interval 0"
	[ "$prints" = no ] || interval="--interval 1"
	# shellcheck disable=SC2086
	"$gputrack" attach -p "$stressor" -o "$work/$number.gt" $interval --duration "$seconds" \
		>"$work/attach.$number" 2>&1 &
	tracer=$!
	wait_for_file "$work/$number.gt/$stressor.trace" $tracer "$work/attach.$number"
	"$gputrack" monitor --pids $tracer --interval 0.2 --duration "$((seconds - 1))" \
		--description "$description" --output "$csv" ||
		die "cannot watch attach: $(tail -n 3 "$work/attach.$number")"
	wait $tracer || die "attach failed: $(tail -n 3 "$work/attach.$number")"
	kill -INT $stressor
	wait $stressor || die "stress failed: $(tail -n 3 "$work/stress.$number")"
	stressor=
	"$gputrack" report "$work/$number.gt" -a summary --format json >"$work/report.$number" ||
		die "cannot read what attach recorded"
	rm -rf "$work/$number.gt"
}

# A number of the report, by its key.
figure() {
	sed -n "s/.*\"$2\": *\([0-9][0-9]*\).*/\1/p" "$work/report.$1" | tail -n 1
}

# NUMBER WHAT SEED_CPU SEED_MEMORY
row() {
	reached=$(sed -n 's/.* s: \([0-9,]*\) events\/s.*/\1/p' "$work/stress.$1" | tr -d ,)
	awk -F , -v run="$1" -v what="$2" -v seed_cpu="$3" -v seed_memory="$4" \
		-v seconds="$seconds" \
		-v reached="$reached" -v events="$(figure "$1" events)" \
		-v lost="$(figure "$1" lost)" '
		NR > 1 && !($2 in number) { number[$2] = ++runs }
		NR > 1 && number[$2] == run {
			cpu += $5; n++
			if ($5 + 0 > cpu_max) cpu_max = $5 + 0
			if (n == 1) first = $6
			last = $6
			if ($6 + 0 > top) top = $6 + 0
		}
		END {
			if (!n) exit 1
			printf "| %s | %s | %d | %s | %.1f | %.1f | %.1f → %.1f | %.1f | %s | %s |\n",
				what, reached, events / seconds, lost, cpu / n, cpu_max, first, last,
				top, seed_cpu, seed_memory
		}' "$csv" || die "no rows of run $1 in $csv"
}

rm -f "$csv" "$chart"
measure 1 yes 1000 1.0 "$@"
measure 2 yes 4000 1.0 "$@"
measure 3 yes 4000 0.0 "$@"
measure 4 no 4000 0.0 "$@"
measure 5 yes 100000 1.0 "$@"
measure 6 yes 100000 0.0 "$@"
measure 7 yes max 1.0 "$@"

echo "\`gputrack stress\` calls $device, 2,048 bytes at a time. \`gputrack attach\` follows it for" \
	"$seconds s and prints a summary every second. \`gputrack monitor\` samples attach every 0.2 s," \
	"from the first recorded call to a second before the end. 100 % is one core. \"Reached\" is the" \
	"average over the stressor's life, \"recorded\" the rate while it was traced. The columns on the" \
	"right are gpu-memleak-trace's own measurement, on another machine."
echo
echo "| events/s | reached | recorded, events/s | lost | CPU %: mean | max | memory, MB: start → end | max" \
	"| theirs: CPU % | memory, MB |"
echo "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
row 1 "1,000, all freed" "6.0" "80 → 88"
row 2 "4,000, all freed" "13.8" "89"
row 3 "4,000, never freed" "16.0, max 65" "89 → 162"
row 4 "4,000, never freed, nothing printed" "14.8" "80 → 143"
row 5 "100,000, all freed" "" ""
row 6 "100,000, never freed" "" ""
row 7 "as fast as it goes, all freed" "" ""
if has_command plot && "$gputrack" plot "$csv" -o "$chart" >"$work/plot" 2>&1; then
	echo
	echo "Chart: $(basename "$build")/bench/stress.png."
fi
