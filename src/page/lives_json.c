/* SPDX-License-Identifier: MIT */
/*
 * lives_json.c - a page's matrix of lives in the form that viewer/js/lives.js reads.
 *
 * A text of variable-length integers, column by column, compressed by zlib. Of each origin: how far
 * its call site lies after the one before, stack, process, place, thread, phase, size, number of
 * cells. Of each cell: how many steps after the one before of its origin it was born (the first:
 * after step 0), 0 or its end as steps after that + 1, count, and as zigzag its bytes less those
 * that follow from count and size.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"
#include "page/life_matrix.h"

/* The matrix in order. */
struct sorted {
	const struct gt_page_lives *lives;
	uint32_t *origins; /* their numbers, in order */
	uint32_t *ranks;   /* by number: where it is in that order */
	size_t *counts;    /* of cells, in that order */
	const struct gt_page_cell *cells;
	size_t origin_count, cell_count;
};

static const struct gt_life_origin *origin(const struct gt_page_lives *l, uint32_t number)
{
	size_t size;

	return gt_intern_get(l->origins, number, &size);
}

static int by_site(const void *a, const void *b, void *lives)
{
	const struct gt_life_origin *x = origin(lives, *(const uint32_t *)a);
	const struct gt_life_origin *y = origin(lives, *(const uint32_t *)b);

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static int by_step(const void *a, const void *b, void *ranks)
{
	const struct gt_page_cell *x = a, *y = b;
	const uint32_t *rank = ranks;

	if (x->origin != y->origin)
		return rank[x->origin] < rank[y->origin] ? -1 : 1;
	if (x->born != y->born)
		return x->born < y->born ? -1 : 1;
	return (x->ended > y->ended) - (x->ended < y->ended);
}

static void sorted_init(struct sorted *s, struct gt_page_lives *l)
{
	size_t count = gt_intern_count(l->origins);

	*s = (struct sorted){ .lives = l, .origin_count = count };
	s->origins = gt_alloc((count + 1) * sizeof *s->origins);
	s->ranks = gt_alloc((count + 1) * sizeof *s->ranks);
	s->counts = gt_alloc((count + 1) * sizeof *s->counts);
	for (size_t i = 0; i < count; i++)
		s->origins[i] = (uint32_t)i;
	qsort_r(s->origins, count, sizeof *s->origins, by_site, l);
	for (size_t i = 0; i < count; i++)
		s->ranks[s->origins[i]] = (uint32_t)i;
	gt_page_lives_list(l);
	qsort_r(l->cells, l->cell_count, sizeof *l->cells, by_step, s->ranks);
	for (size_t i = 0; i < l->cell_count; i++)
		s->counts[s->ranks[l->cells[i].origin]]++;
	s->cells = l->cells;
	s->cell_count = l->cell_count;
}

static void sorted_fini(struct sorted *s)
{
	free(s->origins);
	free(s->ranks);
	free(s->counts);
}

enum { ORIGIN_COLUMNS = 8, CELL_COLUMNS = 4 };

static uint64_t origin_value(const struct sorted *s, size_t i, int column)
{
	const struct gt_life_origin *o = origin(s->lives, s->origins[i]);

	switch (column) {
	case 0: return o->site - (i ? origin(s->lives, s->origins[i - 1])->site : 0);
	case 1: return o->stack;
	case 2: return o->process;
	case 3: return o->place;
	case 4: return o->tid;
	case 5: return o->phase;
	case 6: return o->size;
	default: return s->counts[i];
	}
}

static uint64_t cell_value(const struct sorted *s, size_t i, int column)
{
	const struct gt_page_cell *c = &s->cells[i];
	bool is_first = !i || s->cells[i - 1].origin != c->origin;

	switch (column) {
	case 0: return c->born - (is_first ? 0u : s->cells[i - 1].born);
	case 1: return c->ended == GT_PAGE_NEVER ? 0 : c->ended - c->born + 1u;
	case 2: return c->count;
	default:
		return gt_zigzag(c->bytes -
				 (s->lives->detail == GT_LIFE_BY_SIZE ?
					  (int64_t)(c->count * origin(s->lives, c->origin)->size) :
					  0));
	}
}

/* The matrix as compressed bytes, which the caller frees. */
static uint8_t *encode(const struct sorted *s, size_t *size)
{
	size_t words = s->origin_count * ORIGIN_COLUMNS + s->cell_count * CELL_COLUMNS;
	uint8_t *bytes = gt_alloc(words * GT_VARINT_MAX + 1), *at = bytes, *packed;
	uLongf packed_size;

	for (int column = 0; column < ORIGIN_COLUMNS; column++)
		for (size_t i = 0; i < s->origin_count; i++)
			at = gt_put_varint(at, origin_value(s, i, column));
	for (int column = 0; column < CELL_COLUMNS; column++)
		for (size_t i = 0; i < s->cell_count; i++)
			at = gt_put_varint(at, cell_value(s, i, column));
	packed_size = compressBound((uLong)(at - bytes));
	packed = gt_alloc(packed_size);
	if (compress2(packed, &packed_size, bytes, (uLong)(at - bytes), Z_DEFAULT_COMPRESSION))
		packed = gt_memory_check(NULL);
	free(bytes);
	*size = packed_size;
	return packed;
}

static void give_numbers(const void *context, struct gt_life_origin *o)
{
	const struct gt_page_life_numbers *n = context;
	uint32_t site = o->site;
	char *phase = o->phase ? gt_recording_phase_text(n->recording, o->phase) : NULL;

	o->site = site == GT_LIFE_REST ? n->rest : n->sites[site];
	o->stack = site == GT_LIFE_REST ? 0 : n->stacks[site];
	o->place = gt_page_name(n->names, gt_recording_place(n->recording, (uint16_t)o->place));
	o->phase = gt_page_name(n->names, phase);
	free(phase);
}

void gt_page_lives_json(struct gt_json *j, struct gt_page_lives *l,
			const struct gt_page_life_numbers *numbers, size_t bytes_max)
{
	static const char *const details[] = {
		[GT_LIFE_BY_SIZE] = "size",     [GT_LIFE_BY_CLASS] = "class",
		[GT_LIFE_BY_DEVICE] = "device", [GT_LIFE_BY_SITE] = "site",
		[GT_LIFE_BY_ROW] = "row",
	};
	struct sorted s;
	uint8_t *packed;
	size_t size;

	if (!l->is_numbered)
		gt_page_lives_change(l, give_numbers, numbers);
	l->is_numbered = true;
	for (;;) {
		sorted_init(&s, l);
		packed = encode(&s, &size);
		if (size <= bytes_max || !gt_page_lives_coarsen(l))
			break;
		free(packed);
		sorted_fini(&s);
	}
	gt_json_object(j, "lives");
	gt_json_uint(j, "shift", l->shift);
	gt_json_text(j, "detail", details[l->detail]);
	gt_json_uint(j, "origins", s.origin_count);
	gt_json_uint(j, "cells", s.cell_count);
	gt_json_uint(j, "merged_sites", l->merged_sites);
	gt_json_base64(j, "packed", packed, size);
	gt_json_end(j);
	free(packed);
	sorted_fini(&s);
}
