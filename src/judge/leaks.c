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
#include "replay/frame_facts.h"
#include "replay/group_text.h"
#include "replay/place.h"

/* -1, 0 or 1, for qsort. */
static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int biggest_first(const void *a, const void *b, void *list)
{
	const struct gt_leak *x = (const struct gt_leak *)list + *(const uint32_t *)a;
	const struct gt_leak *y = (const struct gt_leak *)list + *(const uint32_t *)b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->kind != y->kind)
		return strcmp(gt_kinds[x->kind].name, gt_kinds[y->kind].name);
	return order(x->key, y->key);
}

/* One of the ledger's sites and its words. */
struct part {
	uint64_t key;
	uint32_t site, count;
};

/* The ledger's sites, and which of their bytes count. */
struct measure {
	const struct gt_site *sites;
	uint64_t (*bytes)(const struct gt_site *site);
};

/* The biggest of a key first, as it gives the leak its stack. */
static int by_key_then_biggest(const void *a, const void *b, void *measure)
{
	const struct part *x = a, *y = b;
	const struct measure *m = measure;
	uint64_t p = m->bytes(&m->sites[x->site]), q = m->bytes(&m->sites[y->site]);

	if (x->key != y->key)
		return order(x->key, y->key);
	if (p != q)
		return order(q, p);
	return x->count != y->count ? order(y->count, x->count) : order(x->site, y->site);
}

/* Makes leaks of the parts, and maps the sites to them. */
static void join_parts(struct gt_leaks *leaks, const struct gt_ledger *l, struct part *parts,
		       size_t count, uint64_t (*bytes)(const struct gt_site *site))
{
	struct measure measure = { l->sites, bytes };
	size_t distinct = 0;

	qsort_r(parts, count, sizeof *parts, by_key_then_biggest, &measure);
	for (size_t i = 0; i < count; i++)
		distinct += !i || parts[i].key != parts[i - 1].key;
	leaks->list = gt_alloc(distinct * sizeof *leaks->list);
	leaks->of_site = gt_alloc(l->site_count * sizeof *leaks->of_site);
	for (size_t i = 0; i < count; i++) {
		const struct gt_site *site = &l->sites[parts[i].site];

		if (!i || parts[i].key != parts[i - 1].key)
			leaks->list[leaks->count++] = (struct gt_leak){ .key = parts[i].key,
									.api = site->api,
									.kind = site->kind,
									.function = site->function,
									.stack = site->stack };
		leaks->list[leaks->count - 1].count += parts[i].count;
		leaks->list[leaks->count - 1].bytes += bytes(site);
		leaks->of_site[parts[i].site] = (uint32_t)leaks->count;
	}
}

/* Brings the list, which is in the order of the keys, into its own, without another list. */
static void arrange(struct gt_leaks *leaks, const struct gt_ledger *l)
{
	uint32_t *from = gt_alloc(leaks->count * sizeof *from);

	leaks->by_key = gt_alloc(leaks->count * sizeof *leaks->by_key);
	for (size_t i = 0; i < leaks->count; i++)
		from[i] = (uint32_t)i;
	qsort_r(from, leaks->count, sizeof *from, biggest_first, leaks->list);
	for (size_t i = 0; i < leaks->count; i++)
		leaks->by_key[from[i]] = (uint32_t)i;
	for (size_t i = 0; i < l->site_count; i++)
		if (leaks->of_site[i])
			leaks->of_site[i] = leaks->by_key[leaks->of_site[i] - 1] + 1;
	for (size_t i = 0; i < leaks->count; i++) {
		struct gt_leak first = leaks->list[i];
		size_t at = i;

		while (from[at] != i) {
			size_t next = from[at];

			leaks->list[at] = leaks->list[next];
			from[at] = (uint32_t)at;
			at = next;
		}
		leaks->list[at] = first;
		from[at] = (uint32_t)at;
	}
	free(from);
}

/* Where the fates of resources are counted. */
struct counting {
	const struct gt_ledger *ledger;
	const struct gt_leaks *leaks;
};

static void count_fate(void *context, const struct gt_entry *entry, enum gt_fate fate)
{
	const struct counting *c = context;
	const struct gt_site *site = gt_ledger_site(c->ledger, entry);
	uint32_t number = site ? c->leaks->of_site[site - c->ledger->sites] : 0;
	struct gt_leak *leak;

	if (!number)
		return;
	leak = &c->leaks->list[number - 1];
	if (fate < leak->fate)
		leak->fate = fate;
	if (fate == GT_FATE_LEAKED)
		return;
	leak->unsure_count++;
	leak->unsure_bytes += gt_entry_bytes(entry);
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

static uint64_t bytes_left(const struct gt_site *site)
{
	return site->bytes_live;
}

void gt_leaks_init(struct gt_leaks *leaks, const struct gt_view *v, enum gt_by by)
{
	const struct gt_ledger *l = v->ledger;
	struct part *parts = gt_alloc(l->site_count * sizeof *parts);
	size_t count = 0;

	*leaks = (struct gt_leaks){ 0 };
	for (size_t i = 0; i < l->site_count; i++) {
		const struct gt_site *site = &l->sites[i];

		if (site->live && gt_site_leaks(site))
			parts[count++] = (struct part){ gt_site_key(v, site, site->function, by),
							(uint32_t)i, (uint32_t)site->live };
	}
	join_parts(leaks, l, parts, count, bytes_left);
	free(parts);
	for (size_t i = 0; i < leaks->count; i++)
		leaks->list[i].fate = GT_FATE_ALIVE;
	gt_fate_each(v, count_fate, &(struct counting){ .ledger = l, .leaks = leaks });
	arrange(leaks, l);
}

static bool is_at_peak(const struct gt_site *site)
{
	return site->bytes_at_peak && gt_kind_on_device((enum gt_kind)site->kind);
}

static uint64_t bytes_held(const struct gt_site *site)
{
	return site->bytes_at_peak;
}

void gt_leaks_init_peak(struct gt_leaks *leaks, const struct gt_view *v, enum gt_by by)
{
	const struct gt_ledger *l = v->ledger;
	struct part *parts = gt_alloc(l->site_count * sizeof *parts);
	size_t count = 0;

	*leaks = (struct gt_leaks){ 0 };
	for (size_t i = 0; i < l->site_count; i++)
		if (is_at_peak(&l->sites[i]))
			parts[count++] =
				(struct part){ gt_site_key(v, &l->sites[i], GT_FN_NONE, by),
					       (uint32_t)i, l->sites[i].live_at_peak };
	join_parts(leaks, l, parts, count, bytes_held);
	free(parts);
	for (size_t i = 0; i < leaks->count; i++)
		leaks->list[i].function = GT_FN_NONE;
	arrange(leaks, l);
}

void gt_leaks_forget_sites(struct gt_leaks *leaks)
{
	free(leaks->of_site);
	leaks->of_site = NULL;
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
	size_t low = 0, high = leaks->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct gt_leak *leak = &leaks->list[leaks->by_key[middle]];

		if (leak->key == key)
			return leak;
		if (leak->key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
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
		leak->suppressed = (uint32_t)(s - suppressions->list) + 1;
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

	if (leak->suppressed) {
		const struct gt_suppression *s =
			&v->verdict->options.suppressions->list[leak->suppressed - 1];

		length = asprintf(&text, "suppressed by %s:%u %s", s->file, s->line, s->text);
	}
	if (!leak->suppressed && !counts(leak))
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
		fprintf(out, "%" PRIu32 " of these, %" PRIu64 " bytes, already in %s\n",
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
	struct gt_own *own = gt_frames_own(v->frames);
	const char *here = gt_style_relative(&v->style, frame->file);
	const char *rooted = gt_own_file(own, frame);

	/* a root that the user named goes before the folder that gputrack happens to run in */
	if (here == frame->file || (gt_own_has_roots(own) && rooted != frame->file))
		return gt_strdup(rooted);
	return gt_strdup(here);
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

/* A leak and the name it has so far, as a hash: of many leaks, texts would take much memory. */
struct named {
	uint64_t name;
	uint32_t leak, callers;
};

/* What tells names apart is compared within one API and kind. */
static int by_name_and_key(const void *a, const void *b, void *list)
{
	const struct named *x = a, *y = b;
	const struct gt_leak *leaks = list;

	if (x->name != y->name)
		return order(x->name, y->name);
	return order(leaks[x->leak].key, leaks[y->leak].key);
}

static struct named first_name(const struct gt_view *v, const struct gt_leaks *leaks, size_t i)
{
	const struct gt_leak *leak = &leaks->list[i];
	char *name = gt_leak_name(v, leak);
	struct named n = { .leak = (uint32_t)i };

	n.name = gt_facts_add_word(gt_facts_add(leak->api, leak->kind), name);
	free(name);
	return n;
}

/* False when there are no more callers. */
static bool add_caller(struct named *n, const struct gt_view *v, const struct gt_leaks *leaks)
{
	uint64_t name;

	if (!gt_place_caller(v->frames, leaks->list[n->leak].stack, n->callers, &name))
		return false;
	n->callers++;
	n->name = gt_facts_add(n->name, name);
	return true;
}

/* How many entries, from the first on, have the name of the first. */
static size_t count_same(const struct named *list, size_t count)
{
	size_t same = 1;

	while (same < count && list[0].name == list[same].name)
		same++;
	return same;
}

/* Adds a caller to every name that occurs more than once; false if no name has changed. */
static bool add_callers(struct named *list, const struct gt_view *v, const struct gt_leaks *leaks)
{
	bool some = false;

	qsort_r(list, leaks->count, sizeof *list, by_name_and_key, leaks->list);
	for (size_t i = 0, same; i < leaks->count; i += same) {
		same = count_same(list + i, leaks->count - i);
		for (size_t k = 0; same > 1 && k < same; k++)
			some |= add_caller(&list[i + k], v, leaks);
	}
	return some;
}

struct gt_leak_distinction *gt_leaks_distinguish(const struct gt_leaks *leaks,
						 const struct gt_view *v)
{
	struct named *list = gt_alloc(leaks->count * sizeof *list);
	struct gt_leak_distinction *all;

	for (size_t i = 0; i < leaks->count; i++)
		list[i] = first_name(v, leaks, i);
	while (add_callers(list, v, leaks))
		continue;
	all = gt_alloc(leaks->count * sizeof *all);
	for (size_t i = 0, same; i < leaks->count; i += same) {
		same = count_same(list + i, leaks->count - i);
		for (size_t k = 0; k < same; k++)
			all[list[i + k].leak] =
				(struct gt_leak_distinction){ list[i + k].callers,
							      k ? (uint32_t)k + 1 : 0 };
	}
	free(list);
	return all;
}

char *gt_leak_full_name(const struct gt_view *v, const struct gt_leak *leak,
			const struct gt_leak_distinction *how)
{
	struct gt_place place;
	char *text = NULL, *name;
	uint32_t callers = 0;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	gt_place_init(&place, v->frames, leak->stack);
	name = name_of(&place, leak);
	fputs(name, out);
	free(name);
	for (size_t i = 0; i < place.caller_count && callers < how->callers; i++) {
		if (!place.callers[i].function)
			continue;
		name = gt_place_function(&place.callers[i]);
		fprintf(out, " < %s", name);
		free(name);
		callers++;
	}
	if (how->number)
		fprintf(out, " #%" PRIu32, how->number);
	gt_place_fini(&place);
	gt_memstream_close(out);
	return text;
}
