/* SPDX-License-Identifier: MIT */
/* rows_folder.h - rows in files, for those without a server: rows-2026-11-16.tsv, stacks-….tsv. */
#pragma once

#include "base/mem.h"

struct gt_rows_folder;

/*
 * Creates the folder if there is none. Files of more than `days` days ago are removed, and the
 * oldest ones when they have more than `max_bytes` together; 0: any number.
 */
int gt_rows_folder_open(struct gt_rows_folder **out, const char *folder, uint64_t days,
			uint64_t max_bytes, struct gt_error *error);
void gt_rows_folder_close(struct gt_rows_folder *f);
/*
 * Appends lines to the file of the day (UTC), which begins with `head`. 0, or -errno: none of them
 * is there; -ENOSPC also when those of the day have `max_bytes` already.
 */
int gt_rows_folder_add(struct gt_rows_folder *f, const char *table, uint64_t real_s,
		       void (*head)(FILE *out), const char *text, size_t size);
