/* SPDX-License-Identifier: MIT */
/* origins.c - where living resources were created, with function, file and line. */
#include "tracker/origins.h"

#include <stdlib.h>
#include <string.h>

#include "tracker/depot.h"

struct gt_origins {
	struct gt_symbol_set *set;
	uint32_t *stacks; /* each once, in order */
	size_t stack_count;
	size_t *first; /* by stack: its first address; one more at the end */
	const struct gt_entry *entries;
};

static int in_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Many resources come from few places. */
static void choose_stacks(struct gt_origins *o, size_t count)
{
	for (size_t i = 0; i < count; i++)
		o->stacks[i] = o->entries[i].stack;
	qsort(o->stacks, count, sizeof *o->stacks, in_order);
	for (size_t i = 0; i < count; i++)
		if (!i || o->stacks[i] != o->stacks[o->stack_count - 1])
			o->stacks[o->stack_count++] = o->stacks[i];
}

/* All addresses of all stacks, one after another. */
static uint64_t *gather(struct gt_origins *o)
{
	const uint64_t *frames;
	uint64_t *all;

	for (size_t i = 0; i < o->stack_count; i++)
		o->first[i + 1] = o->first[i] + gt_depot_get(o->stacks[i], &frames);
	all = malloc((o->first[o->stack_count] + 1) * sizeof *all);
	for (size_t i = 0; all && i < o->stack_count; i++)
		if (gt_depot_get(o->stacks[i], &frames))
			memcpy(all + o->first[i], frames,
			       (o->first[i + 1] - o->first[i]) * sizeof *all);
	return all;
}

struct gt_origins *gt_origins_new(const struct gt_entry *entries, size_t count)
{
	struct gt_origins *o = calloc(1, sizeof *o);
	uint64_t *all = NULL;

	if (!o)
		return NULL;
	o->entries = entries;
	o->stacks = calloc(count + 1, sizeof *o->stacks);
	o->first = calloc(count + 1, sizeof *o->first);
	if (o->stacks && o->first) {
		choose_stacks(o, count);
		all = gather(o);
	}
	if (all)
		o->set = gt_symbols_resolve(all, o->first[o->stack_count]);
	free(all);
	if (o->set)
		return o;
	gt_origins_free(o);
	return NULL;
}

size_t gt_origins_get(const struct gt_origins *o, size_t index, const struct gt_symbol **symbols)
{
	const uint32_t *stack = bsearch(&o->entries[index].stack, o->stacks, o->stack_count,
					sizeof *stack, in_order);
	size_t from = o->first[stack - o->stacks], to = o->first[stack - o->stacks + 1];
	const struct gt_symbol *last;

	if (from == to)
		return 0;
	/* the symbols of neighbouring addresses lie one after another */
	gt_symbols_get(o->set, from, symbols);
	to = gt_symbols_get(o->set, to - 1, &last);
	return (size_t)(last - *symbols) + to;
}

void gt_origins_free(struct gt_origins *o)
{
	if (!o)
		return;
	gt_symbols_free(o->set);
	free(o->first);
	free(o->stacks);
	free(o);
}
