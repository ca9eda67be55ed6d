/* SPDX-License-Identifier: MIT */
/* board.c - what processes hold right now, for the live screen and the live table. */
#include "ledger/board_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ledger/accounts.h"

struct gt_board *gt_board_new(void)
{
	struct gt_board *b = gt_alloc(sizeof *b);

	for (int i = 0; i < GT_FN_COUNT; i++)
		if (gt_functions[i].effect == GT_RETAIN)
			b->can_be_retained[gt_kinds[gt_functions[i].kind].family] = true;
	return b;
}

void gt_board_chart_sites(struct gt_board *b)
{
	b->charts_sites = true;
}

void gt_board_limit_sites(struct gt_board *b, size_t bytes)
{
	size_t each = sizeof *b->sites + 2 * sizeof *b->site_buckets +
		      (b->charts_sites ? sizeof(struct gt_recent) : 0);

	b->sites_max = bytes / each + 1;
}

void gt_board_split_places(struct gt_board *b)
{
	b->splits_places = true;
}

uint64_t gt_board_others(const struct gt_board *b)
{
	return b->others;
}

void gt_board_free(struct gt_board *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->process_count; i++)
		free(b->processes[i].lists);
	for (size_t i = 0; i < b->link_pages; i++)
		free(b->links[i]);
	gt_live_fini(&b->live);
	gt_addresses_fini(&b->addresses);
	gt_extents_fini(&b->extents);
	gt_references_fini(&b->references);
	gt_ended_handles_fini(&b->ended);
	free(b->links);
	free(b->processes);
	for (size_t i = 0; i < b->site_count; i++)
		free(b->sites[i].history);
	free(b->sites);
	free(b->site_buckets);
	free(b->free_processes);
	free(b);
}

uint16_t gt_board_add(struct gt_board *b, uint32_t pid, const char *name, uint64_t start_ns)
{
	struct gt_board_process *p;
	uint16_t number;

	if (b->free_count) {
		number = b->free_processes[--b->free_count];
	} else if (b->process_count < GT_BOARD_PROCESSES_MAX) {
		GT_GROW(b->processes, b->process_count, b->process_room);
		number = (uint16_t)b->process_count++;
	} else {
		return GT_BOARD_ALL;
	}
	p = &b->processes[number];
	*p = (struct gt_board_process){ .pid = pid, .start_ns = start_ns };
	p->lists = gt_alloc(sizeof *p->lists);
	snprintf(p->name, sizeof p->name, "%s", name);
	return number;
}

void gt_board_rename(struct gt_board *b, uint16_t process, const char *name)
{
	snprintf(b->processes[process].name, sizeof b->processes[process].name, "%s", name);
}

static struct gt_board_link *link_at(struct gt_board *b, uint32_t slot)
{
	while (slot / GT_BOARD_LINKS >= b->link_pages) {
		b->links = gt_realloc(b->links, (b->link_pages + 1) * sizeof *b->links);
		b->links[b->link_pages++] = gt_alloc(GT_BOARD_LINKS * sizeof **b->links);
	}
	return &b->links[slot / GT_BOARD_LINKS][slot % GT_BOARD_LINKS];
}

/* By the exponent and the three bits after the leading one. */
static unsigned class_of(uint64_t bytes)
{
	unsigned exponent;

	if (!bytes)
		return 0;
	exponent = 63u - (unsigned)__builtin_clzll(bytes);
	return 1 + exponent * 8 +
	       (unsigned)((exponent >= 3 ? bytes >> (exponent - 3) : bytes << (3 - exponent)) & 7);
}

static void enlist(struct gt_board *b, const struct gt_entry *e, uint32_t slot)
{
	struct gt_board_lists *l = b->processes[e->process].lists;
	unsigned class = class_of(gt_entry_bytes(e));
	struct gt_board_link *link = link_at(b, slot);

	*link = (struct gt_board_link){ .before = l->last[class] };
	if (l->last[class])
		link_at(b, l->last[class] - 1)->next = slot + 1;
	else
		l->first[class] = slot + 1;
	l->last[class] = slot + 1;
	l->used[class / 64] |= UINT64_C(1) << class % 64;
}

static void delist(struct gt_board *b, const struct gt_entry *e, uint32_t slot)
{
	struct gt_board_lists *l = b->processes[e->process].lists;
	unsigned class = class_of(gt_entry_bytes(e));
	struct gt_board_link link = *link_at(b, slot);

	if (link.before)
		link_at(b, link.before - 1)->next = link.next;
	else
		l->first[class] = link.next;
	if (link.next)
		link_at(b, link.next - 1)->before = link.before;
	else
		l->last[class] = link.before;
	if (!l->first[class])
		l->used[class / 64] &= ~(UINT64_C(1) << class % 64);
}

/* gt_intern cannot forget: sites are dropped, and processes end. */
static uint32_t *bucket_of(const struct gt_board *b, const struct gt_board_site *s)
{
	uint64_t key = (uint64_t)s->process << 48 | (uint64_t)s->stack << 16 |
		       (uint64_t)s->api << 8 | (s->kind ^ (uint64_t)s->place << 10);
	uint64_t h = key * 0x9e3779b97f4a7c15u;

	return &b->site_buckets[(h ^ h >> 32) & (b->bucket_count - 1)];
}

static void spread_sites(struct gt_board *b, size_t bucket_count)
{
	free(b->site_buckets);
	b->site_buckets = gt_alloc(bucket_count * sizeof *b->site_buckets);
	b->bucket_count = bucket_count;
	for (size_t i = 0; i < b->site_count; i++) {
		uint32_t *bucket = bucket_of(b, &b->sites[i]);

		b->sites[i].next = *bucket;
		*bucket = (uint32_t)i + 1;
	}
}

static struct gt_board_site *find_site(const struct gt_board *b, const struct gt_board_site *key)
{
	uint32_t at = b->bucket_count ? *bucket_of(b, key) : 0;

	for (; at; at = b->sites[at - 1].next) {
		struct gt_board_site *s = &b->sites[at - 1];

		if (s->stack == key->stack && s->process == key->process && s->api == key->api &&
		    s->kind == key->kind && s->place == key->place)
			return s;
	}
	return NULL;
}

static bool is_idle(const struct gt_board *b, const struct gt_board_site *s)
{
	return !s->live || b->processes[s->process].end_ns;
}

void gt_board_drop_idle_sites(struct gt_board *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->site_count; i++) {
		if (!is_idle(b, &b->sites[i])) {
			b->sites[kept++] = b->sites[i];
			continue;
		}
		if (b->dropped)
			b->dropped(b->dropped_context, &b->sites[i]);
		free(b->sites[i].history);
	}
	b->site_count = kept;
	b->idle_sites = 0;
	spread_sites(b, b->bucket_count);
}

/* False if there are too many. Idle sites are dropped many at a time: it takes a walk over all. */
static bool has_room_for_site(struct gt_board *b)
{
	if (!b->sites_max || b->site_count < b->sites_max)
		return true;
	if (b->idle_sites < b->sites_max / 8 + 1)
		return false;
	gt_board_drop_idle_sites(b);
	return true;
}

static struct gt_board_site *add_site(struct gt_board *b, const struct gt_board_site *key)
{
	struct gt_board_site *s;
	uint32_t *bucket;

	if (b->site_count == b->bucket_count)
		spread_sites(b, b->bucket_count ? b->bucket_count * 2 : 64);
	GT_GROW(b->sites, b->site_count, b->site_room);
	bucket = bucket_of(b, key);
	s = &b->sites[b->site_count++];
	*s = *key;
	s->next = *bucket;
	*bucket = (uint32_t)b->site_count;
	if (b->charts_sites)
		s->history = gt_alloc(sizeof *s->history);
	b->idle_sites++;
	return s;
}

static struct gt_board_site key_of(const struct gt_board *b, const struct gt_entry *e)
{
	const struct gt_function *fn = &gt_functions[e->function];

	return (struct gt_board_site){ .stack = e->stack,
				       .process = e->process,
				       .api = fn->api,
				       .kind = fn->kind,
				       .function = e->function,
				       .place = b->splits_places ? e->place : 0 };
}

/* The site of a new entry, whose stack may become GT_BOARD_OTHER. */
static struct gt_board_site *site_for(struct gt_board *b, struct gt_entry *e)
{
	struct gt_board_site key = key_of(b, e), *s = find_site(b, &key);

	if (s)
		return s;
	if (e->stack && e->stack != GT_BOARD_OTHER && !has_room_for_site(b)) {
		key.stack = e->stack = GT_BOARD_OTHER;
		s = find_site(b, &key);
	}
	return s ? s : add_site(b, &key);
}

/* Context of the observer below. */
struct applied {
	struct gt_board *board;
	const struct gt_event *event;
};

/* Counts an entry among the living; its site. */
static struct gt_board_site *count_alive(struct gt_board *b, const struct gt_entry *e,
					 uint32_t slot)
{
	struct gt_board_process *p = &b->processes[e->process];
	struct gt_board_site *s = site_for(b, gt_live_at(&b->live, slot));
	uint64_t place = gt_board_place_bit(e->place, gt_entry_kind(e));
	uint64_t bytes = gt_entry_bytes(e);

	gt_references_born(&b->references, &b->live, e, slot);
	gt_addresses_born(&b->addresses, e);
	b->idle_sites -= !s->live;
	p->live_sites += !s->live;
	enlist(b, e, slot);
	p->live++;
	p->bytes += bytes;
	p->places |= place;
	s->places |= place;
	if (gt_kind_on_device(gt_entry_kind(e)))
		p->device_bytes += bytes;
	if (p->bytes > p->peak_bytes)
		p->peak_bytes = p->bytes;
	b->bytes += bytes;
	if (b->bytes > b->peak_bytes)
		b->peak_bytes = b->bytes;
	s->live++;
	s->bytes += bytes;
	return s;
}

static uint64_t measure_of(const struct gt_board_site *s)
{
	return gt_kind_has_bytes((enum gt_kind)s->kind) ? s->bytes : s->live;
}

static void note_low(struct gt_board_site *s)
{
	uint64_t now = measure_of(s);

	s->low = now < s->low ? now : s->low;
}

/* A block of a pool takes bytes of a segment, or returns them: the sum stays what it is. */
static void move_bytes(void *board, struct gt_entry *segment, const struct gt_entry *block,
		       int64_t bytes)
{
	struct gt_board *b = board;
	struct gt_board_process *p = &b->processes[segment->process];
	struct gt_board_site key = key_of(b, segment), *s = find_site(b, &key);
	uint32_t slot = gt_live_slot(&b->live, segment);

	delist(b, segment, slot);
	segment->size -= (uint64_t)bytes;
	enlist(b, segment, slot);
	s->segment_row = gt_cached_row(segment, (enum gt_api)gt_functions[block->function].api);
	s->bytes -= (uint64_t)bytes;
	note_low(s);
	p->bytes -= (uint64_t)bytes;
	p->device_bytes -= (uint64_t)bytes;
	b->bytes -= (uint64_t)bytes;
}

static void born(void *context, const struct gt_entry *e, uint32_t slot)
{
	const struct applied *a = context;
	struct gt_board *b = a->board;
	struct gt_board_site *s;

	gt_extents_born(&b->extents, &b->live, e);
	if (gt_entry_is_pooled(e))
		gt_extents_block_born(&b->extents, &b->live, gt_live_at(&b->live, slot), move_bytes,
				      b);
	s = count_alive(b, e, slot);

	a->board->others += e->stack == GT_BOARD_OTHER;
	a->board->processes[e->process].created++;
	s->created++;
	s->bytes_created += gt_entry_bytes(e);
}

static void ended(void *context, const struct gt_entry *e, uint32_t slot, enum gt_ended_by by)
{
	const struct applied *a = context;
	struct gt_board *b = a->board;
	struct gt_board_process *p = &b->processes[e->process];
	struct gt_board_site key = key_of(b, e), *s = find_site(b, &key);
	uint64_t bytes = gt_entry_bytes(e);

	delist(b, e, slot);
	gt_references_ended(&b->references, &b->live, e);
	gt_addresses_ended(&b->addresses, e);
	if (by == GT_ENDED_BY_CALL && b->can_be_retained[gt_kinds[gt_entry_kind(e)].family])
		gt_ended_handles_add(&b->ended, e, gt_entry_hash(e), a->event);
	p->ended++;
	p->live--;
	p->bytes -= bytes;
	b->bytes -= bytes;
	if (gt_kind_on_device(gt_entry_kind(e)))
		p->device_bytes -= bytes;
	/* a site with living resources is never dropped */
	s->live--;
	s->bytes -= bytes;
	note_low(s);
	b->idle_sites += !s->live;
	p->live_sites -= !s->live;
	gt_extents_ended(&b->extents, e);
	if (gt_entry_is_pooled(e))
		gt_extents_block_ended(&b->extents, &b->live, e, move_bytes, b);
}

/*
 * A retain that succeeded shows that its handle is alive: its last lifetime continues, as in the
 * ledger. Without one, it was created before recording began. Where events were lost, neither is
 * certain.
 */
static void revive(struct gt_board *b, const struct gt_event *event, uint16_t process)
{
	const struct gt_ended_handle *before = gt_ended_handles_find(&b->ended, event, process);
	struct gt_entry entry;

	if (!before || b->processes[process].lost)
		return;
	entry = before->entry;
	entry.refs = 1;
	count_alive(b, gt_live_revive(&b->live, &entry), b->live.changed_slot);
	b->processes[process].ended--;
}

/* Ends the block that a free means by an address inside it; false if there is none. */
static bool end_around(struct gt_board *b, const struct gt_event *event, uint16_t process,
		       const struct gt_live_observer *observer)
{
	const struct gt_entry *block =
		gt_functions[event->function].handle.inside && !b->processes[process].lost ?
			gt_addresses_find(&b->addresses, &b->live, event, process) :
			NULL;
	struct gt_event whole = *event;

	if (!block)
		return false;
	whole.handle = block->handle;
	gt_live_apply_all(&b->live, &whole, process, observer, NULL);
	return true;
}

void gt_board_apply(struct gt_board *b, const struct gt_event *event, uint16_t process)
{
	struct applied applied = { b, event };
	const struct gt_live_observer observer = { .born = born,
						   .ended = ended,
						   .context = &applied };
	struct gt_board_process *p = &b->processes[process];

	if (p->end_ns)
		return;
	p->failed += event->failed;
	if (!gt_references_lack(&b->references, &b->live, event, process) &&
	    gt_live_apply_all(&b->live, event, process, &observer, NULL) != GT_CHANGE_UNKNOWN)
		return;
	if (gt_functions[event->function].effect == GT_RETAIN)
		revive(b, event, process);
	else if (!end_around(b, event, process, &observer))
		p->before += gt_function_ends(&gt_functions[event->function]);
}

void gt_board_end(struct gt_board *b, uint16_t process, uint64_t end_ns)
{
	struct gt_board_process *p = &b->processes[process];

	if (p->end_ns)
		return;
	p->end_ns = end_ns ? end_ns : 1;
	b->bytes -= p->bytes;
	for (unsigned class = 0; class < GT_BOARD_CLASSES; class ++)
		for (uint32_t slot = p->lists->first[class], next; slot; slot = next) {
			struct gt_entry e = *gt_live_at(&b->live, slot - 1);

			next = link_at(b, slot - 1)->next;
			gt_live_remove(&b->live, &e);
			gt_addresses_ended(&b->addresses, &e);
			gt_extents_ended(&b->extents, &e);
		}
	gt_extents_forget(&b->extents);
	free(p->lists);
	p->lists = NULL;
	b->idle_sites += p->live_sites;
	p->created_rate = p->ended_rate = 0;
}

void gt_board_lose(struct gt_board *b, uint16_t process, uint64_t events)
{
	b->processes[process].lost += events;
}

static void remember(struct gt_recent *h, uint64_t value)
{
	h->values[h->count++ % GT_BOARD_HISTORY] = value;
}

void gt_board_tick(struct gt_board *b, uint64_t now_ns)
{
	double seconds =
		b->tick_ns && now_ns > b->tick_ns ? (double)(now_ns - b->tick_ns) / 1e9 : 0;

	for (size_t i = 0; i < b->process_count; i++) {
		struct gt_board_process *p = &b->processes[i];

		if (p->end_ns)
			continue;
		p->created_rate = seconds ? (double)(p->created - p->created_then) / seconds : 0;
		p->ended_rate = seconds ? (double)(p->ended - p->ended_then) / seconds : 0;
		p->created_then = p->created;
		p->ended_then = p->ended;
		remember(&p->history, p->bytes);
	}
	for (size_t i = 0; i < b->site_count; i++) {
		struct gt_board_site *s = &b->sites[i];
		uint64_t now = measure_of(s);

		s->created_rate = seconds ? (double)(s->created - s->created_then) / seconds : 0;
		s->growth = seconds ? ((double)now - (double)s->measure_then) / seconds : 0;
		s->created_then = s->created;
		s->measure_then = s->low = now;
		if (s->history)
			remember(s->history, now);
	}
	b->tick_ns = now_ns;
}
