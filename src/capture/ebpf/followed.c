/* SPDX-License-Identifier: MIT */
/* followed.c - the processes that are followed, found by their numbers. */
#include "capture/ebpf/followed.h"

#include "base/mem.h"

static size_t bucket(uint32_t pid)
{
	return pid % GT_FOLLOWED_BUCKETS;
}

struct gt_traced *gt_followed_find(const struct gt_followed *f, uint32_t pid, uint64_t start,
				   uint32_t exec)
{
	struct gt_traced *p = f->buckets[bucket(pid)];

	while (p && (p->pid != pid || p->start != start || p->exec != exec))
		p = p->next;
	return p;
}

struct gt_traced *gt_followed_by_pid(const struct gt_followed *f, uint32_t pid)
{
	struct gt_traced *p = f->buckets[bucket(pid)];

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

struct gt_traced *gt_followed_add(struct gt_followed *f, uint32_t pid, uint64_t start,
				  uint32_t exec)
{
	struct gt_traced *p = gt_alloc(sizeof *p), **at = &f->buckets[bucket(pid)];

	p->pid = pid;
	p->start = start;
	p->exec = exec;
	p->next = *at;
	*at = p;
	f->count++;
	return p;
}

void gt_followed_over(struct gt_followed *f, struct gt_traced *p, uint64_t lost)
{
	if (p->is_over)
		return;
	p->is_over = true;
	p->lost_at_end = lost;
	f->over++;
}

void gt_followed_remove(struct gt_followed *f, struct gt_traced *p)
{
	struct gt_traced **link = &f->buckets[bucket(p->pid)];

	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	f->count--;
	f->over -= p->is_over;
}

struct gt_traced *gt_followed_next(const struct gt_followed *f, const struct gt_traced *p)
{
	if (p && p->next)
		return p->next;
	for (size_t i = p ? bucket(p->pid) + 1 : 0; i < GT_FOLLOWED_BUCKETS; i++)
		if (f->buckets[i])
			return f->buckets[i];
	return NULL;
}
