#!/bin/sh
# run.sh - fuzz every reader of foreign bytes with libFuzzer, so long each: [SECONDS]
#
# What it learns stays in the build folder, so the next run goes on from there. An input that
# breaks something is left there too, and its name is printed.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
build=${BUILD:-build}-fuzz

[ -f "$build/build.ninja" ] ||
	CC=clang CXX=clang++ meson setup "$build" -Dfuzzers=true -Dopencl=disabled \
		-Dlevelzero=disabled >&2
# what the build has: readers of what was left out of it are not there
targets=$(ninja -C "$build" -t targets all | sed -n 's,^tests/fuzz/libfuzzer_\([a-z]*\): .*,\1,p')
seeds=$(ninja -C "$build" -t targets all |
	sed -n 's,^\(tests/fuzz/seeds-[a-z]*\|tests/unit/symbol-fixtures\): .*,\1,p')
# shellcheck disable=SC2046,SC2086
ninja -C "$build" $seeds $(printf 'tests/fuzz/libfuzzer_%s ' $targets) >&2

for name in $targets; do
	for seeds in "$build/tests/fuzz/seeds-$name" "tests/fuzz/$name" "tests/golden/inputs/$name" \
		"$build/tests/unit/symbol-fixtures"; do
		[ ! -d "$seeds" ] || break
	done
	learnt=$build/learnt-$name
	mkdir -p "$learnt"
	"$build/tests/fuzz/libfuzzer_$name" -max_total_time="$seconds" -max_len=65536 -timeout=10 \
		-rss_limit_mb=512 -print_final_stats=1 -artifact_prefix="$build/$name-" \
		"$learnt" "$seeds"
done
