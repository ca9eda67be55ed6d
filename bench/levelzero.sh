#!/bin/sh
# SPDX-License-Identifier: MIT
# levelzero.sh BUILD_DIR - what the Level Zero layer adds to a call, on the driver made for tests.
set -eu
. "$(dirname -- "$0")/common.sh"

rounds=${ROUNDS:-5} # of processes; each has rounds of its own
folder=$build/levelzero
program=$build/bench/levelzero_calls
source=$bench/../tests/fake/levelzero

skip() {
	echo "Skipped: $*."
	exit 0
}

[ -e "$folder/libze_validation_layer.so.1" ] || skip "the Level Zero door is not built"
[ -x "$program" ] || skip "there is no Level Zero loader to link to"

driver=$(find "$build" -name libze_fake.so -type f | head -n 1)
if [ -z "$driver" ]; then
	driver=$work/libze_fake.so
	# a build without tests still gets a driver to measure on
	cc -O2 -std=gnu11 -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden -pthread -o "$driver" \
		-I "$bench/../src" $(find "$source" -name '*.c' ! -name 'test_*' ! -name checkers.c) ||
		skip "the test driver does not build"
fi

path=LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
layer=ZE_ENABLE_VALIDATION_LAYER=1
tracker=ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER=1
csv=ZEL_SYSTEM_RESOURCE_TRACKER_CSV=$work/out.d/tracker.csv

# The processor time of one call, in ns: environment…
processor_time() {
	env ZE_ENABLE_ALT_DRIVERS="$driver" "$@" "$program" --processor >"$work/processor" ||
		die "$program failed"
	value_of processor "$work/processor"
}

alone=$(processor_time)
[ "$alone" -lt 1000 ] ||
	die "a bare call takes $alone ns: another tool on this machine probes the Level Zero loader"

# Runs the program once: NAME of the variant, environment…
run_once() {
	name=$1
	shift
	rm -rf "$work/out.d"
	mkdir "$work/out.d"
	env ZE_ENABLE_ALT_DRIVERS="$driver" "$@" "$program" >"$work/out" ||
		die "$program failed: $name"
	keep_samples "$name" "$work/out"
	if [ -d "$work/out.d/bench.gt" ]; then
		"$build/bench/replay" --read-only "$work/out.d/bench.gt" >"$work/replayed" ||
			die "cannot read what $name recorded"
		[ "$(value_of events "$work/out")" = "$(value_of events "$work/replayed")" ] ||
			die "$name: $(value_of events "$work/out") events made," \
				"$(value_of events "$work/replayed") recorded"
	fi
	printf '%s\t%s\t%s\n' "$name" "$(value_of calls "$work/out")" \
		"$(find "$work/out.d" -type f -exec cat {} + | wc -c)" >>"$work/sizes"
}

layered() {
	name=$1
	shift
	run_once "$name" "$path" $layer "$@"
}

for i in $(seq $rounds); do
	run_once "bare"
	layered "layer, idle"
	layered "tracker" $tracker
	layered "tracker, CSV" $tracker "$csv"
	layered "tracker, CSV, debug log" $tracker "$csv" ZEL_ENABLE_LOADER_LOGGING=1 \
		ZEL_LOADER_LOGGING_LEVEL=debug ZEL_LOADER_LOG_DIR="$work/out.d"
	layered "recording, stacks" GPUTRACK_RECORDING="$work/out.d/bench.gt"
done
{
	printf 'goal\ttracker, CSV\t3000\n'
	printf 'goal\trecording, stacks\t300\n'
} >>"$work/samples"

echo "Each call has a stack of $(value_of frames "$work/out") frames. \"ns\" is the time of all nine" \
	"calls of a cycle: create a context, a list, an event and memory, append once, destroy all" \
	"four. With 4 threads it is the time of one core. On another machine the original tracker" \
	"took 66,000 ns per call for such a cycle with its CSV and 82,000 with its log as well" \
	"(4 threads: 95,000 and 94,000)."
echo
awk -f "$bench/calls.awk" "$work/samples"
# Ours and the original's by turns, so that a busy machine slows both.
original=$build/bench/original_tracker
if [ -x "$original" ]; then
	for i in $(seq $rounds); do
		printf 'without CSV\t%s\t%s\n' "$("$original" | cut -f 2)" \
			"$(processor_time "$path" $layer $tracker)"
		rm -rf "$work/out.d"
		mkdir "$work/out.d"
		printf 'with CSV\t%s\t%s\n' "$("$original" "$work/out.d/original.csv" | cut -f 2)" \
			"$(processor_time "$path" $layer $tracker "$csv")"
	done >"$work/beside"
	echo
	echo "Processor time of a call, ns, medians of $rounds rounds by turns. The original's is a lower" \
		"bound: a program that takes the same readings and writes the same rows and texts, without" \
		"a layer, a driver and a log."
	echo
	echo "| tracker | the original | ours | times cheaper | goal |"
	echo "|---|--:|--:|--:|--:|"
	for row in 'without CSV:30' 'with CSV:20'; do
		grep "^${row%:*}$tab" "$work/beside" >"$work/row"
		printf '%s\t%s\t%s\n' "${row%:*}" "$(cut -f 2 "$work/row" | sort -n | sed -n "$((rounds / 2 + 1))p")" \
			"$(cut -f 3 "$work/row" | sort -n | sed -n "$((rounds / 2 + 1))p")" |
			awk -F '\t' -v goal="${row#*:}" \
				'{ printf "| %s | %d | %d | %.1f | ≥ %d |\n", $1, $2, $3, $2 / $3, goal }'
	done
fi

echo
"$build/bench/syscalls"
echo
echo "| output | calls | bytes | bytes per call |"
echo "|---|--:|--:|--:|"
awk -F '\t' '
	!($1 in calls) { order[++n] = $1 }
	{ calls[$1] += $2; bytes[$1] += $3 }
	END {
		for (i = 1; i <= n; i++)
			if (bytes[order[i]])
				printf "| %s | %d | %d | %.1f |\n", order[i], calls[order[i]],
					bytes[order[i]], bytes[order[i]] / calls[order[i]]
	}' "$work/sizes"

# What attach costs a process that it does not follow, and that uses the same library.
[ "$(id -u)" = 0 ] && "$build/gputrack" attach --help >/dev/null 2>&1 || exit 0
sleep 600 &
sleeper=$!
"$build/gputrack" attach -i 0 -o "$work/beside.gt" -p $sleeper >/dev/null 2>"$work/attach" &
attach=$!
while kill -0 $attach 2>/dev/null && ! grep -q 'gputrack: tracking' "$work/attach"; do
	sleep 0.1
done
beside=$(processor_time)
kill -INT $attach 2>/dev/null && wait $attach || true
kill $sleeper
echo
echo "A bare call takes $alone ns of processor time, and $beside ns while \`gputrack attach\` follows another" \
	"process, one that makes no call at all."
