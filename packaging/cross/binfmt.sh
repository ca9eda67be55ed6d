#!/bin/sh
# SPDX-License-Identifier: MIT
# binfmt.sh CPU - lets the kernel run programs of that processor by qemu; as root, and until the next boot.
#
# Ends with 77, after one line that says why, where that cannot be done.
set -eu
cpu=${1:?usage: binfmt.sh CPU}
formats=/proc/sys/fs/binfmt_misc
[ "$cpu" != "$(uname -m)" ] || exit 0
[ -e $formats/status ] || mount -t binfmt_misc binfmt_misc $formats 2>/dev/null || true
[ -e $formats/qemu-"$cpu" ] || update-binfmts --enable qemu-"$cpu" >/dev/null 2>&1 || true
# F: the interpreter is opened once, here, so a chroot need not have it
if ! grep -qs '^flags:.*F' $formats/qemu-"$cpu"; then
	echo "this kernel runs no programs of $cpu: qemu-user-static, or binfmt_misc in the kernel, is missing" >&2
	exit 77
fi
