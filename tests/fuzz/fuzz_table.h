/* SPDX-License-Identifier: MIT */
/* fuzz_table.h - helpers for fuzz targets of tables: any bytes as rows, and a picture of them. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "plot/picture.h"
#include "plot/read_rows.h"

/* Opens the input as rows. */
void fuzz_rows(struct gt_rows *rows, const uint8_t *data, size_t size);

/* Checks the guarantees of a trail. */
void fuzz_trail(const struct gt_trail *t);

/* A text canvas whose output is dropped; the size changes from picture to picture. */
void fuzz_canvas_open(struct gt_canvas *c);
void fuzz_canvas_close(struct gt_canvas *c);
