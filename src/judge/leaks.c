/* SPDX-License-Identifier: MIT */
/* leaks.c - leaks by call sites that another recording can recognise, their names and words. */
#include "judge/leaks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "judge/verdict.h"
#include "replay/call_text.h"
#include "replay/group_text.h"
#include "replay/place.h"

/* -1, 0 or 1, for qsort. */
static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_key(const void *a, const void *b)
{
	return order((*(struct gt_leak *const *)a)->key, (*(struct gt_leak *const *)b)->key);
}

static int biggest_first(const void *a, const void *b)
{
	const struct gt_leak *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->kind != y->kind)
		return strcmp(gt_kinds[x->kind].name, gt_kinds[y->kind].name);
	return order(x->key, y->key);
}

/* A group's key. Groups come biggest first, so the first with a key is its biggest. */
struct part {
	uint64_t key;
	size_t group;
};

static int by_key_and_group(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->key != y->key ? order(x->key, y->key) : order(x->group, y->group);
}

/* Adds a group's resources, and counts those that are not certain to have leaked. */
static void add_group(struct gt_leak *leak, const struct gt_view *v, const struct gt_group *g)
{
	leak->count += g->count;
	leak->bytes += g->bytes;
	for (size_t i = 0; i < g->count; i++) {
		enum gt_fate fate = gt_fate_of(v, g->objects[i]);

		if (fate < leak->fate)
			leak->fate = fate;
		if (fate == GT_FATE_LEAKED)
			continue;
		leak->unsure_count++;
		leak->unsure_bytes += gt_entry_bytes(g->objects[i]);
	}
}

static struct part *parts_of(const struct gt_view *v, const struct gt_groups *groups, enum gt_by by)
{
	struct part *parts = gt_alloc(groups->count * sizeof *parts);

	for (size_t i = 0; i < groups->count; i++) {
		const struct gt_site *site = groups->list[i].site;

		parts[i] = (struct part){ gt_site_key(v, site, site->function, by), i };
	}
	qsort(parts, groups->count, sizeof *parts, by_key_and_group);
	return parts;
}

/* Maps the ledger's sites to their leaks, once the list has its final order. */
static void index_sites(struct gt_leaks *leaks, const struct gt_ledger *l,
			const struct gt_groups *groups, const struct part *parts)
{
	size_t at = 0;

	leaks->by_key = gt_alloc(leaks->count * sizeof *leaks->by_key);
	for (size_t i = 0; i < leaks->count; i++)
		leaks->by_key[i] = &leaks->list[i];
	qsort(leaks->by_key, leaks->count, sizeof *leaks->by_key, by_key);
	leaks->of_site = gt_alloc(l->site_count * sizeof *leaks->of_site);
	for (size_t i = 0; i < groups->count; i++) {
		while (leaks->by_key[at]->key != parts[i].key)
			at++;
		leaks->of_site[groups->list[parts[i].group].site - l->sites] =
			(uint32_t)(leaks->by_key[at] - leaks->list) + 1;
	}
}

static uint64_t excess(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* What exceeds the baseline and so much more; nothing of a suppressed leak. */
static struct gt_leak_part beyond(const struct gt_leak *leak, uint64_t count, uint64_t bytes)
{
	if (leak->suppressed)
		return (struct gt_leak_part){ 0 };
	return (struct gt_leak_part){ excess(leak->count, leak->old_count + count),
				      excess(leak->bytes, leak->old_bytes + bytes) };
}

struct gt_leak_part gt_leak_new(const struct gt_leak *leak)
{
	return beyond(leak, 0, 0);
}

struct gt_leak_part gt_leak_sure(const struct gt_leak *leak)
{
	return beyond(leak, leak->unsure_count, leak->unsure_bytes);
}

/* True if it is more than the baseline had, and not suppressed. */
static bool counts(const struct gt_leak *leak)
{
	struct gt_leak_part new = gt_leak_new(leak);

	return new.count || new.bytes;
}

void gt_leaks_init(struct gt_leaks *leaks, const struct gt_view *v, enum gt_by by)
{
	struct gt_groups groups;
	struct part *parts;

	*leaks = (struct gt_leaks){ 0 };
	gt_groups_init(&groups, v->ledger, GT_GROUPS_LEAKS);
	parts = parts_of(v, &groups, by);
	leaks->list = gt_alloc(groups.count * sizeof *leaks->list);
	for (size_t i = 0; i < groups.count; i++) {
		const struct gt_group *g = &groups.list[parts[i].group];

		if (!i || parts[i].key != parts[i - 1].key)
			leaks->list[leaks->count++] =
				(struct gt_leak){ .key = parts[i].key,
						  .api = g->site->api,
						  .kind = g->site->kind,
						  .function = g->site->function,
						  .stack = g->site->stack,
						  .fate = GT_FATE_ALIVE };
		add_group(&leaks->list[leaks->count - 1], v, g);
	}
	qsort(leaks->list, leaks->count, sizeof *leaks->list, biggest_first);
	index_sites(leaks, v->ledger, &groups, parts);
	free(parts);
	gt_groups_fini(&groups);
}

void gt_leaks_fini(struct gt_leaks *leaks)
{
	free(leaks->list);
	free(leaks->by_key);
	free(leaks->of_site);
	*leaks = (struct gt_leaks){ 0 };
}

struct gt_leak *gt_leaks_find(const struct gt_leaks *leaks, uint64_t key)
{
	struct gt_leak wanted = { .key = key }, *pointer = &wanted, **found = NULL;

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
	}
}

void gt_leaks_filter(const struct gt_leaks *leaks, const struct gt_ledger *l,
		     struct gt_groups *groups)
{
	size_t left = 0;

	for (size_t i = 0; leaks && i < groups->count; i++) {
		struct gt_group g = groups->list[i];
		const struct gt_leak *leak = &leaks->list[leaks->of_site[g.site - l->sites] - 1];

		if (counts(leak)) {
			groups->list[left++] = g;
			continue;
		}
		groups->object_count -= g.count;
		groups->bytes -= g.bytes;
	}
	if (leaks)
		groups->count = left;
}

char *gt_leak_title(const struct gt_view *v, const struct gt_leak *leak)
{
	static const char *const verbs[GT_FATE_COUNT] = {
		[GT_FATE_LEAKED] = "leaked by",
		[GT_FATE_PERHAPS] = "perhaps leaked by",
		[GT_FATE_KILLED] = "alive when killed, created by",
		[GT_FATE_ALIVE] = "alive in programs that kept running, created by",
	};
	char kind[GT_KIND_TEXT], words[GT_KIND_TEXT], bytes[GT_FORMAT_MAX], *text;
	char *place = gt_place_text(v->frames, leak->stack, true);

	gt_kind_count(kind, (enum gt_kind)leak->kind, leak->count);
	gt_format_bytes(bytes, leak->bytes);
	if (asprintf(&text, "%s %s %s (%s)%s%s%s%s", kind, verbs[leak->fate],
		     gt_call_name(words, v, leak->function, leak->stack), gt_api_names[leak->api],
		     leak->bytes ? ": " : "", leak->bytes ? bytes : "", leak->stack ? ", at " : "",
		     leak->stack ? place : "") < 0)
		text = gt_strdup(kind);
	free(place);
	return text;
}

char *gt_leak_excuse(const struct gt_view *v, const struct gt_leak *leak)
{
	char *text = NULL;
	int length = 0;

	if (leak->suppressed)
		length = asprintf(&text, "suppressed by %s:%u %s", leak->suppressed->file,
				  leak->suppressed->line, leak->suppressed->text);
	else if (!counts(leak))
		length = asprintf(&text, "already in %s", v->verdict->options.baseline_path);
	return length < 0 ? NULL : text;
}

static void put_frame(FILE *out, const struct gt_view *v, const struct gt_frame *frame)
{
	char *file = frame->file ? gt_frame_file(v, frame) : NULL;

	if (frame->function)
		fprintf(out, "  %s", frame->function);
	else
		fprintf(out, "  %s+0x%" PRIx64, frame->module ? frame->module : "", frame->offset);
	if (file)
		fprintf(out, " (%s:%" PRIu32 ")", file, frame->line);
	putc('\n', out);
	free(file);
}

char *gt_leak_text(const struct gt_view *v, const struct gt_leak *leak)
{
	const struct gt_frame *frames;
	size_t size, count = gt_frames_get(v->frames, leak->stack, &frames);
	char *text = NULL, *title = gt_leak_title(v, leak);
	FILE *out = gt_memstream(&text, &size);

	fprintf(out, "%s\n", title);
	if (leak->old_count)
		fprintf(out, "%" PRIu64 " of these, %" PRIu64 " bytes, already in %s\n",
			leak->old_count, leak->old_bytes, v->verdict->options.baseline_path);
	for (size_t i = 0; i < count; i++)
		put_frame(out, v, &frames[i]);
	if (!count)
		fputs("  (no stack recorded)\n", out);
	gt_memstream_close(out);
	free(title);
	return text;
}

void gt_leaks_list_places(const struct gt_leaks *leaks, const struct gt_view *v)
{
	uint32_t *stacks = gt_alloc(leaks->count * sizeof *stacks);

	for (size_t i = 0; i < leaks->count; i++)
		stacks[i] = leaks->list[i].stack;
	gt_places_list(v->frames, stacks, leaks->count);
	free(stacks);
}

static bool is_at_peak(const struct gt_site *site)
{
	return site->bytes_at_peak && gt_kind_on_device((enum gt_kind)site->kind);
}

bool gt_peak_frame(const struct gt_view *v, struct gt_frame *frame)
{
	struct gt_place_sites sites;
	size_t most = 0;
	bool found;

	gt_place_sites_init(&sites, v->ledger, v->frames, is_at_peak);
	for (size_t i = 1; i < sites.count; i++)
		if (sites.list[i]->bytes_at_peak > sites.list[most]->bytes_at_peak)
			most = i;
	found = sites.count && gt_place_frame(v->frames, sites.list[most]->stack, frame);
	gt_place_sites_fini(&sites);
	return found;
}

char *gt_frame_file(const struct gt_view *v, const struct gt_frame *frame)
{
	const char *here = gt_style_relative(&v->style, frame->file);

	return gt_strdup(here == frame->file ? gt_own_file(gt_frames_own(v->frames), frame) : here);
}

/* Without a function the module, not the offset: that changes with every build. */
static char *name_of(const struct gt_place *place, const struct gt_leak *leak)
{
	if (place->frame.function)
		return gt_place_function(&place->frame);
	return gt_strdup(place->frame.module ? gt_path_name(place->frame.module) :
					       gt_function_names[leak->function]);
}

char *gt_leak_name(const struct gt_view *v, const struct gt_leak *leak)
{
	struct gt_place place;
	char *name;

	gt_place_init(&place, v->frames, leak->stack);
	name = name_of(&place, leak);
	gt_place_fini(&place);
	return name;
}

/* A leak and the name it has so far. */
struct named {
	const struct gt_leak *leak;
	char *name;
	struct gt_place place;
	size_t used; /* of the place's callers */
};

static struct named first_name(const struct gt_view *v, const struct gt_leak *leak)
{
	struct named n = { .leak = leak };

	gt_place_init(&n.place, v->frames, leak->stack);
	n.name = name_of(&n.place, leak);
	return n;
}

/* False when there are no more callers. */
static bool add_caller(struct named *n)
{
	char *function, *longer;

	while (n->used < n->place.caller_count && !n->place.callers[n->used].function)
		n->used++;
	if (n->used == n->place.caller_count)
		return false;
	function = gt_place_function(&n->place.callers[n->used++]);
	if (asprintf(&longer, "%s < %s", n->name, function) >= 0) {
		free(n->name);
		n->name = longer;
	}
	free(function);
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

/* Ties go by key, so that the order is the same in every recording. */
static int by_name_and_key(const void *a, const void *b)
{
	int o = by_name(a, b);

	return o ? o :
		   order(((const struct named *)a)->leak->key,
			 ((const struct named *)b)->leak->key);
}

/* How many entries, from the first on, have the name of the first. */
static size_t count_same(const struct named *list, size_t count)
{
	size_t same = 1;

	while (same < count && !by_name(&list[0], &list[same]))
		same++;
	return same;
}

/* Adds a caller to every name that occurs more than once; false if no name has changed. */
static bool add_callers(struct named *list, size_t count)
{
	bool some = false;

	qsort(list, count, sizeof *list, by_name_and_key);
	for (size_t i = 0, same; i < count; i += same) {
		same = count_same(list + i, count - i);
		for (size_t k = 0; same > 1 && k < same; k++)
			some |= add_caller(&list[i + k]);
	}
	return some;
}

static void add_numbers(struct named *list, size_t count)
{
	for (size_t i = 0, same; i < count; i += same) {
		same = count_same(list + i, count - i);
		for (size_t k = 1; k < same; k++)
			add_number(&list[i + k], k + 1);
	}
}

char **gt_leak_names(const struct gt_view *v, const struct gt_leaks *leaks)
{
	struct named *list = gt_alloc(leaks->count * sizeof *list);
	char **names = gt_alloc(leaks->count * sizeof *names);

	for (size_t i = 0; i < leaks->count; i++)
		list[i] = first_name(v, &leaks->list[i]);
	while (add_callers(list, leaks->count))
		continue;
	add_numbers(list, leaks->count);
	for (size_t i = 0; i < leaks->count; i++) {
		names[list[i].leak - leaks->list] = list[i].name;
		gt_place_fini(&list[i].place);
	}
	free(list);
	return names;
}
