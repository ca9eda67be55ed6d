#!/bin/sh
# SPDX-License-Identifier: MIT
# distributions.sh FILE.tar.gz SAMPLE WORK [SUITE...] - the tar file on fresh systems of several releases: unpacks, runs.
#
# SAMPLE is an OpenCL program that leaks. WORK keeps the fresh systems for the next time. Prints `ok SUITE WHAT` for each
# step, `skip SUITE WHY` for a release that cannot be had here; ends with 1 if a step fails. As root.
set -eu
archive=$(realpath "${1:?usage: distributions.sh FILE.tar.gz SAMPLE WORK [SUITE...]}")
sample=$(realpath "${2:?}")
work=$(realpath "${3:?}")
shift 3
[ $# -gt 0 ] || set -- bullseye bookworm trixie jammy noble
debian=$(apt-get indextargets --format '$(CODENAME) $(SITE)' 2>/dev/null | awk '$1 == "bookworm" { print $2; exit }')
ubuntu=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy
failed=0

inside() {
	unshare --mount --propagation private sh -eu -c '
		root=$1; shift
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount --rbind /sys "$root/sys"
		exec chroot "$root" /usr/bin/env -i PATH=/opt/gputrack/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
			LC_ALL=C.UTF-8 POCL_CACHE_DIR=/tmp/pocl sh -eu -c "$*"' sh "$root" "$@" >"$work/step.log" 2>&1
}

step() {
	what=$1
	shift
	if inside "$*"; then
		echo "ok $suite $what"
	else
		echo "FAIL $suite $what"
		tail -n 20 "$work/step.log"
		failed=1
	fi
}

for suite; do
	mirror=$debian components=main script=
	case $suite in jammy | noble) mirror=$ubuntu components=main,universe script=/usr/share/debootstrap/scripts/gutsy ;; esac
	root=$work/$suite-tar
	if [ ! -f "$root/made" ]; then
		rm -rf "$root"
		if ! timeout 600 debootstrap --variant=minbase --no-check-gpg --components=$components \
			--include=pocl-opencl-icd,ocl-icd-libopencl1 $suite "$root" "$mirror" $script >"$work/$suite.log" 2>&1; then
			echo "skip $suite debootstrap: $(tail -n 1 "$work/$suite.log")"
			rm -rf "$root"
			continue
		fi
		touch "$root/made"
	fi
	rm -rf "$root/opt/gputrack" "$root/tmp/a.gt"
	mkdir -p "$root/opt/gputrack"
	tar -C "$root/opt/gputrack" --strip-components=1 -xf "$archive"
	cp "$sample" "$root/root/sample"
	step "tells its version" 'gputrack --version'
	if inside 'ldd --version | head -n 1 | tee /dev/stderr | grep -q " 2\.\(3[0-3]\|[12][0-9]\)$"'; then
		echo "ok $suite has an older C library: $(tail -n 1 "$work/step.log")"
	elif ! inside /root/sample; then
		echo "skip $suite the sample does not run by itself: $(tail -n 1 "$work/step.log")"
	else
		step "runs a program and finds what it leaked" 'gputrack run -q --fail-on-leak -o /tmp/a.gt /root/sample || test $? = 23'
		step "names the line" 'gputrack report /tmp/a.gt -a leakage | tee /dev/stderr | grep -q "leaky.c:"'
	fi
done
exit $failed
