#!/bin/sh
# SPDX-License-Identifier: MIT
# threads.sh BUILD_DIR - what a call costs from 1 to 4 threads, to 16 on 8 cores and more: doors, tracker, attach.
#
# The drivers are PoCL, and stand-ins for Level Zero's and CUDA's. The variants take turns.
set -eu
. "$(dirname -- "$0")/common.sh"

rounds=${ROUNDS:-5} # of processes; each has rounds of its own
BENCH_THREADS="1 2 4"
[ "$(nproc)" -lt 8 ] || BENCH_THREADS="1 2 4 8 16"
export BENCH_THREADS
fake=$build/tests/fake
folder=$build/levelzero
calls=$build/bench

# NAME COMMAND…: adds its samples under NAME.
run_once() {
	name=$1
	shift
	"$@" >"$work/out" 2>"$work/err" || die "$name: $(head -n 3 "$work/err")"
	rm -rf "$work/bench.gt" "$work/csv"
	mkdir "$work/csv"
	keep_samples "$name" "$work/out"
}

opencl() {
	run_once "OpenCL" "$calls/opencl_calls" 2
	run_once "OpenCL recorded" env OPENCL_LAYERS="$build/libgputrack_opencl.so" \
		GPUTRACK_RECORDING="$work/bench.gt" "$calls/opencl_calls" 2
}

levelzero() {
	ze="env ZE_ENABLE_ALT_DRIVERS=$fake/levelzero/libze_fake.so"
	layered="$ze LD_LIBRARY_PATH=$folder ZE_ENABLE_VALIDATION_LAYER=1"
	# shellcheck disable=SC2086
	{
		run_once "Level Zero" $ze "$calls/levelzero_calls" 2
		run_once "Level Zero recorded" $layered GPUTRACK_RECORDING="$work/bench.gt" "$calls/levelzero_calls" 2
		run_once "Level Zero tracked" $layered ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER=1 \
			ZEL_SYSTEM_RESOURCE_TRACKER_CSV="$work/csv/tracker.csv" "$calls/levelzero_calls" 2
	}
	"$calls/syscalls" | sed -n 's/^| one reading and one row at a time, \([0-9]*\) threads* | \([0-9]*\) |$/\1\t\2/p' \
		>>"$work/turns"
}

cuda() {
	run_once "CUDA" env LD_LIBRARY_PATH="$fake/cuda" "$calls/cuda_calls" 2
	run_once "CUDA recorded" env LD_LIBRARY_PATH="$fake/cuda" LD_PRELOAD="$build/libgputrack_preload.so" \
		GPUTRACK_RECORDING="$work/bench.gt" "$calls/cuda_calls" 2
	[ "$(id -u)" = 0 ] && "$build/gputrack" attach --help >/dev/null 2>&1 || return 0
	# its first line is attach's own; the program's figures come through
	run_once "CUDA attached" env LD_LIBRARY_PATH="$fake/cuda" "$build/gputrack" attach -q -i 0 \
		-o "$work/bench.gt" -c "$calls/cuda_calls" 2
	# what the kernel's probes take by themselves: they trap in everybody who calls the library
	"$build/gputrack" stress --api cuda --library "$fake/cuda/libcuda.so.1" -t 1 -d 100 >/dev/null 2>&1 &
	other=$!
	sleep 0.5
	"$build/gputrack" attach -q -i 0 -o "$work/other.gt" -p $other >/dev/null 2>&1 &
	tracer=$!
	sleep 1
	run_once "CUDA beside attach" env LD_LIBRARY_PATH="$fake/cuda" "$calls/cuda_calls" 2
	kill $other $tracer
	wait $other $tracer || true
	rm -rf "$work/other.gt"
}

for i in $(seq "$rounds"); do
	[ ! -x "$calls/opencl_calls" ] || opencl
	[ ! -x "$calls/levelzero_calls" ] || levelzero
	[ ! -f "$fake/cuda/libcuda.so.1" ] || cuda
done

# WHAT VARIANT BARE CASE: processor time over bare at each number of threads, in ns a call, and the last by the
# first; without BARE, of the bare call itself. Medians: the least of each would come from different moments, and the machine's speed changes meanwhile.
row() {
	awk -F '\t' -v what="$1" -v variant="$2" -v bare="$3" -v name="$4" -v counts="$BENCH_THREADS" '
		function median(who, threads,    n, i, j, v, sorted) {
			n = count[who, threads]
			for (i = 1; i <= n; i++) {
				v = samples[who, threads, i]
				for (j = i - 1; j >= 1 && sorted[j] > v; j--)
					sorted[j + 1] = sorted[j]
				sorted[j + 1] = v
			}
			return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
		}
		$2 != name || ($1 != variant && $1 != bare) { next }
		{ samples[$1, $4, ++count[$1, $4]] = $6 / $3 }
		END {
			n = split(counts, at, " ")
			if (!((variant, at[1]) in count))
				exit
			printf "| %s |", what
			for (i = 1; i <= n; i++) {
				over[i] = median(variant, at[i]) - (bare != "" ? median(bare, at[i]) : 0)
				printf " %.0f |", over[i]
			}
			printf " %.2f |\n", over[n] / over[1]
		}' "$work/samples" | tee -a "$work/rows"
}

printf '| processor, ns a call, by threads: over bare, or the bare call itself |'
printf ' %s |' $BENCH_THREADS
printf ' most threads by one |\n|---|'
printf -- '--:|%.0s' $BENCH_THREADS ""
echo
row "OpenCL, bare" "OpenCL" "" "create + release, 4 KiB buffer"
row "OpenCL, recorded" "OpenCL recorded" "OpenCL" "create + release, 4 KiB buffer"
row "Level Zero, bare" "Level Zero" "" "9 calls, one after another"
row "Level Zero, recorded" "Level Zero recorded" "Level Zero" "9 calls, one after another"
row "CUDA stand-in, bare" "CUDA" "" "create + destroy, event"
row "CUDA stand-in, recorded" "CUDA recorded" "CUDA" "create + destroy, event"
row "CUDA stand-in, attached" "CUDA attached" "CUDA" "create + destroy, event"
row "CUDA stand-in, another process attached" "CUDA beside attach" "CUDA" "create + destroy, event"
row "Level Zero tracker with CSV" "Level Zero tracked" "Level Zero" "9 calls, one after another"
while IFS='|' read -r _ what figures; do
	[ -n "$what" ] || continue
	set -- $(echo "$figures" | tr '|' ' ')
	for threads in $BENCH_THREADS; do
		curve_point "Cost by threads" "$(echo $what)" "threads" "processor, ns a call over bare" "$threads" "$1"
		shift
	done
done <<END
$(grep -v ', bare |' "$work/rows")
END

echo
echo "| tracker with CSV | ns a call | one reading and one row in its turn | ratio |"
echo "|---|--:|--:|--:|"
for threads in 1 4; do
	[ -s "$work/turns" ] || continue
	awk -F '\t' -v threads=$threads '
		FNR == NR { if ($1 == threads && (!least || $2 < least)) least = $2; next }
		$1 == "Level Zero tracked" && $2 == "9 calls, one after another" && $4 == threads &&
			(!ours || $5 / $3 < ours) { ours = $5 / $3 }
		END { printf "| %d thread%s | %.0f | %.0f | %.2f |\n", threads, (threads > 1 ? "s" : ""), ours, least,
			ours / least }' "$work/turns" "$work/samples"
done
echo
echo "$((rounds * 2)) rounds each. First table: medians of the calling threads' own processor time, so that neither" \
	"other programs nor attach's tracer, which needs a core as well, count; a thread that waits for another in the" \
	"recorder spins or sleeps, and both take processor time. Second table: the least time of one core, waiting included."

echo
python3 "$bench/attach_threads.py" "$build"
