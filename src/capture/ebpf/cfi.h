/* SPDX-License-Identifier: MIT */
/*
 * cfi.h - how the registers of a caller are found, from DWARF's call frame information.
 *
 * The instructions come from any library that a traced process has mapped: their cost is bounded by
 * their length, in time, and by a rule's size, in memory, whatever they contain.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "capture/ebpf/calls.h"
#include "capture/ebpf/modules.h"

/* x86-64's DWARF numbers; registers beyond these (vectors, flags) are read over. */
enum { GT_CFI_RSP = 7, GT_CFI_RETURN = 16, GT_CFI_REGISTERS = GT_PROBE_REGISTERS };

enum gt_cfi_how {
	GT_CFI_UNDEFINED,     /* lost */
	GT_CFI_SAME,          /* as it is */
	GT_CFI_AT_CFA,        /* in memory, at CFA + value */
	GT_CFI_CFA_PLUS,      /* is CFA + value */
	GT_CFI_REGISTER,      /* in register `value`; for the CFA itself: plus its offset */
	GT_CFI_AT_EXPRESSION, /* in memory, at what the expression gives */
	GT_CFI_EXPRESSION,    /* what the expression gives */
};

struct gt_cfi_rule {
	uint8_t how[GT_CFI_REGISTERS];
	uint8_t cfa_how;                 /* GT_CFI_REGISTER or GT_CFI_EXPRESSION */
	int32_t value[GT_CFI_REGISTERS]; /* of expressions: where they are among `expressions` */
	int32_t cfa, cfa_offset;
	uint8_t *expressions; /* owned, each after its length in a byte; NULL: none */
};

/* What the entries of a place hold, borrowed. */
struct gt_cfi_code {
	struct gt_bytes initial, own; /* the instructions: of all its functions, of this one */
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t start; /* of the function */
};

/* False, with nothing to free, when an instruction is not understood or makes no sense. */
bool gt_cfi_rule_init(struct gt_cfi_rule *rule, const struct gt_cfi_code *code, uint64_t address);
void gt_cfi_rule_fini(struct gt_cfi_rule *rule);
/* The bytes of the expression that a rule has there. */
struct gt_bytes gt_cfi_rule_expression(const struct gt_cfi_rule *rule, int32_t at);

/*
 * The entries of an image's .eh_frame. The file is read where it is needed, never mapped, so it may
 * be cut or changed meanwhile; nothing of it is kept but an index, if it brings none.
 */
struct gt_cfi_table;

/* The image and its descriptor must outlive it. NULL when the image has no such information. */
struct gt_cfi_table *gt_cfi_table_new(const struct gt_image *image);
void gt_cfi_table_free(struct gt_cfi_table *t);
/* The rule at an ELF address; false, with nothing to free, when nothing can be said. */
bool gt_cfi_table_find(struct gt_cfi_table *t, struct gt_cfi_rule *rule, uint64_t address);
