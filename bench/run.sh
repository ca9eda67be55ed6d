#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh BUILD_DIR [--compare OLD.json] [WHAT…] - runs the benchmarks named, or all, and prints Markdown.
#
# Every figure that a document states comes from here. A benchmark is a line below and NAME.sh. Last comes the
# page of goals (goals.tsv). Tables and figures stay in BUILD_DIR/bench.md and bench.json, the latter for a
# later --compare; without names only the page is printed.
set -u

benchmarks() {
	cat <<-'END'
	opencl	OpenCL: time per call
	levelzero	Level Zero: time per call
	cuda	CUDA: time per call
	pieces	CUDA: the steps of a recorded call
	pool	PyTorch's pool: time per block
	nvtx	Ranges of NVTX
	ebpf	Attaching: time per call, loss, memory
	stress	Attaching under stress
	agent	The agent at 4,000 events a second
	start	The first call, and a small report
	ledger	Live ledger
	stacks	Different stacks in the traced program
	report	Reading a recording
	names	Naming call sites of large programs
	many_stacks	Reading many different stacks
	nsys	Nsight Systems exports
	snapshot	Memory snapshots of PyTorch
	plot	Pictures
	html	Pages
	END
}

title_of() {
	benchmarks | awk -F '\t' -v name="$1" '$1 == name { print $2; found = 1 } END { exit !found }'
}

usage() {
	echo "usage: $0 BUILD_DIR [--compare OLD.json] [$(benchmarks | cut -f 1 | paste -s -d '|')]…" >&2
	exit 2
}

[ $# -ge 1 ] || usage
bench=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
build=$1
shift
if [ ! -x "$build/bench/measure" ]; then
	echo "$0: $build has no benchmarks: build it first" >&2
	exit 1
fi
old=
if [ "${1-}" = --compare ]; then
	[ $# -ge 2 ] || usage
	[ -r "$2" ] || { echo "$0: $2: cannot be read; give the bench.json of an earlier run" >&2; exit 1; }
	# its own place is written to before it is read
	old=$(mktemp) && cp "$2" "$old" && trap 'rm -f "$old"' EXIT || exit 1
	shift 2
fi
tables=$build/bench.md
quietly=
# shellcheck disable=SC2046
[ $# -ge 1 ] || { quietly=1; set -- $(benchmarks | cut -f 1); }
for what; do
	title_of "$what" >/dev/null || usage
done

version=$("$build/gputrack" --version 2>/dev/null | head -n 1)
# Markdown of the benchmarks named; a failed one says so, and the rest are run.
run_all() {
	cat <<-HEAD
	# Performance

	\`\`\`
	$("$build/gputrack" doctor --system 2>/dev/null)
	\`\`\`

	| | |
	|---|---|
	| gputrack | ${version:-unknown} |
	| date | $(date +%Y-%m-%d) |
	| load before | $(cut -d ' ' -f 1-3 /proc/loadavg) |
	HEAD
	for what; do
		printf '\n## %s: %s\n\n' "$what" "$(title_of "$what")"
		[ -z "$quietly" ] || printf 'bench: %s\n' "$what" >&2
		if [ -x "$build/bench/$what" ] && [ ! -e "$bench/$what.sh" ]; then
			"$build/bench/$what"
		else
			sh "$bench/$what.sh" "$build"
		fi || printf '\nFailed.\n'
	done
}

if [ -n "$quietly" ]; then
	run_all "$@" >"$tables"
	sed '/^## /,$d' "$tables"
else
	run_all "$@" | tee "$tables"
fi
printf '\n## Goals\n\n'
python3 "$bench/goals.py" "$tables" --json "$build/bench.json" ${old:+--compare "$old"} || exit 1
! grep -q '^Failed\.$' "$tables" || { echo; echo "A benchmark failed: see $tables." >&2; exit 1; }
