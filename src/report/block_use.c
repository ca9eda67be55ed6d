/* SPDX-License-Identifier: MIT */
/* block_use.c - what GPU work did with each block of device memory. */
#include "report/block_use.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ledger/addresses.h"
#include "replay/place.h"
#include "replay/replay.h"

/* A living block, by its slot in the ledger. */
struct use {
	uint64_t last_ns; /* of its last touch; 0: none */
	bool is_read, is_named, is_shared, is_done;
};

struct reading {
	struct gt_block_uses *out;
	const struct gt_recording *recording;
	uint64_t now_ns;
	struct gt_addresses blocks;
	struct use *uses; /* by slot */
	size_t use_room;
	uint32_t *by_stack; /* row + 1 */
	size_t stack_room, row_room;
	uint64_t *blind_ns; /* by process: its last work that may touch anything */
};

static bool is_block(const struct gt_entry *e)
{
	return gt_entry_kind(e) == GT_DEVICE_MEMORY;
}

static bool is_followed(const struct reading *r, uint32_t process)
{
	return gt_recording_process(r->recording, process)->follows_touches;
}

/* Makes sure that index `at` of a zeroed array is there. */
static void *grown(void *array, size_t *room, size_t at, size_t size)
{
	size_t before = *room;

	if (at < before)
		return array;
	while (*room <= at)
		*room = *room ? *room * 2 : 256;
	array = gt_realloc(array, *room * size);
	memset((char *)array + before * size, 0, (*room - before) * size);
	return array;
}

static void born(void *context, const struct gt_entry *entry, uint32_t slot)
{
	struct reading *r = context;
	enum gt_memory memory = (enum gt_memory)gt_kinds[gt_entry_kind(entry)].memory;

	if (!is_followed(r, entry->process))
		return;
	if (!is_block(entry)) {
		r->out->left_out += memory != GT_MEMORY_NO && memory != GT_MEMORY_VIEW;
		return;
	}
	r->uses = grown(r->uses, &r->use_room, slot, sizeof *r->uses);
	r->uses[slot] = (struct use){ 0 };
	gt_addresses_born(&r->blocks, entry);
}

static struct gt_block_use *row_of(struct reading *r, const struct gt_entry *entry)
{
	struct gt_block_uses *u = r->out;

	r->by_stack = grown(r->by_stack, &r->stack_room, entry->stack, sizeof *r->by_stack);
	if (!r->by_stack[entry->stack]) {
		GT_GROW(u->list, u->count, r->row_room);
		u->list[u->count++] =
			(struct gt_block_use){ .stack = entry->stack,
					       .api = gt_functions[entry->function].api,
					       .kind = (uint8_t)gt_entry_kind(entry) };
		r->by_stack[entry->stack] = (uint32_t)u->count;
	}
	return &u->list[r->by_stack[entry->stack] - 1];
}

static double byte_seconds(const struct gt_entry *entry, uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)entry->size * (double)(to_ns - from_ns) / 1e9 : 0;
}

static void finish_block(struct reading *r, const struct gt_entry *entry, uint32_t slot,
			 uint64_t end_ns)
{
	struct use *use = &r->uses[slot];
	struct gt_block_use *row = row_of(r, entry);
	uint64_t blind_ns = r->blind_ns[entry->process], last_ns = use->last_ns;
	bool is_unsure = blind_ns >= entry->time_ns || use->is_shared;
	const struct gt_process *p = gt_recording_process(r->recording, entry->process);

	/* work in a gap is unknown */
	if (p->gap_first_ns && p->gap_first_ns <= end_ns && p->gap_last_ns >= entry->time_ns)
		is_unsure = use->is_shared = true;

	use->is_done = true;
	row->count++;
	row->bytes += entry->size;
	row->held_byte_seconds += byte_seconds(entry, entry->time_ns, end_ns);
	if (is_unsure && !use->is_named)
		r->out->unsure++;
	if (use->is_shared)
		return;
	if (!is_unsure && !use->is_named) {
		row->unnamed++;
		row->unnamed_bytes += entry->size;
	} else if (!is_unsure && !use->is_read) {
		row->unread++;
		row->unread_bytes += entry->size;
	}
	if (blind_ns > last_ns)
		last_ns = blind_ns;
	row->after_byte_seconds +=
		byte_seconds(entry, last_ns > entry->time_ns ? last_ns : entry->time_ns, end_ns);
}

static void ended(void *context, const struct gt_entry *entry, uint32_t slot, enum gt_ended_by by)
{
	struct reading *r = context;

	if (!is_block(entry) || !is_followed(r, entry->process) || slot >= r->use_room ||
	    r->uses[slot].is_done)
		return;
	finish_block(r, entry, slot, r->now_ns);
	gt_addresses_ended(&r->blocks, entry);
}

static void before(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	((struct reading *)context)->now_ns = time_ns;
}

static void count_work(struct gt_block_uses *u, const struct gt_touch *touch)
{
	switch (touch->work->kind) {
	case GT_WORK_LAUNCH: u->launches++; break;
	case GT_WORK_COPY: u->copies++; break;
	case GT_WORK_SET: u->sets++; break;
	case GT_WORK_GRAPH: u->graphs++; break;
	case GT_WORK_SHARE:
	case GT_WORK_KIND_COUNT: break;
	}
	u->blind += touch->work->is_blind;
}

static void touched(void *context, const struct gt_ledger *l, const struct gt_touch *touch,
		    uint32_t process)
{
	struct reading *r = context;
	struct gt_event address = { .function = GT_FN_cuMemAlloc_v2,
				    .handle = touch->range.address };
	const struct gt_entry *entry;
	struct use *use;

	if (touch->is_first && touch->work)
		count_work(r->out, touch);
	r->out->lost += touch->lost;
	if (!touch->work || touch->work->is_blind)
		r->blind_ns[process] = touch->time_ns;
	entry = touch->range.access ?
			gt_addresses_find(&r->blocks, &l->live, &address, (uint16_t)process) :
			NULL;
	if (!entry || !is_block(entry))
		return;
	use = &r->uses[gt_live_slot(&l->live, entry)];
	use->is_named = true;
	use->is_read |= touch->range.access & GT_READS;
	use->is_shared |= touch->work->kind == GT_WORK_SHARE;
	use->last_ns = touch->time_ns;
}

struct rest {
	struct reading *reading;
	const struct gt_ledger *ledger;
};

static bool finish_living(void *context, const struct gt_entry *entry)
{
	const struct rest *rest = context;
	struct reading *r = rest->reading;
	const struct gt_process *p = gt_recording_process(r->recording, entry->process);
	uint32_t slot = gt_live_slot(&rest->ledger->live, entry);

	if (is_block(entry) && p->follows_touches && !r->uses[slot].is_done)
		finish_block(r, entry, slot, p->end_ns > p->last_ns ? p->end_ns : p->last_ns);
	return true;
}

static void last(void *context, const struct gt_ledger *l)
{
	gt_live_each(&l->live, finish_living, &(struct rest){ context, l });
}

static void add(struct gt_block_use *sum, const struct gt_block_use *one)
{
	sum->count += one->count;
	sum->bytes += one->bytes;
	sum->unnamed += one->unnamed;
	sum->unnamed_bytes += one->unnamed_bytes;
	sum->unread += one->unread;
	sum->unread_bytes += one->unread_bytes;
	sum->held_byte_seconds += one->held_byte_seconds;
	sum->after_byte_seconds += one->after_byte_seconds;
}

static int compare(const void *a, const void *b)
{
	const struct gt_block_use *x = a, *y = b;

	if (x->after_byte_seconds != y->after_byte_seconds)
		return x->after_byte_seconds > y->after_byte_seconds ? -1 : 1;
	if (x->unnamed_bytes != y->unnamed_bytes)
		return x->unnamed_bytes > y->unnamed_bytes ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

struct keyed {
	uint64_t key;
	struct gt_block_use use;
};

static int compare_keys(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return compare(&x->use, &y->use);
}

/* Stacks of one place become one row. */
static void merge(struct gt_block_uses *u, struct gt_frames *frames)
{
	struct keyed *keyed = gt_alloc((u->count + 1) * sizeof *keyed);
	size_t kept = 0;

	for (size_t i = 0; i < u->count; i++)
		keyed[i] = (struct keyed){ gt_place_key(frames, u->list[i].stack), u->list[i] };
	qsort(keyed, u->count, sizeof *keyed, compare_keys);
	for (size_t i = 0; i < u->count; i++)
		if (i && keyed[i].key == keyed[i - 1].key)
			add(&u->list[kept - 1], &keyed[i].use);
		else
			u->list[kept++] = keyed[i].use;
	u->count = kept;
	free(keyed);
}

void gt_block_uses_init(struct gt_block_uses *u, const struct gt_view *v)
{
	struct reading r = { .out = u, .recording = v->recording };
	struct gt_live_observer observer = { .born = born, .ended = ended, .context = &r };
	size_t processes = gt_recording_process_count(v->recording);

	*u = (struct gt_block_uses){ 0 };
	r.blind_ns = gt_alloc((processes + 1) * sizeof *r.blind_ns);
	r.blocks.is_built = true;
	r.blocks.families[gt_kinds[GT_DEVICE_MEMORY].family] = true;
	gt_ledger_free(gt_replay_run(v->recording, &(struct gt_replay){ .observer = &observer,
									.before = before,
									.touched = touched,
									.last = last,
									.context = &r,
									.tick = v->tick }));
	for (size_t i = 0; i < processes; i++)
		u->is_known |= is_followed(&r, (uint32_t)i);
	merge(u, v->frames);
	if (u->count)
		qsort(u->list, u->count, sizeof *u->list, compare);
	for (size_t i = 0; i < u->count; i++)
		add(&u->total, &u->list[i]);
	gt_addresses_fini(&r.blocks);
	free(r.uses);
	free(r.by_stack);
	free(r.blind_ns);
}

void gt_block_uses_fini(struct gt_block_uses *u)
{
	free(u->list);
}
