"""keep_tensors.py STEPS [PAUSE] - a training loop that keeps tensors it should drop: one line grows."""
import sys
import time

import torch

kept = []


def loss_of(model, batch):
    return model(batch).square().mean()


def remember(batch):
    # a block of its own for each: PyTorch's allocator shares smaller ones
    kept.append(torch.empty(32 << 20, dtype=torch.uint8, device="cuda"))  # GROWS


def train(steps, pause):
    torch.manual_seed(1)
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(steps):
        batch = torch.randn(256, 512, device="cuda")
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
        remember(batch)
        time.sleep(pause)
    return float(loss)


pause = float(sys.argv[2]) if len(sys.argv) > 2 else 0
print(f"loss {train(int(sys.argv[1]), pause):.4f}, {len(kept)} tensors kept")
# SPDX-License-Identifier: MIT
