# SPDX-License-Identifier: MIT
"""run.py - numpy arrays sent to OpenCL by ctypes: by a library of the project, and directly."""
import ctypes

import numpy as np

project = ctypes.CDLL("./libupload.so")
opencl = ctypes.CDLL("libOpenCL.so.1")
opencl.clCreateBuffer.restype = ctypes.c_void_p
opencl.clCreateBuffer.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
project.upload_open.restype = ctypes.c_void_p
project.upload.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def send(array):
    project.upload(array.ctypes.data, array.nbytes)


def direct(context, array):
    opencl.clCreateBuffer(context, 1, array.nbytes, None, None)


def each(row):
    send(np.ascontiguousarray(row))
    return row.sum()


class Table:
    def save(self, context):
        direct(context, np.zeros(4096, np.float32))


CONTEXT = project.upload_open()
send(np.ones(1024, np.float32))
np.apply_along_axis(each, 1, np.ones((1, 512)))
Table().save(CONTEXT)
