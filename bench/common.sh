# SPDX-License-Identifier: MIT
# common.sh - helpers of the benchmark scripts; sourced with the build folder in $1.

bench=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
tab=$(printf '\t')

die() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

[ $# -ge 1 ] || { echo "usage: $0 BUILD_DIR" >&2; exit 2; }
build=$(CDPATH= cd -- "$1" 2>/dev/null && pwd) || die "$1: no such folder"
shift
[ -x "$build/bench/measure" ] || die "$build has no benchmarks: build it first"

# Settings of the recorder and the loaders must come only from here.
unset GPUTRACK_RECORDING GPUTRACK_STACKS OPENCL_LAYERS ACL_TRACK_LEAKS LD_PRELOAD
unset ZE_ENABLE_VALIDATION_LAYER ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER
unset ZEL_SYSTEM_RESOURCE_TRACKER_CSV ZEL_ENABLE_LOADER_LOGGING ZE_ENABLE_ALT_DRIVERS

work=$(mktemp -d "${TMPDIR:-/tmp}/gputrack-bench.XXXXXX") || exit 1
# A file system in memory, to separate the cost of the disk; empty if there is none.
shm=$(mktemp -d /dev/shm/gputrack-bench.XXXXXX 2>/dev/null) || shm=
trap 'rm -rf "$work" ${shm:+"$shm"}' EXIT
trap 'exit 130' INT TERM

filesystem_of() {
	df --output=fstype "$1" | tail -n 1
}

# Adds a run's samples, under the name of its variant, to those that calls.awk makes a table of.
keep_samples() {
	awk -F '\t' -v OFS='\t' -v variant="$1" \
		'$1 == "sample" { print variant, $2, $3, $4, $5, $6 }' "$2" >>"$work/samples"
}

# Adds a point to the curves that run.sh draws: CHART CURVE X_AXIS Y_AXIS X Y.
curve_point() {
	[ -z "${BENCH_CURVES-}" ] || printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$@" >>"$BENCH_CURVES"
}

# The value of a line "NAME<tab>VALUE".
value_of() {
	awk -F '\t' -v name="$1" '$1 == name { print $2; exit }' "$2"
}
