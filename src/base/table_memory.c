/* SPDX-License-Identifier: MIT */
/* table_memory.c - memory for tables that the tool and the traced process have in common. */
#include "base/table_memory.h"

const struct gt_table_memory *gt_table_memory;
