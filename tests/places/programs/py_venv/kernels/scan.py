# SPDX-License-Identifier: MIT
"""scan.py - a package as pip would install it."""
import pyopencl as cl

CONTEXT = cl.create_some_context(interactive=False)


def scratch(size):
    return cl.Buffer(CONTEXT, cl.mem_flags.READ_WRITE, size)


def inclusive(size):
    return scratch(size)


class Plan:
    def __init__(self, size):
        self.scratch = scratch(size)
