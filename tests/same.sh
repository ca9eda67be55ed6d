#!/bin/sh
# SPDX-License-Identifier: MIT
# same.sh - real programs with and without gputrack: same output, same status.
#
# usage: tests/same.sh BUILD_DIR [PROGRAM…]
#        tests/same.sh BUILD_DIR clblast   all of CLBlast's tests (clblast-tests)
#        tests/same.sh BUILD_DIR pocl      PoCL's own tests, built here (pocl-source, opencl-clhpp-headers)
#
# Each program runs bare twice and recorded once. What differs between the two bare runs (times, rates,
# addresses) is noise and is left out of the comparison, line by line; numbers count as noise where the
# rest of the line does not differ. Prints a line for each, and ends with 1 when one was changed.
# Programs that are not installed are named and left out, and so are those that need longer than
# SAME_SECONDS (300) by themselves.
set -eu
build=$(CDPATH= cd -- "${1:?usage: tests/same.sh BUILD_DIR [PROGRAM…]}" && pwd)
shift
work=$(mktemp -d "${TMPDIR:-/tmp}/gputrack-same.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export OCL_ICD_VENDORS="${OCL_ICD_VENDORS:-pocl.icd}" LC_ALL=C
unset GPUTRACK_RECORDING OPENCL_LAYERS LD_PRELOAD

# PoCL's tests as programs in $work/pocl-tests; those that want PoCL's own build are left out.
build_pocl() {
	[ -f /usr/src/pocl.tar.xz ] || { echo "left out: pocl-source is not installed"; exit 0; }
	tests=$work/pocl-tests
	mkdir -p "$tests/tests/runtime"
	tar -C "$work" -xf /usr/src/pocl.tar.xz
	pocl=$work/pocl
	: >"$tests/config.h"
	cat >"$tests/pocl_opencl.h" <<-'END'
	#define CL_TARGET_OPENCL_VERSION 300
	#define CL_HPP_TARGET_OPENCL_VERSION 300
	#define CL_HPP_MINIMUM_OPENCL_VERSION 120
	#include <CL/opencl.h>
	#include <poclu.h>
	END
	for name in misc bswap cl_half; do
		compile cc "$pocl/poclu/$name.c" -c -o "$tests/$name.o"
	done
	for folder in runtime regression; do
		for file in "$pocl/tests/$folder"/*.c "$pocl/tests/$folder"/*.cpp; do
			[ -f "$file" ] || continue
			name=$(basename "$file")
			compile "$(case $file in *.cpp) echo c++ ;; *) echo cc ;; esac)" "$file" \
				"$tests"/*.o -o "$tests/${name%.*}" -lOpenCL -lpthread -lm ||
				echo "left out: $name cannot be built here" >&2
		done
	done
}

# COMPILER FILE OPTION…
compile() {
	compiler=$1
	shift
	"$compiler" -w -O1 -I"$tests" -I"$pocl/poclu" -I"$pocl/include" -DSRCDIR="\"$pocl\"" \
		-DBUILDDIR="\"$tests\"" "$@" 2>>"$tests/log"
}

case ${1:-} in
clblast)
	# shellcheck disable=SC2046
	set -- $(cd /usr/bin && ls clblast_test_* 2>/dev/null)
	;;
pocl)
	build_pocl
	set --
	for name in "$tests"/test_*; do
		[ ! -x "$name" ] || set -- "$@" "$name"
	done
	;;
esac
[ $# -gt 0 ] || set -- clinfo "clpeak --kernel-latency" clblast_test_xaxpy clblast_test_xdot clblast_test_xscal \
	clblast_test_xgemv clblast_test_xcopy
status=0

# Status and both streams, into $work/NAME.
take() {
	name=$1
	shift
	{ timeout "${SAME_SECONDS:-300}" "$@"; echo "status $?"; } >"$work/$name" 2>&1 </dev/null || true
}

compare() {
	python3 - "$work/first" "$work/second" "$work/recorded" <<-'END'
	import difflib, re, sys
	def lines(path):
	    text = open(path, errors="replace").read()
	    # the extension that the layer offers is there to be seen
	    text = re.sub(r" ?\bcl_altera_live_object_tracking\b([ \t]+(0x)?[0-9a-f]+ \([0-9.]+\))?", "", text)
	    rows = [" ".join(line.split()) for line in text.splitlines()]
	    # the status is no noise
	    rows[:-1] = [re.sub(r"0x[0-9a-f]+|[0-9.]+", "#", row) for row in rows[:-1]]
	    return [row for row in rows if row]
	first, second, recorded = (lines(path) for path in sys.argv[1:])
	def changes(a, b):
	    return [d for d in difflib.unified_diff(a, b, lineterm="", n=0) if not d.startswith(("---", "+++", "@@"))]
	noise = {d[1:] for d in changes(first, second)}
	found = [d for d in changes(first, recorded) if d[1:] not in noise]
	print(len(recorded))
	for line in found[:10]:
	    print(line, file=sys.stderr)
	sys.exit(bool(found))
	END
}

for program in "$@"; do
	if ! command -v "${program%% *}" >/dev/null; then
		echo "left out: ${program%% *} is not installed"
		continue
	fi
	rm -rf "$work/r.gt"
	# shellcheck disable=SC2086
	take first $program
	if [ "$(tail -n 1 "$work/first")" = "status 124" ]; then
		echo "left out: ${program##*/} needs longer than ${SAME_SECONDS:-300} s"
		continue
	fi
	# shellcheck disable=SC2086
	take second $program
	# shellcheck disable=SC2086
	take recorded "$build/gputrack" run -q -o "$work/r.gt" $program
	if count=$(compare); then
		echo "same: ${program##*/} ($count lines, $(tail -n 1 "$work/recorded"), $("$build/gputrack" report "$work/r.gt" \
			--format json | python3 -c 'import json,sys; s=json.load(sys.stdin); print(s["recording"]["events"], "events")'))"
	else
		echo "CHANGED: ${program##*/}"
		status=1
	fi
done
exit $status
