/* SPDX-License-Identifier: MIT */
/* board_query.c - what a board shows: totals, the biggest sites, the biggest and oldest resources.
 */
#include "ledger/board_state.h"

enum { LOOKED_AT = 64 }; /* entries of a class that are compared to find the biggest */

size_t gt_board_process_count(const struct gt_board *b)
{
	return b->process_count;
}

const struct gt_board_process *gt_board_process(const struct gt_board *b, uint16_t process)
{
	return &b->processes[process];
}

struct gt_board_process gt_board_total(const struct gt_board *b)
{
	struct gt_board_process sum = { .bytes = b->bytes, .peak_bytes = b->peak_bytes };

	for (size_t i = 0; i < b->process_count; i++) {
		const struct gt_board_process *p = &b->processes[i];

		if (!p->end_ns) {
			sum.live += p->live;
			sum.device_bytes += p->device_bytes;
		}
		sum.created += p->created;
		sum.ended += p->ended;
		sum.failed += p->failed;
		sum.before += p->before;
		sum.lost += p->lost;
		sum.created_rate += p->created_rate;
		sum.ended_rate += p->ended_rate;
	}
	return sum;
}

static double weight(const struct gt_board_site *s, enum gt_board_order order)
{
	switch (order) {
	case GT_BOARD_BY_BYTES: return (double)s->bytes;
	case GT_BOARD_BY_LIVE: return (double)s->live;
	case GT_BOARD_BY_RATE: return s->created_rate;
	case GT_BOARD_BY_GROWTH: return s->growth;
	}
	return 0;
}

/* More weight first; then more objects, then the one seen first. */
static bool goes_before(const struct gt_board_site *a, const struct gt_board_site *b,
			enum gt_board_order order)
{
	double x = weight(a, order), y = weight(b, order);

	if (x > y || y > x)
		return x > y;
	return a->live != b->live ? a->live > b->live : a < b;
}

size_t gt_board_sites(const struct gt_board *b, uint16_t process, enum gt_board_order order,
		      const struct gt_board_site **out, size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < b->site_count && most; i++) {
		const struct gt_board_site *s = &b->sites[i];
		size_t at;

		if (!s->live || (process != GT_BOARD_ALL && s->process != process) ||
		    (process == GT_BOARD_ALL && b->processes[s->process].end_ns))
			continue;
		if (count == most && !goes_before(s, out[count - 1], order))
			continue;
		if (count < most)
			count++;
		for (at = count - 1; at && goes_before(s, out[at - 1], order); at--)
			out[at] = out[at - 1];
		out[at] = s;
	}
	return count;
}

/* Keeps `out` in order, the biggest first. */
static size_t keep(const struct gt_entry **out, size_t count, size_t most, const struct gt_entry *e)
{
	size_t at;

	if (count == most && gt_entry_bytes(out[count - 1]) >= gt_entry_bytes(e))
		return count;
	if (count < most)
		count++;
	for (at = count - 1; at && gt_entry_bytes(out[at - 1]) < gt_entry_bytes(e); at--)
		out[at] = out[at - 1];
	out[at] = e;
	return count;
}

size_t gt_board_biggest(const struct gt_board *b, uint16_t process, const struct gt_entry **out,
			size_t most)
{
	const struct gt_board_lists *l = b->processes[process].lists;
	size_t count = 0;

	for (unsigned class = GT_BOARD_CLASSES - 1; l && most && class && count < most; class --) {
		uint32_t slot = l->first[class];

		for (size_t i = 0; slot && i < LOOKED_AT + most; i++) {
			count = keep(out, count, most, gt_live_at(&b->live, slot - 1));
			slot = b->links[(slot - 1) / GT_BOARD_LINKS][(slot - 1) % GT_BOARD_LINKS]
				       .next;
		}
	}
	return count;
}

const struct gt_entry *gt_board_oldest(const struct gt_board *b, uint16_t process)
{
	const struct gt_board_lists *l = b->processes[process].lists;
	const struct gt_entry *oldest = NULL;

	for (unsigned class = 1; l && class < GT_BOARD_CLASSES; class ++) {
		const struct gt_entry *e;

		if (!(l->used[class / 64] >> class % 64 & 1))
			continue;
		e = gt_live_at(&b->live, l->first[class] - 1);
		if (!oldest || e->time_ns < oldest->time_ns)
			oldest = e;
	}
	return !oldest && l && l->first[0] ? gt_live_at(&b->live, l->first[0] - 1) : oldest;
}

size_t gt_board_bytes(const struct gt_board *b, size_t *entries)
{
	*entries = b->live.count;
	return gt_live_bytes(&b->live) +
	       b->link_pages * (GT_BOARD_LINKS * sizeof **b->links + sizeof *b->links);
}
