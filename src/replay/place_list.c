/* SPDX-License-Identifier: MIT */
/* place_list.c - places of one list: how many callers tell them apart, and which are one group. */
#include "replay/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

/* Beyond so many places nobody reads them all: the others have no callers. */
enum { LIST_MOST = 20000 };

/* Words as their hashes: of many places, the texts and callers themselves would take much memory.
 */
struct item {
	uint32_t stack, told, caller_count;
	uint64_t key;
	uint64_t words;    /* of the place with the callers that it has so far */
	uint64_t *callers; /* NULL: none was needed yet */
};

static int by_words(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->words != y->words)
		return x->words < y->words ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static bool add_caller(struct gt_frames *f, struct item *item)
{
	uint64_t first;

	if (!item->callers)
		item->caller_count =
			(uint32_t)gt_place_hashes(f, item->stack, &first, &item->callers);
	if (item->told == item->caller_count)
		return false;
	item->words = gt_mix64(item->words ^ item->callers[item->told++]);
	return true;
}

/* Adds a caller to all words that stand for several places; false if none have changed. */
static bool add_callers(struct gt_frames *f, struct item *items, size_t count)
{
	bool some = false;

	qsort(items, count, sizeof *items, by_words);
	for (size_t i = 0, same; i < count; i += same) {
		bool differ = false;

		for (same = 1; i + same < count && items[i].words == items[i + same].words; same++)
			differ |= items[i].key != items[i + same].key;
		for (size_t k = 0; differ && k < same; k++)
			some |= add_caller(f, &items[i + k]);
	}
	return some;
}

void gt_places_list(struct gt_frames *f, const uint32_t *stacks, size_t count)
{
	size_t most = count < LIST_MOST ? count : LIST_MOST;
	struct item *items = gt_alloc(most * sizeof *items);

	for (size_t i = 0; i < count; i++)
		gt_frames_memo(f, stacks[i])->told = 0;
	for (size_t i = 0; i < most; i++) {
		uint64_t *callers;

		items[i] = (struct item){ .stack = stacks[i], .key = gt_place_key(f, stacks[i]) };
		gt_place_hashes(f, stacks[i], &items[i].words, &callers);
		free(callers);
	}
	/* where more than lines are one place, callers are no part of it */
	while (gt_by_line(gt_frames_by(f)))
		if (!add_callers(f, items, most))
			break;
	for (size_t i = 0; i < most; i++) {
		gt_frames_memo(f, items[i].stack)->told = items[i].told;
		free(items[i].callers);
	}
	free(items);
}

/* Of the first `count`. */
static uint32_t *group_stacks(const struct gt_groups *groups, size_t count)
{
	uint32_t *stacks = gt_alloc(count * sizeof *stacks);

	for (size_t i = 0; i < count; i++)
		stacks[i] = groups->list[i].site->stack;
	return stacks;
}

static uint32_t *site_stacks(const struct gt_place_sites *sites, size_t count)
{
	uint32_t *stacks = gt_alloc(count * sizeof *stacks);

	for (size_t i = 0; i < count; i++)
		stacks[i] = sites->list[i]->stack;
	return stacks;
}

void gt_places_list_groups(struct gt_frames *f, const struct gt_groups *groups, size_t most)
{
	size_t count = groups->count < most ? groups->count : most;
	uint32_t *stacks = group_stacks(groups, count);

	gt_places_list(f, stacks, count);
	free(stacks);
}

void gt_places_list_sites(struct gt_frames *f, const struct gt_place_sites *sites, size_t most)
{
	size_t count = sites->count < most ? sites->count : most;
	uint32_t *stacks = site_stacks(sites, count);

	gt_places_list(f, stacks, count);
	free(stacks);
}

void gt_places_list_ledger(struct gt_frames *f, const struct gt_ledger *l)
{
	uint32_t *stacks = gt_alloc(l->site_count * sizeof *stacks);

	for (size_t i = 0; i < l->site_count; i++)
		stacks[i] = l->sites[i].stack;
	gt_places_list(f, stacks, l->site_count);
	free(stacks);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

size_t gt_place_count(struct gt_frames *f, const uint32_t *stacks, size_t count)
{
	uint64_t *keys;
	size_t places = 0;

	if (gt_frames_by(f) == GT_BY_LINE || gt_frames_by(f) == GT_BY_STACK)
		return count;
	keys = gt_alloc(count * sizeof *keys);
	for (size_t i = 0; i < count; i++)
		keys[i] = gt_place_key(f, stacks[i]);
	qsort(keys, count, sizeof *keys, by_number);
	for (size_t i = 0; i < count; i++)
		places += !i || keys[i] != keys[i - 1];
	free(keys);
	return places;
}

size_t gt_place_count_groups(struct gt_frames *f, const struct gt_groups *groups)
{
	uint32_t *stacks = group_stacks(groups, groups->count);
	size_t places = gt_place_count(f, stacks, groups->count);

	free(stacks);
	return places;
}

size_t gt_place_count_sites(struct gt_frames *f, const struct gt_place_sites *sites)
{
	uint32_t *stacks = site_stacks(sites, sites->count);
	size_t places = gt_place_count(f, stacks, sites->count);

	free(stacks);
	return places;
}

static uint64_t key_of(void *frames, const struct gt_group *group)
{
	uint64_t key = gt_place_key(frames, group->site->stack);

	/* without a stack a site is its function */
	return key ? key : group->site->function;
}

void gt_place_groups(struct gt_groups *groups, const struct gt_view *v)
{
	/* in the order of their first events, in which neighbours have most callers in common */
	for (size_t i = 0; i < v->ledger->site_count; i++)
		if (v->ledger->sites[i].live)
			gt_place_key(v->frames, v->ledger->sites[i].stack);
	gt_groups_merge(groups, key_of, v->frames);
}

/* A site and its place. */
struct placed {
	uint64_t key;
	const struct gt_site *site;
};

static int by_place(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->site->api != y->site->api)
		return x->site->api - y->site->api;
	if (x->site->kind != y->site->kind)
		return x->site->kind - y->site->kind;
	return x->site < y->site ? -1 : x->site > y->site;
}

static bool is_one_place(const struct placed *a, const struct placed *b)
{
	return a->key == b->key && a->site->api == b->site->api && a->site->kind == b->site->kind;
}

static int first_created(const void *a, const void *b)
{
	const struct gt_site *x = *(const struct gt_site *const *)a;
	const struct gt_site *y = *(const struct gt_site *const *)b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

void gt_place_add_site(struct gt_site *sum, const struct gt_site *one, uint64_t *biggest)
{
	if (one->bytes_total > *biggest) {
		*biggest = one->bytes_total;
		sum->stack = one->stack;
		sum->function = one->function;
	}
	sum->created += one->created;
	sum->live += one->live;
	sum->bytes_total += one->bytes_total;
	sum->bytes_live += one->bytes_live;
	sum->bytes_peak += one->bytes_peak;
	sum->gone += one->gone;
	sum->bytes_gone += one->bytes_gone;
	sum->live_at_peak += one->live_at_peak;
	sum->bytes_at_peak += one->bytes_at_peak;
	if (one->first_ns < sum->first_ns)
		sum->first_ns = one->first_ns;
	if (one->last_ns > sum->last_ns)
		sum->last_ns = one->last_ns;
}

/* The sites of a place that has several, in one of `sums`. */
static struct gt_site *add_up(struct gt_site *sum, const struct placed *list, size_t count)
{
	uint64_t biggest = list[0].site->bytes_total;

	*sum = *list[0].site;
	for (size_t i = 1; i < count; i++)
		gt_place_add_site(sum, list[i].site, &biggest);
	return sum;
}

void gt_place_sites_init(struct gt_place_sites *s, const struct gt_ledger *l, struct gt_frames *f,
			 bool (*wants)(const struct gt_site *site))
{
	struct placed *list = gt_alloc(l->site_count * sizeof *list);
	size_t used = 0, several = 0;

	for (size_t i = 0; i < l->site_count; i++) {
		const struct gt_site *site = &l->sites[i];
		uint64_t key;

		/* nothing: all that it created were segments (ledger/extents.h) */
		if (!site->created || (wants && !wants(site)))
			continue;
		key = gt_place_key(f, site->stack);
		list[used++] = (struct placed){ key ? key : site->function, site };
	}
	qsort(list, used, sizeof *list, by_place);
	for (size_t i = 1; i < used; i++)
		several += is_one_place(&list[i - 1], &list[i]) &&
			   (i == 1 || !is_one_place(&list[i - 2], &list[i]));
	*s = (struct gt_place_sites){ .list = gt_alloc(used * sizeof(const struct gt_site *)),
				      .sums = gt_alloc(several * sizeof *s->sums) };
	several = 0;
	for (size_t i = 0, same; i < used; i += same) {
		for (same = 1; i + same < used && is_one_place(&list[i], &list[i + same]); same++)
			continue;
		s->list[s->count++] =
			same > 1 ? add_up(&s->sums[several++], &list[i], same) : list[i].site;
	}
	free(list);
	qsort(s->list, s->count, sizeof *s->list, first_created);
}

void gt_place_sites_fini(struct gt_place_sites *s)
{
	free(s->list);
	free(s->sums);
	*s = (struct gt_place_sites){ 0 };
}

size_t gt_place_number(struct gt_place_numbers *n, struct gt_frames *f, uint32_t stack,
		       enum gt_kind kind)
{
	void **at = gt_map_at(&n->map, gt_mix64(gt_place_key(f, stack) + kind));

	if (!*at)
		*at = (void *)(uintptr_t)++n->count;
	return (uintptr_t)*at - 1;
}
