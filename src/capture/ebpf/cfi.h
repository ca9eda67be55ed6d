/* SPDX-License-Identifier: MIT */
/*
 * cfi.h - DWARF call frame information: how to find the registers of a caller.
 *
 * The instructions come from any library that a traced process has mapped. Whatever they contain,
 * time is bounded by their length and memory by the size of a rule.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/machine.h"
#include "capture/ebpf/calls.h"
#include "capture/ebpf/modules.h"

/* DWARF's numbers, as base/machine.h has them; others (vectors, flags) are ignored. */
enum { GT_CFI_RSP = GT_STACK, GT_CFI_RETURN = GT_RETURN, GT_CFI_REGISTERS = GT_PROBE_REGISTERS };

enum gt_cfi_how {
	GT_CFI_UNDEFINED,     /* unknown */
	GT_CFI_SAME,          /* unchanged */
	GT_CFI_AT_CFA,        /* in memory, at CFA + value */
	GT_CFI_CFA_PLUS,      /* CFA + value itself */
	GT_CFI_REGISTER,      /* in register `value`; for the CFA itself: plus its offset */
	GT_CFI_AT_EXPRESSION, /* in memory, at the expression's value */
	GT_CFI_EXPRESSION,    /* the expression's value itself */
};

struct gt_cfi_rule {
	uint8_t how[GT_CFI_REGISTERS];
	uint8_t cfa_how; /* GT_CFI_REGISTER or GT_CFI_EXPRESSION */
	bool is_signal;  /* the caller was interrupted: its address is no return address */
	int32_t value[GT_CFI_REGISTERS]; /* of an expression: its offset in `expressions` */
	int32_t cfa, cfa_offset;
	uint8_t *expressions; /* owned; each is preceded by its length in one byte; NULL: none */
};

/* The instructions for an address, borrowed. */
struct gt_cfi_code {
	struct gt_bytes initial, own; /* shared by many functions; of this function */
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t start; /* of the function */
	bool is_signal;
};

/* A rule and the address from which on it holds; NULL: there is none from here on. */
typedef void gt_cfi_row_fn(void *context, uint64_t address, const struct gt_cfi_rule *rule);

/* False, with nothing to free, when an instruction is unknown or invalid. */
bool gt_cfi_rule_init(struct gt_cfi_rule *rule, const struct gt_cfi_code *code, uint64_t address);
void gt_cfi_rule_fini(struct gt_cfi_rule *rule);
/* All rules of a function, by address; the last one holds to its end. They are borrowed. */
void gt_cfi_rule_each(const struct gt_cfi_code *code, gt_cfi_row_fn *each, void *context);
/* The expression of a rule at this offset. */
struct gt_bytes gt_cfi_rule_expression(const struct gt_cfi_rule *rule, int32_t at);

/*
 * The entries of an image's .eh_frame. The file is read on demand and never mapped, so it may be
 * truncated or changed meanwhile. Nothing is kept in memory except an index, if the file has none.
 */
struct gt_cfi_table;

/* The image and its descriptor must outlive it. NULL when the image has no such information. */
struct gt_cfi_table *gt_cfi_table_new(const struct gt_image *image);
void gt_cfi_table_free(struct gt_cfi_table *t);
/* The rule at an ELF address; false, with nothing to free, when there is none. */
bool gt_cfi_table_find(struct gt_cfi_table *t, struct gt_cfi_rule *rule, uint64_t address);
/*
 * All rules from the function at `from` on, of functions that begin before `to`, by address; an end
 * without a next function counts as a rule that there is none.
 */
void gt_cfi_table_rows(struct gt_cfi_table *t, uint64_t from, uint64_t to, gt_cfi_row_fn *each,
		       void *context);
/* Keeps .eh_frame in memory while many rules are read, or no longer. */
void gt_cfi_table_hold(struct gt_cfi_table *t, bool hold);
