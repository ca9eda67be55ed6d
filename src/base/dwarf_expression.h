/* SPDX-License-Identifier: MIT */
/*
 * dwarf_expression.h - the value of an expression in .eh_frame.
 *
 * For the traced process and for the tool. Whatever the bytes are, time is bounded by their number.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* What an expression may use. */
struct gt_dwarf_machine {
	const uint64_t *registers; /* GT_REGISTERS: base/machine.h */
	/* Reads a word of memory; false: it cannot be read. */
	bool (*load)(const void *memory, uint64_t address, uint64_t *word);
	const void *memory;
	const uint64_t *cfa; /* on the operand stack at first; NULL: the expression is its own */
};

/* False if an operation is unknown, or something is missing. */
bool gt_dwarf_evaluate(const struct gt_dwarf_machine *m, struct gt_bytes expression, uint64_t *out);
