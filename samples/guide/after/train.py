"""train.py - a training loop that keeps its losses: problem 5 of doc/guide.md."""
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import tensor  # noqa: E402


class Model:
    def __init__(self):
        self.weights = tensor.Tensor(4 << 20)

    def forward(self, batch):
        return tensor.Tensor(64 << 10)

    def backward(self, loss):
        gradients = tensor.Tensor(4 << 20)
        del gradients


def train(model, steps):
    losses = []
    for step in range(steps):
        batch = tensor.Tensor(1 << 20)
        loss = model.forward(batch)
        model.backward(loss)
        losses.append(loss.item())
        time.sleep(0.008)
    return losses


losses = train(Model(), steps=300)
print(f"{len(losses)} steps, last loss {losses[-1]}")
# SPDX-License-Identifier: MIT
