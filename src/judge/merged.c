/* SPDX-License-Identifier: MIT */
/* merged.c - recordings that are judged together: each leak once, whatever the number of runs. */
#include "judge/merged.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "judge/verdict.h"
#include "replay/place.h"

/* A leak of one of the lists. */
struct one {
	const struct gt_leak *leak;
	uint32_t from;
};

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* The one that counts most first: what fails, then what is most. */
static int by_weight(const struct one *x, const struct one *y)
{
	struct gt_leak_part p = gt_leak_sure(x->leak), q = gt_leak_sure(y->leak);
	struct gt_leak_part new_p = gt_leak_new(x->leak), new_q = gt_leak_new(y->leak);
	const uint64_t weights[][2] = {
		{ p.bytes, q.bytes },
		{ p.count, q.count },
		{ new_p.bytes, new_q.bytes },
		{ new_p.count, new_q.count },
		{ x->leak->bytes, y->leak->bytes },
		{ x->leak->count, y->leak->count },
	};

	for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
		if (weights[i][0] != weights[i][1])
			return order(weights[i][1], weights[i][0]);
	return order(x->from, y->from);
}

static int by_key_then_weight(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	return x->leak->key != y->leak->key ? order(x->leak->key, y->leak->key) : by_weight(x, y);
}

/* As struct gt_leaks has them. */
static int biggest_first(const void *a, const void *b)
{
	const struct gt_leak *x = ((const struct one *)a)->leak, *y = ((const struct one *)b)->leak;

	if (x->bytes != y->bytes)
		return order(y->bytes, x->bytes);
	if (x->count != y->count)
		return order(y->count, x->count);
	if (x->kind != y->kind)
		return strcmp(gt_kinds[x->kind].name, gt_kinds[y->kind].name);
	return order(x->key, y->key);
}

static int by_key(const void *a, const void *b, void *list)
{
	const struct gt_leak *leaks = list;

	return order(leaks[*(const uint32_t *)a].key, leaks[*(const uint32_t *)b].key);
}

void gt_merged_init_lists(struct gt_merged *m, const struct gt_leaks *const *lists, size_t count)
{
	size_t all = 0, distinct = 0;
	struct one *list;

	*m = (struct gt_merged){ 0 };
	if (count == 1) {
		/* there may be millions: a copy of them would take as much memory again */
		m->leaks = *lists[0];
		m->from = gt_alloc(m->leaks.count * sizeof *m->from);
		m->is_borrowed = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		all += lists[i]->count;
	list = gt_alloc(all * sizeof *list);
	all = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < lists[i]->count; k++)
			list[all++] = (struct one){ &lists[i]->list[k], (uint32_t)i };
	qsort(list, all, sizeof *list, by_key_then_weight);
	for (size_t i = 0; i < all; i++)
		if (!distinct || list[i].leak->key != list[distinct - 1].leak->key)
			list[distinct++] = list[i];
	qsort(list, distinct, sizeof *list, biggest_first);
	m->leaks.count = distinct;
	m->leaks.list = gt_alloc(distinct * sizeof *m->leaks.list);
	m->leaks.by_key = gt_alloc(distinct * sizeof *m->leaks.by_key);
	m->from = gt_alloc(distinct * sizeof *m->from);
	for (size_t i = 0; i < distinct; i++) {
		m->leaks.list[i] = *list[i].leak;
		m->leaks.by_key[i] = (uint32_t)i;
		m->from[i] = list[i].from;
	}
	qsort_r(m->leaks.by_key, distinct, sizeof *m->leaks.by_key, by_key, m->leaks.list);
	free(list);
}

void gt_merged_init(struct gt_merged *m, const struct gt_views *views)
{
	const struct gt_leaks **lists = gt_alloc(views->count * sizeof *lists);

	for (size_t i = 0; i < views->count; i++)
		lists[i] = &views->list[i]->verdict->leaks;
	gt_merged_init_lists(m, lists, views->count);
	free(lists);
}

void gt_merged_fini(struct gt_merged *m)
{
	if (!m->is_borrowed)
		gt_leaks_fini(&m->leaks);
	free(m->from);
	*m = (struct gt_merged){ 0 };
}

void gt_merged_list_places(const struct gt_merged *m, const struct gt_views *views)
{
	uint32_t *stacks = gt_alloc(m->leaks.count * sizeof *stacks);

	for (size_t view = 0; view < views->count; view++) {
		size_t count = 0;

		for (size_t i = 0; i < m->leaks.count; i++)
			if (m->from[i] == view)
				stacks[count++] = m->leaks.list[i].stack;
		if (count)
			gt_places_list(views->list[view]->frames, stacks, count);
	}
	free(stacks);
}

bool gt_views_grew_before(const struct gt_views *views, size_t view, uint64_t key)
{
	for (size_t i = 0; i < view; i++)
		if (gt_growing_has(&views->list[i]->verdict->growing, key))
			return true;
	return false;
}

void gt_views_wholes(const struct gt_views *views, size_t view, gt_whole_fn *fn, void *context)
{
	const struct gt_view *v = views->list[view];
	const struct gt_verdict *verdict = v->verdict;
	bool is_skipped = views->count > 1 && verdict->outcome == GT_OUTCOME_UNTRACKED;
	struct gt_frame frame;
	const struct gt_whole wholes[] = {
		{ .rule = "peak",
		  .text = verdict->over_peak ? verdict->peak : NULL,
		  .frame = verdict->over_peak && gt_peak_frame(v, &frame) ? &frame : NULL },
		{ .rule = "residue", .text = verdict->residue },
		{ .rule = "unknown", .text = is_skipped ? NULL : verdict->doubt },
	};

	for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
		struct gt_whole whole = wholes[i];
		char *test;

		if (!whole.text)
			continue;
		whole.test = test = gt_test_name(gt_recording_path(v->recording));
		fn(context, v, &whole);
		free(test);
	}
}

char *gt_test_name(const char *path)
{
	static const char suffix[] = ".gt";
	size_t size = strlen(path), name;

	while (size > 1 && path[size - 1] == '/')
		size--;
	for (name = size; name && path[name - 1] != '/';)
		name--;
	if (size - name > sizeof suffix - 1 &&
	    !strncmp(path + size - (sizeof suffix - 1), suffix, sizeof suffix - 1))
		size -= sizeof suffix - 1;
	return gt_strndup(path + name, size - name);
}
