/* SPDX-License-Identifier: MIT */
/* segments.c - segments of pools for the page: what blocks took of each over time. */
#include <stdlib.h>

#include "base/mem.h"
#include "ledger/extents.h"
#include "page/blocks.h"

enum { POINTS_MAX = 2048 };

void gt_page_segments_fini(struct gt_page_blocks *b)
{
	for (size_t i = 0; i < b->open_count; i++) {
		if (b->open[i])
			free(b->open[i]->points);
		free(b->open[i]);
	}
	for (size_t i = 0; i < b->segment_count; i++)
		free(b->segments[i].points);
	free(b->open);
	free(b->segments);
	gt_heap_fini(&b->segment_heap);
}

/* Of the points in a step, the last one stays. */
void gt_page_segment_thin(struct gt_page_segment *s, size_t max)
{
	while (s->count > max) {
		size_t kept = 0;

		s->shift++;
		for (size_t i = 0; i < s->count; i++) {
			if (kept && s->points[kept - 1].time_ns >> s->shift ==
					    s->points[i].time_ns >> s->shift)
				kept--;
			s->points[kept++] = s->points[i];
		}
		s->count = kept;
	}
}

static void add_point(struct gt_page_segment *s, uint64_t time_ns, uint64_t used)
{
	if (s->count && s->points[s->count - 1].time_ns >> s->shift == time_ns >> s->shift)
		s->count--;
	GT_GROW(s->points, s->count, s->room);
	s->points[s->count++] = (struct gt_segment_point){ time_ns, used };
	if (s->count > POINTS_MAX)
		gt_page_segment_thin(s, POINTS_MAX / 2);
}

/*
 * Where a segment lies: at its handle, or where it is mapped. A block was born in it just now, so
 * it is among the extents that this block lies in. NULL: it is not known.
 */
static const struct gt_extent *extent_of(const struct gt_ledger *l, const struct gt_entry *segment)
{
	const struct gt_extents *x = gt_ledger_extents(l);
	const struct gt_entry *block = gt_live_at(&l->live, l->live.changed_slot);
	const struct gt_extent *e = gt_extents_find(x, segment->process, segment->handle);

	if (e && e->handle == segment->handle)
		return e;
	if (!gt_entry_is_pooled(block) || block->process != segment->process)
		return NULL;
	for (uint64_t at = block->handle; at - block->handle < block->size; at = e->last + 1) {
		e = gt_extents_find(x, block->process, at);
		if (!e || e->handle == segment->handle)
			return e;
	}
	return NULL;
}

static struct gt_page_segment *open_segment(struct gt_page_blocks *b, const struct gt_ledger *l,
					    const struct gt_life *life)
{
	const struct gt_entry *e = life->entry;
	const struct gt_extent *extent = extent_of(l, e);
	struct gt_page_segment *s = gt_alloc(sizeof *s);

	*s = (struct gt_page_segment){ .address = extent ? extent->first : 0,
				       .size = extent ? extent->last - extent->first + 1 : e->size,
				       .born_ns = e->time_ns,
				       .stack = e->stack,
				       .process = e->process,
				       .place = e->place };
	b->open[life->slot] = s;
	return s;
}

static void close_segment(struct gt_page_blocks *b, const struct gt_ledger *l,
			  const struct gt_life *life)
{
	bool goes_on = life->ended == GT_LIFE_GOES_ON;
	struct gt_page_segment *s = b->open[life->slot], *place;
	uint64_t weight;

	b->open[life->slot] = NULL;
	b->closed = s->used && !goes_on ? life->slot : UINT32_MAX;
	s->ended_ns = goes_on ? 0 : b->now_ns;
	s->site = (uint32_t)(gt_ledger_site(l, life->entry) - l->sites);
	s->function = life->entry->function;
	weight = gt_page_block_weight(s->size, s->born_ns, goes_on ? b->end_ns : b->now_ns);
	b->segment_total++;
	if (b->segment_count < b->segment_max) {
		GT_GROW(b->segments, b->segment_count, b->segment_room);
		gt_heap_push(&b->segment_heap, weight, (uint32_t)b->segment_count);
		b->segments[b->segment_count++] = *s;
	} else if (b->segment_count && weight > b->segment_heap.items[0].key) {
		place = &b->segments[b->segment_heap.items[0].item];
		free(place->points);
		*place = *s;
		gt_heap_rekey(&b->segment_heap, weight);
	} else {
		free(s->points);
	}
	free(s);
}

bool gt_page_segments_take(struct gt_page_blocks *b, const struct gt_ledger *l,
			   const struct gt_life *life)
{
	struct gt_page_segment *s = life->slot < b->open_count ? b->open[life->slot] : NULL;
	uint32_t closed = b->closed;

	b->closed = UINT32_MAX;
	if (life->count) {
		if (s)
			close_segment(b, l, life);
		return s;
	}
	/* bytes that blocks had when it ended return with it */
	if (life->slot == closed)
		return true;
	GT_REACH(b->open, b->open_count, life->slot);
	if (!s)
		s = open_segment(b, l, life);
	s->used -= (uint64_t)life->bytes;
	add_point(s, b->now_ns, s->used);
	return true;
}
