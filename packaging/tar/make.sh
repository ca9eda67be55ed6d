#!/bin/sh
# SPDX-License-Identifier: MIT
# make.sh TREE TOOL FILE.tar.gz - gputrack for any distribution: TREE, an installation's prefix, with TOOL, the static
# program of `./dev static`, in the place of the one that wants libraries. It can be unpacked anywhere.
set -eu
tree=$(realpath "${1:?usage: make.sh TREE TOOL FILE.tar.gz}")
tool=$(realpath "${2:?}")
file=${3:?}
name=$(basename "$file" .tar.gz)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/$name

cp -a "$tree" "$root"
install -m 755 "$tool" "$root/bin/gputrack"
strip "$root/bin/gputrack"
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
