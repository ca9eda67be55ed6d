#!/bin/sh
# SPDX-License-Identifier: MIT
# nvtx.sh BUILD_DIR - what recording adds to a range of NVTX, beside the bare call in the same run.
set -eu
. "$(dirname -- "$0")/common.sh"

"$build/bench/nvtx_ranges" "$build/libgputrack_nvtx.so"
