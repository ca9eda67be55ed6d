/* SPDX-License-Identifier: MIT */
/* python_image.h - the CPython in an executable or a library, by its exported symbols. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/ebpf/python_records.h"

struct gt_image;
struct gt_modules;

/* Addresses are those of the file. */
struct gt_python_image {
	bool has_python;
	bool is_unsupported; /* another version, or one without a GIL */
	uint64_t runtime, code_type;
	uint64_t begin, end; /* of the interpreter's code */
	struct gt_python_layout layout;
	/* functions that it runs before any module can make a call */
	struct {
		uint64_t function, offset; /* in the file; 0: none */
	} entries[2];
	bool is_probed;   /* these are */
	int32_t specific; /* of a C library: see struct gt_probe_python; 0: it is none */
};

/* Fills in image->python; its segments are known. */
void gt_python_image_read(struct gt_image *image, int fd);

/* The interpreter of a process, as its modules show it; NULL: it has none that we can read. */
const struct gt_python_image *gt_python_find(const struct gt_modules *modules, uint64_t *bias);
/* How much of a code object is read. */
uint32_t gt_python_code_bytes(const struct gt_python_layout *layout);
/* The same with the addresses of a file; `specific` is that of the C library. */
bool gt_python_image_row(struct gt_probe_python *row, const struct gt_python_image *image,
			 uint64_t bias, int32_t specific);
/* For the BPF programs; false: there is none, or no C library that we know. */
bool gt_python_row(struct gt_probe_python *row, const struct gt_modules *modules);
