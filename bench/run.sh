#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh BUILD_DIR [--quick] [--compare OLD.json] [WHAT…] - runs the benchmarks named, or all, and prints Markdown.
#
# Every figure that a document states comes from here. A benchmark is a line below and NAME.sh. Last comes the
# page of goals (goals.tsv). In BUILD_DIR stay bench.md (all tables), bench-page.md (the page alone), bench.json
# (the figures, for a later --compare), bench-curves.tsv and .png. Without names only the page is printed.
# --quick: fewer rounds, and none of those that take minutes, which have a third column below.
set -u

benchmarks() {
	cat <<-'END'
	opencl	OpenCL: time per call
	levelzero	Level Zero: time per call
	cuda	CUDA: time per call
	pieces	CUDA: the steps of a recorded call
	pool	PyTorch's pool: time per block
	torch	PyTorch's steps and blocks, beside its own memory history
	nvtx	Ranges of NVTX
	ebpf	Attaching: time per call, loss, memory
	stress	Attaching under stress	slow
	agent	The agent at 4,000 events a second	slow
	threads	Time per call by threads
	inside	In the traced program: memory, page faults, bytes
	peers	Other tools in the same run
	start	The first call, and a small report
	ledger	Live ledger
	stacks	Different stacks in the traced program
	report	Reading a recording
	sizes	Reports by the number of events
	names	Naming call sites of large programs
	many_stacks	Reading many different stacks
	nsys	Nsight Systems exports
	snapshot	Memory snapshots of PyTorch	slow
	plot	Pictures
	html	Pages	slow
	profile	Where the time goes
	END
}

title_of() {
	benchmarks | awk -F '\t' -v name="$1" '$1 == name { print $2; found = 1 } END { exit !found }'
}

usage() {
	echo "usage: $0 BUILD_DIR [--quick] [--compare OLD.json] [$(benchmarks | cut -f 1 | paste -s -d '|')]…" >&2
	exit 2
}

[ $# -ge 1 ] || usage
bench=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
build=$(CDPATH= cd -- "$1" 2>/dev/null && pwd) || { echo "$0: $1: no such folder" >&2; exit 1; }
shift
if [ ! -x "$build/bench/measure" ]; then
	echo "$0: $build has no benchmarks: build it first" >&2
	exit 1
fi
old='' quick='' quietly=''
while :; do
	case ${1-} in
	--quick)
		quick=1
		export BENCH_QUICK=1 ROUNDS="${ROUNDS:-2}" BENCH_SECONDS="${BENCH_SECONDS:-3}"
		shift
		;;
	--compare)
		[ $# -ge 2 ] || usage
		[ -r "$2" ] || { echo "$0: $2: cannot be read; give the bench.json of an earlier run" >&2; exit 1; }
		# its own place is written to before it is read
		old=$(mktemp) && cp "$2" "$old" && trap 'rm -f "$old"' EXIT || exit 1
		shift 2
		;;
	*) break ;;
	esac
done
tables=$build/bench.md
BENCH_CURVES=$build/bench-curves.tsv
export BENCH_CURVES
printf 'chart\tcurve\tx axis\ty axis\tx\ty\n' >"$BENCH_CURVES"
# shellcheck disable=SC2046
[ $# -ge 1 ] || { quietly=1; set -- $(benchmarks | awk -F '\t' -v quick="$quick" '!quick || $3 == "" { print $1 }'); }
for what; do
	title_of "$what" >/dev/null || usage
done

limit_s=900 # of one benchmark: the others are still run
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
	| date | $(date +%Y-%m-%d)${quick:+, --quick} |
	| load before | $(cut -d ' ' -f 1-3 /proc/loadavg) |
	HEAD
	for what; do
		printf '\n## %s: %s\n\n' "$what" "$(title_of "$what")"
		begun=$(date +%s)
		if [ -x "$build/bench/$what" ] && [ ! -e "$bench/$what.sh" ]; then
			timeout $limit_s "$build/bench/$what"
		else
			timeout $limit_s sh "$bench/$what.sh" "$build"
		fi || printf '\nFailed.\n'
		[ -z "$quietly" ] || printf 'bench: %s, %s s\n' "$what" $(($(date +%s) - begun)) >&2
	done
}

if [ -n "$quietly" ]; then
	run_all "$@" >"$tables"
	sed '/^## /,$d' "$tables"
else
	run_all "$@" | tee "$tables"
fi
printf '\n## Goals\n\n'
python3 "$bench/goals.py" "$tables" --json "$build/bench.json" --page "$build/bench-page.md" ${quietly:+--all} \
	${old:+--compare "$old"} || exit 1
if [ "$(wc -l <"$BENCH_CURVES")" -gt 1 ]; then
	"$build/gputrack" plot "$BENCH_CURVES" -o "$build/bench-curves.png" >/dev/null || echo "No picture of the curves." >&2
fi
! grep -q '^Failed\.$' "$tables" || { echo; echo "A benchmark failed: see $tables." >&2; exit 1; }
