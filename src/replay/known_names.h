/* SPDX-License-Identifier: MIT */
/*
 * known_names.h - names of large programs, kept in a folder from one report to the next.
 *
 * Naming an address takes reading the debug information of its compilation unit, which is seconds
 * and gigabytes in the largest programs. A file's build id says that it is the same file: what was
 * found in it once is true for good. Files that are read quickly are not kept.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"
#include "trace/recording.h"

struct gt_known_names;

struct gt_known_names_options {
	const char *folder; /* NULL: nothing is kept */
	/* Debug information from this size on is worth it, and the folder's size; 0: as usual. */
	uint64_t from_bytes, most_bytes;
};

/* The folder for this user's files, which the caller frees; NULL: there is none. */
char *gt_known_names_folder(void);

/* Makes the folder when something is to be kept. */
struct gt_known_names *gt_known_names_new(const struct gt_known_names_options *options);
/* Writes what is new. What cannot be written is not kept. */
void gt_known_names_free(struct gt_known_names *k);

/* As gt_symbolizer_resolve; the frames are good until the next call. */
size_t gt_known_names_resolve(struct gt_known_names *k, struct gt_symbolizer *s, int module,
			      const struct gt_recorded_module *recorded, uint64_t address,
			      const struct gt_frame **frames);
