/* SPDX-License-Identifier: MIT */
/* read_kind.h - which table a file holds, told by its first line and not by its name. */
#pragma once

#include "plot/read_rows.h"

enum gt_table_kind {
	GT_TABLE_UNKNOWN,
	GT_TABLE_EMPTY,   /* no line at all */
	GT_TABLE_TRACKER, /* the resource tracker's CSV, ours or the original's */
	GT_TABLE_USAGE,   /* `gputrack report -a usage --format tsv`, or an Nsight analysis' */
	GT_TABLE_SMI,     /* nvidia-smi's log */
	GT_TABLE_MONITOR, /* `gputrack monitor` */
};

/* Looks at the first line; the reader of that kind gets it again. */
enum gt_table_kind gt_table_kind(struct gt_rows *r);
