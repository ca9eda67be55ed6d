/* SPDX-License-Identifier: MIT */
/* paging.c - pages of unified memory that moved between host and devices, or were missed. */
#include "trace/paging.h"

/* An event has no fields for these: they share `result`. */
enum { CAUSE_SHIFT = 8, FIELD_MAX = 127 };

uint8_t *gt_paging_put(uint8_t *at, const struct gt_paging *p, uint64_t time_ns, uint64_t address)
{
	at = gt_put_varint(at, gt_delta(time_ns, p->time_ns));
	at = gt_put_varint(at, gt_delta(address, p->address));
	at = gt_put_varint(at, p->amount);
	at = gt_put_varint(at, p->effect);
	return gt_put_varint(at, p->cause);
}

static int32_t field(uint64_t number)
{
	return number < FIELD_MAX ? (int32_t)number : FIELD_MAX;
}

bool gt_paging_get(struct gt_event *event, struct gt_bytes *record, uint64_t time_ns,
		   uint64_t address)
{
	*event = (struct gt_event){ .time_ns = gt_advance(time_ns, gt_get_varint(record)),
				    .handle = GT_PAGING_HANDLE };
	event->owner = gt_advance(address, gt_get_varint(record));
	event->size = gt_get_varint(record);
	event->result = field(gt_get_varint(record));
	event->result |= field(gt_get_varint(record)) << CAUSE_SHIFT;
	return !record->bad;
}

bool gt_paging_of(struct gt_paging *paging, const struct gt_event *event)
{
	int effect = event->result & ((1 << CAUSE_SHIFT) - 1), cause = event->result >> CAUSE_SHIFT;

	*paging = (struct gt_paging){
		.time_ns = event->time_ns,
		.address = event->owner,
		.amount = event->size,
		.effect = (enum gt_paging_effect)effect,
		.cause = cause < GT_PAGING_CAUSES ? (enum gt_paging_cause)cause : GT_PAGING_UNKNOWN,
	};
	return effect < GT_PAGING_EFFECTS;
}
