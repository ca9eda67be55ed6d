# SPDX-License-Identifier: MIT
"""torch_ops.py - PyTorch's own sample inputs through its operators on a GPU: a line each.

usage: torch_ops.py [COUNT]    the first COUNT operators of PyTorch's table (all)

For tests/same.sh, which runs it with and without gputrack and compares what it prints: an operator's
name, how many samples it took, what went wrong, and a digest of all results, in letters.
"""
import hashlib
import os
import sys
import types
import unittest

# some of PyTorch's samples come in the order of a set, which is another in every process
if os.environ.get("PYTHONHASHSEED") != "0":
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"})

import torch  # noqa: E402

try:
    import expecttest  # noqa: F401
except ModuleNotFoundError:
    # PyTorch's table is kept beside its tests, which want this; nothing here does
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = unittest.TestCase
    sys.modules["expecttest"].assert_expected_inline = None

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.utils._pytree import tree_flatten  # noqa: E402


def tensors(value):
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def letters(digest):
    """No digits: those are taken for noise."""
    return digest.hexdigest()[:24].translate(str.maketrans("0123456789", "ghijklmnop"))


def run(op):
    digest, taken, wrong = hashlib.sha256(), 0, []
    torch.manual_seed(0)
    for sample in op.sample_inputs("cuda", torch.float32):
        if taken == 8:
            break
        taken += 1
        try:
            result = op(sample.input, *sample.args, **sample.kwargs)
        except Exception as error:  # PyTorch's own affair, as long as it is the same each time
            wrong.append(type(error).__name__)
            continue
        for tensor in tensors(result):
            digest.update(str((tensor.dtype, tuple(tensor.shape))).encode())
            if tensor.layout == torch.strided and not tensor.is_complex():
                digest.update(tensor.detach().double().cpu().numpy().tobytes())
    return taken, wrong, digest


def main():
    most = int(sys.argv[1]) if len(sys.argv) > 1 else len(op_db)
    chosen = [op for op in op_db if torch.float32 in op.supported_dtypes("cuda")][:most]
    for op in chosen:
        try:
            taken, wrong, digest = run(op)
        except Exception as error:
            print(op.full_name, "no samples:", type(error).__name__)
            continue
        print(op.full_name, taken, "samples", " ".join(wrong), letters(digest))
    torch.cuda.synchronize()
    print(len(chosen), "operators")


if __name__ == "__main__":
    main()
