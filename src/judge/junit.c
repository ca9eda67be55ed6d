/* SPDX-License-Identifier: MIT */
/*
 * junit.c - leaks as JUnit XML: a suite for each recording, named after its test, and in it a case
 * for each call site that leaked.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/held.h"
#include "replay/place.h"
#include "judge/merged.h"
#include "judge/verdict.h"

/* A recording's suite while it is written. */
struct suite {
	const struct gt_view *v;
	FILE *out;
	char *test;
	bool untracked_is_skipped; /* another recording tracked something */
};

static void attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	gt_xml_put(out, value);
	putc('"', out);
}

static void open_case(FILE *out, const char *class, const char *name)
{
	fputs("    <testcase", out);
	attribute(out, "classname", class);
	attribute(out, "name", name);
	fputs(" time=\"0\"", out);
}

/* An element whose message is the text's first line, and whose body is all of it. */
static void put_result(FILE *out, const char *element, const char *type, const char *text)
{
	char *title = strndup(text, strcspn(text, "\n"));

	fprintf(out, "      <%s", element);
	if (strcmp(element, "system-out"))
		attribute(out, "message", title ? title : "");
	if (type)
		attribute(out, "type", type);
	putc('>', out);
	for (const char *line = text; *line;) {
		size_t size = strcspn(line, "\n");
		char *one = strndup(line, size);

		gt_xml_put(out, one ? one : "");
		putc('\n', out);
		free(one);
		line += size + (line[size] == '\n');
	}
	fprintf(out, "</%s>\n", element);
	free(title);
}

/* The file and line of a stack's place, if it has any. */
static void put_place(FILE *out, const struct gt_view *v, uint32_t stack)
{
	struct gt_frame frame;
	char *file;

	if (!gt_place_frame(v->frames, stack, &frame))
		return;
	file = gt_frame_file(v, &frame);
	attribute(out, "file", file);
	fprintf(out, " line=\"%" PRIu32 "\"", frame.line);
	free(file);
}

/*
 * "opencl.buffer at load < step, src/load.c": without the line, and without folders that are not
 * below a root, so that a case keeps its name in the next build. Where the file is not known, the
 * module.
 */
static void open_site(const struct suite *s, const char *before, const struct gt_leak *leak,
		      const struct gt_leak_distinction *how)
{
	char word[96], *name = gt_leak_full_name(s->v, leak, how), *text, *file = NULL;
	struct gt_place place;

	gt_place_init(&place, s->v->frames, leak->stack);
	if (place.frame.file)
		file = gt_frame_file(s->v, &place.frame);
	else if (place.frame.function && place.frame.module)
		file = gt_strdup(gt_path_name(place.frame.module));
	gt_place_fini(&place);
	gt_select_word(word, sizeof word, (enum gt_api)leak->api, (enum gt_kind)leak->kind);
	if (asprintf(&text, "%s%s at %s%s%s", before, word, name, file ? ", " : "",
		     !file        ? "" :
		     *file == '/' ? gt_path_name(file) :
				    file) < 0)
		text = gt_strdup(name);
	open_case(s->out, s->test, text);
	put_place(s->out, s->v, leak->stack);
	fputs(">\n", s->out);
	free(text);
	free(file);
	free(name);
}

static void put_leak(const struct suite *s, const struct gt_leak *leak,
		     const struct gt_leak_distinction *how)
{
	const struct gt_view *v = s->v;
	char *excuse = gt_leak_excuse(v, leak), *text;
	FILE *out = s->out;

	open_site(s, "", leak, how);
	text = gt_leak_text(v, leak);
	if (gt_verdict_fails(v->verdict, leak))
		put_result(out, "failure", "leak", text);
	else if (excuse)
		put_result(out, "skipped", NULL, excuse);
	else
		put_result(out, "system-out", NULL, text);
	fputs("    </testcase>\n", out);
	free(text);
	free(excuse);
}

static void put_growing(const struct suite *s, const struct gt_growing *one)
{
	char *text = gt_growing_title(s->v, one);
	char *excuse = gt_growing_excuse(one, s->v->verdict->options.baseline_path);
	FILE *out = s->out;

	if (one->fails)
		put_result(out, "failure", "growth", text);
	else
		put_result(out, excuse ? "skipped" : "system-out", NULL, excuse ? excuse : text);
	fputs("    </testcase>\n", out);
	free(text);
	free(excuse);
}

/* Named as leaks at the same places would be. */
static void put_all_growing(const struct suite *s)
{
	const struct gt_growing_sites *growing = &s->v->verdict->growing;
	struct gt_leaks places = { .list = gt_alloc(growing->count * sizeof *places.list),
				   .count = growing->count };
	struct gt_leak_distinction *names;

	for (size_t i = 0; i < growing->count; i++) {
		const struct gt_site *site = growing->list[i].site;

		places.list[i] = (struct gt_leak){ .key = growing->list[i].key,
						   .api = site->api,
						   .kind = site->kind,
						   .function = site->function,
						   .stack = site->stack };
	}
	names = gt_leaks_distinguish(&places, s->v);
	for (size_t i = 0; i < growing->count; i++) {
		open_site(s, "growth of ", &places.list[i], &names[i]);
		put_growing(s, &growing->list[i]);
	}
	free(names);
	free(places.list);
}

/* A case for the whole program; `text` NULL: it passed. */
static void put_whole(const struct suite *s, const char *name, const char *element,
		      const char *type, const char *text)
{
	FILE *out = s->out;

	open_case(out, s->test, name);
	if (!text) {
		fputs("/>\n", out);
		return;
	}
	fputs(">\n", out);
	put_result(out, element, type, text);
	fputs("    </testcase>\n", out);
}

static void put_wholes(const struct suite *s)
{
	const struct gt_verdict *verdict = s->v->verdict;
	char *held = gt_held_line(s->v->ledger);

	if (verdict->outcome == GT_OUTCOME_UNTRACKED && s->untracked_is_skipped)
		put_whole(s, "leaks", "skipped", NULL, verdict->doubt);
	else
		put_whole(s, "leaks", "error",
			  verdict->outcome == GT_OUTCOME_UNTRACKED ? "untracked" : "unsure",
			  verdict->doubt);
	if (verdict->options.max_peak)
		put_whole(s, "peak", "failure", "peak", verdict->over_peak ? verdict->peak : NULL);
	if (verdict->options.growth && !verdict->growing.count)
		put_whole(s, "growth", "failure", "growth", NULL);
	if (gt_limits_of_residue(verdict->options.limits))
		put_whole(s, "residue", "failure", "residue", verdict->residue);
	if (held)
		put_whole(s, "held by libraries", "skipped", NULL, held);
	free(held);
}

struct counts {
	size_t tests, failures, errors, skipped;
};

static struct counts count_cases(const struct gt_view *v, bool untracked_is_skipped)
{
	bool skipped = untracked_is_skipped && v->verdict->outcome == GT_OUTCOME_UNTRACKED;
	const struct gt_leaks *leaks = &v->verdict->leaks;
	const struct gt_verdict_options *asked = &v->verdict->options;
	const struct gt_growing_sites *growing = &v->verdict->growing;
	struct counts c = {
		.tests = leaks->count + growing->count + (asked->growth && !growing->count) + 1 +
			 !!asked->max_peak + gt_limits_of_residue(asked->limits) +
			 !!v->ledger->held.count,
		.failures = !!v->verdict->residue + v->verdict->over_peak + growing->failing,
		.errors = v->verdict->doubt && !skipped,
		.skipped = !!v->ledger->held.count + skipped,
	};

	for (size_t i = 0; i < leaks->count; i++) {
		bool fails = gt_verdict_fails(v->verdict, &leaks->list[i]);
		char *excuse = gt_leak_excuse(v, &leaks->list[i]);

		c.failures += fails;
		c.skipped += !fails && excuse;
		free(excuse);
	}
	for (size_t i = 0; i < growing->count; i++) {
		char *excuse = gt_growing_excuse(&growing->list[i], asked->baseline_path);

		c.skipped += !growing->list[i].fails && excuse;
		free(excuse);
	}
	return c;
}

static void put_property(FILE *out, const char *name, const char *value)
{
	fputs("      <property", out);
	attribute(out, "name", name);
	attribute(out, "value", value);
	fputs("/>\n", out);
}

static void put_properties(const struct suite *s)
{
	const struct gt_verdict *verdict = s->v->verdict;
	const struct gt_ledger *l = s->v->ledger;
	const struct {
		const char *name;
		uint64_t value;
	} figures[] = {
		{ "events", l->events },
		{ "created", gt_ledger_total(l).created },
		{ "leaked", verdict->counted.count },
		{ "leaked_bytes", verdict->counted.bytes },
		{ "peak_bytes", verdict->peak_bytes },
	};
	char text[24];

	fputs("    <properties>\n", s->out);
	put_property(s->out, "command", gt_recording_info(s->v->recording, "command"));
	put_property(s->out, "recording", gt_recording_path(s->v->recording));
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
		snprintf(text, sizeof text, "%" PRIu64, figures[i].value);
		put_property(s->out, figures[i].name, text);
	}
	fputs("    </properties>\n", s->out);
}

static void put_counts(FILE *out, const struct counts *c)
{
	fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", c->tests, c->failures,
		c->errors);
}

/* A recording without events has only the start that gputrack run wrote down. */
static void put_timestamp(const struct suite *s)
{
	uint64_t start_ns = gt_recording_start_real_ns(s->v->recording);
	char text[GT_FORMAT_MAX];

	if (start_ns)
		gt_format_moment(text, start_ns);
	else
		snprintf(text, sizeof text, "%s", gt_recording_info(s->v->recording, "started"));
	/* JUnit's timestamps have no time zone: cut it off */
	text[sizeof "2026-03-01T12:00:00" - 1] = '\0';
	if (*text)
		attribute(s->out, "timestamp", text);
}

static void put_suite(const struct suite *s)
{
	const struct gt_recording *recording = s->v->recording;
	const struct gt_leaks *leaks = &s->v->verdict->leaks;
	struct gt_leak_distinction *names = gt_leaks_distinguish(leaks, s->v);
	struct counts c = count_cases(s->v, s->untracked_is_skipped);
	uint64_t ns = 0;

	gt_leaks_list_places(leaks, s->v);
	if (!gt_recording_duration_ns(recording, &ns))
		ns = 0;
	fputs("  <testsuite", s->out);
	attribute(s->out, "name", s->test);
	put_counts(s->out, &c);
	fprintf(s->out, " skipped=\"%zu\" time=\"%" PRIu64 ".%03" PRIu64 "\"", c.skipped,
		ns / 1000000000, ns / 1000000 % 1000);
	put_timestamp(s);
	attribute(s->out, "hostname", gt_recording_info(recording, "host"));
	fputs(">\n", s->out);
	put_properties(s);
	put_wholes(s);
	for (size_t i = 0; i < leaks->count; i++)
		put_leak(s, &leaks->list[i], &names[i]);
	free(names);
	put_all_growing(s);
	fputs("  </testsuite>\n", s->out);
}

void gt_leaks_junit(const struct gt_views *views, FILE *out)
{
	struct counts all = { 0 };
	bool tracked = false;

	for (size_t i = 0; i < views->count; i++)
		tracked |= views->list[i]->verdict->outcome != GT_OUTCOME_UNTRACKED;
	for (size_t i = 0; i < views->count; i++) {
		struct counts c = count_cases(views->list[i], tracked);

		all.tests += c.tests;
		all.failures += c.failures;
		all.errors += c.errors;
	}
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
	put_counts(out, &all);
	fputs(">\n", out);
	for (size_t i = 0; i < views->count; i++) {
		struct suite s = { views->list[i], out,
				   gt_test_name(gt_recording_path(views->list[i]->recording)),
				   tracked };

		put_suite(&s);
		free(s.test);
	}
	fputs("</testsuites>\n", out);
}
