#!/bin/sh
# SPDX-License-Identifier: MIT
# libraries.sh [ROOT] - libcurl and libmicrohttpd as static libraries with HTTP and TLS alone, for `./dev static`.
#
# Debian's own static libraries need others that Debian has only as shared ones (p11-kit, Kerberos, LDAP). So these are
# built from Debian's source packages, with its patches, and with GnuTLS without p11-kit below both; that takes some
# minutes. Prints the folder of their pkg-config files; they are kept in $XDG_CACHE_HOME/gputrack, and made again when this
# script has changed. ROOT: that of packaging/cross/root.sh, for another architecture; there they are kept in ROOT.
# Ends with 77, after one line that says why, where the sources cannot be had, and with NETWORK_LIBRARIES=kept where the
# libraries are not kept from before: tests have no time to make them.
set -eu
suite=bookworm
root=${1:-}
# not $HOME: tests have one of their own
cache=${XDG_CACHE_HOME:-$(getent passwd "$(id -u)" | cut -d : -f 6)/.cache}/gputrack
triplet=$(gcc -print-multiarch)
prefix=$cache/static-$triplet
host=
if [ -n "$root" ]; then
	triplet=aarch64-linux-gnu
	# as programs in ROOT see it: pkg-config puts ROOT before what it finds
	prefix=/opt/gputrack-static
	host=--host=$triplet
	CC="$triplet-gcc --sysroot=$root"
	AR=$triplet-gcc-ar
	RANLIB=$triplet-gcc-ranlib
	PKG_CONFIG_SYSROOT_DIR=$root
	export CC AR RANLIB PKG_CONFIG_SYSROOT_DIR
fi
made=$root$prefix/made
version=$(cksum <"$0")

cannot() { echo "$*" >&2; exit 77; }

# Everything that apt keeps, in a folder of our own: neither root nor a deb-src line of this machine's is needed.
fetch() {
	mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$work/source"
	apt-get indextargets --format '$(CODENAME) $(SITE)' 2>/dev/null | sort -u | awk -v s=$suite \
		'$1 == s || $1 == s "-security" { print "deb-src", $2, $1, "main" }' >"$work/apt/sources.list"
	[ -s "$work/apt/sources.list" ] || cannot "no mirror of $suite is configured on this machine"
	set -- -qq -o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$work/apt/lists" -o Dir::Cache="$work/apt" -o APT::Sandbox::User=root
	(apt-get "$@" update && cd "$work/source" && apt-get "$@" source gnutls28 libmicrohttpd curl) >"$work/log" 2>&1 ||
		cannot "sources of libcurl, libmicrohttpd and GnuTLS cannot be fetched: $(tail -n 1 "$work/log")"
	# of Debian's patches to libcurl, the last two give it another name
	for patch in 99_nss 90_gnutls; do
		patch -s -R -p 1 -d "$work/source"/curl-[0-9]* <"$(echo "$work/source"/curl-[0-9]*/debian/patches/$patch.patch)"
	done
}

# compile NAME OPTION…: the source package that was fetched
compile() {
	name=$1
	shift
	(
		# Debian's patches change what configure and the makefiles are made from
		cd "$work/source/$name"-[0-9]*/ && AUTOPOINT=true GTKDOCIZE=true autoreconf -fi &&
			CFLAGS='-O2 -g -ffunction-sections -fdata-sections' ./configure $host --prefix="$prefix" \
				--disable-shared --enable-static --disable-dependency-tracking "$@" &&
			make -j "$(nproc)" && make install DESTDIR="$root"
	) >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; echo "libraries.sh: $name cannot be built; see above" >&2; exit 1; }
	# they name paths below the prefix, which is elsewhere now
	rm -f "$root$prefix"/lib/*.la
}

is_made() { [ "$(cat "$made" 2>/dev/null)" = "$version" ]; }

is_made || [ "${NETWORK_LIBRARIES:-}" != kept ] ||
	cannot "libcurl and libmicrohttpd are not kept here as static libraries: ./dev static makes them"
# one at a time: the next one finds them made
mkdir -p "$cache"
exec 9>"$cache/static-$triplet.lock"
flock 9
if ! is_made; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	fetch
	rm -rf "$root$prefix"
	mkdir -p "$root$prefix"
	PKG_CONFIG_LIBDIR=$root$prefix/lib/pkgconfig:$root/usr/lib/$triplet/pkgconfig
	PKG_CONFIG='pkg-config --static'
	export PKG_CONFIG_LIBDIR PKG_CONFIG
	compile gnutls28 --without-p11-kit --with-included-libtasn1 --with-included-unistring --without-idn \
		--without-zlib --without-brotli --without-zstd --without-tpm --without-tpm2 --disable-cxx --disable-tools \
		--disable-doc --disable-tests --disable-nls --disable-libdane --disable-guile --disable-hardware-acceleration \
		--with-default-trust-store-file=/etc/ssl/certs/ca-certificates.crt
	compile libmicrohttpd --enable-https --with-gnutls --disable-doc --disable-examples --disable-curl
	compile curl LIBS="$($PKG_CONFIG --libs gnutls)" --with-gnutls \
		--with-ca-bundle=/etc/ssl/certs/ca-certificates.crt --without-ca-path --disable-ftp --disable-file \
		--disable-ldap --disable-ldaps --disable-rtsp --disable-dict --disable-telnet --disable-tftp --disable-pop3 \
		--disable-imap --disable-smb --disable-smtp --disable-gopher --disable-mqtt --disable-ntlm --disable-tls-srp \
		--disable-manual --without-zlib --without-brotli --without-zstd --without-libidn2 --without-libpsl \
		--without-nghttp2 --without-librtmp --without-libssh2
	echo "$version" >"$made"
fi
echo "$root$prefix/lib/pkgconfig"
