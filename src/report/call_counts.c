/* SPDX-License-Identifier: MIT */
/* call_counts.c - an import without memory events: how often each function was called. */
#include "report/call_counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"

#define FLAGS "nsys profile --cuda-memory-usage=true --cudabacktrace=memory:0"

enum { COLUMN = 28 };

/* "cudaMalloc|create|device memory|15|0": one function's calls, as the import counts them. */
struct counted {
	const char *function, *kind;
	bool creates;
	uint64_t calls, failed;
};

struct counts {
	char *text; /* the list's strings */
	struct counted *list;
	size_t count, room;
};

static bool parse(struct counted *one, char *item)
{
	char *rest, *function = strtok_r(item, "|", &rest), *effect = strtok_r(NULL, "|", &rest);
	char *kind = strtok_r(NULL, "|", &rest), *calls = strtok_r(NULL, "|", &rest);

	*one = (struct counted){ .function = function, .kind = kind };
	if (!function || !effect || !kind || !calls || !gt_count_parse(calls, &one->calls) ||
	    !gt_count_parse(rest, &one->failed) || one->failed > one->calls)
		return false;
	one->creates = !strcmp(effect, "create");
	return true;
}

static struct counts read_counts(const struct gt_view *v)
{
	struct counts c = { .text = gt_strdup(gt_recording_info(v->recording, "nsys_calls")) };
	char *rest;

	for (char *item = strtok_r(c.text, ";", &rest); item; item = strtok_r(NULL, ";", &rest)) {
		GT_GROW(c.list, c.count, c.room);
		c.count += parse(&c.list[c.count], item);
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

void gt_call_counts_text(struct gt_printer *p, const struct gt_view *v)
{
	struct counts c = read_counts(v);
	const char *tracking = gt_recording_info(v->recording, "nsys_tracking");

	gt_print_put(p, GT_YELLOW, "HANDLES UNKNOWN");
	gt_print_line(p, GT_BOLD, "  the profile has no memory events: only calls were counted");
	for (size_t i = 0; i < c.count; i++)
		if (is_first_of_kind(&c, i))
			put_kind(p, &c, c.list[i].kind);
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

void gt_call_counts_json(struct gt_json *j, const struct gt_view *v)
{
	struct counts c = read_counts(v);

	gt_json_array(j, "calls");
	for (size_t i = 0; i < c.count; i++) {
		gt_json_line(j, NULL);
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
