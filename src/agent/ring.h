/* SPDX-License-Identifier: MIT */
/*
 * ring.h - the latest recordings of the agent, in a folder of bounded size.
 *
 * Recordings follow each other, each an eighth of the whole; when they take more than they may, the
 * oldest goes. Their names are times, so that they sort: 20261116-221500.gt.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

enum { GT_RING_PARTS = 8 };

/* The recordings of the folder, oldest first; the caller frees the list and its names. */
size_t gt_ring_list(const char *folder, char ***names);
void gt_ring_list_free(char **names, size_t count);
/* The path of a new one. */
void gt_ring_name(const char *folder, char *path, size_t size);
/* Removes the oldest until all others take at most `bytes`; never `but`, which may be NULL. */
void gt_ring_trim(const char *folder, uint64_t bytes, const char *but);
/* Removes a recording: its files, and the folder if nothing else is in it. */
void gt_ring_remove(const char *recording);

/*
 * Copies the traces of a process, the newest that there are, into a new recording. 0; -ENOENT if
 * no recording of the folder has it; or another error. `from` is the name of the one that had it.
 */
int gt_ring_cut(const char *folder, uint32_t pid, const char *to, char *from, size_t from_size,
		struct gt_error *error);
/* Copies a recording, or only the traces of a process. */
int gt_ring_copy(const char *from, uint32_t pid, const char *to, struct gt_error *error);
