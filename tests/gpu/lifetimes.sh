#!/bin/sh
# SPDX-License-Identifier: MIT
# lifetimes.sh - what ends with another CUDA resource: the driver's answers, and what gputrack makes of
# them. Needs a GPU; fails if either is not as doc/lifetimes.md says.
# usage: tests/gpu/lifetimes.sh BUILD_DIR   (a build that runs here; LIBS=DIR holds libraries it may lack)
#
# LIFETIMES=FILE is the program, built elsewhere; otherwise cc builds it with cuda.h of CUDA_HOME
# (/usr/local/cuda).
. "$(dirname "$0")/begin.sh"
tried=
program=${LIFETIMES:-$work/lifetimes}
if [ -z "${LIFETIMES:-}" ]; then
	cc -g -o "$program" "$top/tests/gpu/lifetimes.c" -I "${CUDA_HOME:-/usr/local/cuda}/include" -ldl ||
		exit 1
fi
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
cd "$work" || exit 1

# The answers as one line; what is alive at the end, the failed calls, blocks freed from inside.
ask() {
	python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
alive = ["%d %s" % (k["live"], k["kind"]) for k in r["kinds"] if k["live"] and k["kind"] != "primary context"]
failures = [f["function"] for f in r["failures"]]
mistakes = r["unknown_ends"] + r["unsure_ends"] + r["replaced"] + len(r["redundant"])
print("alive", ", ".join(alive) or "nothing", "bytes", r["totals"]["bytes"],
      "failed", ", ".join(failures) or "nothing", "inside", len(r["interior"]), "mistakes", mistakes)
' "$1"
}

try() { # try CASE ANSWERS EXPECTED
	rm -rf case.gt
	"$build/gputrack" run -q -o case.gt "$program" "$1" >out.txt 2>err.txt
	status=$?
	if [ $status -eq 77 ]; then
		echo "skip $1: $(cat err.txt)"
		return
	fi
	tried=1
	answers=$(tr '\n' ';' <out.txt)
	"$build/gputrack" report case.gt --format json >case.json
	found=$(ask case.json)
	if [ $status -eq 0 ] && [ "$answers" = "$2" ] && [ "$found" = "$3" ]; then
		echo "ok   $1"
		return
	fi
	failed=1
	echo "FAIL $1 (status $status)"
	cat err.txt
	echo "     driver    $answers"
	[ "$answers" = "$2" ] || echo "     expected  $2"
	echo "     gputrack  $found"
	[ "$found" = "$3" ] || echo "     expected  $3"
}

clean="alive nothing bytes 0 failed nothing inside 0 mistakes 0"
refused() { # refused FUNCTION
	echo "alive nothing bytes 0 failed $1 inside 0 mistakes 0"
}
try memory-freed-inside "inside: 1;freed: no;free: 0;" "$(refused cuMemFree_v2)"
try managed-freed-inside "inside: 1;free: 0;" "$(refused cuMemFree_v2)"
try host-freed-inside "inside: 1;free: 0;" "$(refused cuMemFreeHost)"
try async-freed-inside "inside: 1;free: 0;" "$(refused cuMemFreeAsync)"
try left-in-context "destroy: 0;freed: yes;" "$clean"
try left-in-primary-context "release: 0;freed: yes;" "$clean"
try primary-context-kept "context: the same;release: 0;freed: no;free: 0;" "$clean"
try left-at-reset "reset: 0;freed: yes;" "$clean"
try block-after-pool "pool: 0;use: 0;free: 0;" "$clean"
try block-left-in-pool "pool: 0;use: 0;" \
	"alive 1 device memory bytes 1048576 failed nothing inside 0 mistakes 0"
try block-after-stream "stream: 0;free: 0;" "$clean"
try memory-kept-by-mapping "release: 0;freed: no;unmap: 0;freed: yes;" "$clean"
try memory-retained \
	"release: 0;freed: no;retain: 0;memory: the same;release: 0;unmap: 0;freed: yes;" "$clean"
try memory-retained-and-left \
	"release: 0;freed: no;retain: 0;memory: the same;unmap: 0;freed: no;" \
	"alive 1 physical memory bytes 268435456 failed nothing inside 0 mistakes 0"
try exec-after-graph "graph: 0;launch: 0;exec: 0;" "$clean"
try function-of-module "unload: 0;" "$clean"
try texture-after-array "array: 0;texture: 0;" "$clean"
try event-recorded "event: 0;stream: 0;" "$clean"
try ipc-handle-left "get: 0;free: 0;freed: yes;" "$clean"
rm -rf "$work"
[ -n "$tried" ] || exit 77
exit $failed
