#!/bin/sh
# SPDX-License-Identifier: MIT
# pool.sh BUILD_DIR - what recording adds to a report of PyTorch's allocator.
#
# libc10 is a stand-in (tests/fake/torch): its own part is a few additions. tests/gpu/pool.py measures
# PyTorch itself.
set -eu
. "$(dirname -- "$0")/common.sh"

rounds=${ROUNDS:-3} # of processes; each has rounds of its own
preload=$build/libgputrack_preload.so
program=$build/bench/pool_calls

if [ ! -x "$program" ] || [ ! -f "$preload" ]; then
	echo "Skipped: the pool door is not built."
	exit 0
fi

# Runs the program once: NAME of the variant, then how.
run_once() {
	name=$1
	shift
	"$@" >"$work/out" 2>"$work/err" || { cat "$work/err" >&2; die "$program failed: $name"; }
	keep_samples "$name" "$work/out"
}

record() { # NAME of the variant, more variables
	name=$1
	shift
	run_once "$name" env "LD_PRELOAD=$preload" GPUTRACK_RECORDING="$work/bench.gt" "$@" "$program"
	"$build/bench/replay" --read-only "$work/bench.gt" >"$work/replayed" ||
		die "cannot read what $name recorded"
	[ "$(value_of events "$work/out")" = "$(value_of events "$work/replayed")" ] ||
		die "$name: $(value_of events "$work/out") events made," \
			"$(value_of events "$work/replayed") recorded"
	rm -rf "$work/bench.gt"
}

for i in $(seq "$rounds"); do
	run_once "bare" "$program"
	run_once "--pools none" env "LD_PRELOAD=$preload" GPUTRACK_POOLS=none "$program"
	record "recorded, no stacks" GPUTRACK_STACKS=0
	record "recorded, stacks"
done
printf 'goal\t%s\t300\n' "recorded, stacks" >>"$work/samples"

echo "Each report has a stack of $(value_of frames "$work/out") frames; that of a block which is freed is not" \
	"recorded. \"ns\" is the time of all reports in the first column together."
echo
awk -f "$bench/calls.awk" "$work/samples"
