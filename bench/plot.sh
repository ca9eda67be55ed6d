#!/bin/sh
# SPDX-License-Identifier: MIT
# plot.sh BUILD_DIR - how long a picture takes, and how much memory.
set -eu
. "$(dirname -- "$0")/common.sh"

rounds=${ROUNDS:-3}

# ROWS: a tracker's CSV in which memory goes up and down and some destroys leak.
tracker() {
	awk -v rows="$1" 'BEGIN {
		print "CallNumber,TimeMs,APICall,VmSize_KB,VmRSS_KB,VmData_KB,VmPeak_KB,Threads," \
			"Delta_VmSize_KB,Delta_VmRSS_KB,Delta_VmData_KB,Contexts,CommandQueues," \
			"Modules,Kernels,EventPools,CommandLists,Events,Fences,Images,Samplers," \
			"TotalMemory_Bytes"
		split("zeContextCreate zeContextDestroy zeEventPoolCreate zeEventPoolDestroy " \
			"zeMemAllocDevice zeMemFree zeCommandListAppendMemoryCopy zeKernelCreate", name, " ")
		srand(1)
		for (i = 1; i <= rows; i++) {
			n = int(rand() * 8) + 1
			d = int(rand() * 400) - 199
			kb = 150000 + i % 100000
			printf "%d,%d,%s,%d,%d,%d,%d,4,%d,%d,%d,%d,1,2,%d,1,3,%d,0,0,0,%d\n", i, i / 20,
				name[n], kb * 2, kb, kb, kb * 2, d, d, d, i % 5, i % 17, i % 90, i * 64 % 900000000
		}
	}'
}

# ROWS: what the analyses of memory over time write.
usage() {
	awk -v rows="$1" 'BEGIN {
		print "time(ns)\ttotal (B)\tvalid (B)\tinvalid (B)\tdriver (B)"
		for (i = 0; i < rows; i++)
			printf "%d\t%d\t%d\t%d\t0\n", i * 10000, i % 7777 * 65536, i % 5555 * 65536, 4096
	}'
}

# NAME FILE: times the picture of FILE.
measure() {
	for i in $(seq $rounds); do
		"$build/bench/measure" "$work/$1.times" "$build/gputrack" plot --no-symbols "$2" \
			-o "$work/$1.$3" >"$work/out" || die "cannot plot $2"
	done
	[ -d "$2" ] && bytes=$(cat "$2"/*.trace | wc -c) || bytes=$(wc -c <"$2")
	sort -g "$work/$1.times" | awk -F '\t' -v what="$4" -v bytes="$bytes" \
		-v out="$(wc -c <"$work/$1.$3")" '
		{ s[NR] = $1; if ($3 > peak) peak = $3 }
		END {
			printf "| %s | %.1f | %.2f | %.2f | %.1f | %.0f |\n", what, bytes / 1e6, s[1],
				s[int((NR + 1) / 2)], peak / 1024, out / 1000
		}'
}

tracker 1000 >"$work/small.csv"
tracker 1000000 >"$work/big.csv"
usage 1000000 >"$work/usage.tsv"
"$build/bench/make_events" "$work/events.gt" 1000000 balanced || die "cannot make a recording"

echo "| picture | input, MB | s: min | median | peak MiB | output, KB |"
echo "|---|--:|--:|--:|--:|--:|"
measure small "$work/small.csv" png "tracker's CSV, 1,000 rows, 1800×1840 PNG"
measure big "$work/big.csv" png "tracker's CSV, 1,000,000 rows, 1800×1840 PNG"
measure svg "$work/big.csv" svg "tracker's CSV, 1,000,000 rows, SVG"
measure usage "$work/usage.tsv" png "usage table, 1,000,000 rows, 1400×700 PNG"
measure events "$work/events.gt" png "recording, 1,000,000 events, 1600×1280 PNG"
echo
echo "$rounds rounds; inputs in the page cache."
