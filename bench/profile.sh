#!/bin/sh
# SPDX-License-Identifier: MIT
# profile.sh BUILD_DIR [WHAT…] - where the time goes, by perf: profiles.py.
set -eu
. "$(dirname -- "$0")/common.sh"

python3 "$bench/profiles.py" "$build" "$@"
