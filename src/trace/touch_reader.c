/* SPDX-License-Identifier: MIT */
/* touch_reader.c - decodes the memory that GPU work names, a range at a time. */
#include "trace/reader.h"

bool gt_touches_next(struct gt_touches *t, struct gt_event *e)
{
	struct gt_touched range;

	if (!gt_touch_get(&t->memory, &t->left, &range, t->has_sizes))
		return false;
	e->handle = range.address;
	e->size = range.size;
	e->result = GT_TOUCH_MARK | range.access;
	e->failed = true;
	return true;
}

bool gt_touches_begin(struct gt_touches *t, const struct gt_definitions *d, struct gt_bytes *record,
		      struct gt_event *e)
{
	uint64_t number;

	e->time_ns = gt_advance(e->time_ns, gt_get_varint(record));
	number = gt_get_varint(record);
	e->owner = number >> 1;
	e->result = GT_TOUCH_MARK;
	if (!e->owner) {
		e->owner = GT_WORK_LOST;
		e->size = gt_get_varint(record);
		return !record->bad;
	}
	if (record->bad || e->owner > d->work_count)
		return false;
	t->left = *record;
	t->has_sizes = gt_work_has_sizes(d->works[e->owner - 1].kind);
	if (gt_bytes_left(record) && !gt_touches_next(t, e))
		return false;
	e->failed = number & 1;
	return true;
}
