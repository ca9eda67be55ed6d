#!/bin/sh
# SPDX-License-Identifier: MIT
# long.sh - long and large runs, with a table of figures on stdout (doc/reliability.md).
#
# usage: tests/long.sh BUILD_DIR load [SECONDS [EVENTS_PER_SECOND]]	memory while a balanced load is recorded
#        tests/long.sh BUILD_DIR attach [SECONDS [EVENTS_PER_SECOND]]	the same, followed by attach (root)
#        tests/long.sh BUILD_DIR agent [SECONDS [EVENTS_PER_SECOND]]	a day of the agent (root)
#        tests/long.sh BUILD_DIR processes [COUNT]	so many processes in one recording
#        tests/long.sh BUILD_DIR events [COUNT]	so many events reported
#        tests/long.sh BUILD_DIR model [COUNT]	so many random programs, judged against a model
#
# Ends with status 1 when memory grew, something was lost, the ledger did not end at zero, or something that was said
# of a random program is not true.
set -eu

die() {
	echo "long.sh: $*" >&2
	exit 1
}

[ $# -ge 2 ] || { sed -n '4,9s/^# //p' "$0" >&2; exit 2; }
build=$(CDPATH= cd -- "$1" && pwd) || exit 1
what=$2
shift 2
work=$(mktemp -d "${TMPDIR:-/tmp}/gputrack-long.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export ZE_ENABLE_ALT_DRIVERS="$build/tests/fake/levelzero/libze_fake.so"
unset GPUTRACK_RECORDING OPENCL_LAYERS LD_PRELOAD

row() {
	printf '| %s | %s |\n' "$1" "$2"
}

# A number out of the summary: RECORDING NAME
summary() {
	[ -f "$1.json" ] || "$build/gputrack" report "$1" --format json >"$1.json"
	python3 -c '
import json, sys
s = json.load(open(sys.argv[2]))
print({"lost": s["lost"], "events": s["recording"]["events"],
       "alive": s["totals"]["count"]}[sys.argv[1]])' "$2" "$1.json"
}

measured() {
	"$build/bench/measure" "$work/times" "$@"
}

# The first and the last fifth of a process's memory, in MiB: PID
memory_of() {
	python3 - "$work/monitor.csv" "$1" <<-'END'
	import csv, statistics, sys
	rows = [float(r["memory_mb"]) for r in csv.DictReader(open(sys.argv[1])) if r["pid"] == sys.argv[2]]
	fifth = max(1, len(rows) // 5)
	rows = rows[len(rows) // 20:]  # warm-up
	print("%.1f %.1f %d" % (statistics.median(rows[:fifth]), statistics.median(rows[-fifth:]), len(rows)))
	END
}

# The processor's time that a process takes for an event: PID EVENTS
processor_of() {
	python3 - "$work/monitor.csv" "$1" "$2" <<-'END'
	import csv, sys
	rows = [float(r["cpu_percent"]) for r in csv.DictReader(open(sys.argv[1])) if r["pid"] == sys.argv[2]]
	event = sum(rows) / 100 * 2 / int(sys.argv[3])  # a row for every 2 s
	print("%.2f µs, so that a core bears %.0f events/s" % (1e6 * event, 1 / event if event else 0))
	END
}

# Memory of the first and last fifth must be the same within a MiB and 5 %: NAME PID
check_memory() {
	# shellcheck disable=SC2046
	set -- "$1" $(memory_of "$2")
	row "memory of the $1, first and last fifth" "$2 MiB, $3 MiB ($4 samples)"
	awk -v a="$2" -v b="$3" 'BEGIN { exit !(b <= a * 1.05 + 1) }' || die "the $1 grew"
}

# The load, recorded by run, or followed by attach: HOW SECONDS RATE
load() {
	how=$1 seconds=$2 rate=$3
	stress="$build/gputrack stress --api levelzero --throughput $rate --duration $seconds"
	begun=$(date +%s)
	if [ "$how" = run ]; then
		# shellcheck disable=SC2086
		"$build/gputrack" run -q --max-size 64G -o "$work/load.gt" $stress >"$work/out" 2>&1 &
		tool=$!
		sleep 2
		program=$(cut -d" " -f1 /proc/$tool/task/$tool/children)
	else
		# shellcheck disable=SC2086
		$stress >"$work/out" 2>&1 &
		program=$!
		"$build/gputrack" attach -q -i 0 --max-size 64G -o "$work/load.gt" -p $program >"$work/tool" 2>&1 &
		tool=$!
	fi
	program=${program% }
	"$build/gputrack" monitor -p "$tool,$program" -i 2 -o "$work/monitor.csv"
	wait $tool || die "$(cat "$work/out" "$work/tool")"
	row "asked for" "$seconds s at $rate events/s"
	row "ran" "$(($(date +%s) - begun)) s: $(tail -n 1 "$work/out")"
	events=$(summary "$work/load.gt" events)
	[ "$events" != 0 ] || die "nothing was recorded"
	row "events recorded, lost, alive at the end" \
		"$events, $(summary "$work/load.gt" lost), $(summary "$work/load.gt" alive)"
	row "disk" "$(du -sb "$work/load.gt" | awk -v n="$events" \
		'{ printf "%.0f MiB, %.2f bytes an event", $1 / 1048576, $1 / n }')"
	check_memory program "$program"
	check_memory tool "$tool"
	row "processor's time of the tool for an event" "$(processor_of "$tool" "$events")"
	[ "$(summary "$work/load.gt" lost)" = 0 ] || die "events were lost"
	[ "$how" != run ] || [ "$(summary "$work/load.gt" alive)" -le 1 ] || die "the ledger drifted"
}

# So many processes in one recording.
processes() {
	# shellcheck disable=SC2016
	measured "$build/gputrack" run -q -o "$work/p.gt" sh -c '
		i=0; while [ $i -lt $1 ]; do "$2" --calls 20 >/dev/null; i=$((i + 1)); done' \
		sh "$1" "$build/tests/e2e/programs/ze_steps"
	row "processes, traces" "$1, $(find "$work/p.gt" -name '*.trace' | wc -l)"
	row "run" "$(awk '{ printf "%.1f s, %.1f MiB", $1, $3 / 1024 }' "$work/times")"
	rm "$work/times"
	for analysis in summary leakage processes; do
		measured "$build/gputrack" report "$work/p.gt" -a $analysis >"$work/out"
		row "report -a $analysis" "$(awk '{ printf "%.1f s, %.1f MiB", $1, $3 / 1024 }' "$work/times")"
		rm "$work/times"
	done
	measured "$build/gputrack" export "$work/p.gt" --format json >"$work/out"
	row "export --format json" "$(awk '{ printf "%.1f s, %.1f MiB", $1, $3 / 1024 }' "$work/times")"
	rm "$work/times"
	row "events, lost" "$(summary "$work/p.gt" events), $(summary "$work/p.gt" lost)"
	[ "$(summary "$work/p.gt" events)" = $((21 * $1)) ] || die "events are missing"
	row "disk" "$(du -s --block-size=1M "$work/p.gt" | cut -f 1) MiB"
}

# So many events reported.
events() {
	"$build/bench/make_events" "$work/e.gt" "$1" balanced
	row "events" "$1, $(du -s --block-size=1M "$work/e.gt" | cut -f 1) MiB"
	for analysis in summary leakage watermark sites usage; do
		measured "$build/gputrack" report "$work/e.gt" -a $analysis >"$work/out"
		row "report -a $analysis" "$(awk '{ printf "%.1f s, %.1f MiB", $1, $3 / 1024 }' "$work/times")"
		rm "$work/times"
	done
	[ "$(summary "$work/e.gt" alive)" = 0 ] || die "the ledger drifted"
}

printf '| %s | |\n|---|---|\n' "$what"
case $what in
load) load run "${1:-3600}" "${2:-50000}" ;;
agent) python3 bench/agent.py "$build" "${1:-86400}" "${2:-4000}" ;;
attach) load attach "${1:-3600}" "${2:-50000}" ;;
processes) processes "${1:-10000}" ;;
events) events "${1:-100000000}" ;;
model) "$build/tests/unit/test_model" "${1:-10000}" ;;
*) die "there is no $what" ;;
esac
