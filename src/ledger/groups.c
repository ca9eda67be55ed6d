/* SPDX-License-Identifier: MIT */
/* groups.c - the living resources of a ledger by call site, the biggest first. */
#include "ledger/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* -1, 0 or 1, for qsort. */
static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int oldest_first(const void *a, const void *b)
{
	const struct gt_entry *x = *(const struct gt_entry *const *)a;
	const struct gt_entry *y = *(const struct gt_entry *const *)b;
	int o = order(x->time_ns, y->time_ns);

	if (!o)
		o = order(x->process, y->process);
	return o ? o : order(x->handle, y->handle);
}

void gt_group_sort(const struct gt_group *g)
{
	qsort(g->objects, g->count, sizeof *g->objects, oldest_first);
}

static int groups_by_site(const void *a, const void *b)
{
	const struct gt_site *x = ((const struct gt_group *)a)->site;
	const struct gt_site *y = ((const struct gt_group *)b)->site;
	int o = order(x->stack, y->stack);

	if (!o)
		o = order(x->api, y->api);
	if (!o)
		o = order(x->kind, y->kind);
	return o ? o : order(x->function, y->function);
}

static int biggest_first(const void *a, const void *b)
{
	const struct gt_group *x = a, *y = b;
	int o = order(y->bytes, x->bytes);

	if (!o)
		o = order(y->count, x->count);
	if (!o)
		o = order(x->site->first_ns, y->site->first_ns);
	return o ? o : groups_by_site(a, b);
}

static bool is_wanted(enum gt_groups_of which, const struct gt_site *site)
{
	bool lasts = gt_kinds[site->kind].habits & GT_LASTING;

	switch (which) {
	case GT_GROUPS_LEAKS: return gt_site_leaks(site);
	case GT_GROUPS_LASTING: return lasts;
	case GT_GROUPS_HELD: return site->held;
	case GT_GROUPS_DEVICE: break;
	}
	return gt_kind_on_device((enum gt_kind)site->kind);
}

struct gathering {
	struct gt_groups *groups;
	const struct gt_ledger *ledger;
	enum gt_groups_of which;
	uint32_t *group_of; /* by site: its group + 1 */
	size_t *filled;     /* by group: objects so far */
};

static bool add_entry(void *context, const struct gt_entry *entry)
{
	struct gathering *g = context;
	const struct gt_site *site = gt_ledger_site(g->ledger, entry);
	size_t group;

	if (!is_wanted(g->which, site) ||
	    (g->which == GT_GROUPS_DEVICE && gt_ledger_is_gone(g->ledger, entry)))
		return true;
	group = g->group_of[site - g->ledger->sites] - 1;
	g->groups->list[group].objects[g->filled[group]++] = entry;
	g->groups->bytes += gt_entry_bytes(entry);
	return true;
}

/* Adds a group for each site with living resources, with room for these. */
static void add_groups(struct gathering *g)
{
	const struct gt_ledger *l = g->ledger;
	struct gt_groups *groups = g->groups;
	bool all = g->which != GT_GROUPS_DEVICE;

	for (size_t i = 0; i < l->site_count; i++) {
		const struct gt_site *site = &l->sites[i];
		uint64_t live = site->live - (all ? 0 : site->gone);

		if (!live || !is_wanted(g->which, site))
			continue;
		groups->list[groups->count] =
			(struct gt_group){ .site = site,
					   .objects = groups->objects + groups->object_count,
					   .count = live,
					   .bytes = site->bytes_live -
						    (all ? 0 : site->bytes_gone) };
		groups->object_count += live;
		g->group_of[i] = (uint32_t)++groups->count;
	}
}

void gt_groups_init(struct gt_groups *g, const struct gt_ledger *l, enum gt_groups_of which)
{
	struct gathering gathering = { .groups = g, .ledger = l, .which = which };

	*g = (struct gt_groups){ 0 };
	g->objects = gt_alloc_large(l->live.count * sizeof(const struct gt_entry *));
	g->list = gt_alloc(l->site_count * sizeof *g->list);
	gathering.group_of = gt_alloc(l->site_count * sizeof *gathering.group_of);
	gathering.filled = gt_alloc(l->site_count * sizeof *gathering.filled);
	add_groups(&gathering);
	gt_live_each(&l->live, add_entry, &gathering);
	free(gathering.group_of);
	free(gathering.filled);
	qsort(g->list, g->count, sizeof *g->list, biggest_first);
}

void gt_groups_select(struct gt_groups *g, const struct gt_groups *all,
		      bool (*selects)(const void *context, const struct gt_entry *entry, int which),
		      const void *context, int which)
{
	*g = (struct gt_groups){ 0 };
	g->objects = gt_alloc_large(all->object_count * sizeof(const struct gt_entry *));
	g->list = gt_alloc(all->count * sizeof *g->list);
	for (size_t i = 0; i < all->count; i++) {
		struct gt_group group = { .site = all->list[i].site,
					  .objects = g->objects + g->object_count };

		for (size_t k = 0; k < all->list[i].count; k++) {
			const struct gt_entry *entry = all->list[i].objects[k];

			if (!selects(context, entry, which))
				continue;
			group.objects[group.count++] = entry;
			group.bytes += gt_entry_bytes(entry);
		}
		if (!group.count)
			continue;
		g->list[g->count++] = group;
		g->object_count += group.count;
		g->bytes += group.bytes;
	}
	qsort(g->list, g->count, sizeof *g->list, biggest_first);
}

/* A group and what it is merged by; without a copy of it, as there may be very many. */
struct keyed {
	uint64_t key;
	uint32_t index; /* in the list: the biggest first */
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int o = order(x->key, y->key);

	return o ? o : order(x->index, y->index);
}

/* Brings the list into the order of the keys, without another list; uses up the indices. */
static void arrange(struct gt_group *list, struct keyed *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct gt_group first = list[i];
		size_t at = i;

		while (keys[at].index != i) {
			size_t from = keys[at].index;

			list[at] = list[from];
			keys[at].index = (uint32_t)at;
			at = from;
		}
		list[at] = first;
		keys[at].index = (uint32_t)at;
	}
}

/* The groups are in the order of their keys. */
static void join(struct gt_groups *g, const struct keyed *keys)
{
	const struct gt_entry **objects, **at;
	struct gt_group *last = NULL;
	size_t count = g->count;

	objects = at = gt_alloc(g->object_count * sizeof(const struct gt_entry *));
	g->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct gt_group one = g->list[i];

		if (!i || keys[i - 1].key != keys[i].key) {
			last = &g->list[g->count++];
			*last = (struct gt_group){ .site = one.site, .objects = at };
		}
		at = mempcpy(at, one.objects, one.count * sizeof *at);
		last->count += one.count;
		last->bytes += one.bytes;
	}
	free(g->objects);
	g->objects = objects;
}

void gt_groups_merge(struct gt_groups *g,
		     uint64_t (*key)(void *context, const struct gt_group *group), void *context)
{
	struct keyed *keys = gt_alloc(g->count * sizeof *keys);
	bool some = false;

	for (size_t i = 0; i < g->count; i++) {
		const struct gt_site *site = g->list[i].site;
		uint64_t kind = (uint64_t)site->api << 56 | (uint64_t)site->kind << 48;

		keys[i] = (struct keyed){ key(context, &g->list[i]) ^ kind, (uint32_t)i };
	}
	qsort(keys, g->count, sizeof *keys, by_key);
	for (size_t i = 1; i < g->count; i++)
		some |= keys[i - 1].key == keys[i].key;
	if (some) {
		arrange(g->list, keys, g->count);
		join(g, keys);
		qsort(g->list, g->count, sizeof *g->list, biggest_first);
	}
	free(keys);
}

void gt_groups_fini(struct gt_groups *g)
{
	free(g->list);
	free(g->objects);
	*g = (struct gt_groups){ 0 };
}
