#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares every view of the synthetic recordings with its reviewed output in expected/.
# Usage: check.sh BUILD_DIR [--rewrite | --list] [NAME...]
# --list prints the names of all views; with NAMEs only these views are compared or rewritten.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: check.sh BUILD_DIR [--rewrite | --list] [NAME...]}" && pwd) || exit 2
shift
mode=
case ${1:-} in --rewrite | --list) mode=$1; shift ;; esac
only=" $* "
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

maker=$build/make_recordings
[ -x "$maker" ] || maker=$build/tests/golden/make_recordings
gputrack=$build/gputrack
PATH=$build:$PATH # hints say `gputrack`, as for a user who has it there
unset NO_COLOR DEBUGINFOD_URLS GPUTRACK_OPTIONS
export GPUTRACK_CONFIG= TZ=UTC LC_ALL=C.UTF-8 TERM=xterm COLUMNS=80

if [ "$mode" = --list ]; then
	exec 2>/dev/null # there are no recordings to read
else
	"$maker" "$work" || exit 2
fi
cd "$work" || exit 2
failed=0
count=0

# golden NAME COMMAND...: stdout, stderr and status of the command against expected/NAME
golden() {
	name=$1
	shift
	if [ "$mode" = --list ]; then
		echo "$name"
		return
	fi
	case $only in
	"  " | *" $name "*) ;;
	*) return ;;
	esac
	count=$((count + 1))
	"$@" >"$work/out" 2>"$work/err"
	status=$?
	case $name in *.json) echo "$name" >>"$work/json" ;; esac
	if [ -s "$work/err" ]; then
		{ echo "--- stderr"; cat "$work/err"; } >>"$work/out"
	fi
	[ $status -eq 0 ] || echo "--- status $status" >>"$work/out"
	if [ "$mode" = --rewrite ]; then
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

# the analyses, from the program itself: a new one is tried in every form without being named here
analyses=$("$gputrack" describe | python3 -c '
import json, sys
report = next(c for c in json.load(sys.stdin)["commands"] if c["name"] == "report")
print(*next(o for o in report["options"] if o["name"] == "analysis")["choices"])') || exit 2
for recording in leaks family hostile mistakes; do
	for analysis in $analyses; do
		golden $recording/$analysis.txt "$gputrack" report $recording.gt -a $analysis
		golden $recording/$analysis.tsv "$gputrack" report $recording.gt -a $analysis --format tsv
	done
	golden $recording/summary-top.json "$gputrack" report $recording.gt --format json --top 3
	golden $recording/export.tsv "$gputrack" export $recording.gt
done
for analysis in $analyses; do
	golden family/$analysis.json "$gputrack" report family.gt -a $analysis --format json
done
schema=$here/../../doc/schema/report.schema.json
listed=$(echo "$analyses" | sed 's/ /", "/g')
grep -qF "\"analysis\": { \"enum\": [\"$listed\"] }," "$schema" ||
	{ failed=1; echo "FAIL $schema: the enum of \"analysis\" is not [\"$listed\"]"; }
listed=$(sed -n 's/^API([A-Z0-9_]*, \("[^"]*"\),.*/\1/p' "$here/../../src/api/apis.def" | paste -sd,)
! grep '"api": { "enum"' "$schema" | tr -d ' ' | grep -vF "[$listed]" ||
	{ failed=1; echo "FAIL $schema: an enum of \"api\" is not [$listed]"; }
golden growing/summary.txt "$gputrack" report growing.gt
golden growing/growth.txt "$gputrack" report growing.gt -a growth
golden growing/growth.tsv "$gputrack" report growing.gt -a growth --format tsv
golden growing/growth.json "$gputrack" report growing.gt -a growth --format json --top 2
golden growing/growth-wide.txt env COLUMNS=160 "$gputrack" report growing.gt -a growth --top 1
golden leaks/memory-narrow.txt env COLUMNS=40 "$gputrack" report leaks.gt -a memory --at 1.5
golden leaks/memory-top.txt "$gputrack" report leaks.gt -a memory --at end --top 1
golden touched/touches.txt "$gputrack" report touched.gt -a touches
golden touched/touches.tsv "$gputrack" report touched.gt -a touches --format tsv
golden touched/touches.json "$gputrack" report touched.gt -a touches --format json --top 1
golden touched/touches-narrow.txt env COLUMNS=40 "$gputrack" report touched.gt -a touches --top 1
golden touched/summary.txt "$gputrack" report touched.gt
golden clean/growth.txt "$gputrack" report clean.gt -a growth
golden hostile/leakage.json "$gputrack" report hostile.gt -a leakage --format json
golden hostile/export.json "$gputrack" export hostile.gt --format json
golden mistakes/export.json "$gputrack" export mistakes.gt --format json
golden family/export.json "$gputrack" export family.gt --format json # processes that share stacks
golden lossy/export.json "$gputrack" export lossy.gt --format json   # events without one
# leaks.gt as it was recorded before trace version 2
cp -r "$here/inputs/version-1" version-1.gt
golden version-1/summary.txt "$gputrack" report version-1.gt
golden version-1/export.tsv "$gputrack" export version-1.gt
for recording in clean damaged untracked silent; do
	golden $recording/summary.txt "$gputrack" report $recording.gt
	golden $recording/sites.json "$gputrack" report $recording.gt -a sites --format json
	golden $recording/usage.txt "$gputrack" report $recording.gt -a usage
	golden $recording/leakage.txt "$gputrack" report $recording.gt -a leakage
	golden $recording/watermark.txt "$gputrack" report $recording.gt -a watermark --top 1
done

for recording in attached lossy foreign; do
	golden attach/$recording.txt "$gputrack" report $recording.gt
	golden attach/$recording-leakage.txt "$gputrack" report $recording.gt -a leakage
	golden attach/$recording.json "$gputrack" report $recording.gt -a leakage --format json
	golden attach/$recording-gate.txt "$gputrack" report $recording.gt -f tsv --fail-on-leak
done
for format in text json tsv; do
	golden attach/attached-processes.$format "$gputrack" report attached.gt -a processes -f $format
done
golden attach/attached-limit.txt "$gputrack" report attached.gt -f tsv --fail-on-leak='memory>1GiB'
golden attach/outlived-gate.txt "$gputrack" report outlived.gt -f junit --fail-on-leak
golden attach/outlived-limit.txt "$gputrack" report outlived.gt -f tsv --fail-on-leak='memory>1536KiB'
golden attach/outlived-over.txt "$gputrack" report outlived.gt -f tsv --fail-on-leak='memory>512KiB'
golden attach/attached-gate.xml "$gputrack" report attached.gt -f junit --fail-on-leak
golden attach/outlived.txt "$gputrack" report outlived.gt
golden attach/outlived-processes.txt "$gputrack" report outlived.gt -a processes
golden attach/outlived-ended.txt "$gputrack" report outlived.gt --pid 901
golden attach/outlived-running.txt "$gputrack" report outlived.gt --pid 900
golden attach/lossy-pid.txt "$gputrack" report lossy.gt --pid 900
golden attach/lossy.prom "$gputrack" export lossy.gt -f prometheus

for analysis in summary sites leakage; do
	golden names/$analysis.txt "$gputrack" report names.gt -a $analysis
done
golden names/wide.txt env COLUMNS=200 "$gputrack" report names.gt
golden names/narrow.txt env COLUMNS=50 "$gputrack" report names.gt
golden names/ascii.txt env LC_ALL=C "$gputrack" report names.gt
# as in a file or a pipe, where nothing says how wide a line may be
for analysis in summary sites leakage; do
	golden names/whole-$analysis.txt env -u COLUMNS "$gputrack" report names.gt -a $analysis
done
golden names/junit.xml "$gputrack" report names.gt -f junit
golden names/all-frames.txt "$gputrack" report names.gt --all-frames
for by in function file module stack; do
	golden names/by-$by.txt "$gputrack" report names.gt -a sites --by $by
done
golden names/by-file-leakage.txt "$gputrack" report names.gt -a leakage --by file --top 2
golden names/library.txt "$gputrack" report names.gt --library buffer.hpp --library '^make$'
golden names/root.txt "$gputrack" report names.gt -a sites --root /app/src/a --own '^std::'
golden family/by-process.txt "$gputrack" report family.gt --by process
golden family/by-thread.txt "$gputrack" report family.gt -a watermark --by thread --top 2
golden leaks/by-device.json "$gputrack" report leaks.gt --by device -f json
golden family/by-process-sites.txt "$gputrack" report family.gt -a sites --by process
golden leaks/by-device.txt "$gputrack" report leaks.gt -a leakage --by device --top 1
golden growing/by-thread.txt "$gputrack" report growing.gt -a growth --by thread
golden mistakes/by-thread.txt "$gputrack" report mistakes.gt --by thread
golden family/by-thread.folded "$gputrack" export family.gt -f collapsed --value allocated --by thread
# a root that is no folder, of a recording from elsewhere, too; one that is only there is fine
golden usage/root-file.txt "$gputrack" report names.gt --root names.gt/info
golden usage/root-missing.txt "$gputrack" report names.gt --root nowhere
# ways to group that have no meaning: a line
golden usage/by-place.txt "$gputrack" report leaks.gt --by place
golden usage/by-usage.txt "$gputrack" report leaks.gt -a usage --by function
golden usage/by-junit.txt "$gputrack" report leaks.gt -f junit --by thread
golden usage/by-growth.txt "$gputrack" report leaks.gt --fail-on-growth --by thread
golden usage/by-events.txt "$gputrack" export leaks.gt --by device
golden usage/by-totals.txt "$gputrack" export leaks.gt -f prometheus --by file
golden usage/by-diff.txt "$gputrack" diff before.gt after.gt --by thread

# Phases: the ranges that were open.
golden phases/summary.txt "$gputrack" report phases.gt
golden phases/by-phase.txt "$gputrack" report phases.gt --by phase
golden phases/leakage.txt "$gputrack" report phases.gt -a leakage
golden phases/leakage-by-phase.json "$gputrack" report phases.gt -a leakage --by phase -f json
golden phases/sites.txt "$gputrack" report phases.gt -a sites --by phase
golden phases/only.txt "$gputrack" report phases.gt -a sites --phase '^train > backward'
golden phases/none.txt "$gputrack" report leaks.gt --by phase
golden phases/export.json "$gputrack" export phases.gt -f json
golden phases/export.csv "$gputrack" export phases.gt -f csv
golden phases/diff.txt "$gputrack" diff leaks.gt phases.gt --by phase

# What libraries hold is no leak: one line; what the script keeps beside it is one.
for recording in held held_kept; do
	golden held/$recording.txt "$gputrack" report $recording.gt
	golden held/$recording-leakage.txt "$gputrack" report $recording.gt -a leakage --fail-on-leak
done
golden held/show.txt "$gputrack" report held_kept.gt --show-held
golden held/show-leakage.txt "$gputrack" report held_kept.gt -a leakage --show-held
golden held/none.txt "$gputrack" report held.gt --no-held --fail-on-leak
golden held/leakage.json "$gputrack" report held_kept.gt -a leakage -f json
golden held/show.json "$gputrack" report held.gt -a leakage -f json --show-held
golden held/none.json "$gputrack" report held.gt -f json --no-held
golden held/leakage.tsv "$gputrack" report held_kept.gt -a leakage -f tsv
golden held/processes.txt "$gputrack" report held_kept.gt -a processes
golden held/junit.xml "$gputrack" report held_kept.gt -f junit --fail-on-leak
golden held/sarif.json "$gputrack" report held.gt -f sarif
golden held/github.txt "$gputrack" report held_kept.gt -f github --fail-on-leak
golden held/diff.txt "$gputrack" diff held.gt held_kept.gt
golden held/diff.json "$gputrack" diff held_kept.gt held.gt -f json
golden held/diff-none.txt "$gputrack" diff held.gt held_kept.gt --no-held
golden held/suppress.txt "$gputrack" suppress held_kept.gt
golden held/baseline.txt "$gputrack" report held_kept.gt -a leakage --baseline held.gt
golden held/prometheus.txt "$gputrack" export held_kept.gt -f prometheus
golden held/collapsed.txt "$gputrack" export held_kept.gt -f collapsed
golden held/chrome.json "$gputrack" export held_kept.gt -f chrome
golden held/collapsed-none.txt "$gputrack" export held_kept.gt -f collapsed --no-held

# the GPU's work, and managed memory that moves
for analysis in idle unified; do
	golden work/$analysis.txt "$gputrack" report work.gt -a $analysis
	golden work/$analysis-narrow.txt env COLUMNS=40 "$gputrack" report work.gt -a $analysis
	golden work/$analysis-top.txt "$gputrack" report work.gt -a $analysis --top 1
	golden work/$analysis.tsv "$gputrack" report work.gt -a $analysis -f tsv
	golden work/$analysis.json "$gputrack" report work.gt -a $analysis -f json
done
# of recordings with --touches only the submission of work is known
golden touched/idle.txt "$gputrack" report touched.gt -a idle
golden touched/idle.json "$gputrack" report touched.gt -a idle -f json --top 1
golden work/unified-by-file.txt "$gputrack" report work.gt -a unified --by file

golden leaks/wide.txt env COLUMNS=200 "$gputrack" report leaks.gt -a sites
golden leaks/narrow.txt env COLUMNS=40 "$gputrack" report leaks.gt
golden leaks/narrow-sites.txt env COLUMNS=40 "$gputrack" report leaks.gt -a sites
golden family/narrow.txt env COLUMNS=50 "$gputrack" report family.gt -a leakage
golden family/narrow-processes.txt env COLUMNS=40 "$gputrack" report family.gt -a processes
golden leaks/color.txt "$gputrack" report leaks.gt --color always
golden leaks/ascii.txt env LC_ALL=C "$gputrack" report leaks.gt -a usage
golden hostile/ascii.txt env LC_ALL=C "$gputrack" report hostile.gt -a leakage
golden hostile/wide.txt env COLUMNS=200 "$gputrack" report hostile.gt
golden leaks/usage-narrow.txt env COLUMNS=40 "$gputrack" report leaks.gt -a usage
golden leaks/all-frames.txt "$gputrack" report leaks.gt -a leakage --all-frames --top 1
golden leaks/no-symbols.txt "$gputrack" report leaks.gt -a leakage --no-symbols --top 2
golden leaks/by-total.tsv "$gputrack" report leaks.gt -a sites --sort total --format tsv --top 2
golden leaks/by-count.tsv "$gputrack" report leaks.gt -a sites --sort count --format tsv --top 2
golden family/one-pid.txt "$gputrack" report family.gt --pid 403
golden family/one-pid.tsv "$gputrack" export family.gt --pid 403
golden family/no-pid.txt "$gputrack" report family.gt --pid 9
# continuous integration
cat >known.supp <<'END'
# what we live with
leak:load_texture
leak[opencl.event]:^tick$
leak[memory]:*cache.c
leak[levelzero,cl_event]:upload
END
printf 'leak:train\nleak[image]:service\n' >growth.supp
for form in junit sarif github gitlab; do
	suffix=$(case $form in junit) echo xml ;; github) echo txt ;; *) echo json ;; esac)
	golden ci/after-$form.$suffix "$gputrack" report after.gt -f $form
	golden ci/many-$form.$suffix "$gputrack" report many.gt -f $form
	golden ci/known-$form.$suffix "$gputrack" report after.gt -f $form --suppressions known.supp
	golden ci/silent-$form.$suffix "$gputrack" report silent.gt -f $form
	golden ci/growth-$form.$suffix "$gputrack" report growing.gt -f $form --fail-on-growth=1MiB/s
	golden ci/growth-unasked-$form.$suffix "$gputrack" report growing.gt -f $form
	golden ci/growth-none-$form.$suffix "$gputrack" report clean.gt -f $form --fail-on-growth
done
# several recordings, one verdict: two runs of app, in folders
if [ "$mode" != --list ]; then
	mkdir -p night/1 night/2/deep
	cp -r before.gt night/1/app.gt
	cp -r after.gt night/2/app.gt
	cp -r clean.gt night/2/deep/clean.gt
	cp -r silent.gt night/2/nogpu.gt
	cp -r lossy.gt night/2/lossy.gt
	cp -r after.gt night/2/app.gt.old
	mkdir week
	cp -r clean.gt week/clean.gt
	cp -r growing.gt week/app.gt
	cp -r growing.gt week/soak.gt
fi
golden several/summary.txt "$gputrack" report night --fail-on-leak
golden several/narrow.txt env COLUMNS=40 "$gputrack" report night --top 1
golden several/leakage.txt "$gputrack" report night/1 night/2/app.gt night -a leakage --baseline night/1 --suppressions known.supp
golden several/summary.json "$gputrack" report night -f json --fail-on-leak='memory>9MiB'
golden several/peak.txt "$gputrack" report night -o /dev/null --max-peak 9100K
golden several/passed.txt "$gputrack" report clean.gt night/2/nogpu.gt --fail-on-leak
golden several/untracked.txt "$gputrack" report silent.gt night/2/nogpu.gt -o /dev/null --fail-on-leak
golden several/unsure.txt "$gputrack" report clean.gt night/2/lossy.gt -o /dev/null --fail-on-leak
golden several/one.txt "$gputrack" report night/1 -a processes
golden several/junit.xml "$gputrack" report night -f junit
golden several/sarif.json "$gputrack" report night -f sarif --max-peak 9100K
golden several/github.txt "$gputrack" report night -f github --max-peak 9100K
golden several/gitlab.json "$gputrack" report night -f gitlab --max-peak 9100K
golden several/usage.txt "$gputrack" report night -a usage
golden several/tsv.txt "$gputrack" report night -f tsv
golden several/empty.txt "$gputrack" report night/2/app.gt night/3
golden several/diff.txt "$gputrack" diff night/1 night
golden several/diff-left-out.txt "$gputrack" diff night night/1
golden several/diff.json "$gputrack" diff night/1 night -f json --top 1
golden several/diff-nothing.txt "$gputrack" diff night/2 leaks.gt
golden several/diff-growth.txt "$gputrack" diff night week --fail-on-growth
golden several/diff-growth-known.txt "$gputrack" diff week week -o /dev/null --fail-on-growth
golden several/suppress.txt "$gputrack" suppress night --only 'upload < ^main$' --only cache.c
golden several/suppress-module.txt "$gputrack" suppress held_kept.gt --no-held --module libtorch_cuda.so
golden several/suppress-pick.txt sh -c 'printf "n\nl\nx\ny\nq\n" | "$1" suppress held_kept.gt --no-held --pick' sh "$gputrack"
golden ci/after-valgrind.txt "$gputrack" report after.gt -f valgrind --baseline before.gt
golden ci/attached-valgrind.txt "$gputrack" report attached.gt -f valgrind
golden several/valgrind.txt "$gputrack" report night -f valgrind --suppressions known.supp
golden ci/skip-status.txt "$gputrack" report silent.gt -o /dev/null --fail-on-leak --skip-status 77
golden ci/peak-sarif.json "$gputrack" report after.gt -f sarif --max-peak 9M
golden ci/suppressed.txt "$gputrack" report after.gt -a leakage --suppressions known.supp --fail-on-leak
golden ci/verdict-json.json "$gputrack" report after.gt -a leakage -f json --suppressions known.supp --baseline before.gt
golden ci/baseline.txt "$gputrack" report after.gt --baseline before.gt --fail-on-leak
golden ci/baseline-shown.txt "$gputrack" report after.gt -a leakage --baseline before.gt
golden ci/known-shown.txt "$gputrack" report after.gt -a leakage --suppressions known.supp --baseline after.gt
golden ci/shown-peak.txt "$gputrack" report after.gt -a leakage --baseline before.gt --max-peak 1G
golden ci/silent-shown.txt "$gputrack" report silent.gt --suppressions known.supp
golden ci/baseline-same.txt "$gputrack" report after.gt --baseline after.gt --fail-on-leak
golden ci/within.txt "$gputrack" report clean.gt --fail-on-leak
golden ci/limits.txt "$gputrack" report after.gt --fail-on-leak='memory>8MiB,event>10,cl_mem>=4,levelzero'
golden ci/limits-passed.txt "$gputrack" report after.gt -f tsv --fail-on-leak='memory>1GiB,opencl.event>50'
golden ci/untracked.txt "$gputrack" report untracked.gt --fail-on-leak
golden ci/silent.txt "$gputrack" report silent.gt --fail-on-leak
golden ci/damaged.txt "$gputrack" report damaged.gt --fail-on-leak='any>1GiB' -f tsv
: >none.supp
golden ci/baseline-gaps.txt "$gputrack" report after.gt --baseline gappy.gt --fail-on-leak='memory>2MiB' -f tsv
golden ci/baseline-bigger.txt "$gputrack" report after.gt --baseline smaller.gt --fail-on-leak='memory>1MiB' -f tsv
golden ci/baseline-bigger-any.txt "$gputrack" report after.gt --baseline smaller.gt --fail-on-leak -f tsv
# a limit of the peak that stands alone leaves leaks aside, whatever is left out of them
golden ci/peak-unsure.txt "$gputrack" report damaged.gt --max-peak 1T --suppressions none.supp -f tsv
golden ci/peak-goes-on.txt "$gputrack" report attached.gt --max-peak 1T --suppressions none.supp -f tsv
golden ci/peak-goes-on.xml "$gputrack" report attached.gt --max-peak 1T -f junit
golden ci/suppress.txt "$gputrack" suppress after.gt
golden ci/suppress-many.txt "$gputrack" suppress many.gt
for wrong in evnt 'memory>5' 'event>x' 'event>1,,' 'memory>=0B' 'event>99999999999999999999' 'opencl.' '>5'; do
	golden "ci/wrong-$(echo "$wrong" | tr '>,' '__').txt" "$gputrack" report after.gt --fail-on-leak="$wrong"
done
printf 'leak:a\nleek:b\n' >bad.supp
printf 'leak[evnt]:b\n' >kind.supp
golden ci/wrong-file.txt "$gputrack" report after.gt --suppressions bad.supp
golden ci/wrong-kind.txt "$gputrack" report after.gt --suppressions kind.supp
golden ci/wrong-analysis.txt "$gputrack" report after.gt -a usage -f sarif
# what suppress writes hides all of it, whatever the names are
for recording in after many hostile leaks; do
	"$gputrack" suppress $recording.gt -o own.supp
	golden ci/own-$recording.txt "$gputrack" report $recording.gt -f tsv --suppressions own.supp --fail-on-leak
done

golden diff/builds.txt "$gputrack" diff before.gt after.gt
golden diff/builds.json "$gputrack" diff before.gt after.gt -f json
golden diff/by-file.txt "$gputrack" diff before.gt after.gt --by file
golden diff/by-process.txt "$gputrack" diff before.gt after.gt --by process
golden diff/back.txt "$gputrack" diff after.gt before.gt --top 1
golden diff/same.txt "$gputrack" diff after.gt after.gt
golden diff/untracked.txt "$gputrack" diff untracked.gt after.gt
golden diff/damaged.txt "$gputrack" diff damaged.gt damaged.gt
golden diff/one.txt "$gputrack" diff after.gt
golden diff/growing.txt "$gputrack" diff after.gt growing.gt
golden diff/grows-on.txt env LC_ALL=C "$gputrack" diff growing.gt growing.gt
golden diff/grew.json "$gputrack" diff growing.gt after.gt -f json
golden ci/growth.txt "$gputrack" report growing.gt --fail-on-growth -o /dev/null
golden ci/growth-slower.txt "$gputrack" report growing.gt -f tsv --fail-on-growth=2MiB/s
golden ci/growth-resources.txt "$gputrack" report growing.gt -a growth -f tsv --fail-on-growth=50/min
golden ci/growth-none.txt "$gputrack" report leaks.gt --fail-on-growth -o /dev/null
golden ci/growth-and-more.txt "$gputrack" report growing.gt -o /dev/null --fail-on-growth --fail-on-leak --max-peak 1M
golden ci/growth-known.txt "$gputrack" report growing.gt -o /dev/null --fail-on-growth --baseline growing.gt
golden ci/growth-suppressed.txt "$gputrack" report growing.gt -o /dev/null --fail-on-growth --suppressions growth.supp
golden ci/growth-gaps.txt "$gputrack" report damaged.gt -o /dev/null --fail-on-growth
golden ci/growth-untracked.txt "$gputrack" report untracked.gt -o /dev/null --fail-on-growth
golden ci/growth-goes-on.txt "$gputrack" report attached.gt -o /dev/null --fail-on-growth
golden ci/growth.json "$gputrack" report growing.gt -a leakage --fail-on-growth=1MB/h,50/min --format json --top 1
golden ci/growth-wrong.txt "$gputrack" report growing.gt --fail-on-growth=1MiB
golden ci/growth-wrong-time.txt "$gputrack" diff growing.gt growing.gt --fail-on-growth=1MiB/year
golden diff/growth-fails.txt "$gputrack" diff after.gt growing.gt -o /dev/null --fail-on-growth
golden diff/growth-as-before.txt "$gputrack" diff growing.gt growing.gt -o /dev/null --fail-on-growth
golden diff/growth-slower.txt "$gputrack" diff after.gt growing.gt -o /dev/null --fail-on-growth=2MiB/s
golden ci/peak.txt "$gputrack" report after.gt --max-peak 9M
golden ci/peak-within.txt "$gputrack" report after.gt --max-peak 10M --fail-on-leak='memory>10MiB'
golden ci/peak.xml "$gputrack" report after.gt --max-peak 9M --format junit
golden ci/peak.json "$gputrack" report after.gt -a leakage --max-peak 9M --format json --top 1
golden ci/peak-github.txt "$gputrack" report after.gt --max-peak 9M --format github
golden diff/wide.txt env COLUMNS=200 "$gputrack" diff before.gt after.gt

for recording in leaks many family; do
	golden export/$recording.csv "$gputrack" export $recording.gt -f csv
	golden export/$recording-chrome.json "$gputrack" export $recording.gt -f chrome
	golden export/$recording-speedscope.json "$gputrack" export $recording.gt -f speedscope
	golden export/$recording.folded "$gputrack" export $recording.gt -f collapsed --value allocated
	golden export/$recording.prom "$gputrack" export $recording.gt -f prometheus
done
golden export/hostile.prom "$gputrack" export hostile.gt -f prometheus
golden export/objects.folded "$gputrack" export after.gt -f collapsed --value objects

for form in text json tsv; do
	golden processes/ranks.$form "$gputrack" report ranks.gt -a processes -f $form
done
golden processes/leakage.txt "$gputrack" report ranks.gt -a leakage
golden processes/summary.txt "$gputrack" report ranks.gt
golden processes/summary.json "$gputrack" report ranks.gt -f json

# defaults from a file and from the environment; the command line has the last word
mkdir project
printf '# ours\nreport.format = tsv\nfail-on-leak = event>10\nsuppressions = known.supp\n' >project/rc
cp known.supp project/
golden config/file.txt env GPUTRACK_CONFIG=project/rc "$gputrack" report after.gt
golden config/overruled.txt env GPUTRACK_CONFIG=project/rc "$gputrack" report after.gt --fail-on-leak=any -f github
golden config/variable.txt env GPUTRACK_OPTIONS='report.format=tsv; report.top = 1' "$gputrack" report after.gt
golden config/off.txt env GPUTRACK_CONFIG=project/rc GPUTRACK_OPTIONS='report.suppressions=/nowhere' "$gputrack" report after.gt
for wrong in 'report.fromat = json' 'reprot.format = json' 'no equals' 'report.format = jsn' 'report.no-symbols = perhaps' 'top = x'; do
	golden "config/wrong-$(echo "$wrong" | tr ' =' '__').txt" env GPUTRACK_OPTIONS="$wrong" "$gputrack" report after.gt
done
golden config/shown-wrong.txt env GPUTRACK_OPTIONS='report.by = bogus; diff.by = process' "$gputrack" config
golden config/missing.txt env GPUTRACK_CONFIG=project/none "$gputrack" report after.gt
golden usage/no-recording.txt "$gputrack" report missing.gt
golden usage/near-option.txt "$gputrack" report leaks.gt --fromat json
golden usage/near-command.txt "$gputrack" reprot
golden usage/bad-choice.txt "$gputrack" report leaks.gt -a everything
golden usage/help.txt "$gputrack" --help
golden usage/report-help.txt "$gputrack" report --help
golden usage/diff-help.txt "$gputrack" diff --help
golden usage/suppress-help.txt "$gputrack" suppress --help
golden usage/run-help.txt "$gputrack" run --help
golden usage/export-help.txt "$gputrack" export --help

# pictures, described in words: what is drawn, which texts stand where, how many marks there are
plot() {
	picture=$1
	shift
	golden "plot/$picture.txt" sh -c '"$0" plot "$@" -o picture.txt && cat picture.txt' "$gputrack" "$@"
	rm -f picture.txt
}
cp -r "$here/inputs" "$work/inputs"
for input in "$here"/inputs/tracker/*.csv "$here"/inputs/monitor/*.csv "$here"/inputs/usage/*.tsv "$here"/inputs/charts/*; do
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
plot tracker-threshold inputs/tracker/leaky.csv --threshold 1200
plot tracker-small inputs/tracker/leaky.csv --size 640x480
plot tracker-smi inputs/tracker/leaky.csv -s inputs/smi/plain.log
plot charts-smi inputs/charts/two.tsv -s inputs/smi/plain.log
for recording in leaks family hostile clean silent damaged sampled attached lossy held held_kept; do
	plot recording-$recording $recording.gt
done
plot empty inputs/empty.csv
plot prose inputs/prose.txt
plot missing nowhere.csv
plot bad-size leaks.gt --size 10x10
golden plot/bad-name.txt "$gputrack" plot leaks.gt -o picture.jpeg
golden usage/plot-help.txt "$gputrack" plot --help

[ "$mode" != --list ] || exit 0

# what is as expected is JSON if that is
if [ -f "$work/json" ]; then
	python3 - "$here/expected" "$work/json" <<'END' || failed=1
import json, pathlib, re, sys
status = 0
for name in pathlib.Path(sys.argv[2]).read_text().splitlines():
    text = (pathlib.Path(sys.argv[1]) / name).read_text(encoding="utf-8")
    try:
        json.loads(re.split(r"^--- (?:stderr|status \d+)$", text, maxsplit=1, flags=re.M)[0])
    except ValueError as error:
        print(f"FAIL {name}: no JSON: {error}")
        status = 1
sys.exit(status)
END
fi

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
