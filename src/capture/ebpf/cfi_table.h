/* SPDX-License-Identifier: MIT */
/*
 * cfi_table.h - the entries of an image's call frame information (.eh_frame) that speak of an
 * address.
 *
 * The file is read where it is needed, never mapped, so it may be cut or changed meanwhile; nothing
 * of it is kept but an index where it brings none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/ebpf/cfi_rule.h"
#include "capture/ebpf/image.h"

struct gt_cfi_table;

/* The image and its descriptor must outlive it. NULL when the image has no such information. */
struct gt_cfi_table *gt_cfi_table_new(const struct gt_image *image);
void gt_cfi_table_free(struct gt_cfi_table *t);
/* The rule at an ELF address; false, with nothing to free, when nothing can be said. */
bool gt_cfi_table_find(struct gt_cfi_table *t, struct gt_cfi_rule *rule, uint64_t address);
