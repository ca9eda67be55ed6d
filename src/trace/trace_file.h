/* SPDX-License-Identifier: MIT */
/* trace_file.h - the file of a trace with its header, as its reader opens it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/guest_file.h"
#include "base/mem.h"
#include "trace/layout.h"

/*
 * Opened again when it is read, if its descriptor was needed for another one: thousands of
 * processes may have run at once.
 */
struct gt_trace_file {
	int fd; /* -1: closed for now */
	char *path;
	struct gt_file_id id;
	struct gt_trace_file *newer, *older; /* by the last use, of those that are open */
	uint64_t size; /* taken after the header was read: at least what the header says */
	struct gt_trace_header header;
};

/* -ENODATA: the writer has created the file, but written nothing yet. */
int gt_trace_file_open(struct gt_trace_file *f, const char *path, struct gt_error *error);

void gt_trace_file_close(struct gt_trace_file *f);

/*
 * Once its process has ended: cuts off the space that was reserved and not used, and lets the owner
 * write to the trace again. Does nothing while somebody has it open or mapped for writing. `name`
 * lies in `folder`, a descriptor.
 */
void gt_trace_file_finish(int folder, const char *name);

/* False unless all `size` bytes could be read. */
bool gt_trace_file_read(struct gt_trace_file *f, void *to, size_t size, uint64_t from);
/* The descriptor, until another file is used; -1 if the file is gone. */
int gt_trace_file_descriptor(struct gt_trace_file *f);
