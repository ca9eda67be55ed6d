/* SPDX-License-Identifier: MIT */
/* leaks.c - what leaked, by call sites that can be told again in another recording. */
#include "judge/leaks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "replay/running.h"

/* Fields end in bytes that no name has: 1 within a frame, 2 after it. */
char *gt_site_key(const struct gt_view *v, const struct gt_site *site, uint16_t function)
{
	const struct gt_frame *frames;
	size_t size, count = gt_frames_get(v->frames, site->stack, &frames);
	char *key = NULL;
	FILE *out = gt_memstream(&key, &size);

	fprintf(out, "%s\1%s\1%s\2", gt_api_keys[site->api], gt_kinds[site->kind].name,
		gt_function_names[function]);
	for (size_t i = 0; i < count; i++) {
		const struct gt_frame *f = &frames[i];

		if (f->function)
			fprintf(out, "%s\1%s\2", f->function, f->file ? gt_path_name(f->file) : "");
		else
			fprintf(out, "%s\1%" PRIx64 "\2", f->module ? gt_path_name(f->module) : "",
				f->offset);
	}
	gt_memstream_close(out);
	return key;
}

static int by_key(const void *a, const void *b)
{
	return strcmp((*(struct gt_leak *const *)a)->key, (*(struct gt_leak *const *)b)->key);
}

static int biggest_first(const void *a, const void *b)
{
	const struct gt_leak *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->key, y->key);
}

/* What one group adds; groups come biggest first, so the first of a key is its biggest. */
struct part {
	struct gt_leak leak;
	const struct gt_site *site;
	size_t order;
};

static int by_key_and_order(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int o = strcmp(x->leak.key, y->leak.key);

	return o ? o : (x->order > y->order) - (x->order < y->order);
}

static void add_held(struct gt_leak *leak, const struct gt_group *g, struct gt_running *running)
{
	for (size_t i = 0; i < g->count; i++) {
		if (!gt_running_has(running, g->objects[i]))
			continue;
		leak->held_count++;
		leak->held_bytes += gt_entry_bytes(g->objects[i]);
	}
}

static struct part *parts_of(const struct gt_view *v, const struct gt_groups *groups)
{
	struct part *parts = gt_alloc(groups->count * sizeof *parts);
	struct gt_running running;

	gt_running_init(&running, v->recording);
	for (size_t i = 0; i < groups->count; i++) {
		const struct gt_group *g = &groups->list[i];

		parts[i] = (struct part){ .site = g->site, .order = i };
		parts[i].leak = (struct gt_leak){ .key = gt_site_key(v, g->site, g->site->function),
						  .api = g->site->api,
						  .kind = g->site->kind,
						  .function = g->site->function,
						  .stack = g->site->stack,
						  .count = g->count,
						  .bytes = g->bytes };
		add_held(&parts[i].leak, g, &running);
	}
	gt_running_fini(&running);
	qsort(parts, groups->count, sizeof *parts, by_key_and_order);
	return parts;
}

/* Where the ledger's sites went, after the list has its final order. */
static void index_sites(struct gt_leaks *leaks, const struct gt_ledger *l, const struct part *parts,
			size_t count, char **keys)
{
	leaks->by_key = gt_alloc(leaks->count * sizeof *leaks->by_key);
	for (size_t i = 0; i < leaks->count; i++)
		leaks->by_key[i] = &leaks->list[i];
	qsort(leaks->by_key, leaks->count, sizeof *leaks->by_key, by_key);
	leaks->of_site = gt_alloc(l->site_count * sizeof *leaks->of_site);
	for (size_t i = 0; i < count; i++) {
		const struct gt_leak *leak = gt_leaks_find(leaks, keys[i]);

		leaks->of_site[parts[i].site - l->sites] = (uint32_t)(leak - leaks->list) + 1;
	}
}

static uint64_t beyond(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* What counts of it, by what the baseline had and whether it is suppressed. */
static void weigh(struct gt_leak *leak)
{
	bool none = leak->suppressed;

	leak->new_count = none ? 0 : beyond(leak->count, leak->old_count);
	leak->new_bytes = none ? 0 : beyond(leak->bytes, leak->old_bytes);
	leak->left_count = none ? 0 : beyond(leak->count, leak->old_count + leak->held_count);
	leak->left_bytes = none ? 0 : beyond(leak->bytes, leak->old_bytes + leak->held_bytes);
}

void gt_leaks_init(struct gt_leaks *leaks, const struct gt_view *v)
{
	struct gt_groups groups;
	struct part *parts;
	char **keys;

	*leaks = (struct gt_leaks){ 0 };
	gt_groups_init(&groups, v->ledger, GT_GROUPS_LEAKS);
	parts = parts_of(v, &groups);
	leaks->list = gt_alloc(groups.count * sizeof *leaks->list);
	keys = gt_alloc(groups.count * sizeof *keys);
	for (size_t i = 0; i < groups.count; i++) {
		struct gt_leak *last = leaks->count ? &leaks->list[leaks->count - 1] : NULL;

		if (last && !strcmp(last->key, parts[i].leak.key)) {
			last->count += parts[i].leak.count;
			last->bytes += parts[i].leak.bytes;
			last->held_count += parts[i].leak.held_count;
			last->held_bytes += parts[i].leak.held_bytes;
			free(parts[i].leak.key);
			keys[i] = last->key;
		} else {
			leaks->list[leaks->count++] = parts[i].leak;
			keys[i] = parts[i].leak.key;
		}
	}
	for (size_t i = 0; i < leaks->count; i++)
		weigh(&leaks->list[i]);
	qsort(leaks->list, leaks->count, sizeof *leaks->list, biggest_first);
	index_sites(leaks, v->ledger, parts, groups.count, keys);
	free(keys);
	free(parts);
	gt_groups_fini(&groups);
}

void gt_leaks_fini(struct gt_leaks *leaks)
{
	for (size_t i = 0; i < leaks->count; i++)
		free(leaks->list[i].key);
	free(leaks->list);
	free(leaks->by_key);
	free(leaks->of_site);
	*leaks = (struct gt_leaks){ 0 };
}

struct gt_leak *gt_leaks_find(const struct gt_leaks *leaks, const char *key)
{
	struct gt_leak wanted = { .key = (char *)key }, *pointer = &wanted, **found = NULL;

	if (leaks->count)
		found = bsearch(&pointer, leaks->by_key, leaks->count, sizeof *leaks->by_key,
				by_key);
	return found ? *found : NULL;
}

void gt_leaks_suppress(struct gt_leaks *leaks, const struct gt_view *v,
		       struct gt_suppressions *suppressions)
{
	for (size_t i = 0; i < leaks->count; i++) {
		struct gt_leak *leak = &leaks->list[i];
		const struct gt_frame *frames;
		size_t count = gt_frames_get(v->frames, leak->stack, &frames);
		struct gt_suppression *s = gt_suppressions_find(
			suppressions, (enum gt_api)leak->api, (enum gt_kind)leak->kind,
			gt_function_names[leak->function], frames, count);

		if (!s)
			continue;
		leak->suppressed = s;
		s->count += leak->count;
		s->bytes += leak->bytes;
		weigh(leak);
	}
}

void gt_leaks_subtract(struct gt_leaks *leaks, const struct gt_leaks *old)
{
	for (size_t i = 0; i < leaks->count; i++) {
		struct gt_leak *leak = &leaks->list[i];
		const struct gt_leak *before = gt_leaks_find(old, leak->key);

		if (!before)
			continue;
		leak->old_count = before->count;
		leak->old_bytes = before->bytes;
		weigh(leak);
	}
}

void gt_leaks_filter(const struct gt_leaks *leaks, const struct gt_ledger *l,
		     struct gt_groups *groups)
{
	size_t kept = 0;

	for (size_t i = 0; leaks && i < groups->count; i++) {
		struct gt_group g = groups->list[i];
		const struct gt_leak *leak = &leaks->list[leaks->of_site[g.site - l->sites] - 1];

		if (leak->new_count || leak->new_bytes) {
			groups->list[kept++] = g;
			continue;
		}
		groups->object_count -= g.count;
		groups->bytes -= g.bytes;
	}
	if (leaks)
		groups->count = kept;
}
