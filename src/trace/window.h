/* SPDX-License-Identifier: MIT */
/*
 * window.h - mapped parts of a trace, and what to do when a store to one of them fails.
 *
 * A store to a shared mapping raises SIGBUS when the file has become shorter, or when its disk has
 * failed. Whoever handles that signal calls gt_window_recover: it finds the window without a lock,
 * and puts memory where the file was, so that the store can be repeated.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* True once a store has failed, to whatever window of this process. */
extern _Atomic bool gt_windows_failed;

struct gt_window {
	uint8_t *start;
	size_t size;
	size_t lead;            /* mapped before `start`, which need not be where a page begins */
	uint32_t users;         /* blocks in use, and the writer as long as it hands out more */
	int32_t number;         /* in the table that gt_window_recover searches; -1: in none */
	struct gt_window *next; /* the writer's others */
};

/*
 * Maps `size` bytes of a file from `offset` on, with one user. Blocks are smaller than the pages of
 * some kernels (64 KiB on arm64): all of these functions take any offset and address. If a store to
 * the window fails, `has_failed` becomes true; it must outlive the window. 0 or -errno.
 */
int gt_window_open(struct gt_window **out, int fd, off_t offset, size_t size,
		   _Atomic bool *has_failed);
/* Unmaps it. Its memory stays, for the caller to free: a forked child may be unable to. */
void gt_window_close(struct gt_window *window);
/*
 * Prepares a part for stores: all of it at once is cheaper than page by page. -EIO: a store would
 * fail, because the file has become shorter or its disk has failed.
 */
int gt_window_populate(void *start, size_t size);
/* Returns the memory of a finished part; what was stored there stays in the file. */
void gt_window_flush(const void *start, size_t size);

/* In a signal handler: if the address lies in a window, puts zeroes in place of its page. */
bool gt_window_recover(const void *address);
