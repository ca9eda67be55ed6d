#!/bin/sh
# SPDX-License-Identifier: MIT
# snapshot.sh BUILD_DIR [MEGABYTES…] - how fast memory snapshots of PyTorch are imported, and with how
# much memory, beside Python's own pickle.load of the same file.
#
# MEGABYTES: sizes of the files (default: 100 1000). Python is asked only where 14 times the file is
# available as memory.
set -eu
. "$(dirname -- "$0")/common.sh"

[ $# -ge 1 ] || set -- 100 1000

# WHAT COMMAND…: runs it once and prints its row.
row() {
	what=$1
	shift
	rm -f "$work/times"
	"$build/bench/measure" "$work/times" "$@" >/dev/null || die "$* failed"
	awk -F '\t' -v what="$what" -v entries="$entries" -v bytes="$(stat -c %s "$work/x.pickle")" '
		{ printf "| %s | %d | %d | %.2f | %.2f | %.0f | %.1f |\n", what, bytes / 1e6, entries,
			$1, $2, bytes / $2 / 1e6, $3 / 1024 }' "$work/times"
}

echo "| command | file, MB | entries | s | CPU s | MB a CPU second | peak MiB |"
echo "|---|--:|--:|--:|--:|--:|--:|"
for size; do
	entries=$("$build/bench/make_snapshot" "$work/x.pickle" "$size" 2>&1) || die "no snapshot"
	entries=${entries%% *}
	row '`gputrack import`' "$build/gputrack" import -q "$work/x.pickle" -o "$work/x.gt"
	row '`gputrack export --format torch-snapshot` of it' "$build/gputrack" export "$work/x.gt" \
		--format torch-snapshot -o "$work/out.pickle"
	rm -rf "$work/x.gt" "$work/out.pickle"
	if [ "$(awk '/^MemAvailable/ { print int($2 / 1000) }' /proc/meminfo)" -gt $((size * 14)) ]; then
		row "Python's \`pickle.load\`" python3 -c 'import pickle, sys
pickle.load(open(sys.argv[1], "rb"))' "$work/x.pickle"
	fi
done
echo
echo "Allocations alternate with frees, 10,000 blocks alive at a time, each with one of 2,000 stacks of 24" \
	"frames; as Python writes them, protocol 4; one run each."
