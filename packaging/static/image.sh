#!/bin/sh
# SPDX-License-Identifier: MIT
# image.sh TOOL FOLDER [ROOT] - the files of a container image with the agent, in FOLDER: TOOL, a gputrack that needs the C
# library alone, that library, and certificates. ROOT: that of packaging/cross/root.sh, if TOOL is for another architecture.
set -eu
tool=${1:?usage: image.sh TOOL FOLDER [ROOT]}
folder=${2:?}
root=${3:-}

rm -rf "$folder"
mkdir -p "$folder/usr/bin" "$folder/etc/ssl/certs" "$folder/etc/gputrack" "$folder/run/gputrack" \
	"$folder/var/lib/gputrack"
install -m 755 "$tool" "$folder/usr/bin/gputrack"
"${STRIP:-strip}" "$folder/usr/bin/gputrack"

# The linker, where the program names it, and the C library where Debian has it, with the parts that gputrack does not need
# but NVML does. NVIDIA's container runtime adds that beside it if there is a debian_version.
linker=$(readelf -lW "$tool" | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
case $linker in
*x86-64*) libraries=/usr/lib/x86_64-linux-gnu ;;
*aarch64*) libraries=/usr/lib/aarch64-linux-gnu ;;
*) echo "image.sh: $tool is a program for no known architecture" >&2; exit 1 ;;
esac
mkdir -p "$folder$(dirname "$linker")" "$folder$libraries"
cp -L "$root$linker" "$folder$linker"
for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do
	cp -L "$root$libraries/$library" "$folder$libraries/"
done
for library in $(readelf -d "$tool" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
	[ -e "$folder$libraries/$library" ] || [ "$library" = "$(basename "$linker")" ] || {
		echo "image.sh: $tool needs $library, too" >&2
		exit 1
	}
done
cp /etc/debian_version "$folder/etc/"

# of servers that rows are sent to by HTTPS, and names of users
cp -L /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/"
printf 'root:x:0:0::/:/\nnobody:x:65534:65534::/:/\n' >"$folder/etc/passwd"
