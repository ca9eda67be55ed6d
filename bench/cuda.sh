#!/bin/sh
# SPDX-License-Identifier: MIT
# cuda.sh BUILD_DIR - what the CUDA door adds to a call, beside compute-sanitizer where there is a GPU.
#
# Without a GPU the driver and CUPTI are stand-ins (tests/fake/cuda): the door's own cost can be read
# from that, CUPTI's and the driver's cannot.
set -eu
. "$(dirname -- "$0")/common.sh"
unset CUDA_INJECTION64_PATH

rounds=${ROUNDS:-3} # of processes; each has rounds of its own
door=$build/libgputrack_cuda.so
preload=$build/libgputrack_preload.so
program=$build/bench/cuda_calls
fake=$build/tests/fake/cuda

if [ ! -x "$program" ] || [ ! -f "$door" ]; then
	echo "Skipped: the CUDA door is not built."
	exit 0
fi
if "$program" --probe >/dev/null 2>&1; then
	fake=
else
	[ -f "$fake/libcuda.so.1" ] || { echo "Skipped: no GPU and no stand-in."; exit 0; }
	LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
fi
sanitizer=
[ -n "$fake" ] || sanitizer=$(command -v compute-sanitizer || true)

# Runs the program once: NAME of the variant, then how.
run_once() {
	name=$1
	shift
	"$@" >"$work/out" 2>"$work/err" || { cat "$work/err" >&2; die "$program failed: $name"; }
	keep_samples "$name" "$work/out"
}

record() { # NAME of the variant, the variable that opens the door, more
	run_once "$1" env "$2" GPUTRACK_RECORDING="$work/bench.gt" ${3:+"$3"} "$program"
	"$build/bench/replay" --read-only "$work/bench.gt" >"$work/replayed" ||
		die "cannot read what $1 recorded"
	[ "$(value_of events "$work/out")" = "$(value_of events "$work/replayed")" ] ||
		die "$1: $(value_of events "$work/out") events made," \
			"$(value_of events "$work/replayed") recorded"
	rm -rf "$work/bench.gt"
}

for i in $(seq "$rounds"); do
	run_once "bare" "$program"
	run_once "bare, 140 ns of other work a call" env WORK_NS=140 "$program"
	run_once "CUPTI, empty callback" env CUDA_INJECTION64_PATH="$build/bench/cupti_idle.so" "$program"
	record "door through CUPTI, no stacks" "CUDA_INJECTION64_PATH=$door" GPUTRACK_STACKS=0
	record "door through CUPTI, stacks" "CUDA_INJECTION64_PATH=$door"
	if [ -f "$preload" ]; then
		run_once "preloaded, not recording" env "LD_PRELOAD=$preload" "$program"
		record "direct door, no stacks" "LD_PRELOAD=$preload" GPUTRACK_STACKS=0
		record "direct door, stacks" "LD_PRELOAD=$preload"
	fi
	[ -z "$sanitizer" ] || run_once "compute-sanitizer --leak-check full" \
		"$sanitizer" --leak-check full "$program" 1
done
printf 'goal\t%s\t300\n' "direct door, stacks" >>"$work/samples"
printf 'goal\t%s\t120\n' "direct door, no stacks" >>"$work/samples"

echo "Driver: $(value_of driver "$work/out")${fake:+ (a stand-in on host memory: no GPU here)}." \
	"Each call has a stack of $(value_of frames "$work/out") frames and those of CUDA's libraries." \
	"\"ns\" is the time of all calls in the first column together."
echo
awk -f "$bench/calls.awk" "$work/samples"
