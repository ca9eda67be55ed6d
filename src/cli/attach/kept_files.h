/* SPDX-License-Identifier: MIT */
/* kept_files.h - programs and libraries that are no longer at their path, for the names in a
 * report. */
#pragma once

#include "capture/ebpf/tracer.h"

/* Zeroed is empty. */
struct gt_kept_files {
	char folder[64];       /* of links to descriptors, where symbols are searched; "": none */
	const char *search[2]; /* the same, for struct gt_symbol_options */
	int *fds;
	size_t count, room;
};

/* Takes those files of the traced processes that their paths do not lead to any more. */
void gt_kept_files_take(struct gt_kept_files *k, struct gt_tracer *tracer);
void gt_kept_files_fini(struct gt_kept_files *k);
