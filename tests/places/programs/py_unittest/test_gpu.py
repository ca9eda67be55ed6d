# SPDX-License-Identifier: MIT
"""test_gpu.py - two tests that leak through the same helper."""
import unittest

import pyopencl as cl

CONTEXT = cl.create_some_context(interactive=False)
KEPT = []


def make(size):
    KEPT.append(cl.Buffer(CONTEXT, cl.mem_flags.READ_WRITE, size))


class TestBuffers(unittest.TestCase):
    def setUp(self):
        self.size = 1024

    def test_copy(self):
        make(self.size)

    def test_fill(self):
        make(2 * self.size)
