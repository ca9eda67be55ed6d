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

/* What cells are sorted by, the least first. */
enum key { ENDED, BORN, RANK };

static inline size_t key_of(const struct gt_page_cell *c, enum key key, const uint32_t *ranks)
{
	return key == ENDED ? c->ended : key == BORN ? c->born : ranks[c->origin];
}

/* Into `out`; cells with equal keys stay in their order. */
static inline void sort_by(const struct gt_page_cell *cells, size_t count, enum key key,
			   const struct sorted *s, struct gt_page_cell *out)
{
	size_t keys = key == RANK ? s->origin_count : GT_PAGE_NEVER + 1;
	size_t *next = gt_alloc((keys + 1) * sizeof *next);

	for (size_t i = 0; i < count; i++)
		next[key_of(&cells[i], key, s->ranks) + 1]++;
	for (size_t i = 0; i < keys; i++)
		next[i + 1] += next[i];
	for (size_t i = 0; i < count; i++)
		out[next[key_of(&cells[i], key, s->ranks)]++] = cells[i];
	free(next);
}

/* By origin, step of birth and step of end, in linear time: there are half a million cells. */
static void sort_cells(const struct sorted *s, struct gt_page_lives *l)
{
	struct gt_page_cell *spare = gt_realloc(NULL, (l->cell_count + 1) * sizeof *spare);

	sort_by(l->cells, l->cell_count, ENDED, s, spare);
	sort_by(spare, l->cell_count, BORN, s, l->cells);
	sort_by(l->cells, l->cell_count, RANK, s, spare);
	free(l->cells);
	l->cells = spare;
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
	sort_cells(s, l);
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

/* The matrix as compressed bytes, which the caller frees; NULL if they are more than `most`. */
static uint8_t *encode(const struct sorted *s, size_t most, size_t *size)
{
	size_t words = s->origin_count * ORIGIN_COLUMNS + s->cell_count * CELL_COLUMNS;
	uint8_t *bytes = gt_alloc(words * GT_VARINT_MAX + 1), *at = bytes, *packed;
	uLongf packed_size;
	int result;

	for (int column = 0; column < ORIGIN_COLUMNS; column++)
		for (size_t i = 0; i < s->origin_count; i++)
			at = gt_put_varint(at, origin_value(s, i, column));
	for (int column = 0; column < CELL_COLUMNS; column++)
		for (size_t i = 0; i < s->cell_count; i++)
			at = gt_put_varint(at, cell_value(s, i, column));
	packed_size = compressBound((uLong)(at - bytes));
	if (packed_size > most)
		packed_size = most;
	packed = gt_alloc(packed_size);
	result = compress2(packed, &packed_size, bytes, (uLong)(at - bytes), Z_DEFAULT_COMPRESSION);
	if (result == Z_MEM_ERROR)
		gt_memory_check(NULL);
	free(bytes);
	*size = packed_size;
	if (!result)
		return packed;
	free(packed);
	return NULL;
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
		packed = encode(&s, bytes_max, &size);
		if (packed)
			break;
		sorted_fini(&s);
		/* no fewer cells: however many bytes they take */
		if (!gt_page_lives_coarsen(l))
			bytes_max = SIZE_MAX;
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
