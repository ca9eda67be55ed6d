# SPDX-License-Identifier: MIT
"""seeds_snapshot.py FOLDER - small memory snapshots of PyTorch, one for each generation and writer."""
import os
import pickle
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import torch_snapshot  # noqa: E402


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for i, generation in enumerate(torch_snapshot.GENERATIONS):
        pool = torch_snapshot.Pool(seed=i, entries=60, expandable=i % 2 == 1)
        pool.work(60)
        pool.oom(1 << 30)
        whole = torch_snapshot.snapshot([pool], generation)
        for name, data in (("jit", torch_snapshot.jit_pickle(whole)),
                           *((protocol, pickle.dumps(whole, protocol)) for protocol in (2, 4))):
            with open(os.path.join(folder, f"{generation}-{name}.pickle"), "wb") as file:
                file.write(data)


main(sys.argv[1])
