#!/bin/sh
# SPDX-License-Identifier: MIT
# inside.sh BUILD_DIR - what recording takes of the traced program, and of the disk.
set -eu
. "$(dirname -- "$0")/common.sh"

python3 "$bench/inside.py" "$build"
