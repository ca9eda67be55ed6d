/* SPDX-License-Identifier: MIT */
/* tap_state.h - what a recorder tells a tracer of ours that reads its memory (guest/tap.h). */
#pragma once

#include <stdint.h>

struct gt_tap_state {
	uint64_t table; /* gt_functions_digest: the same functions have the same numbers */
	uint64_t doors; /* a bit for each API whose calls all end in gt_tap_call */
};
