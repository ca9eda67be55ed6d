/* SPDX-License-Identifier: MIT */
/* lives.c - a page's matrix of lives, kept within a bounded number of cells. */
#include "page/lives.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"

enum {
	FIRST_ROOM = 1 << 10,
	STEPS_WANTED = 256, /* below it, origins lose detail before steps get longer */
	ORIGINS_MAX = 1 << 15,
	SITES_MAX = 1 << 16, /* call sites beyond which there is no matrix: memory has a limit */
};

/* Its own: keys are small, values change, and most of the time goes here. */
static struct gt_page_cell *cell_at(struct gt_page_lives *l, uint32_t origin, uint16_t born,
				    uint16_t ended)
{
	uint64_t key = (uint64_t)origin << 32 | (uint32_t)born << 16 | ended;
	size_t i = gt_mix64(key) & l->mask;

	while (l->cells[i].origin != UINT32_MAX &&
	       (l->cells[i].origin != origin || l->cells[i].born != born ||
		l->cells[i].ended != ended))
		i = (i + 1) & l->mask;
	return &l->cells[i];
}

static void empty_table(struct gt_page_lives *l, size_t room)
{
	l->cells = gt_alloc(room * sizeof *l->cells);
	for (size_t i = 0; i < room; i++)
		l->cells[i].origin = UINT32_MAX;
	l->mask = room - 1;
	l->cell_count = 0;
}

static void add(struct gt_page_lives *l, const struct gt_page_cell *one)
{
	struct gt_page_cell *cell = cell_at(l, one->origin, one->born, one->ended);

	if (cell->origin == UINT32_MAX) {
		*cell = *one;
		l->cell_count++;
		return;
	}
	cell->count += one->count;
	cell->bytes += one->bytes;
}

/* The table anew: in `room`, with origins by their new numbers, and steps twice as long. */
static void rebuild(struct gt_page_lives *l, size_t room, const uint32_t *numbers, unsigned shift)
{
	struct gt_page_cell *old = l->cells;
	size_t count = l->mask + 1;

	empty_table(l, room);
	for (size_t i = 0; i < count; i++) {
		struct gt_page_cell cell = old[i];

		if (cell.origin == UINT32_MAX)
			continue;
		if (numbers)
			cell.origin = numbers[cell.origin];
		cell.born >>= shift;
		if (cell.ended != GT_PAGE_NEVER)
			cell.ended >>= shift;
		add(l, &cell);
	}
	free(old);
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
	rebuild(l, l->mask + 1, numbers, 0);
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
	}
}

static void lose_detail(struct gt_page_lives *l)
{
	l->detail++;
	gt_page_lives_change(l, reduce, &l->detail);
}

static size_t step_count(const struct gt_page_lives *l)
{
	return (l->row_max >> l->shift) + 1;
}

bool gt_page_lives_coarsen(struct gt_page_lives *l)
{
	bool is_coarse = step_count(l) <= STEPS_WANTED;

	if (is_coarse && l->detail < GT_LIFE_BY_SITE) {
		lose_detail(l);
	} else if (step_count(l) > 1) {
		l->shift++;
		rebuild(l, l->mask + 1, NULL, 1);
	} else {
		return false;
	}
	return true;
}

/* A call site has at least one cell, however many there are. */
static bool is_full(const struct gt_page_lives *l)
{
	size_t origins = gt_intern_count(l->origins);

	return l->cell_count > l->cell_max + (l->detail == GT_LIFE_BY_SITE ? 2 * origins : 0);
}

static uint32_t origin_of(struct gt_page_lives *l, const struct gt_ledger *ledger,
			  const struct gt_life *life)
{
	const struct gt_entry *e = life->entry;
	struct gt_life_origin origin;

	memset(&origin, 0, sizeof origin);
	origin.site = (uint32_t)(gt_ledger_site(ledger, e) - ledger->sites);
	origin.size = life->count ? (uint64_t)life->bytes : 0;
	origin.tid = e->tid;
	origin.phase = life->phase;
	origin.process = e->process;
	origin.place = e->place;
	for (enum gt_life_detail detail = GT_LIFE_BY_SIZE; detail <= l->detail; detail++)
		reduce(&detail, &origin);
	return gt_intern(l->origins, &origin, sizeof origin);
}

static void leave_out(struct gt_page_lives *l)
{
	gt_intern_free(l->origins);
	free(l->cells);
	l->origins = gt_intern_new();
	empty_table(l, FIRST_ROOM);
	l->is_left_out = true;
}

static void take_life(void *context, const struct gt_ledger *ledger, const struct gt_life *life)
{
	struct gt_page_lives *l = context;
	struct gt_page_cell cell;

	if (l->is_left_out)
		return;
	cell = (struct gt_page_cell){ .origin = origin_of(l, ledger, life),
				      .born = (uint16_t)(life->born >> l->shift),
				      .ended = life->ended == GT_LIFE_GOES_ON ?
						       GT_PAGE_NEVER :
						       (uint16_t)(life->ended >> l->shift),
				      .count = life->count,
				      .bytes = life->bytes };

	add(l, &cell);
	while (l->detail < GT_LIFE_BY_SITE && gt_intern_count(l->origins) > ORIGINS_MAX)
		lose_detail(l);
	if (gt_intern_count(l->origins) > SITES_MAX) {
		leave_out(l);
		return;
	}
	while (is_full(l) && gt_page_lives_coarsen(l))
		;
	if (l->cell_count > l->mask / 2)
		rebuild(l, 2 * (l->mask + 1), NULL, 0);
}

void gt_page_lives_init(struct gt_page_lives *l, size_t row_max, size_t cell_max)
{
	*l = (struct gt_page_lives){ .row_max = row_max,
				     .cell_max = cell_max,
				     .origins = gt_intern_new() };
	gt_lives_init(&l->lives, take_life, l);
	empty_table(l, FIRST_ROOM);
}

void gt_page_lives_fini(struct gt_page_lives *l)
{
	gt_lives_fini(&l->lives);
	gt_intern_free(l->origins);
	free(l->cells);
}
