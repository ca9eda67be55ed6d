#!/bin/sh
# SPDX-License-Identifier: MIT
# make.sh BUILD_DIR [ARCHITECTURE ROOT] - builds gputrack for /usr and makes BUILD_DIR/gputrack_VERSION_ARCH.deb; prints
# its path. BUILD_DIR/apt is a folder that apt takes packages from. ROOT: that of packaging/cross/root.sh, for another
# architecture than this machine's.
set -eu
cd "$(dirname "$0")/../.."
build=${1:?usage: make.sh BUILD_DIR [ARCHITECTURE ROOT]}
architecture=${2:-$(dpkg --print-architecture)}
machine=$(dpkg-architecture -a"$architecture" -qDEB_HOST_MULTIARCH 2>/dev/null)
cross=
[ -z "${3:-}" ] || cross="--cross-file=$(dirname "$3")/cross.ini"

# depends_in ROOT FILE…: the packages of another root that these files need, by what its packages say of their libraries;
# dpkg-shlibdeps knows those of this machine alone.
depends_in() {
	in=$1
	shift
	readelf -d "$@" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so\.\(.*\)\]/\1 \2/p' | sort -u | while read -r library number; do
		cat "$in"/var/lib/dpkg/info/*.shlibs | awk -v name="$library" -v number="$number" \
			'$1 == name && $2 == number { $1 = $2 = ""; sub(/^ +/, ""); print; exit }'
	done | sort -u | paste -s -d , | sed 's/,/, /g'
}

if [ ! -f "$build/build.ninja" ]; then
	# shellcheck disable=SC2086
	meson setup "$build" $cross --prefix=/usr --libdir="lib/$machine" --buildtype=debugoptimized \
		-Dtests=disabled -Dzsh_completions=/usr/share/zsh/vendor-completions >"$build.log" 2>&1 || {
		cat "$build.log" >&2
		exit 1
	}
fi
rm -f "$build.log"
# the same sources give the same package
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
root=$PWD/$build/deb/root
rm -rf "$build/deb"
mkdir -p "$root/DEBIAN" "$build/deb/debian"
ninja -C "$build" >"$build/build.log" 2>&1 || { cat "$build/build.log" >&2; exit 1; }
DESTDIR=$root meson install -C "$build" --no-rebuild --strip >"$build/install.log" 2>&1 ||
	{ cat "$build/install.log" >&2; exit 1; }

# Debian's ways: pages are compressed, the licence is called copyright.
find "$root/usr/share/man" -type f -exec gzip -9n {} + 2>/dev/null || true
documents=$root/usr/share/doc/gputrack
mv "$documents/LICENSE" "$documents/copyright"
for licence in "$documents"/LICENSE.*; do
	[ -f "$licence" ] || continue
	printf '\n%s, which is part of the program:\n\n' "${licence##*/LICENSE.}" >>"$documents/copyright"
	cat "$licence" >>"$documents/copyright"
	rm "$licence"
done
gzip -9n "$documents/CHANGELOG.md"
modules=$root/usr/lib/python3/dist-packages
mkdir -p "$modules"
find "$root/usr/lib" \( -name 'gputrack*.py' -o -name 'gputrack-*.dist-info' \) ! -path "$modules/*" -prune \
	-exec mv {} "$modules" \;
find "$root/usr/lib" -path '*/python3*' -type d -empty -delete

# What the programs and libraries are linked with; our own recorder is found beside the doors.
printf 'Source: gputrack\n\nPackage: gputrack\nArchitecture: any\n' >"$build/deb/debian/control"
binaries=$(find "$root/usr/bin" "$root/usr/lib" -type f \( -name 'gputrack' -o -name '*.so*' \))
if [ -n "${3:-}" ]; then
	# shellcheck disable=SC2086
	depends=$(depends_in "$3" $binaries)
else
	# shellcheck disable=SC2086
	(cd "$build/deb" && dpkg-shlibdeps -O -xgputrack -l"$root/usr/lib/$machine/gputrack" \
		$binaries >shlibdeps.txt 2>shlibdeps.log) || { cat "$build/deb/shlibdeps.log" >&2; exit 1; }
	depends=$(sed -n 's/^shlibs:Depends=//p' "$build/deb/shlibdeps.txt")
fi
[ -n "$depends" ] || { echo "make.sh: dpkg-shlibdeps found no library that gputrack needs" >&2; exit 1; }

version=$(meson introspect --projectinfo "$build" | sed -n 's/.*"version": "\([^"]*\)".*/\1/p')
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@DEPENDS@/$depends/" \
	-e "s/@SIZE@/$(du -sk --apparent-size "$root/usr" | cut -f 1)/" \
	-e "s/@MAINTAINER@/${DEBFULLNAME:-gputrack} <${DEBEMAIL:-root@localhost}>/" \
	packaging/deb/control.in >"$root/DEBIAN/control"
echo 'activate-noawait ldconfig' >"$root/DEBIAN/triggers"
(cd "$root" && find usr -type f | LC_ALL=C sort | xargs -d '\n' md5sum) >"$root/DEBIAN/md5sums"
chmod -R u=rwX,go=rX "$root"

package=$build/gputrack_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null

# deb [trusted=yes] file:BUILD_DIR/apt ./
apt=$build/apt
rm -rf "$apt"
mkdir "$apt"
cp "$package" "$apt/gputrack_$architecture.deb"
(
	cd "$apt"
	dpkg-scanpackages --multiversion . 2>scan.log >Packages || { cat scan.log >&2; exit 1; }
	rm scan.log
	gzip -9nk Packages
	date=$(LC_ALL=C date -u -d "@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S UTC')
	printf 'Origin: gputrack\nLabel: gputrack\nArchitectures: %s\nDate: %s\nSHA256:\n' "$architecture" "$date" >Release
	for file in Packages Packages.gz; do
		printf ' %s %s %s\n' "$(sha256sum "$file" | cut -d ' ' -f 1)" "$(stat -c %s "$file")" "$file"
	done >>Release
)
echo "$package"
