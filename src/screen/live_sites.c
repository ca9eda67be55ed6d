/* SPDX-License-Identifier: MIT */
/* live_sites.c - the call sites of running processes, those of one place as one. */
#include "screen/live_sites.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "replay/place.h"

const struct gt_live_who *gt_live_who(const struct gt_live_names *names, uint16_t process)
{
	return names->who ? names->who(names->context, process) : NULL;
}

/* Text that is being put together. */
struct list {
	char *text;
	size_t size, used;
};

static void add_word(struct list *l, const char *word)
{
	int n = snprintf(l->text + l->used, l->size - l->used, "%s%s", l->used ? "," : "", word);

	l->used += (size_t)n;
	if (l->used >= l->size)
		l->used = l->size - 1;
}

/* "0", "0,2", "0-7". */
static void add_numbers(struct list *l, uint64_t numbers)
{
	for (unsigned i = 0; i < 64; i++) {
		unsigned last = i;
		char word[16];

		if (!(numbers >> i & 1))
			continue;
		while (last < 63 && numbers >> (last + 1) & 1)
			last++;
		if (last - i < 2)
			last = i;
		snprintf(word, sizeof word, last > i ? "%u-%u" : "%u", i, last);
		add_word(l, word);
		i = last;
	}
}

const char *gt_live_devices(const struct gt_live_names *names, uint64_t places, char *text,
			    size_t size)
{
	struct list l = { text, size, 0 };
	uint64_t numbers = 0, others = 0;

	text[0] = '\0';
	for (uint16_t i = 1; i < 64; i++) {
		const char *name = names->place ? names->place(names->context, i) : "";
		unsigned number;
		char after[2];

		if (!(places >> i & 1))
			continue;
		/* "GPU 0: NVIDIA H200", "GPU 0.1: Intel…" */
		if (sscanf(name, "GPU %u%1[.:]", &number, after) == 2 && number < 64)
			numbers |= UINT64_C(1) << number;
		else if (*name)
			others |= UINT64_C(1) << i;
		else
			places |= 1;
	}
	add_numbers(&l, numbers);
	for (uint16_t i = 1; i < 64; i++)
		if (others >> i & 1)
			add_word(&l, names->place(names->context, i));
	if (places & 1)
		add_word(&l, "?");
	return text;
}

static void name_site(struct gt_live_site *site, const struct gt_live_names *names)
{
	if (names && names->find)
		site->frames = names->find(names->context, site->sum.process, site->sum.stack,
					   &site->number);
	if (site->frames)
		site->key = gt_place_key(site->frames, site->number);
}

static uint64_t value_ago(const struct gt_recent *r, uint32_t ticks)
{
	return ticks < r->count && ticks < GT_BOARD_HISTORY ?
		       r->values[(r->count - 1 - ticks) % GT_BOARD_HISTORY] :
		       0;
}

/* Adds up values of the same moments: the latest are of now. */
static void add_history(struct gt_recent *sum, const struct gt_recent *one)
{
	struct gt_recent both = { .count = sum->count > one->count ? sum->count : one->count };

	for (uint32_t i = 0; i < both.count && i < GT_BOARD_HISTORY; i++)
		both.values[(both.count - 1 - i) % GT_BOARD_HISTORY] =
			value_ago(sum, i) + value_ago(one, i);
	*sum = both;
}

/* `biggest`: the bytes of the one that gave the sum its stack; `last`: the process added last. */
static void add_site(struct gt_live_site *sum, const struct gt_live_site *one, uint64_t *biggest,
		     uint16_t *last)
{
	if (one->sum.bytes > *biggest) {
		*biggest = one->sum.bytes;
		sum->sum.process = one->sum.process;
		sum->frames = one->frames;
		sum->sum.stack = one->sum.stack;
		sum->number = one->number;
	}
	sum->processes += one->sum.process != *last;
	*last = one->sum.process;
	sum->sum.places |= one->sum.places;
	sum->sum.live += one->sum.live;
	sum->sum.bytes += one->sum.bytes;
	sum->sum.created += one->sum.created;
	sum->sum.bytes_created += one->sum.bytes_created;
	sum->sum.created_rate += one->sum.created_rate;
	sum->sum.growth += one->sum.growth;
	add_history(&sum->history, &one->history);
}

static int by_words(const void *a, const void *b)
{
	const struct gt_live_site *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->sum.api != y->sum.api)
		return x->sum.api - y->sum.api;
	if (x->sum.kind != y->sum.kind)
		return x->sum.kind - y->sum.kind;
	if (x->sum.process != y->sum.process)
		return x->sum.process - y->sum.process;
	return x->sum.stack < y->sum.stack ? -1 : x->sum.stack > y->sum.stack;
}

static int by_place(const void *a, const void *b)
{
	const struct gt_live_site *x = a, *y = b;

	return x->sum.process != y->sum.process ? x->sum.process - y->sum.process : by_words(a, b);
}

static bool is_one_place(const struct gt_live_site *x, const struct gt_live_site *y,
			 enum gt_live_merge merge)
{
	return x->key && x->key == y->key &&
	       (merge == GT_LIVE_MERGE_ACROSS || x->sum.process == y->sum.process) &&
	       x->sum.api == y->sum.api && x->sum.kind == y->sum.kind;
}

static double measure(const struct gt_live_site *site, enum gt_board_order order)
{
	switch (order) {
	case GT_BOARD_BY_LIVE: return (double)site->sum.live;
	case GT_BOARD_BY_RATE: return site->sum.created_rate;
	case GT_BOARD_BY_GROWTH: return site->sum.growth;
	case GT_BOARD_BY_BYTES: break;
	}
	return (double)site->sum.bytes;
}

static int most_first(const void *a, const void *b, void *order)
{
	double x = measure(a, *(enum gt_board_order *)order);
	double y = measure(b, *(enum gt_board_order *)order);

	return x > y ? -1 : x < y ? 1 : by_place(a, b);
}

struct gt_live_site *gt_live_sites(const struct gt_board *b, uint16_t process,
				   enum gt_board_order order, enum gt_live_merge merge,
				   const struct gt_live_names *names, size_t *count)
{
	const struct gt_board_site **found =
		gt_alloc(GT_LIVE_SITES_MAX * sizeof(const struct gt_board_site *));
	size_t all = gt_board_sites(b, process, order, found, GT_LIVE_SITES_MAX);
	struct gt_live_site *list = gt_alloc((all + 1) * sizeof *list);
	uint64_t biggest = 0;
	uint16_t last = GT_BOARD_ALL;

	for (size_t i = 0; i < all; i++) {
		list[i].sum = *found[i];
		list[i].sum.history = NULL;
		if (found[i]->history)
			list[i].history = *found[i]->history;
		name_site(&list[i], names);
	}
	free(found);
	qsort(list, all, sizeof *list, merge == GT_LIVE_MERGE_ACROSS ? by_words : by_place);
	*count = 0;
	for (size_t i = 0; i < all; i++) {
		if (*count && is_one_place(&list[*count - 1], &list[i], merge)) {
			add_site(&list[*count - 1], &list[i], &biggest, &last);
			continue;
		}
		list[*count] = list[i];
		list[(*count)++].processes = 1;
		biggest = list[i].sum.bytes;
		last = list[i].sum.process;
	}
	qsort_r(list, *count, sizeof *list, most_first, &order);
	return list;
}
