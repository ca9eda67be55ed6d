/* SPDX-License-Identifier: MIT */
/* links.h - the kernel's links of probes, which are closed by many threads. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { GT_LINK_CLOSERS = 64 }; /* threads */

/* Zeroed is initialised. */
struct gt_links {
	int *list; /* descriptors */
	size_t count, room;
	bool is_closing; /* no link is added any more */
	_Atomic size_t next;
	pthread_t closers[GT_LINK_CLOSERS];
	size_t closer_count;
};

void gt_links_add(struct gt_links *l, int fd);
/* Closes those added after the first `kept`. */
void gt_links_cut(struct gt_links *l, size_t kept);
/* Starts to close all of them, and does not wait. */
void gt_links_begin_close(struct gt_links *l);
/* Closes all of them, and frees the list. */
void gt_links_close(struct gt_links *l);
