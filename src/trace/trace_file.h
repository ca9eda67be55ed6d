/* SPDX-License-Identifier: MIT */
/* trace_file.h - the file of a trace with its header, as its reader opens it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "trace/layout.h"

struct gt_trace_file {
	int fd;
	uint64_t size; /* taken after the header was read: at least what the header says */
	struct gt_trace_header header;
};

/* -ENODATA: the writer has created the file, but written nothing yet. */
int gt_trace_file_open(struct gt_trace_file *f, const char *path, struct gt_error *error);

/*
 * Once its process has ended: cuts off the space that was reserved and not used, and lets the owner
 * write to the trace again. Does nothing while somebody has it open or mapped for writing. `name`
 * lies in `folder`, a descriptor.
 */
void gt_trace_file_finish(int folder, const char *name);

/* False unless all `size` bytes could be read. */
bool gt_trace_file_read(const struct gt_trace_file *f, void *to, size_t size, uint64_t from);
