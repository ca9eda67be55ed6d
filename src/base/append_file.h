/* SPDX-License-Identifier: MIT */
/*
 * append_file.h - a file that is appended to in somebody else's process, whatever that closes.
 *
 * Nothing is ever written into a file that the program has put in its place. Threads may write at
 * the same time; those that find it closed together keep one descriptor.
 */
#pragma once

#include <sys/types.h>

#include "base/fd.h"

struct gt_append_file {
	_Atomic int fd; /* -1: none, or none that could be had again */
	struct gt_file_id id;
	const char *path;
	bool quietly;
	_Atomic uint64_t checked_ns;
};

#define GT_APPEND_NONE                                                                             \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* What may lie under the name: a file or a device, or a pipe as well. */
enum gt_append_to { GT_APPEND_FILE, GT_APPEND_STREAM };

/*
 * Opens the file to append to it; `path` must stay where it is. Never waits: a pipe that nobody
 * reads is -ENXIO, what may not lie there is -ENODEV.
 */
int gt_append_file_open(struct gt_append_file *k, const char *path, int flags,
			enum gt_append_to what);
/* Words for what gt_append_file_open gave. */
const char *gt_append_file_error(int error);
/* write(2) without a signal; -1 with errno when the file is gone, too. */
ssize_t gt_append_file_write(struct gt_append_file *k, const void *data, size_t size,
			     uint64_t now_ns);
void gt_append_file_close(struct gt_append_file *k);
