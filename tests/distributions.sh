#!/bin/sh
# SPDX-License-Identifier: MIT
# distributions.sh FILE.tar.gz SAMPLE.c WORK [SUITE...] - the tar file on fresh systems of several releases: unpacks, runs.
#
# SAMPLE.c is an OpenCL program that leaks and builds no kernel: not every release's driver knows this machine's CPU. WORK
# keeps the fresh systems for the next time. EXAMPLES, if set, is a folder with the examples of doc/ci.md for test
# frameworks, which trixie has newer versions of. PACKAGE, if set, is the Debian package, which newer releases also take. Prints `ok SUITE WHAT` for each step, `skip SUITE WHY` for a release that
# cannot be had here; ends with 1 if a step fails. As root.
set -eu
archive=$(realpath "${1:?usage: distributions.sh FILE.tar.gz SAMPLE.c WORK [SUITE...]}")
sample=$(realpath "${2:?}")
work=$(realpath "${3:?}")
shift 3
[ $# -gt 0 ] || set -- bullseye bookworm trixie jammy noble
here=$(dirname "$0")
failed=0

inside() {
	sh "$here/fresh.sh" in "$root" "$*" >"$work/step.log" 2>&1
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

# The frameworks fail the tests that leak, and no others.
frameworks() {
	rm -rf "$root/root/examples"
	cp -r "$EXAMPLES" "$root/root/examples"
	step "has test frameworks" 'apt-get update -qq && apt-get install -y -qq --no-install-recommends g++ catch2 \
		libgtest-dev python3-pytest python3-pytest-xdist python3-pyopencl ocl-icd-opencl-dev'
	step "$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f 'GoogleTest ${Version}' libgtest-dev) fails what leaks" \
		'cd /root/examples && c++ -g -Wall -Wextra -Werror -I/opt/gputrack/include buffers_test.cc -o g -lgtest_main -lgtest \
		-lOpenCL && { gputrack run -q -o g.gt ./g >log && exit 1; cat log; grep -q "FAILED.*Buffers.AreForgotten" log &&
		grep -q "^1 buffer, 4.00 KiB left alive" log && grep -q "PASSED.* 1 test" log; }'
	step "$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f 'Catch2 ${Version}' catch2) fails what leaks" \
		'cd /root/examples && c++ -g -Wall -Wextra -Werror -I/opt/gputrack/include buffers.cc -o c -lCatch2Main -lCatch2 \
		-lOpenCL && { gputrack run -q -o c.gt ./c >log && exit 1; cat log; grep -q "buffers.cc:26: FAILED" log &&
		grep -q "test cases: 3 | 2 passed | 1 failed" log; }'
	for workers in "" "-n 2"; do
		step "$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f 'pytest ${Version}' python3-pytest) fails what leaks ${workers:+with $workers}" \
			"cd /root/examples && export PYTHONPATH=/opt/gputrack/share/gputrack/python && {
			python3 -m pytest -q --gputrack $workers test_buffers.py >log && exit 1; cat log
			grep -q 'FAILED.*test_forgotten' log && grep -q '^2 failed, 2 passed' log; }"
	done
}

# As CI jobs install it, on runners that are no Debian, too.
debian_package() {
	rm -rf "$root/opt/gputrack" "$root/tmp/b.gt"
	cp "$PACKAGE" "$root/root/gputrack.deb"
	step "installs the Debian package" 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /root/gputrack.deb'
	step "which finds what leaked, and the line" 'cd /tmp && gputrack run -q -o b.gt /root/sample &&
		gputrack report b.gt -a leakage >log && cat log && grep -q "make_buffer.*sample\.c:[0-9]" log'
	step "and is removed" 'apt-get purge -y -qq gputrack && ! command -v gputrack'
}

for suite; do
	root=$work/$suite-tar
	if ! why=$(sh "$here/fresh.sh" make $suite "$root" pocl-opencl-icd,ocl-icd-libopencl1); then
		echo "skip $suite $why"
		continue
	fi
	rm -rf "$root/opt/gputrack" "$root/tmp/a.gt"
	mkdir -p "$root/opt/gputrack"
	tar -C "$root/opt/gputrack" --strip-components=1 -xf "$archive"
	cp "$sample" "$root/root/sample.c"
	step "has a compiler" 'apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev ocl-icd-opencl-dev \
		&& cd /root && cc -g sample.c -o sample -lOpenCL && ./sample'
	libc=$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Version}' libc6)
	loader=$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Version}' ocl-icd-libopencl1)
	tool=gputrack record="run -q -o /tmp/a.gt --" expected="the layer is loaded and works"
	! dpkg --compare-versions "$libc" lt 2.34 || tool=gputrack-static expected="not tried"
	if dpkg --compare-versions "$loader" lt 2.3; then
		record="attach -o /tmp/a.gt -c --"
		[ $tool != gputrack ] || expected="loader that supports OPENCL_LAYERS"
	fi
	step "$tool tells its version" "$tool --version"
	step "the doctor says of OpenCL: $expected" \
		"$tool doctor >/tmp/doctor || true; cat /tmp/doctor; grep -q '$expected' /tmp/doctor && ! grep crashed /tmp/doctor"
	step "$record: records (C library $libc, OpenCL loader $loader)" "cd /tmp && $tool $record /root/sample"
	step "finds what leaked, and the line" "$tool report /tmp/a.gt -a leakage --fail-on-leak >/tmp/log || test \$? = 23; cat /tmp/log
		grep -q 'make_buffer.*sample\.c:[0-9]' /tmp/log"
	[ "$suite" != trixie ] || [ -z "${EXAMPLES:-}" ] || frameworks
	case $suite in
	bullseye | jammy) ;;
	*) [ -z "${PACKAGE:-}" ] || debian_package ;;
	esac
done
exit $failed
