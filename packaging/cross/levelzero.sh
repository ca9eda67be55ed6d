#!/bin/sh
# SPDX-License-Identifier: MIT
# levelzero.sh ROOT TRIPLET - compiles Level Zero's loader for a root of an architecture that Debian has no package for.
#
# From Debian's sources, by the cross compiler, into ROOT/usr. Without it, gputrack is built without its Level Zero door.
# Ends with 77, after one line that says why, where the sources cannot be had.
set -eu
root=${1:?usage: levelzero.sh ROOT TRIPLET}
triplet=${2:?}
version=1.8.12
sha256=9c5d3dd912882abe8e2e3ba72f8c27e2a2d86759ac48f6318a0df091204985eb
[ ! -f "$root/usr/lib/$triplet/libze_loader.so.1" ] || exit 0
mirror=$(apt-get indextargets --format '$(CODENAME) $(SITE)' 2>/dev/null | awk '$1 == "bookworm" { print $2; exit }')
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -c 'import shutil, sys, urllib.request
shutil.copyfileobj(urllib.request.urlopen(sys.argv[1], timeout=60), open(sys.argv[2], "wb"))' \
	"${mirror%/}/pool/main/l/level-zero/level-zero_$version.orig.tar.gz" "$work/source.tar.gz" 2>"$work/log" ||
	{ echo "the sources of Level Zero's loader cannot be had: $(tail -n 1 "$work/log")" >&2; exit 77; }
echo "$sha256  $work/source.tar.gz" | sha256sum --quiet -c >&2
tar -C "$work" -xf "$work/source.tar.gz" --strip-components=1
cd "$work"
# shellcheck disable=SC2046
"$triplet-g++" --sysroot="$root" -std=c++14 -O1 -fpermissive -w -fPIC -shared -pthread -Wl,-soname,libze_loader.so.1 \
	-Iinclude -Isource/inc -I. -DLOADER_VERSION_MAJOR=1 -DLOADER_VERSION_MINOR=8 -DLOADER_VERSION_PATCH=12 \
	-DL0_LOADER_VERSION='"1"' -DL0_VALIDATION_LAYER_SUPPORTED_VERSION='"1"' \
	$(find source/lib source/loader -name '*.cpp' ! -path '*/windows/*') -ldl -o "libze_loader.so.1"
mkdir -p "$root/usr/include/level_zero"
cp -r include/. "$root/usr/include/level_zero/"
rm -f "$root/usr/include/level_zero/"*.py
install -D -m 755 libze_loader.so.1 "$root/usr/lib/$triplet/libze_loader.so.$version"
ln -sf "libze_loader.so.$version" "$root/usr/lib/$triplet/libze_loader.so.1"
ln -sf libze_loader.so.1 "$root/usr/lib/$triplet/libze_loader.so"
for name in level-zero libze_loader; do
	printf 'prefix=/usr\nincludedir=${prefix}/include\nlibdir=${prefix}/lib/%s\nName: %s\nDescription: %s\nVersion: %s\n' \
		"$triplet" "$name" "$name" "$version" >"$root/usr/lib/$triplet/pkgconfig/$name.pc"
done
printf 'Libs: -L${libdir} -lze_loader\nCflags: -I${includedir} -I${includedir}/level_zero\n' \
	>>"$root/usr/lib/$triplet/pkgconfig/libze_loader.pc"
printf 'Requires: libze_loader\n' >>"$root/usr/lib/$triplet/pkgconfig/level-zero.pc"
