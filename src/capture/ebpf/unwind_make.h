/* SPDX-License-Identifier: MIT */
/* unwind_make.h - makes the rows of the BPF programs' unwinding from call frame information. */
#pragma once

#include "capture/ebpf/cfi.h"
#include "capture/ebpf/unwind_rows.h"

/* What a BPF program is told of a rule; `rule` may be NULL. */
struct gt_rule gt_rule_of(const struct gt_cfi_rule *rule);

/* The number of a rule in the table that images share. */
typedef uint16_t gt_rule_number_fn(void *context, const struct gt_rule *rule);

/*
 * The rows of GT_SHARD_BYTES of code from an ELF address on, into room for as many rows; the first
 * is at offset 0. Returns their number.
 */
size_t gt_rows_make(struct gt_cfi_table *t, uint64_t from, struct gt_row *rows,
		    gt_rule_number_fn *number, void *context);
