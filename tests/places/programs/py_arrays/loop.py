# SPDX-License-Identifier: MIT
"""loop.py - keeps arrays of pyopencl in the ways people do."""
import functools

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from layers.dense import Dense


class Model:
    def __init__(self, queue):
        self.weights = cl_array.zeros(queue, 1024, np.float32)
        self.kept = []

    def step(self):
        self.kept.append(self.weights + 1)


def logged(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)
    return wrapper


@logged
def upload(queue, count):
    return cl_array.to_device(queue, np.ones(count, np.float32))


def batches(queue):
    for count in (96, ):
        yield cl_array.empty(queue, count, np.float32)


def main():
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    model = Model(queue)
    model.step()
    kept = [upload(queue, 2048)]
    kept += [cl.Buffer(context, cl.mem_flags.READ_WRITE, size) for size in (4096, )]
    kept.append((lambda: cl.Buffer(context, cl.mem_flags.READ_WRITE, 5120))())
    kept += list(batches(queue))
    kept += map(Dense(queue), [640])
    kept.append(kept[0].copy())
    kept.append(cl_array.sum(kept[0]))
    queue.finish()
    return kept


KEPT = main(), cl.Buffer(cl.Context(cl.get_platforms()[0].get_devices()), cl.mem_flags.READ_WRITE, 7168)
