/* SPDX-License-Identifier: MIT */
/* autopsy.c - why memory ran out. */
#include "replay/autopsy.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "replay/place.h"
#include "replay/stack.h"

/* The device of the place, or the only one that is in use. */
static const struct gt_device_memory *find_device(const struct gt_memory_moment *m, uint16_t place)
{
	for (size_t i = 0; i < m->device_count; i++)
		if (m->devices[i].place == place)
			return &m->devices[i];
	return m->device_count == 1 ? &m->devices[0] : NULL;
}

static void find_free(struct gt_autopsy *a)
{
	const struct gt_device_memory *d = a->device;
	uint64_t used, all;

	a->cached = a->moment.pools.cached;
	a->pieces = a->moment.pools.free_pieces;
	a->largest = a->moment.pools.largest_free;
	if (!d || !d->capacity)
		return;
	used = d->total > d->program ? d->total : d->program;
	a->knows_free = true;
	a->free_on_gpu = d->capacity > used ? d->capacity - used : 0;
	all = a->free_on_gpu + a->cached;
	a->is_fragmented = a->asked && a->cached && all >= a->asked;
	a->missing = a->asked > all ? a->asked - all : 0;
}

struct by_process {
	const struct gt_ledger *ledger;
	uint64_t *bytes;
};

static bool add_entry(void *context, const struct gt_entry *entry)
{
	struct by_process *b = context;

	if (gt_kind_on_device((enum gt_kind)gt_functions[entry->function].kind) &&
	    !gt_ledger_is_gone(b->ledger, entry))
		b->bytes[entry->process] += gt_entry_bytes(entry);
	return true;
}

/* Names the rank if it differs, and is the one that ran out. */
static void compare_ranks(struct gt_autopsy *a, const struct gt_view *v, uint32_t process)
{
	size_t count = gt_recording_process_count(v->recording);
	struct by_process b = { a->moment.ledger, gt_alloc((count + 1) * sizeof *b.bytes) };

	gt_live_each(&a->moment.ledger->live, add_entry, &b);
	a->rank = gt_rank_find(v->recording, b.bytes);
	if (a->rank.rank && strcmp(a->rank.rank, gt_recording_process(v->recording, process)->rank))
		a->rank.rank = NULL;
	free(b.bytes);
}

void gt_autopsy_init(struct gt_autopsy *a, const struct gt_view *v, const struct gt_shortage *s)
{
	*a = (struct gt_autopsy){ .asked = s->asked };
	gt_memory_init(&a->moment, v, s->time_ns);
	a->device = find_device(&a->moment, s->place);
	find_free(a);
	compare_ranks(a, v, s->process);
}

void gt_autopsy_fini(struct gt_autopsy *a)
{
	gt_memory_fini(&a->moment);
}

static void put_free(struct gt_printer *p, const struct gt_autopsy *a)
{
	char gpu[GT_FORMAT_MAX], pieces[GT_FORMAT_MAX], largest[GT_FORMAT_MAX];
	char cached[GT_FORMAT_MAX];

	if (a->cached && a->knows_free)
		gt_print_wrap(
			p, GT_PLAIN, 2,
			"free: %s on the GPU, and %s cached by the pool in %s %s, the "
			"largest %s",
			gt_format_bytes(gpu, a->free_on_gpu), gt_format_bytes(cached, a->cached),
			gt_format_count(pieces, a->pieces), gt_plural(a->pieces, "piece", "pieces"),
			gt_format_bytes(largest, a->largest));
	else if (a->cached)
		gt_print_wrap(p, GT_PLAIN, 2, "cached by the pool: %s in %s %s, the largest %s",
			      gt_format_bytes(cached, a->cached),
			      gt_format_count(pieces, a->pieces),
			      gt_plural(a->pieces, "piece", "pieces"),
			      gt_format_bytes(largest, a->largest));
	else if (a->knows_free)
		gt_print_wrap(p, GT_PLAIN, 2, "free on the GPU: %s",
			      gt_format_bytes(gpu, a->free_on_gpu));
}

/* Who pins the most of what is cached. */
static void put_pin(struct gt_printer *p, const struct gt_view *v, const struct gt_autopsy *a)
{
	struct gt_pool_pin *pins;
	size_t count = gt_pools_pins(&a->moment.pools, a->moment.ledger, &pins);
	char pinned[GT_FORMAT_MAX];
	char *place;

	if (count && pins[0].pinned) {
		place = gt_place_text(v->frames, pins[0].site->stack, v->style.utf8);
		gt_print_wrap(p, GT_PLAIN, 2, "the blocks of %s pin %s of it", place,
			      gt_format_bytes(pinned, pins[0].pinned));
		free(place);
	}
	free(pins);
}

void gt_autopsy_put(struct gt_printer *p, const struct gt_view *v, const struct gt_shortage *s)
{
	char text[GT_FORMAT_MAX], most[GT_FORMAT_MAX], count[GT_FORMAT_MAX];
	struct gt_autopsy a;

	gt_autopsy_init(&a, v, s);
	put_free(p, &a);
	if (a.is_fragmented) {
		gt_print_wrap(p, GT_YELLOW, 2,
			      "fragmentation: what was free would have sufficed in one piece");
		put_pin(p, v, &a);
	} else if (a.knows_free && a.missing) {
		gt_print_wrap(p, GT_PLAIN, 2, "%s more would have sufficed",
			      gt_format_bytes(text, a.missing));
	}
	if (a.rank.rank)
		gt_print_wrap(p, GT_PLAIN, 2,
			      "rank %s held %s; of the %s other %s, none more than %s", a.rank.rank,
			      gt_format_bytes(text, a.rank.bytes),
			      gt_format_count(count, a.rank.others),
			      gt_plural(a.rank.others, "rank", "ranks"),
			      gt_format_bytes(most, a.rank.others_most));
	gt_autopsy_fini(&a);
}

void gt_autopsy_json(struct gt_json *j, const struct gt_view *v, const struct gt_shortage *s)
{
	struct gt_pool_pin *pins;
	struct gt_autopsy a;
	size_t count;

	gt_autopsy_init(&a, v, s);
	gt_json_object(j, "autopsy");
	if (a.knows_free)
		gt_json_uint(j, "free_bytes", a.free_on_gpu);
	else
		gt_json_null(j, "free_bytes");
	gt_json_uint(j, "cached_bytes", a.cached);
	gt_json_uint(j, "free_pieces", a.pieces);
	gt_json_uint(j, "largest_free_bytes", a.largest);
	gt_json_bool(j, "fragmented", a.is_fragmented);
	gt_json_uint(j, "missing_bytes", a.missing);
	count = gt_pools_pins(&a.moment.pools, a.moment.ledger, &pins);
	if (count && pins[0].pinned) {
		gt_json_object(j, "pin");
		gt_json_uint(j, "pinned_bytes", pins[0].pinned);
		gt_place_json(j, "place", v->frames, pins[0].site->stack);
		gt_json_end(j);
	} else {
		gt_json_null(j, "pin");
	}
	free(pins);
	gt_json_text(j, "rank", a.rank.rank);
	gt_json_end(j);
	gt_autopsy_fini(&a);
}
