#!/bin/sh
# SPDX-License-Identifier: MIT
# agent.sh BUILD_DIR - what `gputrack agent` takes at 4,000 events a second: a minute of a day (./dev soak agent).
set -eu
. "$(dirname -- "$0")/common.sh"

python3 "$bench/agent.py" "$build" 60 4000
