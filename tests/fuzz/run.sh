#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh - fuzz readers of foreign bytes with libFuzzer: [SECONDS [TARGET…]], 60 each and all of them
#
# JOBS=N runs N at once. The corpus of a target stays in the build folder, so the next run continues from
# there. An input that breaks something is left there too, and named in the table at the end; the
# other targets run on, and the exit status is 1.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build}-fuzz
list=$build/tests/fuzz/libfuzzers.txt

# fuzz TARGET: a row of the table is left in its .row file
fuzz() {
	learnt=$build/learnt-$1
	log=$build/$1.log
	seeds=$(sed -n "s/^$1 //p" "$list")
	mkdir -p "$learnt"
	echo "fuzz: $1" >&2
	began=$(date +%s)
	status=0
	"$build/tests/fuzz/libfuzzer_$1" -max_total_time="$seconds" -max_len=65536 -timeout=10 \
		-rss_limit_mb=512 -print_final_stats=1 -artifact_prefix="$build/$1-" \
		"$learnt" "$seeds" >"$log" 2>&1 || status=1
	result='nothing found'
	if [ $status != 0 ]; then
		input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
		result="FOUND: ${input:-no input was left}, see $log"
	fi
	inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
	printf '%-14s %12s %8s  %s\n' "$1" "${inputs:--}" $(($(date +%s) - began)) "$result" \
		>"$build/$1.row"
	return $status
}

# how this script calls itself, several at once
if [ "${1:-}" = --one ]; then
	seconds=$2
	fuzz "$3"
	exit
fi

seconds=${1:-60}
[ $# -eq 0 ] || shift
for number in "$seconds" "${JOBS:-1}"; do
	case $number in
	'' | *[!0-9]* | 0)
		echo "fuzz: '$number' is no number of seconds or jobs; usage: [JOBS=N] run.sh [SECONDS [TARGET…]]" >&2
		exit 2
		;;
	esac
done

[ -f "$build/build.ninja" ] ||
	CC=clang CXX=clang++ meson setup "$build" -Dfuzzers=true -Dopencl=disabled \
		-Dlevelzero=disabled >&2
# the list is made with it; readers of what was left out of the build are not in it
ninja -C "$build" build.ninja >&2
known=$(cut -d ' ' -f 1 "$list")
for name in "$@"; do
	echo "$known" | grep -qxF -e "$name" || {
		# shellcheck disable=SC2086
		echo "fuzz: there is no target '$name'; there are:" $known >&2
		exit 2
	}
done
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $known
# shellcheck disable=SC2046
ninja -C "$build" $(printf 'fuzzer-%s ' "$@") >&2

for name in "$@"; do
	rm -f "$build/$name.row"
done
status=0
printf '%s\n' "$@" | xargs -P "${JOBS:-1}" -I '{}' sh tests/fuzz/run.sh --one "$seconds" '{}' || status=1
printf '%-14s %12s %8s  %s\n' target inputs seconds result
for name in "$@"; do
	[ ! -f "$build/$name.row" ] || cat "$build/$name.row"
done
exit $status
