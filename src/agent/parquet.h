/* SPDX-License-Identifier: MIT */
/*
 * parquet.h - rows as a Parquet file: the columns of row_columns.def, required, plain encoding, not
 * compressed, one page for each column of a group of rows.
 */
#pragma once

#include "base/mem.h"

struct gt_parquet;

struct gt_parquet *gt_parquet_new(FILE *out);
/* Adds the rows of a file that rows_folder.h has written. 0, or -errno and the mistake. */
int gt_parquet_add_tsv(struct gt_parquet *p, const char *path, struct gt_error *error);
/* Writes what is left and the footer, and frees `p`. */
void gt_parquet_finish(struct gt_parquet *p);
