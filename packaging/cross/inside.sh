#!/bin/sh
# SPDX-License-Identifier: MIT
# inside.sh ROOT COMMAND… - runs a command in a root of another architecture, with this tree at its own path, as root.
#
# /proc, /dev, /sys and /tmp are those of this machine; mounts end with the command. Variables whose names begin with
# GPUTRACK_, and JOBS, KEEP and PATIENCE, are passed on.
set -eu
root=${1:?usage: inside.sh ROOT COMMAND…}
shift
tree=$(cd "$(dirname "$0")/../.." && pwd)
sh "$tree/packaging/cross/binfmt.sh" aarch64
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
for name in $(env | sed -n 's/^\(GPUTRACK_[A-Z0-9_]*\|JOBS\|KEEP\|PATIENCE\|http_proxy\)=.*/\1/p'); do
	eval "set -- \"\$name=\$$name\" \"\$@\""
done
exec unshare --mount --propagation private sh -eu -c '
	root=$1 tree=$2
	shift 2
	cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
	mount -t proc proc "$root/proc"
	for folder in dev sys tmp; do mount --rbind /$folder "$root/$folder"; done
	mkdir -p "$root$tree"
	mount --bind "$tree" "$root$tree"
	exec chroot "$root" /usr/bin/env -i -C "$tree" PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive "$@"' sh "$root" "$tree" "$@"
