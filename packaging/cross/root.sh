#!/bin/sh
# SPDX-License-Identifier: MIT
# root.sh [--if-made] ARCHITECTURE [PACKAGE…] - a Debian of another architecture to compile for and to run tests in.
#
# Makes it by debootstrap on the first call, as root, in some minutes; installs the PACKAGEs that are missing; prints its
# folder. Beside it lies cross.ini, Meson's cross file. It is kept in $XDG_CACHE_HOME/gputrack, so all trees share it.
# --if-made: makes nothing. Ends with 77, after one line that says why, where it cannot be had.
set -eu
suite=bookworm
make=yes
[ "${1:-}" != --if-made ] || { make=no; shift; }
architecture=${1:?usage: root.sh [--if-made] ARCHITECTURE [PACKAGE…]}
shift
case $architecture in
arm64) triplet=aarch64-linux-gnu cpu=aarch64 ;;
*) echo "root.sh: there is no way to compile for '$architecture' here; known: arm64" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
# not $HOME: tests have one of their own
work=${XDG_CACHE_HOME:-$(getent passwd "$(id -u)" | cut -d : -f 6)/.cache}/gputrack/$suite-$architecture
root=$work/root

cannot() { echo "$*" >&2; exit 77; }

if [ ! -f "$work/made" ]; then
	[ $make = yes ] || cannot "no root of $architecture is made; \`./dev build --arch $architecture\` makes it"
	[ "$(id -u)" = 0 ] || cannot "only root can make a root of $architecture"
	mkdir -p "$work"
	sh "$here/binfmt.sh" "$cpu"
	mirror=$(apt-get indextargets --format '$(CODENAME) $(SITE)' 2>/dev/null | awk -v s=$suite '$1 == s { print $2; exit }')
	[ -n "$mirror" ] || cannot "no mirror of $suite is configured on this machine"
	eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
	[ -z "${http_proxy:-}" ] || export http_proxy
	rm -rf "$root"
	debootstrap --arch="$architecture" --variant=minbase --include=ca-certificates $suite "$root" "$mirror" \
		>"$work/log" 2>&1 || cannot "debootstrap of $architecture failed: $(tail -n 1 "$work/log")"
	# it need not survive a crash of the machine
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/quick"
	[ -z "${http_proxy:-}" ] || echo "Acquire::http::Proxy \"$http_proxy\";" >"$root/etc/apt/apt.conf.d/proxy"
	touch "$work/made"
fi

[ $make = yes ] || { echo "$root"; exit 0; }
missing=
for package in "$@"; do
	grep -qsx "Package: $package" "$root/var/lib/dpkg/status" || missing="$missing $package"
done
if [ -n "$missing" ]; then
	[ "$(id -u)" = 0 ] || cannot "only root can install in $root:$missing"
	# shellcheck disable=SC2086
	sh "$here/inside.sh" "$root" sh -c "apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing" \
		>"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
fi

# Some libraries' names for the linker are links from the root on, which lead to this machine's
find "$root/usr/lib/$triplet" -maxdepth 1 -type l -lname '/*' | while read -r link; do
	ln -sfn "$(realpath --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
done

# Debian has Level Zero's loader for amd64 alone
sh "$here/levelzero.sh" "$root" "$triplet" || [ $? = 77 ]

# Meson finds ccache by itself only where it does not cross
cache=
! command -v ccache >/dev/null || cache="'ccache', "
cat >"$work/cross.ini.new" <<END
[binaries]
c = [$cache'$triplet-gcc', '--sysroot=$root']
cpp = [$cache'$triplet-g++', '--sysroot=$root']
ar = '$triplet-gcc-ar'
strip = '$triplet-strip'
objcopy = '$triplet-objcopy'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-$cpu-static', '-L', '$root']
[properties]
sys_root = '$root'
pkg_config_libdir = ['$root/usr/lib/$triplet/pkgconfig', '$root/usr/share/pkgconfig']
needs_exe_wrapper = true
[host_machine]
system = 'linux'
cpu_family = '$cpu'
cpu = '$cpu'
endian = 'little'
END
# Meson configures again whatever build folder has read it, if it is newer
cmp -s "$work/cross.ini.new" "$work/cross.ini" && rm "$work/cross.ini.new" || mv "$work/cross.ini.new" "$work/cross.ini"
echo "$root"
