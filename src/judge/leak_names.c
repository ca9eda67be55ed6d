/* SPDX-License-Identifier: MIT */
/* leak_names.c - names of leaks for readers that know each by its name alone. */
#include "judge/leak_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "judge/leak_text.h"

/* A leak with what it is called so far. */
struct named {
	const struct gt_leak *leak;
	char *name;
	const struct gt_frame **frames;
	size_t count, told; /* frames in all, and those that the name has dealt with */
};

static const char *next_function(struct named *n)
{
	while (n->told < n->count)
		if (n->frames[n->told++]->function)
			return n->frames[n->told - 1]->function;
	return NULL;
}

static struct named begin(const struct gt_view *v, const struct gt_leak *leak)
{
	struct named n = { .leak = leak, .name = gt_strdup(gt_leak_name(v, leak)) };

	n.count = gt_frames_brief(v->frames, leak->stack, &n.frames);
	next_function(&n);
	return n;
}

/* False where it has no more callers. */
static bool add_caller(struct named *n)
{
	const char *function = next_function(n);
	char *longer;

	if (!function || asprintf(&longer, "%s < %s", n->name, function) < 0)
		return false;
	free(n->name);
	n->name = longer;
	return true;
}

static void add_number(struct named *n, size_t number)
{
	char *longer;

	if (asprintf(&longer, "%s #%zu", n->name, number) < 0)
		return;
	free(n->name);
	n->name = longer;
}

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->leak->api != y->leak->api)
		return x->leak->api - y->leak->api;
	if (x->leak->kind != y->leak->kind)
		return x->leak->kind - y->leak->kind;
	return strcmp(x->name, y->name);
}

/* The same in every recording: by the words that a leak is known by. */
static int by_name_and_key(const void *a, const void *b)
{
	int order = by_name(a, b);

	return order ? order :
		       strcmp(((const struct named *)a)->leak->key,
			      ((const struct named *)b)->leak->key);
}

/* How many from the first on have its name. */
static size_t alike(const struct named *list, size_t count)
{
	size_t same = 1;

	while (same < count && !by_name(&list[0], &list[same]))
		same++;
	return same;
}

/* One more caller for all that share their names; false where that changed nothing. */
static bool tell_apart(struct named *list, size_t count)
{
	bool some = false;

	qsort(list, count, sizeof *list, by_name_and_key);
	for (size_t i = 0, same; i < count; i += same) {
		same = alike(list + i, count - i);
		for (size_t k = 0; same > 1 && k < same; k++)
			some |= add_caller(&list[i + k]);
	}
	return some;
}

static void number(struct named *list, size_t count)
{
	for (size_t i = 0, same; i < count; i += same) {
		same = alike(list + i, count - i);
		for (size_t k = 1; k < same; k++)
			add_number(&list[i + k], k + 1);
	}
}

char **gt_leak_names(const struct gt_view *v, const struct gt_leaks *leaks)
{
	struct named *list = gt_alloc(leaks->count * sizeof *list);
	char **names = gt_alloc(leaks->count * sizeof *names);

	for (size_t i = 0; i < leaks->count; i++)
		list[i] = begin(v, &leaks->list[i]);
	while (tell_apart(list, leaks->count))
		continue;
	number(list, leaks->count);
	for (size_t i = 0; i < leaks->count; i++) {
		names[list[i].leak - leaks->list] = list[i].name;
		free(list[i].frames);
	}
	free(list);
	return names;
}
