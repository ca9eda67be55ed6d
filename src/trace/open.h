/* SPDX-License-Identifier: MIT */
/* open.h - the file of a trace and its header, as its reader finds them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "trace/layout.h"

struct gt_trace_file {
	int fd;
	uint64_t size; /* asked for after the header was read: it is no less than that says */
	struct gt_trace_header header;
};

/* 0 and an open file whose header is sound, or -errno: -ENODATA where nothing was written yet. */
int gt_trace_open(struct gt_trace_file *f, const char *path, struct gt_error *error);
/* False when not all of it could be read. */
bool gt_trace_read(const struct gt_trace_file *f, void *to, size_t size, uint64_t from);
