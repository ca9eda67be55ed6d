#!/bin/sh
# SPDX-License-Identifier: MIT
# sizes.sh BUILD_DIR - processor time and memory of a report by the number of events.
set -eu
. "$(dirname -- "$0")/common.sh"

rounds=${ROUNDS:-5}
sizes="1000 10000 100000 1000000 10000000"

echo "| events | recording, MB | report, CPU ms: least | ns an event | peak MiB |"
echo "|--:|--:|--:|--:|--:|"
for shape in balanced alive; do
	for events in $sizes; do
		[ $shape = balanced ] || [ "$events" -le 1000000 ] || continue
		"$build/bench/make_events" "$work/a.gt" "$events" $shape || die "cannot make events"
		rm -f "$work/times"
		for i in $(seq "$rounds"); do
			"$build/bench/measure" "$work/times" "$build/gputrack" report "$work/a.gt" >/dev/null || die "report failed"
		done
		row=$(sort -t "$tab" -k 2 -g "$work/times" | awk -F '\t' -v events="$events" -v shape=$shape \
			-v bytes="$(cat "$work"/a.gt/*.trace | wc -c)" '
			NR == 1 { printf "| %d%s | %.2f | %.1f | %.0f | %.1f |", events,
				shape == "alive" ? ", all alive" : "", bytes / 1e6, $2 * 1e3, $2 * 1e9 / events, $3 / 1024 }')
		echo "$row"
		each=$(echo "$row" | awk -F '|' '{ print $5 + 0 }')
		name="10,000 alive at a time"
		[ $shape = balanced ] || name="all alive"
		# of fewer, the start of the program is most
		[ "$events" -lt 100000 ] || curve_point "Report time by events" "$name" "events" "ns of the processor an event" \
			"$events" "$each"
		rm -rf "$work/a.gt"
	done
done
