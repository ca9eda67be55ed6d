#!/bin/sh
# SPDX-License-Identifier: MIT
# names.sh BUILD_DIR [MEGABYTES…] - what it takes to name 1,000 call sites in programs of this size (100 1000).
set -eu
. "$(dirname -- "$0")/common.sh"

[ $# -ge 1 ] || set -- 100 1000
fake=$build/tests/fake/cuda
[ -f "$fake/libcuda.so.1" ] && [ -f "$build/libgputrack_preload.so" ] || {
	echo "Skipped: the CUDA door or its stand-in is not built."
	exit 0
}
LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
GPUTRACK_CACHE=$work/cache
export LD_LIBRARY_PATH GPUTRACK_CACHE

# WHAT: reports once and prints its row.
row() {
	rm -f "$work/times"
	"$build/bench/measure" "$work/times" "$build/gputrack" report "$work/names.gt" -a sites --format tsv \
		>"$work/out" || die "report failed"
	awk -F '\t' -v what="$1" -v sites="$(($(wc -l <"$work/out") - 1))" -v bytes="$(wc -c <"$work/program")" '
		{ printf "| %s | %d | %d | %.2f | %.2f | %.1f |\n", what, bytes / 1e6, sites, $1, $2, $3 * 1024 / 1e6 }' \
		"$work/times"
}

python3 "$bench/names.py" unit 3000 >"$work/unit.c"
cc -O1 -g -c -o "$work/unit.o" "$work/unit.c" || die "no compiler"
echo "| report | program, MB | call sites | s | CPU s | peak MB |"
echo "|---|--:|--:|--:|--:|--:|"
for size; do
	units=$((size * 1000000 / 2990000))
	python3 "$bench/names.py" main $units $((1000 / units + 1)) >"$work/main.c"
	mkdir "$work/units"
	for i in $(seq 0 $((units - 1))); do
		objcopy --prefix-symbols=c${i}_ "$work/unit.o" "$work/units/$i.o"
	done
	cc -g -o "$work/program" "$work/main.c" "$work"/units/*.o -ldl || die "it cannot be linked"
	rm -rf "$work/units" "$work/names.gt" "$work/cache"
	# as if it had been recorded elsewhere: without its own names
	"$build/gputrack" run -q -o "$work/names.gt" "$work/program" || die "it cannot be recorded"
	rm -rf "$work/names.gt/legend" "$work/cache"
	row "the first"
	row "the next, names kept"
done
echo
echo "Each call site is in another function, which has inlined ones; $(nproc) cores."
