# SPDX-License-Identifier: MIT
"""held_opencv.py [keep] - image operations of OpenCV on OpenCL; with `keep`, one image is never released."""
import ctypes
import sys

import cv2
import numpy

cv2.ocl.setUseOpenCL(True)
if not cv2.ocl.useOpenCL():
    sys.exit("OpenCV found no OpenCL device")
image = cv2.UMat(numpy.arange(512 * 512 * 3, dtype=numpy.uint8).reshape(512, 512, 3))
for _ in range(3):
    gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    small = cv2.resize(gray, (256, 256))
    both = cv2.add(small, small)
print(int(both.get().sum()))
if sys.argv[1:] == ["keep"]:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(both))
# buffers that a kernel used last are released with the next allocation after it
del image, gray, small, both
cv2.ocl.finish()
cv2.UMat(numpy.zeros((8, 8), numpy.uint8))
