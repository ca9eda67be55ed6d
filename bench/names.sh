#!/bin/sh
# SPDX-License-Identifier: MIT
# names.sh BUILD_DIR [MEGABYTES…] - what it takes to name 1,000 call sites in programs of this size (100 1000).
#
# Those of 100 MB come in other forms, too: compressed sections, split and shared debug information, link-time
# optimisation.
set -eu
. "$(dirname -- "$0")/common.sh"

[ $# -ge 1 ] || { [ -n "${BENCH_QUICK-}" ] && set -- 100 || set -- 100 1000; }
fake=$build/tests/fake/cuda
[ -f "$fake/libcuda.so.1" ] && [ -f "$build/libgputrack_preload.so" ] || {
	echo "Skipped: the CUDA door or its stand-in is not built."
	exit 0
}
LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
GPUTRACK_CACHE=$work/cache
export LD_LIBRARY_PATH GPUTRACK_CACHE

# WHAT FORM: reports once and prints its row.
row() {
	rm -f "$work/times"
	"$build/bench/measure" "$work/times" "$build/gputrack" report "$work/names.gt" -a sites --format tsv \
		>"$work/out" || die "report failed"
	awk -F '\t' -v what="$1" -v form="$2" -v sites="$(($(wc -l <"$work/out") - 1))" -v bytes="$bytes" '
		{ printf "| %s | %d | %d | %.2f | %.2f | %.1f | %s |\n", what, bytes / 1e6, sites, $1, $2, $3 * 1024 / 1e6, form }' \
		"$work/times"
}

# FORM: records what was built, and reports on it twice.
rows() {
	bytes=$(cat "$work/program" $(ls "$work/shared.debug" "$work"/*.dwo 2>/dev/null) | wc -c)
	rm -rf "$work/names.gt" "$work/cache"
	# as if it had been recorded elsewhere: without its own names
	"$build/gputrack" run -q -o "$work/names.gt" "$work/program" || die "it cannot be recorded"
	rm -rf "$work/names.gt/legend" "$work/cache"
	row "the first" "$1"
	row "the next, names kept" "$1"
}

# SIZE FLAG…: a program of so many MB, its units being copies of one with other symbols.
link_copies() {
	units=$(($1 * 1000000 / 2990000))
	shift
	cc -O1 "$@" -c -o "$work/unit.o" "$work/unit.c" || die "no compiler"
	python3 "$bench/names.py" main $units $((1000 / units + 1)) >"$work/main.c"
	mkdir "$work/units"
	for i in $(seq 0 $((units - 1))); do
		objcopy --prefix-symbols=c${i}_ "$work/unit.o" "$work/units/$i.o"
	done
	cc -g -o "$work/program" "$work/main.c" "$work"/units/*.o -ldl || die "it cannot be linked"
	rm -rf "$work/units"
}

# Link-time optimisation wants sources of their own, and takes its time: a smaller one.
link_optimised() {
	for i in 0 1 2; do
		python3 "$bench/names.py" unit 1500 c${i}_ >"$work/unit$i.c"
	done
	python3 "$bench/names.py" main 3 334 >"$work/main.c"
	# -rdynamic: functions that are not called stay
	cc -O1 -g -flto=2 -rdynamic -o "$work/program" "$work/main.c" "$work"/unit[0-9].c -ldl || die "it cannot be linked"
	rm -f "$work"/unit[0-9].c
}

python3 "$bench/names.py" unit 3000 >"$work/unit.c"
echo "| report | program, MB | call sites | s | CPU s | peak MB | debug information |"
echo "|---|--:|--:|--:|--:|--:|---|"
for size; do
	link_copies "$size" -g
	rows "plain"
	[ "$size" = 100 ] || continue
	if command -v dwz >/dev/null; then
		cp "$work/program" "$work/other"
		# -L, -l: it takes them for too big
		if dwz -L none -l none -m "$work/shared.debug" "$work/program" "$work/other" 2>/dev/null; then
			rows "shared (dwz)"
		fi
		rm -f "$work/shared.debug" "$work/other"
	fi
	link_copies "$size" -g
	objcopy --compress-debug-sections=zlib "$work/program"
	rows "compressed"
	(cd "$work" && link_copies "$size" -g -gsplit-dwarf)
	rows "split"
	rm -f "$work"/*.dwo
	link_optimised
	rows "link-time optimised"
done
echo
echo "Each call site is in another function, which has inlined ones; $(nproc) cores."
