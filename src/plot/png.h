/* SPDX-License-Identifier: MIT */
/* png.h - writes an image as PNG. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Pixels as Cairo has them: 0x00RRGGBB in words of the machine, `stride` bytes from row to row. */
struct gt_image {
	const unsigned char *pixels;
	uint32_t width, height;
	size_t stride;
};

/* 0 or -errno. */
int gt_png_write(const struct gt_image *image, FILE *out);
