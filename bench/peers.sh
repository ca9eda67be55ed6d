#!/bin/sh
# SPDX-License-Identifier: MIT
# peers.sh BUILD_DIR - other tools in the same run: what they cost, and which of ten leaks they find.
set -eu
. "$(dirname -- "$0")/common.sh"

python3 "$bench/peers.py" "$build"
