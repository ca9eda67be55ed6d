# SPDX-License-Identifier: MIT
"""frames.py - OpenCV's UMat on OpenCL: pictures that are kept."""
import os

import cv2
import numpy as np


def sharpen(picture):
    blurred = cv2.GaussianBlur(picture, (5, 5), 0)
    return cv2.addWeighted(picture, 1.5, blurred, -0.5, 0)


class Pipeline:
    def __init__(self):
        self.kept = []

    def push(self, frame):
        self.kept.append(cv2.UMat(frame))
        self.kept.append(cv2.cvtColor(self.kept[-1], cv2.COLOR_BGR2GRAY))


cv2.ocl.setUseOpenCL(True)
pipeline = Pipeline()
pipeline.push(np.zeros((640, 480, 3), np.uint8))
pipeline.kept.append(sharpen(pipeline.kept[0]))
pipeline.kept.append(cv2.add(pipeline.kept[1], pipeline.kept[1]))
cv2.ocl.finish()
os._exit(0)  # OpenCV and PoCL take each other down at exit
