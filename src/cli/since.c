/* SPDX-License-Identifier: MIT */
/* since.c - `gputrack since`: what a running process has created and still holds, for our library
 * in it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "ledger/groups.h"
#include "replay/group_text.h"
#include "replay/held.h"
#include "replay/place.h"
#include "replay/replay.h"
#include "replay/suppressions.h"

struct settings {
	struct gt_input input;
	const char *spans;
	struct gt_texts suppressions;
};

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "spans", .argument = "FROM-TO[,FROM-TO…]", .type = GT_OPTION_TEXT, AT(spans),
	  .help = "resources created from the one to before the other, in ns of CLOCK_MONOTONIC" },
	{ .name = "suppressions", .type = GT_OPTION_TEXTS, .argument = "FILE", .is_path = true,
	  AT(suppressions), .local = GT_LOCAL_BELOW, .help = "leaks that are known" },
	GT_INPUT_READING(struct settings),
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_since_syntax = {
	.name = "since",
	.summary =
		"list what a running process created and still holds, for gputrack's own library",
	.operands = "NAME.gt",
	.options = options,
};

static bool is_within(const char *spans, uint64_t time_ns)
{
	while (spans && *spans) {
		char *end;
		uint64_t from = strtoull(spans, &end, 10), to;

		if (*end != '-')
			return false;
		to = strtoull(end + 1, &end, 10);
		if (time_ns >= from && time_ns < to)
			return true;
		spans = *end == ',' ? end + 1 : NULL;
	}
	return false;
}

/* The earliest moment that is asked about. */
static uint64_t first_of(const char *spans)
{
	uint64_t first = UINT64_MAX;

	while (spans && *spans) {
		uint64_t from = strtoull(spans, NULL, 10);

		first = from < first ? from : first;
		spans = strchr(spans, ',');
		spans += spans != NULL;
	}
	return first;
}

/* False if events since then may be missing: the recording does not tell about that time. */
static bool is_complete(const struct settings *s, const struct gt_recording *recording)
{
	bool is_there = false;

	for (size_t i = 0; i < gt_recording_process_count(recording); i++) {
		const struct gt_process *p = gt_recording_process(recording, i);

		if (p->pid != s->input.pid)
			continue;
		if (p->gap_last_ns >= first_of(s->spans) || p->unread)
			return false;
		is_there = true;
	}
	return is_there;
}

static bool selects(const void *context, const struct gt_entry *entry, int which)
{
	const struct settings *s = context;

	(void)which;
	return is_within(s->spans, entry->time_ns);
}

/* A tab or newline in the text would split the field. */
static void put_field(const char *text, char end)
{
	for (; text && *text; text++)
		putchar((unsigned char)*text < ' ' ? '?' : *text);
	putchar(end);
}

static void put_frames(const struct gt_view *v, uint32_t stack)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(v->frames, stack, &frames);

	for (size_t i = 0; i < count; i++) {
		char *line = gt_place_line(gt_frames_own(v->frames), &frames[i]);

		fputs("frame\t", stdout);
		put_field(line, '\n');
		free(line);
	}
}

/* Why a group is no leak; "" if it may be one. The caller frees it. */
static char *excuse_of(const struct gt_view *v, const struct gt_suppressions *known,
		       const struct gt_group *g)
{
	const struct gt_site *site = g->site;
	const struct gt_held_entry *list;
	const struct gt_suppression *rule;
	const struct gt_frame *frames;
	char *text = NULL;
	size_t count;

	if (site->held) {
		gt_held_list(&list);
		if (asprintf(&text, "held by %s: %s", list[site->held - 1].library,
			     list[site->held - 1].reason) < 0)
			text = NULL;
	} else if (gt_kinds[site->kind].habits & GT_LASTING) {
		text = gt_strdup(gt_kind_is_cache((enum gt_kind)site->kind) ?
					 "memory that a pool holds" :
					 "lives until the process ends");
	} else {
		count = gt_frames_get(v->frames, site->stack, &frames);
		rule = gt_suppressions_find(known, (enum gt_api)site->api, (enum gt_kind)site->kind,
					    gt_function_names[site->function], frames, count);
		if (rule && asprintf(&text, "suppressed by %s:%u", rule->file, rule->line) < 0)
			text = NULL;
	}
	return text ? text : gt_strdup("");
}

static void put_group(const struct gt_view *v, const struct gt_suppressions *known,
		      const struct gt_group *g)
{
	char words[GT_KIND_TEXT], bytes[GT_FORMAT_MAX];
	char *place = gt_place_text(v->frames, g->site->stack, true);
	char *excuse = excuse_of(v, known, g);
	struct gt_frame frame = { 0 };

	printf("site\t%zu\t%" PRIu64 "\t", g->count, g->bytes);
	fputs(gt_kind_count(words, (enum gt_kind)g->site->kind, g->count), stdout);
	if (g->bytes)
		printf(", %s", gt_format_bytes(bytes, g->bytes));
	putchar('\t');
	put_field(gt_api_names[g->site->api], '\t');
	put_field(gt_kinds[g->site->kind].name, '\t');
	put_field(gt_function_names[g->site->function], '\t');
	put_field(place, '\t');
	if (!gt_place_frame(v->frames, g->site->stack, &frame))
		frame = (struct gt_frame){ 0 };
	put_field(frame.file, '\t');
	printf("%u\t", frame.line);
	put_field(excuse, '\n');
	put_frames(v, g->site->stack);
	free(place);
	free(excuse);
}

/* The groups of one sort: leaks, or what is none. */
static void put_groups(const struct gt_view *v, const struct settings *s,
		       const struct gt_suppressions *known, enum gt_groups_of which)
{
	struct gt_groups all, recent;

	gt_groups_init(&all, v->ledger, which);
	gt_groups_select(&recent, &all, selects, s, 0);
	gt_place_groups(&recent, v);
	gt_places_list_groups(v->frames, &recent, SIZE_MAX);
	for (size_t i = 0; i < recent.count; i++)
		put_group(v, known, &recent.list[i]);
	gt_groups_fini(&recent);
	gt_groups_fini(&all);
}

static int list(const struct settings *s, struct gt_recording *recording, struct gt_error *error)
{
	struct gt_suppressions known = { 0 };
	struct gt_view v = { .recording = recording };
	struct gt_ledger *ledger;
	int e = 0;

	for (size_t i = 0; i < s->suppressions.count && !e; i++)
		e = gt_suppressions_read(&known, s->suppressions.items[i], error);
	if (!e)
		e = gt_input_frames(&s->input, recording, &v.frames, error);
	if (e)
		goto free_suppressions;
	v.ledger = ledger = gt_replay_run(
		recording, &(struct gt_replay){ .pid = (uint32_t)s->input.pid,
						.held = gt_input_held(&s->input, v.frames) });
	if (is_complete(s, recording)) {
		put_groups(&v, s, &known, GT_GROUPS_LEAKS);
		put_groups(&v, s, &known, GT_GROUPS_HELD);
		put_groups(&v, s, &known, GT_GROUPS_LASTING);
		puts("end");
	} else {
		e = gt_error_set(error, -ENODATA,
				 "the recording has stopped, or lost events, since then");
	}
	gt_frames_free(v.frames);
	gt_ledger_free(ledger);
free_suppressions:
	gt_suppressions_fini(&known);
	return e;
}

int gt_cmd_since(int argc, char **argv)
{
	struct settings s = { 0 };
	struct gt_recording *recording;
	struct gt_error error;
	int status, first = gt_options_parse(&gt_since_syntax, &s, argc, argv, &status);

	if (first >= 0)
		status = gt_input_open(&gt_since_syntax, &s.input, argc, argv, first, &recording);
	if (first < 0 || status)
		goto free_settings;
	if (list(&s, recording, &error))
		status = gt_fail("%s", error.text);
	gt_recording_close(recording);
free_settings:
	gt_texts_fini(&s.suppressions);
	gt_input_fini(&s.input);
	return status;
}
