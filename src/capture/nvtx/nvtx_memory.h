/* SPDX-License-Identifier: MIT */
/* nvtx_memory.h - regions of memory that a program registers with NVTX. */
#pragma once

#include <stdbool.h>

#include "capture/nvtx/nvtx_types.h"

/*
 * An instance of NVTX's extension for memory is about to be used: takes its functions.
 * `is_chained`: another tool has filled them in, which is called as well. False: it is left as it
 * is.
 */
bool gt_nvtx_memory_start(const struct gt_nvtx_extension *module, bool is_chained);

/* nvtx_door.c: the number of a message's text (guest/ranges.h); 0: it has none. */
uint32_t gt_nvtx_text(uint32_t type, const union gt_nvtx_text_value *message);
