/* SPDX-License-Identifier: MIT */
/* junit.c - leaks as JUnit XML: one test case for each call site that leaked. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/held.h"
#include "replay/place.h"
#include "judge/verdict.h"

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

static void put_leak(FILE *out, const struct gt_view *v, const struct gt_leak *leak,
		     const char *name)
{
	char class[96] = "gputrack.", *excuse = gt_leak_excuse(v, leak), *text;

	gt_select_word(class + strlen(class), sizeof class - strlen(class), (enum gt_api)leak->api,
		       (enum gt_kind)leak->kind);
	open_case(out, class, name);
	put_place(out, v, leak->stack);
	fputs(">\n", out);
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

static void put_growing(FILE *out, const struct gt_view *v, const struct gt_growing *one,
			const char *name)
{
	char class[96] = "gputrack.growth.", *text = gt_growing_title(v, one);
	char *excuse = gt_growing_excuse(one, v->verdict->options.baseline_path);

	gt_select_word(class + strlen(class), sizeof class - strlen(class),
		       (enum gt_api)one->site->api, (enum gt_kind)one->site->kind);
	open_case(out, class, name);
	put_place(out, v, one->site->stack);
	fputs(">\n", out);
	if (one->fails)
		put_result(out, "failure", "growth", text);
	else
		put_result(out, excuse ? "skipped" : "system-out", NULL, excuse ? excuse : text);
	fputs("    </testcase>\n", out);
	free(text);
	free(excuse);
}

/* Named as leaks at the same places would be. */
static void put_all_growing(FILE *out, const struct gt_view *v)
{
	const struct gt_growing_sites *growing = &v->verdict->growing;
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
	names = gt_leaks_distinguish(&places, v);
	for (size_t i = 0; i < growing->count; i++) {
		char *name = gt_leak_full_name(v, &places.list[i], &names[i]);

		put_growing(out, v, &growing->list[i], name);
		free(name);
	}
	free(names);
	free(places.list);
}

/* A case for the whole program; `text` NULL: it passed. */
static void put_whole(FILE *out, const char *name, const char *element, const char *type,
		      const char *text)
{
	open_case(out, "gputrack", name);
	if (!text) {
		fputs("/>\n", out);
		return;
	}
	fputs(">\n", out);
	put_result(out, element, type, text);
	fputs("    </testcase>\n", out);
}

static void put_wholes(FILE *out, const struct gt_view *v)
{
	const struct gt_verdict *verdict = v->verdict;
	char *held = gt_held_line(v->ledger);

	put_whole(out, "leaks", "error",
		  verdict->outcome == GT_OUTCOME_UNTRACKED ? "untracked" : "unsure",
		  verdict->doubt);
	if (verdict->options.max_peak)
		put_whole(out, "peak", "failure", "peak",
			  verdict->over_peak ? verdict->peak : NULL);
	if (verdict->options.growth && !verdict->growing.count)
		put_whole(out, "growth", "failure", "growth", NULL);
	if (gt_limits_of_residue(verdict->options.limits))
		put_whole(out, "residue", "failure", "residue", verdict->residue);
	if (held)
		put_whole(out, "held by libraries", "skipped", NULL, held);
	free(held);
}

struct counts {
	size_t tests, failures, errors, skipped;
};

static struct counts count_cases(const struct gt_view *v)
{
	const struct gt_leaks *leaks = &v->verdict->leaks;
	const struct gt_verdict_options *asked = &v->verdict->options;
	const struct gt_growing_sites *growing = &v->verdict->growing;
	struct counts c = {
		.tests = leaks->count + growing->count + (asked->growth && !growing->count) + 1 +
			 !!asked->max_peak + gt_limits_of_residue(asked->limits) +
			 !!v->ledger->held.count,
		.failures = !!v->verdict->residue + v->verdict->over_peak + growing->failing,
		.errors = !!v->verdict->doubt,
		.skipped = !!v->ledger->held.count,
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

void gt_leaks_junit(const struct gt_view *v, FILE *out)
{
	const struct gt_leaks *leaks = &v->verdict->leaks;
	struct gt_leak_distinction *names = gt_leaks_distinguish(leaks, v);
	struct counts c = count_cases(v);
	uint64_t ns = 0;
	char counts[128], moment[GT_FORMAT_MAX];

	gt_leaks_list_places(leaks, v);
	gt_count_parse(gt_recording_info(v->recording, "duration_ns"), &ns);
	snprintf(counts, sizeof counts, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", c.tests,
		 c.failures, c.errors);
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites%s>\n"
		"  <testsuite name=\"gputrack\"%s skipped=\"%zu\" time=\"%" PRIu64 ".%03" PRIu64
		"\"",
		counts, counts, c.skipped, ns / 1000000000, ns / 1000000 % 1000);
	/* JUnit's timestamps have no time zone: cut it off */
	gt_format_moment(moment, gt_recording_start_real_ns(v->recording));
	moment[sizeof "2026-03-01T12:00:00" - 1] = '\0';
	attribute(out, "timestamp", moment);
	attribute(out, "hostname", gt_recording_info(v->recording, "host"));
	fputs(">\n    <properties>\n      <property name=\"command\"", out);
	attribute(out, "value", gt_recording_info(v->recording, "command"));
	fputs("/>\n      <property name=\"recording\"", out);
	attribute(out, "value", gt_recording_path(v->recording));
	fputs("/>\n    </properties>\n", out);
	put_wholes(out, v);
	for (size_t i = 0; i < leaks->count; i++) {
		char *name = gt_leak_full_name(v, &leaks->list[i], &names[i]);

		put_leak(out, v, &leaks->list[i], name);
		free(name);
	}
	free(names);
	put_all_growing(out, v);
	fputs("  </testsuite>\n</testsuites>\n", out);
}
