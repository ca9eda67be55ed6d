/* SPDX-License-Identifier: MIT */
/* build_ids.h - the ELF files below the user's folders, found by build id whatever their names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_build_ids;

/* Opens nothing yet: the folders, a NULL-terminated list that must outlive it, may not be needed.
 */
struct gt_build_ids *gt_build_ids_new(const char *const *folders);
void gt_build_ids_free(struct gt_build_ids *ids);

/*
 * The path of a file with this build id, NULL when there is none: rather one with debug information
 * than one with a symbol table or, if `is_debug` is false, rather one with code than these. Reads
 * all folders when first called.
 */
const char *gt_build_ids_find(struct gt_build_ids *ids, const uint8_t *id, size_t size,
			      bool is_debug);
