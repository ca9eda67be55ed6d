#!/bin/sh
# SPDX-License-Identifier: MIT
# torch.sh BUILD_DIR - what recording adds to PyTorch's steps and blocks: torch_steps.py.
set -eu
. "$(dirname -- "$0")/common.sh"

for python in python3 /usr/bin/python3; do
	! "$python" -c 'import torch' 2>/dev/null || exec "$python" "$bench/torch_steps.py" "$build"
done
echo "Skipped: Python has no PyTorch."
