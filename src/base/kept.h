/*
 * kept.h - a file that is appended to in somebody else's process, whatever that closes.
 *
 * Nothing is ever written into a file that the program has put in its place. Threads may write at
 * the same time; those that find it closed together keep one descriptor.
 */
#pragma once

#include <sys/types.h>

#include "base/fd.h"

struct gt_kept {
	_Atomic int fd;        /* -1: none, or none that could be had again */
	struct gt_file_id id;
	const char *path;
	bool quietly;
	_Atomic uint64_t checked_ns;
};

#define GT_KEPT_NONE { .fd = -1 }

/* What may lie under the name: a file or a device, or a pipe as well. */
enum gt_kept_what { GT_KEPT_FILE, GT_KEPT_STREAM };

/*
 * Opens the file to append to it; `path` must stay where it is. Never waits: a pipe that nobody
 * reads is -ENXIO, what may not lie there is -ENODEV.
 */
int gt_kept_open(struct gt_kept *k, const char *path, int flags, enum gt_kept_what what);
/* Words for what gt_kept_open gave. */
const char *gt_kept_error(int error);
/* write(2) without a signal; -1 with errno when the file is gone, too. */
ssize_t gt_kept_write(struct gt_kept *k, const void *data, size_t size, uint64_t now_ns);
void gt_kept_close(struct gt_kept *k);
