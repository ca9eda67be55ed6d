#!/bin/sh
# run.sh BUILD_DIR [WHAT…] - runs the benchmarks named, or all, and prints Markdown.
#
# WHAT: opencl, levelzero, ledger, report, nsys, ebpf. Every figure that a document states comes from here.
set -u

usage() {
	echo "usage: $0 BUILD_DIR [opencl|levelzero|ledger|report|nsys|ebpf]…" >&2
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
[ $# -ge 1 ] || set -- opencl levelzero ledger report nsys ebpf
for what; do
	case $what in
	opencl | levelzero | ledger | report | nsys | ebpf) ;;
	*) usage ;;
	esac
done

# The first value of a field in a file of "field : value" lines.
field() {
	sed -n "s/^$1[[:space:]]*:[[:space:]]*//p" "$2" | head -n 1
}

version=
[ ! -x "$build/gputrack" ] || version=$("$build/gputrack" --version 2>/dev/null | head -n 1)
cat <<HEAD
# Performance

| | |
|---|---|
| processor | $(field 'model name' /proc/cpuinfo), $(nproc) cores |
| memory | $(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo) |
| system | $(. /etc/os-release && echo "$PRETTY_NAME"), kernel $(uname -r) |
| gputrack | ${version:-unknown} |
| date | $(date +%Y-%m-%d) |
| load before | $(cut -d ' ' -f 1-3 /proc/loadavg) |
HEAD

status=0
for what; do
	case $what in
	opencl) title="OpenCL: time per call" ;;
	levelzero) title="Level Zero: time per call" ;;
	ledger) title="Live ledger" ;;
	report) title="Reading a recording" ;;
	nsys) title="Nsight Systems exports" ;;
	ebpf) title="Attaching to running processes" ;;
	esac
	printf '\n## %s\n\n' "$title"
	if [ "$what" = ledger ]; then
		"$build/bench/ledger"
	else
		sh "$bench/$what.sh" "$build"
	fi || { status=1; printf '\nFailed.\n'; }
done
exit $status
