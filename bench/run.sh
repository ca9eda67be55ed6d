#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh BUILD_DIR [WHAT…] - runs the benchmarks named, or all, and prints Markdown.
#
# Every figure that a document states comes from here. A benchmark is a line below and NAME.sh.
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
	ledger	Live ledger
	stacks	Different stacks in the traced program
	report	Reading a recording
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
	echo "usage: $0 BUILD_DIR [$(benchmarks | cut -f 1 | paste -s -d '|')]…" >&2
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
# shellcheck disable=SC2046
[ $# -ge 1 ] || set -- $(benchmarks | cut -f 1)
for what; do
	title_of "$what" >/dev/null || usage
done

version=$("$build/gputrack" --version 2>/dev/null | head -n 1)
cat <<HEAD
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

status=0
for what; do
	printf '\n## %s\n\n' "$(title_of "$what")"
	if [ -x "$build/bench/$what" ] && [ ! -e "$bench/$what.sh" ]; then
		"$build/bench/$what"
	else
		sh "$bench/$what.sh" "$build"
	fi || { status=1; printf '\nFailed.\n'; }
done
exit $status
