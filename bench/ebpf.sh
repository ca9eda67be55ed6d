#!/bin/sh
# SPDX-License-Identifier: MIT
# ebpf.sh BUILD_DIR - gputrack attach: cost of a call, loss, processor and memory of the tracer, board.
set -eu
. "$(dirname -- "$0")/common.sh"

library=$build/tests/fake/cuda/libcuda.so.1
tool=$build/gputrack
if [ "$(id -u)" != 0 ] || [ ! -f "$library" ] || ! "$tool" attach --help >/dev/null 2>&1; then
	echo "Skipped: needs root, the stand-in CUDA driver and a build with attach."
	exit 0
fi
# So that the stand-in is probed before it is loaded.
LD_LIBRARY_PATH=$(dirname -- "$library")
export LD_LIBRARY_PATH

echo "On the stand-in CUDA driver. Its functions begin with \`push\`, like NVIDIA's, an instruction that the" \
	"kernel emulates. A function that begins with another instruction is single-stepped, which costs 11 to" \
	"15 µs in a virtual machine."
echo
# NAME GOAL COMMAND…: runs it once. All take turns, because the machine's speed changes from minute to minute.
variant() {
	number=$((number + 1))
	printf '%s\t%s\n' "$1" "$2" >"$work/variant.$number"
	shift 2
	"$@" >>"$work/ns.$number" 2>"$work/err" || die "$*: $(cat "$work/err")"
}
# NUMBER: the least of the least, and the median of the medians.
spread() {
	least=$(cut -f 1 "$work/ns.$1" | sort -g | head -n 1)
	printf '%s\t%s' "$least" "$(cut -f 2 "$work/ns.$1" | sort -g | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }')"
}
attach() { "$tool" attach -q -i 0 -o "$work/a.gt" "$@" -c "$build/bench/attach_calls" "$library"; }
deep() { "$tool" attach -q -i 0 -o "$work/a.gt" "$@" -c "$build/bench/attach_calls" "$library" 20; }
# The kernel's cost of a probe alone: another process is followed, this one is not.
beside() {
	sleep 30 &
	other=$!
	"$tool" attach -q -i 0 -o "$work/b.gt" "$@" -p $other >/dev/null 2>&1 &
	tracer=$!
	sleep 1
	"$build/bench/attach_calls" "$library"
	kill -INT $tracer
	kill $other
	wait $tracer || true
}
for i in $(seq "${ROUNDS:-3}"); do
	number=0
	variant bare "" "$build/bench/attach_calls" "$library"
	variant "another process attached, multi probes" "" beside --probes multi
	variant "another process attached, session probes" "" beside --probes session
	variant "attached" "≤ 1600" attach
	variant "attached, frame pointers" "" attach --unwind fp
	variant "attached, no stacks" "" attach --no-stacks
	variant "attached, copies of 8 KiB of stack" "" attach --unwind dwarf
	variant "attached, multi instead of session probes" "" attach --probes multi
	variant "attached, 20 frames deeper" "" deep
	variant "attached, 20 frames deeper, frame pointers" "" deep --unwind fp
	variant "attached, 20 frames deeper, copies of 8 KiB" "" deep --unwind dwarf
done
echo "| cuMemAlloc + cuMemFree, ns per call | min | median | over bare: min | median | goal |"
echo "|---|--:|--:|--:|--:|--:|"
for i in $(seq $number); do
	printf '%s\t%s\t%s\n' "$(spread 1)" "$(spread "$i")" "$(cat "$work/variant.$i")" | awk -F '\t' '
		{ printf "| %s | %d | %d | %s | %s | %s |\n", $5, $3, $4, $5 == "bare" ? "" : $3 - $1,
		  $5 == "bare" ? "" : $4 - $2, $6 }'
done

echo
echo "| load | events/s reached | delivered | lost | goal |"
echo "|---|--:|--:|--:|---|"
tell() { # NAME RATE, which may be empty
	took=$(sed -n 's/^duration_ns: //p' "$work/a.gt/info")
	"$tool" report "$work/a.gt" -a summary --format json >"$work/json"
	python3 - "$work/json" "$1" "$2" "$took" <<-'END'
		import json, sys
		report = json.load(open(sys.argv[1]))
		events, lost = report["recording"]["events"], report["lost"]
		rate = sys.argv[3].replace(",", "") or (events + lost) / (int(sys.argv[4]) / 1e9)
		print(f"| {sys.argv[2]} | {float(rate):,.0f} | {events:,} | {lost:,} | none at 500,000/s |")
	END
}
burst() { # NAME THREADS EVENTS OPTIONS…
	name=$1 threads=$2 count=$3
	shift 3
	"$tool" attach -q -i 0 -o "$work/a.gt" "$@" -c "$tool" stress --api cuda --library "$library" \
		-t max -n "$count" --threads "$threads" >"$work/out" 2>&1 || die "$(cat "$work/out")"
	rate=$(sed -n 's/.*[^0-9,]\([0-9,]*\) events per second.*/\1/p; s/.*: \([0-9,.]*\) events\/s.*/\1/p' \
		"$work/out" | tail -n 1)
	tell "$name" "${rate:-}"
}
burst "one thread, as fast as it goes" 1 2000000
burst "one thread, no stacks" 1 2000000 --no-stacks
burst "two threads, no stacks" 2 2000000 --no-stacks
deep >"$work/ns"
tell "one thread, whole stacks of 24 frames" "$(awk '{ printf "%d", 1e9 / $2 }' "$work/ns")"

echo
echo "| events/s | tracer's CPU, % of a core | resident, MiB | of which the ring | goal |"
echo "|--:|--:|--:|--:|---|"
tick=$(getconf CLK_TCK)
steady() { # RATE GOAL
	"$tool" stress --api cuda --library "$library" -t "$1" -d 9 >/dev/null 2>&1 &
	load=$!
	sleep 0.5
	"$tool" attach -q -i 0 --ring-size 16M -o "$work/a.gt" -p $load >/dev/null 2>&1 &
	tracer=$!
	sleep 1.5
	before=$(awk '{ print $14 + $15 }' /proc/$tracer/stat)
	sleep 5
	after=$(awk '{ print $14 + $15 }' /proc/$tracer/stat)
	rss=$(awk '/^VmRSS/ { print $2 }' /proc/$tracer/status)
	wait $load $tracer || true
	awk -v rate="$1" -v used=$((after - before)) -v tick="$tick" -v rss="$rss" -v goal="$2" 'BEGIN {
		printf "| %d | %.1f | %.1f | 16.0 | %s |\n", rate, used * 100 / tick / 5, rss / 1024, goal }'
}
steady 1000 ""
steady 4000 "≤ 0.5 %, ≤ 24 MB (22.9 MiB)"
steady 100000 ""

echo
"$build/bench/board"

echo
python3 "$bench/attach_load.py" "$build"

echo
python3 "$bench/attach_libraries.py" "$build"

echo
python3 "$bench/attach_stacks.py" "$build"

echo
python3 "$bench/attach_python.py" "$build"
