#!/bin/sh
# SPDX-License-Identifier: MIT
# opencl.sh BUILD_DIR - what the OpenCL layer adds to a call, and how many bytes an event takes.
set -eu
. "$(dirname -- "$0")/common.sh"

rounds=${ROUNDS:-5} # of processes; each has rounds of its own
layer=$build/libgputrack_opencl.so
program=$build/bench/opencl_calls

if [ ! -x "$program" ] || [ ! -f "$layer" ]; then
	echo "Skipped: the OpenCL door is not built."
	exit 0
fi

# Runs the program once: NAME of the variant, FOLDER to record into or "", environment…
run_once() {
	name=$1 recording=$2
	shift 2
	env "$@" "$program" >"$work/out" || die "$program failed: $name"
	keep_samples "$name" "$work/out"
	[ -n "$recording" ] || return 0
	"$build/bench/replay" --read-only "$recording" >"$work/replayed" ||
		die "cannot read what $name recorded"
	[ "$(value_of events "$work/out")" = "$(value_of events "$work/replayed")" ] ||
		die "$name: $(value_of events "$work/out") events made," \
			"$(value_of events "$work/replayed") recorded"
	printf '%s\t%s\t%s\t%s\n' "$name" "$(value_of events "$work/replayed")" \
		"$(cat "$recording"/*.trace | wc -c)" "$(value_of frames "$work/replayed")" \
		>>"$work/sizes"
	rm -rf "$recording"
}

record() {
	run_once "$1" "$2/bench.gt" OPENCL_LAYERS="$layer" GPUTRACK_RECORDING="$2/bench.gt" ${3-}
}

disk=$(filesystem_of "$work")
for i in $(seq $rounds); do
	run_once "bare" ""
	run_once "layer, idle" "" OPENCL_LAYERS="$layer"
	record "recording, no stacks, $disk" "$work" GPUTRACK_STACKS=0
	record "recording, stacks, $disk" "$work"
	[ -z "$shm" ] || record "recording, no stacks, memory" "$shm" GPUTRACK_STACKS=0
	[ -z "$shm" ] || record "recording, stacks, memory" "$shm"
done
for variant in "recording, stacks, $disk" "recording, stacks, memory"; do
	printf 'goal\t%s\t300\n' "$variant" >>"$work/samples"
done

echo "The driver is $(value_of driver "$work/out"); each call has a stack of" \
	"$(value_of frames "$work/out") frames. \"ns\" is the time of all calls in the first column" \
	"together. With 4 threads, each with its own context, it is the time of one core."
echo
awk -f "$bench/calls.awk" "$work/samples"
echo
echo "| trace | events | bytes | frames per stack | bytes per event | goal |"
echo "|---|--:|--:|--:|--:|--:|"
awk -F '\t' '
	!($1 in events) { order[++n] = $1 }
	{ events[$1] += $2; bytes[$1] += $3; frames[$1] = $4 }
	END {
		for (i = 1; i <= n; i++)
			printf "| %s | %d | %d | %s | %.1f | %s |\n", order[i],
				events[order[i]], bytes[order[i]], frames[order[i]],
				bytes[order[i]] / events[order[i]],
				(frames[order[i]] + 0 ? "≤ 8" : "")
	}' "$work/sizes"
