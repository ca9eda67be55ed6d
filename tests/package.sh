#!/bin/sh
# SPDX-License-Identifier: MIT
# package.sh PACKAGE.deb SAMPLE WORK - the package in a fresh Debian: installs, runs, leaves nothing behind.
#
# SAMPLE is an OpenCL program that leaks. WORK is a folder that keeps the fresh Debian for the next time.
# Prints a line `ok WHAT` for each step; the first that fails ends it. As root: debootstrap and chroot.
set -eu
package=$(realpath "${1:?usage: package.sh PACKAGE.deb SAMPLE WORK}")
sample=$(realpath "${2:?}")
work=$(realpath "${3:?}")
suite=bookworm

here=$(dirname "$0")
base=$work/$suite root=$work/root
sh "$here/fresh.sh" make $suite "$base" ca-certificates || exit $?
rm -rf "$root"
cp -a "$base" "$root"
cp "$package" "$root/root/gputrack.deb"
# as a CI job installs it: from a folder, by the script of the action
cp -r "$(dirname "$package")/apt" "$root/opt/apt"
cp -r "$here/../packaging/ci" "$root/opt/ci"
cp "$sample" "$root/root/sample"

step() {
	what=$1
	shift
	if sh "$here/fresh.sh" in "$root" "$*" >"$work/step.log" 2>&1; then
		echo "ok $what"
	else
		echo "FAIL $what"
		tail -n 40 "$work/step.log"
		exit 1
	fi
}

# All files except the records of dpkg and the system.
files() {
	(cd "$root" && find . -path ./proc -prune -o -path ./dev -prune -o -path ./sys -prune -o -path ./tmp -prune -o \
		-path ./var/lib/dpkg -prune -o -path ./var/log -prune -o -path ./var/cache -prune -o -print) | LC_ALL=C sort
}

step "a fresh $suite has no gputrack" '! command -v gputrack'
step "installs from a folder, with what it depends on" 'GPUTRACK_PACKAGE=/opt/apt sh /opt/ci/install.sh && rm /etc/apt/sources.list.d/gputrack.list && apt-get update -qq'
step "tells its version" 'gputrack --version | grep -q "^gputrack [0-9]"'
step "the doctor sees that there is no driver, and says what to do" \
	'gputrack doctor --json >/tmp/doctor && exit 1; cat /tmp/doctor; grep -q "apt install pocl-opencl-icd" /tmp/doctor'
# with what the package recommends, and a server that is not there
libraries=$(sed -n 's/^Recommends: //p' "$here/../packaging/deb/control.in" | tr -d ,)
step "has the libraries that it recommends" "apt-get install -y -qq --no-install-recommends ${libraries:?}"
step "the agent follows, answers requests and sends rows" \
	'gputrack agent -p $$ --clickhouse http://127.0.0.1:1 --rows-interval 1 --keep 16M --listen /tmp/agent.http 2>/tmp/log & pid=$!
	for i in $(seq 300); do ! gputrack agent status >/tmp/status 2>&1 || ! grep "cannot reach" /tmp/status || break; sleep 0.1; done
	cat /tmp/log /tmp/status; grep -q "metrics at the socket" /tmp/log; grep -q "^rows .*cannot reach" /tmp/status
	gputrack agent metrics | grep -q "^gputrack_build_info"; kill $pid; wait $pid; rm -r /var/lib/gputrack /run/gputrack'
step "is removed" 'dpkg --purge gputrack'
step "a driver is installed" 'apt-get install -y -qq --no-install-recommends pocl-opencl-icd'
files >"$work/before"
step "installs again" 'dpkg -i /root/gputrack.deb'
step "no library is missing" 'ldd /usr/bin/gputrack $(dpkg -L gputrack | grep "\.so") >/tmp/ldd; cat /tmp/ldd; ! grep "not found" /tmp/ldd'
step "no file was changed on the way" 'cd / && md5sum --quiet -c /var/lib/dpkg/info/gputrack.md5sums'
step "the doctor finds that OpenCL can be tracked" 'gputrack doctor'
step "runs a program and finds what it leaked" \
	'cd /root && gputrack run -o /tmp/a.gt ./sample; cat /tmp/a.gt/info; gputrack report /tmp/a.gt | tee /dev/stderr | grep -q "^LEAKED  21 resources"'
step "names the place in the source" 'gputrack report /tmp/a.gt -a leakage | tee /dev/stderr | grep -q "leaky.c:"'
step "judges as the action does, and leaves its files" \
	'cd /tmp && mkdir gputrack && cp -r a.gt gputrack/leaks.gt && { GITHUB_ACTIONS=true GPUTRACK_FORMS="github junit sarif gitlab html" sh /opt/ci/judge.sh >log || test $? = 23; } && cat log && grep -q "^::error file=.*leaky.c,line=" log && test -s gputrack/leaks.xml -a -s gputrack/leaks.sarif -a -s gputrack/gl-code-quality-report.json -a -s gputrack/leaks.html'
step "has what programs with pools of their own use" \
	'test -f /usr/include/gputrack/pool.h && test -f /usr/lib/python3/dist-packages/gputrack_pool.py'
step "has what tests use to find their leaks" \
	'cd /usr/lib/python3/dist-packages && test -f gputrack.py && test -f gputrack_pytest.py && ls gputrack-*.dist-info/METADATA && test -f /usr/include/gputrack/gtest.h'
step "has its pages and completions" \
	'for f in man/man1/gputrack-run.1.gz bash-completion/completions/gputrack zsh/vendor-completions/_gputrack fish/vendor_completions.d/gputrack.fish doc/gputrack/copyright; do test -f /usr/share/$f; done'
step "is removed again" 'dpkg --purge gputrack'
files >"$work/after"
if ! diff "$work/before" "$work/after" >"$work/left"; then
	echo "FAIL leaves nothing behind"
	cat "$work/left"
	exit 1
fi
echo "ok leaves nothing behind"
rm -rf "$root"
