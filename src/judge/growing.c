/* SPDX-License-Identifier: MIT */
/* growing.c - growing call sites, judged: which of them --fail-on-growth lets fail. */
#include "judge/growing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/print.h"
#include "judge/leaks.h"
#include "replay/growth_text.h"

enum { LINE_WIDTH = 400 };

static const struct {
	const char *name;
	double seconds;
} time_units[] = {
	{ "s", 1 },    { "sec", 1 },     { "min", 60 },    { "m", 60 },
	{ "h", 3600 }, { "hour", 3600 }, { "day", 86400 }, { "d", 86400 },
};

/* 0: not one. */
static double seconds_of(const char *text, size_t size)
{
	for (size_t i = 0; i < sizeof time_units / sizeof *time_units; i++)
		if (strlen(time_units[i].name) == size && !strncmp(text, time_units[i].name, size))
			return time_units[i].seconds;
	return 0;
}

/* Sizes as everywhere, and "MB" for a million bytes, as rates are often written. */
static bool parse_amount(const char *text, size_t size, double *amount, bool *in_bytes)
{
	static const char units[] = "KMGT";
	const char *unit = size > 2 ? memchr(units, text[size - 2], sizeof units - 1) : NULL;
	uint64_t number;

	if (!unit || text[size - 1] != 'B') {
		if (!gt_size_parse(text, size, &number, in_bytes))
			return false;
		*amount = (double)number;
		return true;
	}
	if (!gt_size_parse(text, size - 2, &number, in_bytes) || *in_bytes)
		return false;
	*in_bytes = true;
	*amount = (double)number;
	for (const char *u = units; u <= unit; u++)
		*amount *= 1000;
	return true;
}

static int parse_rate(struct gt_growth_limit *limit, const char *at, size_t size,
		      struct gt_error *error)
{
	const char *slash = memchr(at, '/', size);
	double amount, seconds;
	bool in_bytes;

	if (!slash || !parse_amount(at, (size_t)(slash - at), &amount, &in_bytes))
		return gt_error_set(error, -EINVAL,
				    "'%.*s' is not a rate: use for example 1MiB/h, 64KiB/s or, for "
				    "resources without bytes, 10/min",
				    (int)(size < 60 ? size : 60), at);
	seconds = seconds_of(slash + 1, size - (size_t)(slash + 1 - at));
	if (!(seconds > 0))
		return gt_error_set(error, -EINVAL, "'%.*s': the time is one of s, min, h and day",
				    (int)(size < 60 ? size : 60), at);
	*(in_bytes ? &limit->bytes_per_second : &limit->resources_per_second) = amount / seconds;
	return 0;
}

int gt_growth_limit_parse(struct gt_growth_limit *limit, const char *text, struct gt_error *error)
{
	const char *at = text;
	int e;

	*limit = (struct gt_growth_limit){ .text = text };
	if (!strcmp(text, "any"))
		return 0;
	limit->bytes_per_second = limit->resources_per_second = -1;
	do {
		size_t size = strcspn(at, ",");

		e = parse_rate(limit, at, size, error);
		at += size;
	} while (!e && *at++ == ',');
	return e;
}

void gt_growing_init(struct gt_growing_sites *g, const struct gt_view *v, enum gt_by by)
{
	*g = (struct gt_growing_sites){ 0 };
	g->rises = gt_view_rises(v, &g->count);
	g->list = gt_alloc(g->count * sizeof *g->list);
	for (size_t i = 0; i < g->count; i++) {
		g->list[i].rise = &g->rises[i];
		g->list[i].site = &v->ledger->sites[g->rises[i].site];
		g->list[i].key = gt_site_key(v, g->list[i].site, GT_FN_NONE, by);
	}
}

void gt_growing_fini(struct gt_growing_sites *g)
{
	free(g->list);
	free(g->rises);
	*g = (struct gt_growing_sites){ 0 };
}

/* They are few enough to search one by one. */
void gt_growing_add_keys(struct gt_growing_sites *g, const struct gt_growing_sites *more)
{
	g->list = gt_realloc(g->list, (g->count + more->count) * sizeof *g->list);
	for (size_t i = 0; i < more->count; i++)
		g->list[g->count++] = (struct gt_growing){ .key = more->list[i].key };
}

bool gt_growing_has(const struct gt_growing_sites *g, uint64_t key)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->list[i].key == key)
			return true;
	return false;
}

static bool exceeds(const struct gt_growth_limit *limit, const struct gt_rise *r)
{
	double most = r->bytes ? limit->bytes_per_second : limit->resources_per_second;

	return most >= 0 && r->per_second > most;
}

void gt_growing_judge(struct gt_growing_sites *g, const struct gt_view *v,
		      const struct gt_growing_judge *judge)
{
	for (size_t i = 0; i < g->count; i++) {
		struct gt_growing *one = &g->list[i];
		const struct gt_site *site = one->site;
		const struct gt_frame *frames;
		size_t count = gt_frames_get(v->frames, site->stack, &frames);
		struct gt_suppression *s = NULL;

		one->is_known = judge->baseline && gt_growing_has(judge->baseline, one->key);
		if (judge->suppressions)
			s = gt_suppressions_find(judge->suppressions, (enum gt_api)site->api,
						 (enum gt_kind)site->kind,
						 gt_function_names[site->function], frames, count);
		if (s)
			s->hides_growth = true;
		one->suppressed = s;
		one->fails = judge->limit && !one->is_known && !one->suppressed && !site->held &&
			     exceeds(judge->limit, one->rise);
		g->failing += one->fails;
	}
}

char *gt_growing_text(const struct gt_view *v, const struct gt_growing *one)
{
	struct gt_style style = v->style;
	struct gt_printer p;
	char *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	style.color = false;
	style.whole = true;
	style.width = LINE_WIDTH;
	gt_print_init(&p, out, &style);
	gt_growth_line(&p, v, one->rise);
	gt_memstream_close(out);
	return text;
}

char *gt_growing_title(const struct gt_view *v, const struct gt_growing *one)
{
	char *text = gt_growing_text(v, one), *title;

	if (asprintf(&title, "keeps growing: %s", text) < 0)
		return text;
	free(text);
	return title;
}

char *gt_growing_excuse(const struct gt_growing *one, const char *baseline_path)
{
	char *text = NULL;
	int n = 0;

	if (one->suppressed)
		n = asprintf(&text, "suppressed by %s:%u %s", one->suppressed->file,
			     one->suppressed->line, one->suppressed->text);
	else if (one->site->held)
		n = asprintf(&text, "held by libraries");
	else if (one->is_known)
		n = asprintf(&text, "already grows in %s", baseline_path);
	return n < 0 ? NULL : text;
}

char *gt_growing_failure(const struct gt_growing_sites *g, const struct gt_view *v)
{
	char *first, *text = NULL;
	size_t i = 0, more;

	if (!g->failing)
		return NULL;
	while (!g->list[i].fails)
		i++;
	more = g->failing - 1;
	first = gt_growing_text(v, &g->list[i]);
	if (!more)
		return first;
	if (asprintf(&text, "%s; and %zu more %s", first, more,
		     gt_plural(more, "call site", "call sites")) < 0)
		text = NULL;
	free(first);
	return text;
}
