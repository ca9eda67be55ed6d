#!/bin/sh
# SPDX-License-Identifier: MIT
# make.sh TREE TOOL STATIC FILE.tar.gz - gputrack for any distribution: TREE, an installation's prefix, with TOOL, a program
# that needs the C library alone, in the place of the one that wants libraries, and STATIC, the program of `./dev static`,
# beside it as gputrack-static, for C libraries that are too old. It can be unpacked anywhere.
set -eu
tree=$(realpath "${1:?usage: make.sh TREE TOOL STATIC FILE.tar.gz}")
tool=$(realpath "${2:?}")
static=$(realpath "${3:?}")
file=${4:?}
name=$(basename "$file" .tar.gz)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/$name

cp -a "$tree" "$root"
install -m 755 "$tool" "$root/bin/gputrack"
install -m 755 "$static" "$root/bin/gputrack-static"
"${STRIP:-strip}" "$root/bin/gputrack" "$root/bin/gputrack-static"
# this one names the place of an installation
rm -f "$root/share/gputrack/levelzero.conf"
# relative to the file, like all the rest
for pc in $(find "$root" -name gputrack.pc); do
	up=$(dirname "${pc#"$root/"}" | sed 's,[^/]*,..,g')
	sed -i "s,^prefix=.*,prefix=\${pcfiledir}/$up," "$pc"
done
# for any version of Python: PYTHONPATH=.../share/gputrack/python
mkdir -p "$root/share/gputrack/python"
for folder in $(find "$root/lib" -type d \( -name site-packages -o -name dist-packages \)); do
	cp -a "$folder/." "$root/share/gputrack/python/"
	rm -rf "$folder"
done
find "$root/lib" -path '*/python3*' -type d -empty -delete
tar -C "$work" --sort=name --mtime="@${SOURCE_DATE_EPOCH:-$(date +%s)}" --owner=0 --group=0 --numeric-owner \
	-cf "$work/all.tar" "$name"
gzip -9n <"$work/all.tar" >"$file"
echo "$file"
