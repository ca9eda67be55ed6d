/* SPDX-License-Identifier: MIT */
/* rings.c - reads several BPF ring buffers as one: in the order of their records' times. */
#include "capture/ebpf/rings.h"

#include <errno.h>
#include <unistd.h>

#include "base/process.h"

enum {
	ALONE = 2,       /* processors that share a ring: they hardly wait for each other */
	LEAST = 1 << 20, /* bytes of a ring, where there are several */
};

unsigned gt_rings_count(size_t bytes, unsigned processors)
{
	unsigned count = 1;

	if (processors <= ALONE)
		return 1;
	while (count < processors && count < GT_PROBE_RINGS && bytes / (2 * count) >= LEAST)
		count *= 2;
	return count;
}

int gt_rings_add(struct gt_rings *r, int map_fd, size_t size)
{
	int e;

	if (r->count == GT_PROBE_RINGS)
		return -ENOSPC;
	e = gt_ring_open(&r->parts[r->count].ring, map_fd, size);
	if (!e)
		r->count++;
	return e;
}

void gt_rings_close(struct gt_rings *r)
{
	for (unsigned i = 0; i < r->count; i++) {
		int fd = r->parts[i].ring.fd;

		gt_ring_close(&r->parts[i].ring);
		close(fd);
	}
	*r = (struct gt_rings){ 0 };
}

size_t gt_rings_size(const struct gt_rings *r)
{
	return r->count * r->parts[0].ring.size;
}

void gt_rings_begin(struct gt_rings *r, uint64_t now_ns)
{
	r->pass_ns = now_ns;
	r->first = NULL;
	for (unsigned i = 0; i < r->count; i++) {
		struct gt_rings_part *p = &r->parts[i];

		p->end = gt_ring_end(&p->ring);
	}
}

/* Looks for the next record of a ring, unless it is known. */
static void look(const struct gt_rings *r, struct gt_rings_part *p)
{
	uint64_t time_ns;

	if (p->next == GT_RING_RECORD)
		return;
	p->next = gt_ring_peek(&p->ring, p->end, &p->record, &p->size);
	if (p->next != GT_RING_RECORD || r->count == 1)
		return;
	time_ns = r->time_of(p->record, p->size);
	if (time_ns > p->newest_ns)
		p->newest_ns = time_ns;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Sets r->first, and up to when it stays the first; returns what follows. */
static enum gt_ring_next choose(struct gt_rings *r)
{
	uint64_t until_ns = r->count > 1 ? r->pass_ns : UINT64_MAX;
	struct gt_rings_part *first = NULL;
	bool is_held = false;

	for (unsigned i = 0; i < r->count; i++) {
		struct gt_rings_part *p = &r->parts[i];

		look(r, p);
		if (p->next == GT_RING_BUSY) {
			is_held = true;
			until_ns = least(until_ns, p->newest_ns > r->through_ns ? p->newest_ns :
										  r->through_ns);
		}
		if (p->next != GT_RING_RECORD)
			continue;
		if (!first || p->newest_ns < first->newest_ns) {
			if (first)
				until_ns = least(until_ns, first->newest_ns);
			first = p;
		} else {
			until_ns = least(until_ns, p->newest_ns);
		}
	}
	if (first && first->newest_ns <= until_ns) {
		r->first = first;
		r->first_until_ns = until_ns;
		return GT_RING_RECORD;
	}
	if (is_held)
		return GT_RING_BUSY;
	r->through_ns = r->pass_ns;
	return GT_RING_EMPTY;
}

enum gt_ring_next gt_rings_peek(struct gt_rings *r, const void **record, size_t *size)
{
	struct gt_rings_part *p = r->first;
	enum gt_ring_next next = GT_RING_RECORD;

	if (p)
		look(r, p);
	if (!p || p->next != GT_RING_RECORD || p->newest_ns > r->first_until_ns) {
		r->first = NULL;
		next = choose(r);
		p = r->first;
	}
	if (next == GT_RING_RECORD) {
		*record = p->record;
		*size = p->size;
	}
	return next;
}

void gt_rings_release(struct gt_rings *r)
{
	gt_ring_release(&r->first->ring, r->first->size);
	r->first->next = GT_RING_EMPTY;
}

bool gt_rings_drain(struct gt_rings *r, gt_ring_fn *each, void *context)
{
	enum gt_ring_next next;
	const void *record;
	size_t size;

	gt_rings_begin(r, gt_now_ns());
	while ((next = gt_rings_peek(r, &record, &size)) == GT_RING_RECORD) {
		each(context, record, size);
		gt_rings_release(r);
	}
	return next == GT_RING_EMPTY;
}
