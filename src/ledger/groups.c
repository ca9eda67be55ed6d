/* groups.c - what is alive in a ledger, gathered by call site, the biggest first. */
#include "ledger/groups.h"

#include <stdlib.h>

#include "base/mem.h"

uint64_t gt_entry_bytes(const struct gt_entry *entry)
{
	return gt_kind_has_bytes(gt_entry_kind(entry)) ? entry->size : 0;
}

/* -1, 0 or 1, as qsort wants it. */
static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_site(uint32_t stack_a, uint8_t api_a, uint8_t kind_a, uint32_t stack_b, uint8_t api_b,
		   uint8_t kind_b)
{
	int o = order(stack_a, stack_b);

	if (!o)
		o = order(api_a, api_b);
	return o ? o : order(kind_a, kind_b);
}

static int entries_by_site(const void *a, const void *b)
{
	const struct gt_entry *x = *(const struct gt_entry *const *)a;
	const struct gt_entry *y = *(const struct gt_entry *const *)b;
	const struct gt_function *fx = &gt_functions[x->function], *fy = &gt_functions[y->function];
	int o = by_site(x->stack, fx->api, fx->kind, y->stack, fy->api, fy->kind);

	if (!o)
		o = order(x->time_ns, y->time_ns);
	if (!o)
		o = order(x->process, y->process);
	return o ? o : order(x->handle, y->handle);
}

static int groups_by_site(const void *a, const void *b)
{
	const struct gt_site *x = ((const struct gt_group *)a)->site;
	const struct gt_site *y = ((const struct gt_group *)b)->site;

	return by_site(x->stack, x->api, x->kind, y->stack, y->api, y->kind);
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

static bool is_wanted(enum gt_groups_of which, enum gt_kind kind)
{
	return which == GT_GROUPS_ALL || gt_kind_on_device(kind);
}

struct gathering {
	struct gt_groups *groups;
	const struct gt_ledger *ledger;
	enum gt_groups_of which;
};

static bool add_entry(void *context, const struct gt_entry *entry)
{
	struct gathering *g = context;

	if (is_wanted(g->which, gt_entry_kind(entry)) &&
	    (g->which == GT_GROUPS_ALL || !gt_ledger_is_gone(g->ledger, entry))) {
		g->groups->objects[g->groups->object_count++] = entry;
		g->groups->bytes += gt_entry_bytes(entry);
	}
	return true;
}

static void add_sites(struct gt_groups *g, const struct gt_ledger *l, enum gt_groups_of which)
{
	g->list = gt_alloc(l->site_count * sizeof *g->list);
	for (size_t i = 0; i < l->site_count; i++) {
		const struct gt_site *site = &l->sites[i];
		bool all = which == GT_GROUPS_ALL;
		uint64_t live = site->live - (all ? 0 : site->gone);

		if (live && is_wanted(which, (enum gt_kind)site->kind))
			g->list[g->count++] = (struct gt_group){
				.site = site, .count = live,
				.bytes = site->bytes_live - (all ? 0 : site->bytes_gone) };
	}
}

/* Both lists are in the same order, so each site's objects are one stretch. */
void gt_groups_init(struct gt_groups *g, const struct gt_ledger *l, enum gt_groups_of which)
{
	struct gathering gathering = { g, l, which };
	size_t at = 0;

	*g = (struct gt_groups){ 0 };
	g->objects = gt_alloc(l->live.count * sizeof(const struct gt_entry *));
	gt_live_each(&l->live, add_entry, &gathering);
	add_sites(g, l, which);
	qsort(g->objects, g->object_count, sizeof *g->objects, entries_by_site);
	qsort(g->list, g->count, sizeof *g->list, groups_by_site);
	for (size_t i = 0; i < g->count; i++) {
		g->list[i].objects = g->objects + at;
		at += g->list[i].count;
	}
	qsort(g->list, g->count, sizeof *g->list, biggest_first);
}

void gt_groups_fini(struct gt_groups *g)
{
	free(g->list);
	free(g->objects);
	*g = (struct gt_groups){ 0 };
}
