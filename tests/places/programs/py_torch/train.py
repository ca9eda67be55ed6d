# SPDX-License-Identifier: MIT
"""train.py - PyTorch on the CPU beside OpenCL: modules and a gradient that keep buffers."""
import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import torch

CONTEXT = cl.create_some_context(interactive=False)
QUEUE = cl.CommandQueue(CONTEXT)
KEPT = []


class OnDevice(torch.nn.Module):
    def forward(self, x):
        KEPT.append(cl_array.to_device(QUEUE, x.detach().numpy()))
        return x


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        KEPT.append(cl.Buffer(CONTEXT, cl.mem_flags.READ_WRITE, 2048))
        return gradient


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, index):
        KEPT.append(cl.Buffer(CONTEXT, cl.mem_flags.READ_WRITE, 4096))
        return np.ones(8, np.float32)


def hook(module, inputs, output):
    KEPT.append(cl.Buffer(CONTEXT, cl.mem_flags.READ_WRITE, 8192))


model = torch.nn.Sequential(torch.nn.Linear(8, 256), OnDevice(), torch.nn.ReLU())
model[2].register_forward_hook(hook)
for batch in torch.utils.data.DataLoader(Rows()):
    loss = Square.apply(model(batch)).sum()
    loss.backward()
