#!/bin/sh
# SPDX-License-Identifier: MIT
# judge.sh - one verdict on the recordings in $GPUTRACK_RECORDINGS, which becomes the exit status, and beside them
# the forms in $GPUTRACK_FORMS: github goes to the log, junit to leaks.xml, sarif to leaks.sarif, gitlab to
# gl-code-quality-report.json, html to one page, leaks.html. The steps that follow in a GitHub job get it as `status`.
#
# GPUTRACK_FAIL_ON_LEAK, GPUTRACK_MAX_PEAK, GPUTRACK_SUPPRESSIONS, GPUTRACK_ROOT: as the options of these names.
# GPUTRACK_BASELINE: recordings that new ones are compared with (default: gputrack-baseline, if there is one).
set -eu
folder=${GPUTRACK_RECORDINGS:-gputrack}
baseline=${GPUTRACK_BASELINE:-gputrack-baseline}

set -- "$folder" --root "${GPUTRACK_ROOT:-.}" --fail-on-leak="${GPUTRACK_FAIL_ON_LEAK:-any}"
[ -z "${GPUTRACK_MAX_PEAK:-}" ] || set -- "$@" --max-peak="$GPUTRACK_MAX_PEAK"
[ -z "${GPUTRACK_SUPPRESSIONS:-}" ] || set -- "$@" --suppressions "$GPUTRACK_SUPPRESSIONS"
[ -e "$baseline" ] && known=$baseline || known=
[ -z "$known" ] || set -- "$@" --baseline "$known"

# a form that cannot be written does not change the verdict
write() {
	form=$1 file=$2
	shift 2
	gputrack report "$@" --format "$form" -o "$folder/$file" 2>/dev/null || true
}

for form in ${GPUTRACK_FORMS:-junit}; do
	case $form in
	junit) write junit leaks.xml "$@" ;;
	sarif) write sarif leaks.sarif "$@" ;;
	gitlab) write gitlab gl-code-quality-report.json "$@" ;;
	html)
		gputrack html "$folder" --root "${GPUTRACK_ROOT:-.}" -o "$folder/leaks.html" ${known:+--baseline "$known"} \
			${GPUTRACK_SUPPRESSIONS:+--suppressions "$GPUTRACK_SUPPRESSIONS"} || true
		;;
	github) gputrack report "$@" --format github 2>/dev/null || true ;;
	*) echo "judge.sh: there is no form $form" >&2 ;;
	esac
done
status=0
gputrack report "$@" || status=$?
[ -z "${GITHUB_OUTPUT:-}" ] || echo "status=$status" >>"$GITHUB_OUTPUT"
exit $status
