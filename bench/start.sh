#!/bin/sh
# SPDX-License-Identifier: MIT
# start.sh BUILD_DIR - how long it takes until something is recorded, and until a report is there.
#
# The driver is a stand-in (tests/fake/cuda). Least and median of processes, bare and recorded by turns.
set -eu
. "$(dirname -- "$0")/common.sh"

rounds=15 # also with --quick: the least of few says little
libraries=300
fake=$build/tests/fake/cuda
preload=$build/libgputrack_preload.so

# FILE [COLUMN]: the least and the median of a file's numbers.
spread() {
	cut -f "${2:-1}" "$1" | sort -g | awk '{ n[NR] = $1 } END { print n[1], n[int((NR + 1) / 2)] }'
}

# WHAT BARE OURS [MORE]: files of ms; more cells
row() {
	echo "$(spread "$2") $(spread "$3")" | awk -v what="$1" -v more="${4-}" '{
		printf "| %s | %.3f | %.3f | %.3f | %.3f | %.3f |%s\n", what, $1, $3, $3 - $1, $4, $4 - $2, more }'
}

# FILE: a cell, the least ms of the processor.
processor() {
	printf ' %.1f |' "$(spread "$1" 2 | cut -d ' ' -f 1)"
}

# FILE COMMAND…: adds the elapsed ms, and those of the processor.
time_once() {
	out=$1
	shift
	rm -f "$work/times"
	"$build/bench/measure" "$work/times" "$@" >/dev/null 2>"$work/err" || die "$* failed: $(cat "$work/err")"
	awk '{ printf "%s\t%s\n", $1 * 1000, $2 * 1000 }' "$work/times" >>"$out"
}

"$build/bench/make_events" "$work/small.gt" 33 balanced || die "cannot make events"
for i in $(seq "$rounds"); do
	time_once "$work/true" true
	time_once "$work/run" "$build/gputrack" run -q -o "$work/run.gt" true
	time_once "$work/report" "$build/gputrack" report "$work/small.gt"
	rm -rf "$work/run.gt"
done
echo "| start | bare, ms: least | ms: least | over bare, ms: least | ms: median | over bare, ms: median |" \
	"ms of the processor: least |"
echo "|---|--:|--:|--:|--:|--:|--:|"
echo 0 >"$work/nothing"
row '`gputrack run true`' "$work/true" "$work/run" "$(processor "$work/run")"
row 'report on 33 events' "$work/nothing" "$work/report" "$(processor "$work/report")"

if [ ! -f "$preload" ] || [ ! -f "$fake/libcuda.so.1" ]; then
	echo
	echo "First calls were not measured: the CUDA door is not built."
	exit 0
fi
LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
# a second statement: no tail call, so that the library stays on the stack
echo 'int calls; void through(void (*call)(void)) { call(); calls++; }' >"$work/through.c"
cc -O1 -g -fPIC -shared -o "$work/lib0.so" "$work/through.c" || die "no compiler"
for i in $(seq 1 $libraries); do
	cp "$work/lib0.so" "$work/lib$i.so"
done
set --
for i in $(seq 0 $libraries); do
	set -- "$@" "$work/lib$i.so"
done
cat >"$work/first.py" <<-'END'
	import ctypes, time
	cuda = ctypes.CDLL("libcuda.so.1")
	context = ctypes.c_void_p()
	retain, cuda.cuDevicePrimaryCtxRetain.argtypes = cuda.cuDevicePrimaryCtxRetain, [ctypes.c_void_p, ctypes.c_int]
	cuda.cuInit(0)
	def call():
	    begun = time.perf_counter_ns()
	    retain(ctypes.byref(context), 0)
	    return time.perf_counter_ns() - begun
	print("python", call(), sep="\t")
END
for i in $(seq "$rounds"); do
	for how in bare ours; do
		record=
		[ $how = bare ] || record="LD_PRELOAD=$preload GPUTRACK_RECORDING=$work/first.gt"
		# shellcheck disable=SC2086
		{ env $record "$build/bench/first_calls" "$@" && env $record python3 "$work/first.py"; } >"$work/out" ||
			die "a program failed: $how"
		while IFS=$tab read -r what ns; do
			echo "$ns" | awk '{ print $1 / 1e6 }' >>"$work/$how-$what"
		done <"$work/out"
		rm -rf "$work/first.gt"
	done
done
echo
echo "| a call | bare, ms: least | ms: least | over bare, ms: least | ms: median | over bare, ms: median |"
echo "|---|--:|--:|--:|--:|--:|"
for what in "first:$libraries libraries: the first" "second:$libraries libraries: one more from the same place" \
	"library:$libraries libraries: the first from one of them" \
	"loaded:$libraries libraries: the first after one more was loaded" "python:Python: the first"; do
	row "${what#*:}" "$work/bare-${what%%:*}" "$work/ours-${what%%:*}"
done
echo
echo "$rounds processes each."
