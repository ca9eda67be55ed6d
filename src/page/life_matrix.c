/* SPDX-License-Identifier: MIT */
/* life_matrix.c - a page's matrix of lives, kept within a bounded number of cells. */
#include "page/life_matrix.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"
#include "page/blocks.h"

enum {
	FIRST_ROOM = 1 << 10,
	STEPS_WANTED = 256, /* below it, origins lose detail before steps get longer */
	ORIGINS_MAX = 1 << 15,
};

static size_t place_of(const struct gt_page_lives *l, const struct gt_page_cell *cell)
{
	uint64_t key = (uint64_t)cell->origin << 32 | (uint32_t)cell->born << 16 | cell->ended;

	return gt_mix64(key) & (l->room - 1);
}

static void empty_table(struct gt_page_lives *l, size_t room)
{
	l->cells = gt_alloc_large(room * sizeof *l->cells);
	for (size_t i = 0; i < room; i++)
		l->cells[i].origin = UINT32_MAX;
	l->room = room;
	l->cell_count = 0;
}

/* A table of its own: keys are small, values change, and most of the time goes here. */
static void add(struct gt_page_lives *l, const struct gt_page_cell *one)
{
	struct gt_page_cell *cell = &l->cells[place_of(l, one)];

	while (cell->origin != UINT32_MAX && (cell->origin != one->origin ||
					      cell->born != one->born || cell->ended != one->ended))
		cell = cell + 1 < l->cells + l->room ? cell + 1 : l->cells;
	if (cell->origin == UINT32_MAX) {
		*cell = *one;
		l->cell_count++;
		return;
	}
	cell->count += one->count;
	cell->bytes += one->bytes;
}

void gt_page_lives_list(struct gt_page_lives *l)
{
	size_t count = 0;

	for (size_t i = 0; i < l->room; i++)
		if (l->cells[i].origin != UINT32_MAX)
			l->cells[count++] = l->cells[i];
	l->cells = gt_realloc(l->cells, (l->cell_count + 1) * sizeof *l->cells);
	l->room = 0;
}

/* A cell with its origin by its new number, and steps twice as long. */
static void renumber(struct gt_page_cell *cell, const uint32_t *numbers, unsigned shift)
{
	if (numbers)
		cell->origin = numbers[cell->origin];
	cell->born >>= shift;
	if (cell->ended != GT_PAGE_NEVER)
		cell->ended >>= shift;
}

/* The table anew: in `room`, with origins by their new numbers, and steps twice as long. */
static void rebuild(struct gt_page_lives *l, size_t room, const uint32_t *numbers, unsigned shift)
{
	struct gt_page_cell *old;
	size_t count = l->cell_count;

	/* in as little memory as it takes */
	gt_page_lives_list(l);
	old = l->cells;
	empty_table(l, room);
	for (size_t i = 0; i < count + GT_LIFE_PENDING; i++) {
		if (i < count) {
			renumber(&old[i], numbers, shift);
			__builtin_prefetch(&l->cells[place_of(l, &old[i])], 1);
		}
		if (i >= GT_LIFE_PENDING)
			add(l, &old[i - GT_LIFE_PENDING]);
	}
	free(old);
}

/* Room for cells: at most five of eight places are taken. */
static size_t room_for(size_t cells)
{
	size_t room = FIRST_ROOM;

	while (room / 8 * 5 < cells)
		room *= 2;
	return room;
}

static void add_pending(struct gt_page_lives *l)
{
	for (size_t i = 0; i < l->pending_count; i++)
		add(l, &l->pending[i]);
	l->pending_count = 0;
}

void gt_page_lives_change(struct gt_page_lives *l, gt_life_origin_fn *change, const void *context)
{
	size_t count = gt_intern_count(l->origins), size;
	uint32_t *numbers = gt_alloc((count + 1) * sizeof *numbers);
	struct gt_intern *origins = gt_intern_new();

	for (size_t i = 0; i < count; i++) {
		struct gt_life_origin origin;

		memcpy(&origin, gt_intern_get(l->origins, (uint32_t)i, &size), sizeof origin);
		change(context, &origin);
		numbers[i] = gt_intern(origins, &origin, sizeof origin);
	}
	gt_intern_free(l->origins);
	l->origins = origins;
	for (size_t i = 0; i < l->origin_of_count; i++)
		if (l->origin_of[i])
			l->origin_of[i] = numbers[l->origin_of[i] - 1] + 1;
	rebuild(l, room_for(l->cell_count), numbers, 0);
	free(numbers);
}

/* From the detail before. */
static void reduce(const void *detail, struct gt_life_origin *o)
{
	switch (*(const enum gt_life_detail *)detail) {
	case GT_LIFE_BY_SIZE: break;
	case GT_LIFE_BY_CLASS:
		o->size = o->size ? 64 - (uint64_t)__builtin_clzll(o->size) : 0;
		break;
	case GT_LIFE_BY_DEVICE: o->tid = o->phase = 0; break;
	case GT_LIFE_BY_SITE:
		o->size = 0;
		o->process = o->place = 0;
		break;
	case GT_LIFE_BY_ROW: break; /* merge_rows */
	}
}

static void lose_detail(struct gt_page_lives *l)
{
	size_t size;

	l->detail++;
	gt_page_lives_change(l, reduce, &l->detail);
	if (l->detail != GT_LIFE_BY_SITE || l->is_numbered)
		return;
	for (size_t i = 0; i < gt_intern_count(l->origins); i++) {
		const struct gt_life_origin *o = gt_intern_get(l->origins, (uint32_t)i, &size);

		GT_REACH(l->origin_of, l->origin_of_count, o->site);
		l->origin_of[o->site] = (uint32_t)i + 1;
	}
}

static size_t step_count(const struct gt_page_lives *l)
{
	return (l->limits.rows >> l->shift) + 1;
}

bool gt_page_lives_coarsen(struct gt_page_lives *l)
{
	bool is_coarse = step_count(l) <= STEPS_WANTED;

	if (is_coarse && l->detail < GT_LIFE_BY_SITE) {
		lose_detail(l);
	} else if (step_count(l) > 1) {
		l->shift++;
		rebuild(l, room_for(l->cell_count), NULL, 1);
	} else {
		return false;
	}
	return true;
}

/* A call site has at least one cell, however many there are. */
static bool is_full(const struct gt_page_lives *l)
{
	size_t origins = gt_intern_count(l->origins);

	return l->cell_count > l->limits.cells + (l->detail >= GT_LIFE_BY_SITE ? 2 * origins : 0);
}

/* The first site of its row, of all that have an origin. */
static uint32_t first_of_row(struct gt_page_lives *l, const struct gt_ledger *ledger, uint32_t site)
{
	uint64_t key = l->limits.row_key(l->limits.context, &ledger->sites[site]);
	void **first = gt_map_at(&l->rows, key);

	if (!*first)
		*first = (void *)((uintptr_t)site + 1);
	return (uint32_t)((uintptr_t)*first - 1);
}

struct merging {
	struct gt_page_lives *lives;
	const struct gt_ledger *ledger;
	const bool *is_kept; /* by origin */
};

static void take_first_of_row(const void *context, struct gt_life_origin *o)
{
	const struct merging *m = context;

	o->site = first_of_row(m->lives, m->ledger, o->site);
}

static void merge_rows(struct gt_page_lives *l, const struct gt_ledger *ledger)
{
	struct merging merging = { .lives = l, .ledger = ledger };

	l->detail = GT_LIFE_BY_ROW;
	gt_page_lives_change(l, take_first_of_row, &merging);
}

static void take_rest(const void *context, struct gt_life_origin *o)
{
	const struct merging *m = context;

	if (o->site != GT_LIFE_REST && !m->is_kept[m->lives->origin_of[o->site] - 1])
		o->site = GT_LIFE_REST;
}

/* An origin, and the larger of its shares of all bytes and of all resources. */
struct weighed {
	uint32_t origin;
	double bytes, created;
};

static int heaviest_first(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;
	double p = x->bytes > x->created ? x->bytes : x->created;
	double q = y->bytes > y->created ? y->bytes : y->created;

	if (p != q)
		return p > q ? -1 : 1;
	return x->origin < y->origin ? -1 : x->origin > y->origin;
}

/* The smaller half of all origins becomes the rest. */
static void merge_smallest(struct gt_page_lives *l, const struct gt_ledger *ledger)
{
	size_t count = gt_intern_count(l->origins);
	struct weighed *list = gt_alloc(count * sizeof *list), sum = { .bytes = 1, .created = 1 };
	bool *is_kept = gt_alloc(count * sizeof *is_kept);
	struct merging merging = { .lives = l, .ledger = ledger, .is_kept = is_kept };

	for (size_t i = 0; i < count; i++)
		list[i].origin = (uint32_t)i;
	for (size_t i = 0; i < l->origin_of_count; i++)
		if (l->origin_of[i]) {
			struct weighed *one = &list[l->origin_of[i] - 1];

			one->bytes += (double)ledger->sites[i].bytes_total;
			one->created += (double)ledger->sites[i].created;
			sum.bytes += (double)ledger->sites[i].bytes_total;
			sum.created += (double)ledger->sites[i].created;
		}
	for (size_t i = 0; i < count; i++) {
		list[i].bytes /= sum.bytes;
		list[i].created /= sum.created;
	}
	qsort(list, count, sizeof *list, heaviest_first);
	for (size_t i = 0; i < count / 2; i++)
		is_kept[list[i].origin] = true;
	gt_page_lives_change(l, take_rest, &merging);
	free(list);
	free(is_kept);
}

/* Sites that came after their row's first are in the rest with it. */
static size_t count_merged(const struct gt_page_lives *l)
{
	size_t count = 0, size;

	for (size_t i = 0; i < l->origin_of_count; i++) {
		const struct gt_life_origin *o =
			l->origin_of[i] ? gt_intern_get(l->origins, l->origin_of[i] - 1, &size) :
					  NULL;

		count += o && o->site == GT_LIFE_REST;
	}
	return count;
}

static struct gt_life_origin origin_of_life(const struct gt_page_lives *l, uint32_t site,
					    const struct gt_life *life)
{
	const struct gt_entry *e = life->entry;
	struct gt_life_origin origin;

	memset(&origin, 0, sizeof origin);
	origin.site = site;
	origin.size = life->count ? (uint64_t)life->bytes : 0;
	origin.tid = e->tid;
	origin.phase = life->phase;
	origin.process = e->process;
	origin.place = e->place;
	for (enum gt_life_detail detail = GT_LIFE_BY_SIZE; detail <= l->detail; detail++)
		reduce(&detail, &origin);
	return origin;
}

/* The number of a life's origin; a call site alone is looked up once. */
static uint32_t number_of(struct gt_page_lives *l, const struct gt_ledger *ledger,
			  const struct gt_life *life)
{
	uint32_t site = (uint32_t)(gt_ledger_site(ledger, life->entry) - ledger->sites),
		 first = site;
	struct gt_life_origin origin;

	if (l->detail >= GT_LIFE_BY_SITE) {
		GT_REACH(l->origin_of, l->origin_of_count, site);
		if (l->detail == GT_LIFE_BY_ROW && !l->origin_of[site])
			first = first_of_row(l, ledger, site);
		if (l->origin_of[first])
			return (l->origin_of[site] = l->origin_of[first]) - 1;
	}
	origin = origin_of_life(l, first, life);
	if (l->detail < GT_LIFE_BY_SITE)
		return gt_intern(l->origins, &origin, sizeof origin);
	return (l->origin_of[site] = gt_intern(l->origins, &origin, sizeof origin) + 1) - 1;
}

/* Fewer origins, fewer cells, or more room. */
static void fit(struct gt_page_lives *l, const struct gt_ledger *ledger)
{
	while (l->detail < GT_LIFE_BY_SITE && gt_intern_count(l->origins) > ORIGINS_MAX)
		lose_detail(l);
	if (l->detail == GT_LIFE_BY_SITE && gt_intern_count(l->origins) > l->limits.sites)
		merge_rows(l, ledger);
	if (l->detail == GT_LIFE_BY_ROW && gt_intern_count(l->origins) > l->limits.sites)
		merge_smallest(l, ledger);
	while (is_full(l) && gt_page_lives_coarsen(l))
		;
	if (l->room < room_for(l->cell_count + GT_LIFE_PENDING))
		rebuild(l, room_for(l->cell_count + GT_LIFE_PENDING), NULL, 0);
}

static void take_life(void *context, const struct gt_ledger *ledger, const struct gt_life *life)
{
	struct gt_page_lives *l = context;
	struct gt_page_cell *cell = &l->pending[l->pending_count];

	if (l->blocks)
		gt_page_blocks_take(l->blocks, ledger, life);
	*cell = (struct gt_page_cell){ .origin = number_of(l, ledger, life),
				       .born = (uint16_t)(life->born >> l->shift),
				       .ended = life->ended == GT_LIFE_GOES_ON ?
							GT_PAGE_NEVER :
							(uint16_t)(life->ended >> l->shift),
				       .count = life->count,
				       .bytes = life->bytes };
	__builtin_prefetch(&l->cells[place_of(l, cell)]);
	if (++l->pending_count < GT_LIFE_PENDING)
		return;
	add_pending(l);
	fit(l, ledger);
}

void gt_page_lives_init(struct gt_page_lives *l, const struct gt_page_lives_limits *limits)
{
	*l = (struct gt_page_lives){ .limits = *limits, .origins = gt_intern_new() };
	gt_lives_init(&l->lives, take_life, l);
	empty_table(l, FIRST_ROOM);
}

void gt_page_lives_end(struct gt_page_lives *l)
{
	gt_lives_end(&l->lives);
	add_pending(l);
	if (l->lives.ledger)
		fit(l, l->lives.ledger);
	l->merged_sites = count_merged(l);
}

void gt_page_lives_fini(struct gt_page_lives *l)
{
	gt_lives_fini(&l->lives);
	gt_intern_free(l->origins);
	gt_map_fini(&l->rows);
	free(l->origin_of);
	free(l->cells);
}
