/* SPDX-License-Identifier: MIT */
/* text.h - what a trace says in words: frames without an address, and series of samples. */
#pragma once

#include <stdint.h>

/* A frame that has no address: a line of Python, a frame that another profiler named. */
struct gt_text_frame {
	const char *function, *file, *module; /* NULL or "": unknown */
	uint32_t line;                        /* 0: unknown */
};

/* The module of frames that are lines of Python. */
#define GT_PYTHON "Python"

/* What is measured over and over: "device memory used", in "bytes", of "GPU 0: NVIDIA H200". */
struct gt_series {
	const char *name, *unit, *subject; /* NULL or "": none */
};
