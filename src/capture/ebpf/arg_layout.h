/* SPDX-License-Identifier: MIT */
/*
 * arg_layout.h - what doors ask the driver for, worked out from what the call itself tells.
 *
 * A probe cannot ask. The size of an image is what its dimensions come to, without the driver's
 * padding; the owner of CUDA memory is the process's context where there is only one.
 */
#pragma once

#include "event/call.h"

enum { GT_TOLD_PIECES = 8 };

/* A word of a call: an argument, or what it points to. */
struct gt_piece {
	uint8_t argument, offset; /* offset: GT_PIECE_VALUE for the argument itself */
};

enum { GT_PIECE_VALUE = 0xff };

/* The words that are needed of a call besides what its row says; how many there are. */
size_t gt_told_pieces(enum gt_function_id function, struct gt_piece out[GT_TOLD_PIECES]);
/* Bytes of what the call has created, from those words. */
uint64_t gt_told_size(enum gt_function_id function, const uint64_t pieces[GT_TOLD_PIECES]);
/* The row that a call is recorded as: code that nvcc put into the program is the runtime's. */
enum gt_function_id gt_told_row(enum gt_function_id function,
				const uint64_t pieces[GT_TOLD_PIECES]);
