/* SPDX-License-Identifier: MIT */
/* held.c - what libraries hold by design until the process ends. */
#include "replay/held.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "ledger/groups.h"
#include "replay/group_text.h"
#include "replay/place.h"

static const char list_text[] =
#include "held_list.h"
	;

static struct gt_suppressions rules;
static struct gt_held_entry *entries;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* "LIBRARY VERSION: REASON" */
static void read_entry(struct gt_held_entry *e, const struct gt_suppression *rule)
{
	const char *text = rule->comment ? rule->comment : "", *colon = strstr(text, ": ");
	size_t head = colon ? (size_t)(colon - text) : strlen(text), name = head;

	while (name && text[name - 1] != ' ')
		name--;
	e->rule = rule;
	e->library = gt_strndup(text, name ? name - 1 : 0);
	e->version = gt_strndup(text + name, head - name);
	e->reason = gt_strdup(colon ? colon + 2 : "");
	e->module = gt_suppression_library(rule);
}

static void read_list(void)
{
	struct gt_error error;

	/* part of the program: a line that does not parse fails a test */
	if (gt_suppressions_parse(&rules, "held-by-libraries.supp", list_text, sizeof list_text - 1,
				  &error))
		gt_suppressions_fini(&rules);
	entries = gt_alloc(rules.count * sizeof *entries);
	for (size_t i = 0; i < rules.count; i++)
		read_entry(&entries[i], &rules.list[i]);
}

size_t gt_held_list(const struct gt_held_entry **list)
{
	pthread_once(&once, read_list);
	*list = entries;
	return rules.count;
}

static bool is_on_list(const char *module)
{
	for (size_t i = 0; i < rules.count; i++)
		if (!entries[i].module || gt_pattern_matches(entries[i].module, module))
			return true;
	return false;
}

bool *gt_held_modules(const struct gt_recording *r)
{
	const struct gt_held_entry *list;
	size_t count = gt_recording_module_count(r);
	bool *known = gt_alloc(count * sizeof *known);

	gt_held_list(&list);
	for (size_t i = 0; i < count; i++)
		known[i] = is_on_list(gt_recording_module(r, (uint32_t)i)->path);
	return known;
}

static bool is_of_list(const struct gt_recording *r, const bool *known,
		       const struct gt_trace_frame *frame)
{
	if (frame->module == GT_TEXT_MODULE)
		return is_on_list(gt_recording_text_frame(r, frame->address)->module);
	if (frame->module == GT_NO_MODULE)
		return false;
	return known[frame->module];
}

/* By the modules alone: names of functions cost much more, and few stacks need them. */
static bool may_be_held(const struct gt_recording *r, const bool *known, uint32_t stack)
{
	const struct gt_trace_frame *frames;
	size_t count = gt_recording_stack(r, stack, &frames);

	for (size_t i = 0; i < count; i++)
		if (is_of_list(r, known, &frames[i]))
			return true;
	return false;
}

uint32_t gt_held_entry_of(const struct gt_recording *r, const bool *known, struct gt_frames *frames,
			  const struct gt_site *site)
{
	const struct gt_suppression *rule;
	const struct gt_frame *named;
	size_t count;

	if (gt_kinds[site->kind].habits & GT_LASTING || !may_be_held(r, known, site->stack))
		return 0;
	count = gt_frames_get(frames, site->stack, &named);
	rule = gt_suppressions_find(&rules, (enum gt_api)site->api, (enum gt_kind)site->kind,
				    gt_function_names[site->function], named, count);
	return rule ? (uint32_t)(rule - rules.list) + 1 : 0;
}

void gt_held_find(struct gt_ledger *l, const struct gt_recording *recording,
		  struct gt_frames *frames)
{
	bool *known = gt_held_modules(recording);

	for (size_t i = 0; i < l->site_count; i++) {
		uint32_t held = l->sites[i].live ?
					gt_held_entry_of(recording, known, frames, &l->sites[i]) :
					0;

		if (held)
			gt_ledger_hold(l, i, held);
	}
	free(known);
}

struct sum {
	uint32_t held;
	uint64_t count, bytes;
};

static int biggest_first(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->held > y->held) - (x->held < y->held);
}

/* By entry of the list, those that hold something; the caller frees them. */
static size_t sum_up(const struct gt_ledger *l, struct sum **sums)
{
	size_t used = 0;

	*sums = gt_alloc(rules.count * sizeof **sums);
	for (size_t i = 0; i < l->site_count; i++) {
		const struct gt_site *site = &l->sites[i];

		if (!site->held)
			continue;
		(*sums)[site->held - 1].held = site->held;
		(*sums)[site->held - 1].count += site->live;
		(*sums)[site->held - 1].bytes += site->bytes_live;
	}
	qsort(*sums, rules.count, sizeof **sums, biggest_first);
	while (used < rules.count && (*sums)[used].count)
		used++;
	return used;
}

static void put_libraries(FILE *out, const struct gt_ledger *l)
{
	struct sum *sums;
	size_t count = sum_up(l, &sums), named = 0;

	for (size_t i = 0; i < count; i++) {
		const char *library = entries[sums[i].held - 1].library;
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again |= !strcmp(entries[sums[k].held - 1].library, library);
		if (!again)
			fprintf(out, "%s%s", named++ ? ", " : "", library);
	}
	free(sums);
}

static char *sum_text(const struct gt_ledger *l)
{
	uint64_t bytes = l->held.device_bytes + l->held.host_bytes;
	char number[GT_FORMAT_MAX], *text = NULL;
	size_t size;
	FILE *out;

	if (!l->held.count)
		return NULL;
	out = gt_memstream(&text, &size);
	fprintf(out, "%s %s", gt_format_count(number, l->held.count),
		gt_plural(l->held.count, "resource", "resources"));
	if (bytes)
		fprintf(out, ", %s", gt_format_bytes(number, bytes));
	fputs(" (", out);
	put_libraries(out, l);
	fputs(")", out);
	gt_memstream_close(out);
	return text;
}

char *gt_held_line(const struct gt_ledger *l)
{
	char *sum = sum_text(l), *text = NULL;

	if (sum && asprintf(&text, "held by libraries until exit: %s", sum) < 0)
		text = NULL;
	free(sum);
	return text;
}

/* Why each library holds what it does, the most first. */
static void put_reasons(struct gt_printer *p, const struct gt_ledger *l)
{
	struct sum *sums;
	size_t count = sum_up(l, &sums);

	for (size_t i = 0; i < count; i++) {
		const struct gt_held_entry *e = &entries[sums[i].held - 1];
		char number[GT_FORMAT_MAX], bytes[GT_FORMAT_MAX];

		gt_print_wrap(p, GT_PLAIN, 2,
			      sums[i].bytes ? "%s %s, %s: %s, %s" : "%s %s%s: %s, %s",
			      gt_format_count(number, sums[i].count),
			      gt_plural(sums[i].count, "resource", "resources"),
			      sums[i].bytes ? gt_format_bytes(bytes, sums[i].bytes) : "",
			      e->library, e->reason);
	}
	free(sums);
}

void gt_held_text(struct gt_printer *p, const struct gt_view *v)
{
	char *line = gt_held_line(v->ledger), *sum = sum_text(v->ledger);

	if (sum && !v->show_held)
		gt_print_wrap(p, GT_PLAIN, 2, "%s; --show-held lists them", line);
	if (sum && v->show_held) {
		gt_print_end(p);
		gt_print_line(p, GT_BOLD, "HELD BY LIBRARIES  until exit: %s", sum);
		put_reasons(p, v->ledger);
	}
	free(line);
	free(sum);
}

void gt_held_groups_text(struct gt_printer *p, const struct gt_view *v)
{
	struct gt_groups groups;

	if (!v->show_held || !v->ledger->held.count)
		return;
	gt_groups_init(&groups, v->ledger, GT_GROUPS_HELD);
	gt_place_groups(&groups, v);
	gt_print_end(p);
	gt_groups_text(p, v, v->ledger, &groups);
	gt_groups_fini(&groups);
}

void gt_held_json(struct gt_json *j, const struct gt_view *v)
{
	const struct gt_freed *held = &v->ledger->held;
	const struct gt_held_entry *list;
	struct gt_groups groups;
	struct sum *sums;
	size_t count;

	gt_held_list(&list);
	count = sum_up(v->ledger, &sums);
	gt_json_object(j, "held");
	gt_json_uint(j, "count", held->count);
	gt_json_uint(j, "bytes", held->device_bytes + held->host_bytes);
	gt_json_uint(j, "device_bytes", held->device_bytes);
	gt_json_uint(j, "host_bytes", held->host_bytes);
	gt_json_array(j, "by");
	for (size_t i = 0; i < count; i++) {
		const struct gt_held_entry *e = &list[sums[i].held - 1];

		gt_json_line(j, NULL);
		gt_json_text(j, "library", e->library);
		gt_json_text(j, "reason", e->reason);
		gt_json_text(j, "suppression", e->rule->text);
		gt_json_uint(j, "count", sums[i].count);
		gt_json_uint(j, "bytes", sums[i].bytes);
		gt_json_end(j);
	}
	gt_json_end(j);
	if (v->show_held) {
		gt_groups_init(&groups, v->ledger, GT_GROUPS_HELD);
		gt_place_groups(&groups, v);
		gt_groups_json(j, "groups", v, v->ledger, &groups);
		gt_groups_fini(&groups);
	}
	gt_json_end(j);
	free(sums);
}
