/* SPDX-License-Identifier: MIT */
/* followed.h - the processes that are followed, found by their numbers. */
#pragma once

#include "capture/ebpf/tracer.h"

enum { GT_FOLLOWED_BUCKETS = 1024 };

/* Zeroed is initialised. */
struct gt_followed {
	struct gt_traced *buckets[GT_FOLLOWED_BUCKETS]; /* by pid */
	size_t count;
	size_t over; /* of them: have ended, and are not yet let go */
};

/* NULL: there is none. */
struct gt_traced *gt_followed_find(const struct gt_followed *f, uint32_t pid, uint64_t start,
				   uint32_t exec);
/* Any process under that number. */
struct gt_traced *gt_followed_by_pid(const struct gt_followed *f, uint32_t pid);
struct gt_traced *gt_followed_add(struct gt_followed *f, uint32_t pid, uint64_t start,
				  uint32_t exec);
/* The process is gone, but calls that it made may still be on their way. */
void gt_followed_over(struct gt_followed *f, struct gt_traced *p, uint64_t lost);
/* Takes it out; it is the caller's then. */
void gt_followed_remove(struct gt_followed *f, struct gt_traced *p);
/* One after the other, the first after NULL; NULL after the last. */
struct gt_traced *gt_followed_next(const struct gt_followed *f, const struct gt_traced *p);
