#!/bin/sh
# SPDX-License-Identifier: MIT
# fresh.sh - fresh systems of Debian and Ubuntu in folders, for tests of what is installed. As root.
#
# fresh.sh make SUITE FOLDER [PACKAGE,...]   debootstraps SUITE, unless it is there; ends with 77, and says why, if it
#                                            cannot be had
# fresh.sh in FOLDER COMMAND                 runs a shell command there; its mounts end with it
set -eu
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy

# Where this machine gets its packages from is where a fresh one does.
make() {
	suite=$1 folder=$2 packages=${3:-}
	# one at a time: the next one finds it made
	exec 9>"$folder.lock"
	flock 9
	[ ! -f "$folder/made" ] || exit 0
	components=main script=
	mirror=$(apt-get indextargets --format '$(CODENAME) $(SITE)' 2>/dev/null | awk '$1 == "bookworm" { print $2; exit }')
	case $suite in
	jammy | noble)
		mirror=${UBUNTU_MIRROR-} components=main,universe
		script=/usr/share/debootstrap/scripts/gutsy
		;;
	esac
	[ -n "$mirror" ] || { echo "no mirror of $suite is known here; UBUNTU_MIRROR may name one of Ubuntu"; exit 77; }
	rm -rf --one-file-system "$folder"
	# what it mounts there ends with it, so that nobody removes the files of /proc and /sys
	# shellcheck disable=SC2086
	timeout 900 unshare --mount --propagation private debootstrap --variant=minbase --no-check-gpg --components=$components \
		${packages:+"--include=$packages"} "$suite" "$folder" "$mirror" $script >"$folder.log" 2>&1 || {
		echo "debootstrap cannot get $suite here: $(tail -n 1 "$folder.log")"
		rm -rf --one-file-system "$folder"
		exit 77
	}
	# it need not survive a crash of the machine
	echo force-unsafe-io >"$folder/etc/dpkg/dpkg.cfg.d/quick"
	cp /etc/resolv.conf /etc/hosts "$folder/etc/" 2>/dev/null || true
	touch "$folder/made"
}

# PoCL looks for its CPUs in /sys.
in_folder() {
	exec unshare --mount --propagation private sh -eu -c '
		root=$1; shift
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount --rbind /sys "$root/sys"
		exec chroot "$root" /usr/bin/env -i PATH=/opt/gputrack/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
			LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive POCL_CACHE_DIR=/tmp/pocl http_proxy="${http_proxy:-}" \
			sh -eu -c "$*"' sh "$@"
}

command=${1:?usage: fresh.sh make|in FOLDER ...}
shift
case $command in
make) make "$@" ;;
in) in_folder "$@" ;;
*) echo "fresh.sh: there is no command $command" >&2; exit 2 ;;
esac
