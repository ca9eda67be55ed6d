#!/bin/sh
# SPDX-License-Identifier: MIT
# report.sh BUILD_DIR - how fast recordings are read by each command, and with how much memory.
#
# On one core or two the process is bound to them. 100 million events are read only if the disk has room for them.
set -eu
. "$(dirname -- "$0")/common.sh"

rounds=${ROUNDS:-5}
rounds_slow=2 # of those recordings that take the longest

commands="read replay"
[ ! -x "$build/gputrack" ] || commands="$commands report"
# the numbers of the cores that it may run on
own_cores=$(awk '/^Cpus_allowed_list/ { n = split($2, part, ",")
	for (i = 1; i <= n; i++) {
		m = split(part[i], ends, "-")
		for (c = ends[1]; c <= ends[m]; c++) print c
	} }' /proc/self/status)
core=$(echo "$own_cores" | head -n 1)
# one that is not the same processor's second thread
siblings=$(cat "/sys/devices/system/cpu/cpu$core/topology/thread_siblings_list" 2>/dev/null | tr ',-' '\n\n')
cores=$core$(echo "$own_cores" | grep -vxF -e "$core" ${siblings:+-e "$siblings"} | sed -n 's/^/,/; 1p')
if [ "$cores" = "$core" ]; then
	on="one core"
else
	on="two cores"
	[ ! -x "$build/gputrack" ] || commands="$commands both"
fi

make() {
	"$build/bench/make_events" "$work/$1.gt" "$2" "$3" || die "cannot make $1"
}

# RECORDING COMMAND: runs it once.
time_once() {
	case $2 in
	read) set -- "$1" "$2" "$build/bench/replay" --read-only "$work/$1.gt" ;;
	replay) set -- "$1" "$2" "$build/bench/replay" "$work/$1.gt" ;;
	report) set -- "$1" "$2" taskset -c "$core" "$build/gputrack" report "$work/$1.gt" ;;
	both) set -- "$1" "$2" taskset -c "$cores" "$build/gputrack" report "$work/$1.gt" ;;
	esac
	times=$work/$1-$2.times out=$work/$1-$2.out
	shift 2
	"$build/bench/measure" "$times" "$@" >"$out" || die "$* failed"
}

# RECORDING COMMAND
row() {
	case $1 in
	small | big) which="10,000 alive at a time" ;;
	reused) which="one handle per thread, reused at once" ;;
	leaky) which="all stay alive" ;;
	esac
	case $2 in
	read) what="reader alone" ;;
	replay) what="reader and ledger" ;;
	report) what='`gputrack report`, one core' ;;
	both) what='`gputrack report`, two cores' ;;
	esac
	sort -g "$work/$1-$2.times" | awk -F '\t' -v what="$what" -v which="$which" \
		-v events="$(value_of events "$work/$1-replay.out")" \
		-v alive="$(value_of alive "$work/$1-replay.out")" \
		-v bytes="$(cat "$work/$1.gt"/*.trace | wc -c)" '
		{ s[NR] = $1; if ($3 > peak) peak = $3 }
		END {
			median = s[int((NR + 1) / 2)]
			printf "| %s | %s | %d | %d | %.1f | %.2f | %.2f ", what, which, events,
				alive, bytes / events, s[1], median
			printf "| %.2f | %.2f | %.1f |\n", events / s[1] / 1e6,
				events / median / 1e6, peak / 1024
		}'
}

peak_of() {
	awk -F '\t' '$3 > peak { peak = $3 } END { print peak }' "$work/$1-${commands##* }.times"
}

make small 1000000 balanced
make big 10000000 balanced
make reused 1000000 reused
make leaky 10000000 alive
for i in $(seq $rounds); do
	for name in small big reused leaky; do
		case $name in
		reused | leaky) [ "$i" -le $rounds_slow ] || continue ;;
		esac
		for command in $commands; do
			time_once $name $command
		done
	done
done

echo "| command | recording | events | alive at the end | bytes per event | s: min | median" \
	"| million events/s: best | median | peak MiB |"
echo "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
for command in $commands; do
	for name in small big reused leaky; do
		row $name $command
	done
done
# WHICH RECORDING: a row
faster() {
	echo "| $1 | $(sort -g "$work/$2-report.times" | sed -n 1p | cut -f 1) | $(sort -g "$work/$2-both.times" | sed -n 1p | cut -f 1) |" |
		awk -F '|' '{ printf "|%s|%s|%s| %.2f |\n", $2, $3, $4, $3 / $4 }'
}
case $commands in
*both)
	echo
	echo "| \`gputrack report\`, 10 million events | one core, s | two cores, s | two cores by one |"
	echo "|---|--:|--:|--:|"
	faster "10,000 alive at a time" big
	faster "all stay alive" leaky
	;;
esac
echo
echo "Four threads, 1,000 stacks of 16 frames; $rounds rounds, $rounds_slow for the last two" \
	"recordings, all in the page cache. With ten times the events and as many resources alive," \
	"peak memory is × $(echo "$(peak_of small) $(peak_of big)" | awk '{ printf "%.2f", $2 / $1 }')" \
	"(goal: 1)."

[ -x "$build/gputrack" ] || exit 0

# The least processor time of copying FILE, on the same core: what its bytes alone cost. "-": no room for it.
copy_of() {
	bytes=$(stat -c %s "$1")
	[ "$(df -k --output=avail "$work" | tail -n 1)" -gt $((bytes / 1024 + 1000000)) ] || { echo -; return; }
	rm -f "$work/copy.times"
	for i in $(seq $rounds_slow); do
		rm -f "$work/copy"
		"$build/bench/measure" "$work/copy.times" taskset -c "$core" dd if="$1" of="$work/copy" bs=64k 2>/dev/null ||
			die "cannot copy $1"
	done
	rm -f "$work/copy"
	cut -f 2 "$work/copy.times" | sort -g | head -n 1
}

# WHAT GOAL COMMAND…: its processor time, on one core, beside that of `report` in the same round, and beside that of
# copying what it writes, if that is a $work/out.*. Without Cairo, a picture has no figures.
relative() {
	what=$1 goal=$2
	shift 2
	rm -f "$work"/relative.times "$work"/report.times
	for i in $(seq $rounds_slow); do
		rm -f "$work"/out.*
		"$build/bench/measure" "$work/report.times" taskset -c "$core" "$build/gputrack" report "$recording" \
			>/dev/null || die "report failed"
		"$build/bench/measure" "$work/relative.times" taskset -c "$core" "$build/gputrack" "$@" \
			>/dev/null 2>"$work/err" || case $? in
		23) ;; # judging
		*)
			grep -qi cairo "$work/err" || die "$*: $(head -n 1 "$work/err")"
			echo "| $what | - | - | - | $goal | - | - | - | - |"
			return
			;;
		esac
	done
	least=$(cut -f 2 "$work/report.times" | sort -g | head -n 1)
	bytes=0 copy=-
	for out in "$work"/out.*; do
		[ -f "$out" ] || continue
		bytes=$(stat -c %s "$out")
		copy=$(copy_of "$out")
		rm -f "$out"
	done
	cut -f 2,3 "$work/relative.times" | sort -g | head -n 1 |
		awk -v what="$what" -v goal="$goal" -v least="$least" -v bytes="$bytes" -v copy="$copy" '{
		printf "| %s | %.2f | %.2f | %.2f | %s | %.1f | ", what, $1, least, $1 / least, goal, $2 / 1024
		if (bytes) printf "%.1f | %.0f | %s |\n", bytes / 1e6, bytes / 1e6 / $1, copy
		else print "- | - | - |" }'
}

recording=$work/small.gt
echo
echo "| command, 1 million events, 10,000 alive at a time | CPU s | \`report\`, CPU s | times | goal | peak MiB" \
	"| MB written | MB a CPU second | copying them, CPU s |"
echo "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
relative '`report --fail-on-leak`: judging' '≤ 1.5' report --fail-on-leak "$recording"
relative '`diff` with itself, two readings' '≤ 3' diff "$recording" "$recording"
relative '`suppress`' '≤ 1.5' suppress "$recording" -o "$work/out.supp"
for form in tsv json csv pprof collapsed speedscope chrome prometheus torch-snapshot torch-segments; do
	relative "\`export -f $form\`" '≤ 1.5' export -f $form "$recording" -o "$work/out.$form"
done
relative '`html`' '≤ 1.5' html "$recording" -o "$work/out.html"
relative '`plot`' '≤ 1.5' plot "$recording" -o "$work/out.png"
# what each costs once weighs less here
recording=$work/big.gt
relative '10 million events: `html`' '≤ 1.5' html "$recording" -o "$work/out.html"
relative '10 million events: `plot`' '≤ 1.5' plot "$recording" -o "$work/out.png"
echo
echo "Copying: \`dd bs=64k\` of what was written, on the same core: what these bytes alone cost."

rm -rf "$work"/*.gt
echo
echo "| \`gputrack report\`, $on | s | CPU s | million events/s | peak MiB |"
echo "|---|--:|--:|--:|--:|"
# NAME EVENTS SHAPE WHAT
large() {
	make "$1" "$2" "$3"
	"$build/bench/measure" "$work/large.times" taskset -c "$cores" "$build/gputrack" report "$work/$1.gt" >/dev/null ||
		die "report failed"
	awk -F '\t' -v events="$2" -v what="$4" '{
		printf "| %s | %.2f | %.2f | %.2f | %.1f |\n", what, $1, $2, events / $1 / 1e6, $3 / 1024 }' "$work/large.times"
	rm -rf "$work/$1.gt" "$work/large.times"
}
large processes 1000000 processes "10,000 processes of 100 events"
[ "$(df -k --output=avail "$work" | tail -n 1)" -lt 2000000 ] ||
	large hundred 100000000 balanced "100 million events, 10,000 alive at a time"

# how much of "all stay alive" is the machine's: its ledger is memory that is touched for the first time
echo
"$build/bench/first_touch"
