/* origins.c - where living resources were created, with function, file and line. */
#include "guest/origins.h"

#include <stdlib.h>
#include <string.h>

#include "guest/depot.h"

struct gt_origins {
	struct gt_symbol_set *set;
	size_t *first;           /* by entry: its first address; one more at the end */
};

/* All addresses of all stacks, one after another, in the order of the entries. */
static uint64_t *gather(struct gt_origins *o, const struct gt_entry *entries, size_t count)
{
	const uint64_t *frames;
	uint64_t *all;

	for (size_t i = 0; i < count; i++)
		o->first[i + 1] = o->first[i] + gt_depot_get(entries[i].stack, &frames);
	all = malloc((o->first[count] ? o->first[count] : 1) * sizeof *all);
	for (size_t i = 0; all && i < count; i++)
		if (gt_depot_get(entries[i].stack, &frames))
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
	o->first = calloc(count + 1, sizeof *o->first);
	if (o->first)
		all = gather(o, entries, count);
	if (all)
		o->set = gt_symbols_resolve(all, o->first[count]);
	free(all);
	if (o->set)
		return o;
	gt_origins_free(o);
	return NULL;
}

size_t gt_origins_get(const struct gt_origins *o, size_t index, const struct gt_symbol **symbols)
{
	const struct gt_symbol *last;
	size_t from = o->first[index], to = o->first[index + 1];

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
	free(o);
}
