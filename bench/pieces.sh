#!/bin/sh
# SPDX-License-Identifier: MIT
# pieces.sh BUILD_DIR - where the time of a recorded CUDA call goes on this machine, in about a minute.
#
# First each step of the recorder by itself, then the direct door and the bare driver in turns in one
# process. Without a GPU the driver is a stand-in (tests/fake/cuda).
set -eu
. "$(dirname -- "$0")/common.sh"
unset CUDA_INJECTION64_PATH

preload=$build/libgputrack_preload.so
calls=$build/bench/cuda_calls
fake=$build/tests/fake/cuda
clocks=/sys/devices/system/clocksource/clocksource0

if "$calls" --probe >/dev/null 2>&1; then
	fake=
elif [ -f "$fake/libcuda.so.1" ]; then
	LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
fi

pieces() { # FOLDER, GPUTRACK_STACKS
	mkdir "$1/pieces.gt"
	env GPUTRACK_RECORDING="$1/pieces.gt" ${2:+"$2"} "$build/bench/pieces" |
		awk -F '\t' '$1 == "piece" { printf "| %s | %s | %s |\n", $2, $3, $4 }'
	rm -r "$1/pieces.gt"
}

paired() { # NAME, FOLDER, GPUTRACK_STACKS
	env LD_PRELOAD="$preload" GPUTRACK_RECORDING="$2/paired.gt" ${3:+"$3"} "$calls" --paired |
		awk -F '\t' -v OFS='\t' -v how="$1" '$1 == "paired" { print $2, how, $3, $5 }'
	rm -r "$2/paired.gt"
}

# A shared machine runs at several speeds, for seconds each: at its full one, a bare call takes at most a
# tenth more than the least that was seen.
speeds() {
	sort -t '	' -k 1,2 -k 4,4n | awk -F '\t' '
	{ line[NR] = $0; if (!($1 in least) || $3 < least[$1]) least[$1] = $3 }
	function median(a, n) { return n ? a[int((n + 1) / 2)] : "" }
	function put() {
		if (key != "")
			printf "| %s | %s | %s | %s (%d of %d) | %s | %s |\n", calls, how, least[calls],
				median(full, f), f, n, median(all, n), all[n]
	}
	END {
		for (i = 1; i <= NR; i++) {
			split(line[i], c, "\t")
			if (c[1] c[2] != key) {
				put()
				key = c[1] c[2]; calls = c[1]; how = c[2]; f = n = 0
			}
			all[++n] = c[4]
			if (c[3] <= 1.1 * least[c[1]])
				full[++f] = c[4]
		}
		put()
	}'
}

printf '%s; clock: %s; load: %s\n' \
	"$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)" \
	"$(cat $clocks/current_clocksource 2>/dev/null || echo unknown)" \
	"$(cut -d ' ' -f 1-3 /proc/loadavg)"
for folder in "$work" $shm; do
	printf '\n**Steps, trace on %s**\n\n| step | ns: min | median |\n|---|--:|--:|\n' \
		"$(filesystem_of "$folder")"
	pieces "$folder" ""
	pieces "$folder" GPUTRACK_STACKS=0 | sed -n '/^| create /,$s/^| /| no stacks: /p'
done
[ -f "$preload" ] || exit 0
printf '\n**Calls, in turns%s**\n\n' "${fake:+, of a stand-in for the driver}"
echo "| calls | how | bare, ns a call | over bare: median of runs at full speed | of all runs | the worst run |"
echo "|---|---|--:|--:|--:|--:|"
for i in $(seq "${ROUNDS:-9}"); do
	for folder in "$work" $shm; do
		paired "no stacks, trace on $(filesystem_of "$folder")" "$folder" GPUTRACK_STACKS=0
		paired "stacks, trace on $(filesystem_of "$folder")" "$folder" ""
	done
done | speeds
