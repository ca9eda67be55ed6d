/* SPDX-License-Identifier: MIT */
/*
 * frame_rules.h - how to find the registers of a caller, read from the mapped .eh_frame.
 *
 * No lock, no system call and no allocation where the loader has _dl_find_object (glibc 2.35);
 * otherwise the loader's lock, inside the fork guard.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"

enum gt_frame_how {
	GT_SAME,          /* unchanged */
	GT_UNDEFINED,     /* unknown; of the return address: there is no caller */
	GT_AT_CFA,        /* in memory, at CFA + value */
	GT_CFA_PLUS,      /* CFA + value itself */
	GT_IN_REGISTER,   /* in register `value`; for the CFA itself: plus its offset */
	GT_AT_EXPRESSION, /* in memory, at the expression's value */
	GT_EXPRESSION,    /* the expression's value itself */
};

struct gt_frame_rule {
	const uint8_t *base; /* expressions lie at base + value: a varint, their length, first */
	int32_t value[GT_REGISTERS];
	int32_t cfa, cfa_offset;
	uint8_t how[GT_REGISTERS];
	uint8_t cfa_how;   /* GT_IN_REGISTER or GT_EXPRESSION */
	uint8_t is_signal; /* the caller was interrupted: its address is no return address */
};

/* What finding a rule needs, besides little of the stack; `rule` is the result. */
enum { GT_FRAMES_REMEMBERED = 3 };
struct gt_frame_work {
	struct gt_frame_rule rule, initial, remembered[GT_FRAMES_REMEMBERED];
};

/* True when both lie in the same program or library. */
bool gt_frames_share_module(uint64_t pc, uint64_t other);
/* The rule at an address of code; false when there is none. */
bool gt_frame_rule_find(struct gt_frame_work *work, uint64_t pc);
