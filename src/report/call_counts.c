/* SPDX-License-Identifier: MIT */
/* call_counts.c - an import without memory events: how often each function was called. */
#include "report/call_counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"

#define FLAGS "nsys profile --cuda-memory-usage=true --cudabacktrace=memory:0"

enum { COLUMN = 28, PHASES_SHOWN = 6 };

/* "cudaMalloc|create|device memory|15|0": one function's calls, as the import counts them. */
struct counted {
	const char *phase; /* NULL: all */
	const char *function, *kind;
	bool creates;
	uint64_t calls, failed;
};

struct counts {
	char *text; /* the list's strings */
	struct counted *list;
	size_t count, room;
};

static bool parse(struct counted *one, char *item, bool has_phase)
{
	char *rest = item, *phase = has_phase ? strtok_r(item, "|", &rest) : NULL;
	char *function = strtok_r(phase ? NULL : item, "|", &rest);
	char *effect = strtok_r(NULL, "|", &rest), *kind = strtok_r(NULL, "|", &rest);
	char *calls = strtok_r(NULL, "|", &rest);

	*one = (struct counted){ .phase = phase, .function = function, .kind = kind };
	if (!function || !effect || !kind || !calls || !gt_count_parse(calls, &one->calls) ||
	    !gt_count_parse(rest, &one->failed) || one->failed > one->calls)
		return false;
	one->creates = !strcmp(effect, "create");
	return true;
}

static struct counts read_counts(const struct gt_view *v, bool by_phase)
{
	const char *key = by_phase ? "nsys_calls_by_phase" : "nsys_calls";
	struct counts c = { .text = gt_strdup(gt_recording_info(v->recording, key)) };
	char *rest;

	for (char *item = strtok_r(c.text, ";", &rest); item; item = strtok_r(NULL, ";", &rest)) {
		GT_GROW(c.list, c.count, c.room);
		c.count += parse(&c.list[c.count], item, by_phase);
	}
	return c;
}

static void free_counts(struct counts *c)
{
	free(c->list);
	free(c->text);
}

bool gt_has_call_counts(const struct gt_view *v)
{
	return *gt_recording_info(v->recording, "nsys_calls");
}

/* "15 x cudaMalloc": the functions that create, or release, a kind; how often they succeeded. */
static uint64_t put_functions(struct gt_printer *p, const struct counts *c, const char *kind,
			      bool creates)
{
	char text[GT_FORMAT_MAX];
	uint64_t sum = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct counted *one = &c->list[i];

		if (strcmp(one->kind, kind) || one->creates != creates)
			continue;
		sum += one->calls - one->failed;
		gt_print_put(p, GT_PLAIN, "%s%s x ", p->column > COLUMN ? ", " : "",
			     gt_format_count(text, one->calls));
		gt_print_name(p, GT_PLAIN, one->function, 48);
		if (one->failed)
			gt_print_put(p, GT_RED, " (%s failed)", gt_format_count(text, one->failed));
	}
	return sum;
}

static void put_kind(struct gt_printer *p, const struct counts *c, const char *kind)
{
	uint64_t created, released;
	char text[GT_FORMAT_MAX];

	gt_print_tab(p, 4);
	gt_print_name(p, GT_BOLD, kind, COLUMN - 6);
	gt_print_tab(p, COLUMN);
	created = put_functions(p, c, kind, true);
	released = put_functions(p, c, kind, false);
	if (created > released)
		gt_print_put(p, GT_YELLOW, ": %s more created than released",
			     gt_format_count(text, created - released));
	gt_print_end(p);
}

static bool is_first_of_kind(const struct counts *c, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(c->list[k].kind, c->list[i].kind))
			return false;
	return true;
}

/* The calls of a phase: of which functions, and whether more was created than released. */
static void put_phase(struct gt_printer *p, const struct counts *c, size_t first)
{
	uint64_t created = 0, released = 0;
	char text[GT_FORMAT_MAX];

	gt_print_tab(p, 4);
	gt_print_name(p, GT_BOLD, c->list[first].phase, gt_print_left(p) / 2);
	for (size_t i = first; i < c->count; i++) {
		const struct counted *one = &c->list[i];

		if (strcmp(one->phase, c->list[first].phase))
			continue;
		*(one->creates ? &created : &released) += one->calls - one->failed;
		gt_print_put(p, GT_PLAIN, "%s%s x ", i == first ? "  " : ", ",
			     gt_format_count(text, one->calls));
		gt_print_name(p, GT_PLAIN, one->function, 48);
	}
	if (created > released)
		gt_print_put(p, GT_YELLOW, ": %s more created than released",
			     gt_format_count(text, created - released));
	gt_print_end(p);
}

/* Of the phases that called such functions first. */
static void put_phases(struct gt_printer *p, const struct gt_view *v)
{
	struct counts c = read_counts(v, true);
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < c.count; i++) {
		bool is_first = true;

		for (size_t k = 0; k < i; k++)
			is_first &= strcmp(c.list[k].phase, c.list[i].phase) != 0;
		if (!is_first)
			continue;
		if (!shown && !more)
			gt_print_line(p, GT_PLAIN, "  by phase");
		if (shown < PHASES_SHOWN || v->top)
			put_phase(p, &c, i);
		else
			more++;
		shown += shown < PHASES_SHOWN;
	}
	if (more) {
		gt_print_tab(p, 4);
		gt_print_line(p, GT_DIM, "and %zu more %s", more,
			      gt_plural(more, "phase", "phases"));
	}
	free_counts(&c);
}

void gt_call_counts_text(struct gt_printer *p, const struct gt_view *v)
{
	struct counts c = read_counts(v, false);
	const char *tracking = gt_recording_info(v->recording, "nsys_tracking");

	gt_print_put(p, GT_YELLOW, "HANDLES UNKNOWN");
	gt_print_line(p, GT_BOLD, "  the profile has no memory events: only calls were counted");
	for (size_t i = 0; i < c.count; i++)
		if (is_first_of_kind(&c, i))
			put_kind(p, &c, c.list[i].kind);
	put_phases(p, v);
	if (!strcmp(tracking, "on"))
		gt_print_wrap(p, GT_PLAIN, 2,
			      "memory tracking was on: no memory was allocated that "
			      "Nsight Systems tracks");
	else
		gt_print_wrap(p, GT_PLAIN, 2, "%s; for sizes, leaks and the peak: " FLAGS,
			      !strcmp(tracking, "off") ? "memory tracking was off" :
							 "memory was not tracked");
	gt_print_end(p);
	free_counts(&c);
}

static void counts_json(struct gt_json *j, const char *key, struct counts c)
{
	gt_json_array(j, key);
	for (size_t i = 0; i < c.count; i++) {
		gt_json_line(j, NULL);
		if (c.list[i].phase)
			gt_json_text(j, "phase", c.list[i].phase);
		gt_json_text(j, "function", c.list[i].function);
		gt_json_text(j, "effect", c.list[i].creates ? "create" : "release");
		gt_json_text(j, "kind", c.list[i].kind);
		gt_json_uint(j, "calls", c.list[i].calls);
		gt_json_uint(j, "failed", c.list[i].failed);
		gt_json_end(j);
	}
	gt_json_end(j);
	free_counts(&c);
}

void gt_call_counts_json(struct gt_json *j, const struct gt_view *v)
{
	counts_json(j, "calls", read_counts(v, false));
	if (*gt_recording_info(v->recording, "nsys_calls_by_phase"))
		counts_json(j, "calls_by_phase", read_counts(v, true));
}
