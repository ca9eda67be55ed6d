#!/bin/sh
# SPDX-License-Identifier: MIT
# many_stacks.sh BUILD_DIR - memory of every command that reads a recording of many distinct stacks.
#
# Each stack created one resource, all are alive at the end: no command has more to show.
# BENCH_STACKS is the number of stacks ("100000 200000"): twice as many show how memory grows.
set -eu
. "$(dirname -- "$0")/common.sh"

gputrack=$build/gputrack
sizes=${BENCH_STACKS:-100000 200000}

# SIZE COMMAND…: peak MB and seconds of the processor of one run.
cell() {
	n=$1
	shift
	rm -f "$work/times"
	status=0
	"$build/bench/measure" "$work/times" "$gputrack" "$@" >/dev/null 2>"$work/err" || status=$?
	case $status in
	0 | 23) ;;
	*) die "gputrack $* of $n stacks: $(head -n 3 "$work/err")" ;;
	esac
	awk -F '\t' '{ printf " %.1f | %.2f |", $3 * 1024 / 1e6, $2 }' "$work/times"
}

# WHAT COMMAND…: a row; @ stands for the recording, % for a file to write.
row() {
	printf '| `%s` |' "$1"
	shift
	for n in $sizes; do
		set -- "$@" --
		while [ "$1" != -- ]; do
			case $1 in
			@) set -- "$@" "$work/$n.gt" ;;
			%*) set -- "$@" "$work/written${1#%}" ;;
			*) set -- "$@" "$1" ;;
			esac
			shift
		done
		shift
		cell "$n" "$@"
		# back to the placeholders, for the next size
		i=$#
		while [ "$i" -gt 0 ]; do
			case $1 in
			"$work/$n.gt") set -- "$@" @ ;;
			"$work/written"*) set -- "$@" "%${1#"$work/written"}" ;;
			*) set -- "$@" "$1" ;;
			esac
			shift
			i=$((i - 1))
		done
	done
	echo
}

for n in $sizes; do
	"$build/bench/make_events" "$work/$n.gt" "$n" distinct || die "cannot make $n stacks"
done

"$build/bench/make_events" "$work/few.gt" 10000 balanced || die "cannot make few stacks"

head="| command |" line="|---|"
for n in $sizes; do
	head="$head peak MB, $n stacks | CPU s |" line="$line--:|--:|"
done
echo "$head"
echo "$line"
for analysis in summary leakage watermark usage sites growth processes; do
	row "report -a $analysis --top 20" report -a $analysis --top 20 @
done
for analysis in leakage watermark sites; do
	row "report -a $analysis -f tsv" report -a $analysis -f tsv @
	row "report -a $analysis -f json" report -a $analysis -f json @
done
row "report --fail-on-leak" report --fail-on-leak @
for form in junit sarif github; do
	row "report -a leakage -f $form" report -a leakage -f $form @
done
row "report --baseline" report --fail-on-leak --baseline @ @
row "diff, few stacks before" diff "$work/few.gt" @
row "diff, as many before" diff @ @
for form in tsv csv json pprof collapsed speedscope chrome prometheus; do
	row "export --format $form" export --format $form -o %.$form @
done
row "suppress" suppress @
row "plot" plot -o %.svg @
row "html" html -o %.html @
echo
echo "Stacks of 22 frames. Each created one resource that is alive at the end."
