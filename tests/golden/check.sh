#!/bin/sh
# Compares every view of the synthetic recordings with what it was when somebody last looked.
# Usage: check.sh BUILD_DIR [--rewrite]
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: check.sh BUILD_DIR [--rewrite]}" && pwd) || exit 2
rewrite=${2:-}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

maker=$build/make_recordings
[ -x "$maker" ] || maker=$build/tests/golden/make_recordings
gputrack=$build/gputrack
unset NO_COLOR COLUMNS DEBUGINFOD_URLS
export TZ=UTC LC_ALL=C.UTF-8 TERM=xterm

"$maker" "$work" || exit 2
cd "$work" || exit 2
failed=0
count=0

# golden NAME COMMAND...: stdout, stderr and status of the command against expected/NAME
golden() {
	name=$1
	shift
	count=$((count + 1))
	"$@" >"$work/out" 2>"$work/err"
	status=$?
	if [ -s "$work/err" ]; then
		{ echo "--- stderr"; cat "$work/err"; } >>"$work/out"
	fi
	[ $status -eq 0 ] || echo "--- status $status" >>"$work/out"
	case $name in
	*.json) python3 -m json.tool "$work/out" >/dev/null || { failed=1; echo "FAIL $name: no JSON"; } ;;
	esac
	if [ "$rewrite" = --rewrite ]; then
		mkdir -p "$(dirname "$here/expected/$name")"
		cp "$work/out" "$here/expected/$name"
		echo "rewrote $name"
	elif cmp -s "$work/out" "$here/expected/$name"; then
		echo "ok   $name"
	else
		failed=1
		echo "FAIL $name"
		diff -u "$here/expected/$name" "$work/out" | head -40
	fi
}

for recording in leaks family hostile mistakes; do
	for analysis in summary leakage watermark usage sites; do
		golden $recording/$analysis.txt "$gputrack" report $recording.gt -a $analysis
		golden $recording/$analysis.tsv "$gputrack" report $recording.gt -a $analysis --format tsv
	done
	golden $recording/summary.json "$gputrack" report $recording.gt --format json --top 3
	golden $recording/export.tsv "$gputrack" export $recording.gt
done
for analysis in leakage watermark usage sites; do
	golden family/$analysis.json "$gputrack" report family.gt -a $analysis --format json
done
golden growing/growth.txt "$gputrack" report growing.gt -a growth
golden growing/growth.tsv "$gputrack" report growing.gt -a growth --format tsv
golden growing/growth.json "$gputrack" report growing.gt -a growth --format json --top 2
golden growing/growth-wide.txt env COLUMNS=160 "$gputrack" report growing.gt -a growth --top 1
golden clean/growth.txt "$gputrack" report clean.gt -a growth
golden hostile/leakage.json "$gputrack" report hostile.gt -a leakage --format json
golden hostile/export.json "$gputrack" export hostile.gt --format json
golden mistakes/export.json "$gputrack" export mistakes.gt --format json
for recording in clean damaged untracked silent; do
	golden $recording/summary.txt "$gputrack" report $recording.gt
	golden $recording/sites.json "$gputrack" report $recording.gt -a sites --format json
	golden $recording/usage.txt "$gputrack" report $recording.gt -a usage
	golden $recording/watermark.txt "$gputrack" report $recording.gt -a watermark --top 1
done

golden leaks/wide.txt env COLUMNS=200 "$gputrack" report leaks.gt -a sites
golden leaks/color.txt "$gputrack" report leaks.gt --color always
golden leaks/ascii.txt env LC_ALL=C "$gputrack" report leaks.gt -a usage
golden hostile/ascii.txt env LC_ALL=C "$gputrack" report hostile.gt -a leakage
golden hostile/wide.txt env COLUMNS=200 "$gputrack" report hostile.gt
golden leaks/all-frames.txt "$gputrack" report leaks.gt -a leakage --all-frames --top 1
golden leaks/no-symbols.txt "$gputrack" report leaks.gt -a leakage --no-symbols --top 2
golden leaks/by-total.tsv "$gputrack" report leaks.gt -a sites --sort total --format tsv --top 2
golden leaks/by-count.tsv "$gputrack" report leaks.gt -a sites --sort count --format tsv --top 2
golden family/one-pid.txt "$gputrack" report family.gt --pid 403
golden family/one-pid.tsv "$gputrack" export family.gt --pid 403
golden family/no-pid.txt "$gputrack" report family.gt --pid 9
golden usage/no-recording.txt "$gputrack" report missing.gt
golden usage/near-option.txt "$gputrack" report leaks.gt --fromat json
golden usage/near-command.txt "$gputrack" reprot
golden usage/bad-choice.txt "$gputrack" report leaks.gt -a everything
golden usage/help.txt "$gputrack" --help
golden usage/report-help.txt "$gputrack" report --help
golden usage/export-help.txt "$gputrack" export --help

# pictures, described in words: what is drawn, which texts stand where, how many marks there are
plot() {
	picture=$1
	shift
	golden "plot/$picture.txt" sh -c '"$0" plot "$@" -o picture.txt && cat picture.txt' "$gputrack" "$@"
	rm -f picture.txt
}
cp -r "$here/inputs" "$work/inputs"
for input in "$here"/inputs/tracker/*.csv "$here"/inputs/monitor/*.csv "$here"/inputs/usage/*.tsv; do
	file=${input#"$here"/}
	name=${file#inputs/}
	plot "$(echo "${name%.*}" | tr / -)" "$file"
done
for log in "$here"/inputs/smi/*.log; do
	name=$(basename "$log" .log)
	plot "smi-$name" inputs/usage/nsight.tsv -s "inputs/smi/$name.log"
done
plot smi-gpu-0 -u inputs/usage/nsight.tsv -s inputs/smi/two_gpus.log --gpu 0
plot smi-gpu-2 -u inputs/usage/nsight.tsv -s inputs/smi/two_gpus.log --gpu 2
plot smi-alone inputs/smi/plain.log
plot smi-clocks leaks.gt -s inputs/smi/clock.log
plot smi-other-day leaks.gt -s inputs/smi/plain.log
plot tracker-threshold inputs/tracker/leaky.csv --threshold 50
plot tracker-small inputs/tracker/leaky.csv --size 640x480
plot tracker-smi inputs/tracker/leaky.csv -s inputs/smi/plain.log
for recording in leaks family hostile clean silent damaged sampled; do
	plot recording-$recording $recording.gt
done
plot empty inputs/empty.csv
plot prose inputs/prose.txt
plot missing nowhere.csv
plot bad-size leaks.gt --size 10x10
golden plot/bad-name.txt "$gputrack" plot leaks.gt -o picture.jpeg
golden usage/plot-help.txt "$gputrack" plot --help

# a report written with -o is what stdout would have had, and a failure leaves nothing behind
"$gputrack" report leaks.gt -a leakage -o out.txt && cmp -s out.txt "$here/expected/leaks/leakage.txt" ||
	{ failed=1; echo "FAIL -o out.txt"; }
"$gputrack" report missing.gt -o gone.txt 2>/dev/null && { failed=1; echo "FAIL -o gone.txt"; }
[ -z "$(ls | grep -E '^(out|gone)\.txt\.|^gone')" ] || { failed=1; echo "FAIL: files left behind"; }

if [ $failed -eq 0 ]; then
	echo "golden: $count views as expected"
else
	echo "golden: some of $count views differ; look, then: $0 BUILD_DIR --rewrite" >&2
fi
exit $failed
