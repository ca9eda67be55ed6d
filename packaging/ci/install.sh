#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh - installs gputrack on a CI machine, unless it is there: from $GPUTRACK_PACKAGE, which is a file, an address,
# or a folder that `./dev package` made; else from the release of the action that is used.
set -eu
if command -v gputrack >/dev/null; then
	gputrack --version
	exit 0
fi
package=${GPUTRACK_PACKAGE:-}
if [ -z "$package" ]; then
	[ -n "${GITHUB_ACTION_REPOSITORY:-}" ] || {
		echo "install.sh: set GPUTRACK_PACKAGE to gputrack's Debian package: a file, an address or a folder" >&2
		exit 1
	}
	package=$GITHUB_SERVER_URL/$GITHUB_ACTION_REPOSITORY/releases/download/$GITHUB_ACTION_REF/gputrack_$(dpkg --print-architecture).deb
fi
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
case $package in
*://*)
	$sudo apt-get update -qq
	command -v curl >/dev/null || $sudo apt-get install -y -qq --no-install-recommends curl ca-certificates
	file=$(mktemp -d)/gputrack.deb
	curl -fsSL -o "$file" "$package"
	package=$file
	;;
esac
package=$(realpath "$package")
if [ -d "$package" ]; then
	echo "deb [trusted=yes] file:$package ./" | $sudo tee /etc/apt/sources.list.d/gputrack.list >/dev/null
	package=gputrack
fi
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends "$package"
gputrack --version
