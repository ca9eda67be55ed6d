/* SPDX-License-Identifier: MIT */
/*
 * fleet_query.c - the questions of `gputrack fleet`, and what ClickHouse answers.
 *
 * Rows that are there twice, because ClickHouse has not merged them yet, count once: each process's
 * site is reduced to its latest row before anything is added up.
 */
#include "cli/fleet/fleet_query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/format.h"
#include "cli/fleet/fleet_sql.h"

enum { DAYS = 7, DAY_S = 86400, LATEST_S = 600 };

bool gt_fleet_moment_parse(char out[GT_FLEET_TIME], const char *text, bool has_time)
{
	static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M",
					     "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S" };

	for (size_t i = 0; i < (has_time ? sizeof forms / sizeof *forms : 1); i++) {
		struct tm tm = { 0 };
		char *end = strptime(text, forms[i], &tm);

		if (!end || *end || tm.tm_year < 70)
			continue;
		timegm(&tm); /* makes 31 April 1 May */
		strftime(out, GT_FLEET_TIME, i ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d", &tm);
		return true;
	}
	return false;
}

/* An answer, line by line and column by column. */
struct table {
	char *text, *next; /* `next`: of the line */
	struct gt_intern *texts;
	bool is_bad; /* a column was missing */
};

static bool next_line(struct table *t)
{
	return t->next && *t->next;
}

static void end_line(struct table *t)
{
	t->next += strcspn(t->next, "\n");
	t->next += *t->next == '\n';
}

/* Undoes ClickHouse's escapes, in place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		if (*at == '\\' && at[1])
			at++;
		*to++ = *at; /* "\\" and "\'"; others we never send */
	}
	*to = '\0';
}

static const char *text_of(struct table *t)
{
	size_t size = strcspn(t->next, "\t\n");
	char *text = gt_strndup(t->next, size);
	const char *kept;

	t->next += size;
	if (*t->next == '\t')
		t->next++;
	unescape(text);
	kept = gt_intern_string(t->texts, text);
	free(text);
	return kept;
}

static double number_of(struct table *t)
{
	const char *text = text_of(t);
	char *end;
	double value = strtod(text, &end);

	t->is_bad |= end == text;
	return value;
}

static uint64_t count_of(struct table *t)
{
	const char *text = text_of(t);
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	t->is_bad |= end == text;
	return value;
}

/* The epoch is none; so is ClickHouse's zero. */
static void time_of(char out[GT_FLEET_TIME], struct table *t)
{
	const char *text = text_of(t);

	if (!strncmp(text, "1970-", 5) || !strncmp(text, "0000-", 5))
		text = "";
	snprintf(out, GT_FLEET_TIME, "%s", text);
}

static int ask(struct table *t, struct gt_clickhouse *c, struct gt_fleet_answer *a,
	       struct gt_error *error, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

static int ask(struct table *t, struct gt_clickhouse *c, struct gt_fleet_answer *a,
	       struct gt_error *error, const char *format, ...)
{
	va_list args;
	char *query;
	int e;

	if (!a->texts)
		a->texts = gt_intern_new();
	*t = (struct table){ .texts = a->texts };
	va_start(args, format);
	if (vasprintf(&query, format, args) < 0)
		gt_memory_check(NULL);
	va_end(args);
	e = gt_clickhouse_query(c, query, &t->text, error);
	t->next = t->text;
	free(query);
	return e;
}

/* Ends the reading of an answer. */
static int finish(struct table *t, const struct gt_clickhouse *c, struct gt_error *error)
{
	free(t->text);
	return t->is_bad ? gt_error_set(error, -EPROTO,
					"%s answers with something else than asked "
					"for; is it ClickHouse?",
					gt_clickhouse_name(c)) :
			   0;
}

void gt_fleet_answer_fini(struct gt_fleet_answer *a)
{
	free(a->places);
	free(a->processes);
	if (a->texts)
		gt_intern_free(a->texts);
	*a = (struct gt_fleet_answer){ 0 };
}

/* Fills in the days that were not given, and the number of hosts. */
static int find_days(struct gt_fleet_answer *a, struct gt_clickhouse *c, const char *from,
		     const char *to, struct gt_error *error)
{
	struct tm tm = { 0 };
	struct table t;
	time_t seconds;
	int e = 0;

	if (!to) {
		e = ask(&t, c, a, error, "SELECT max(day) FROM days");
		if (e)
			return e;
		time_of(a->to, &t);
		e = finish(&t, c, error);
		if (!e && !*a->to)
			e = gt_error_set(error, -ENOENT,
					 "%s has no rows yet: `gputrack agent --clickhouse URL` on "
					 "a host sends some every minute",
					 gt_clickhouse_name(c));
	} else {
		snprintf(a->to, sizeof a->to, "%s", to);
	}
	if (e)
		return e;
	if (from) {
		snprintf(a->from, sizeof a->from, "%s", from);
	} else {
		strptime(a->to, "%Y-%m-%d", &tm);
		seconds = timegm(&tm) - (DAYS - 1) * DAY_S;
		gmtime_r(&seconds, &tm);
		strftime(a->from, sizeof a->from, "%Y-%m-%d", &tm);
	}
	e = ask(&t, c, a, error, "SELECT uniqExact(host) FROM days WHERE day = '%s'", a->to);
	if (e)
		return e;
	a->hosts = count_of(&t);
	return finish(&t, c, error);
}

/* "12,34,…": the keys of the places, for IN. The caller frees it. */
static char *key_list(const struct gt_fleet_answer *a)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = gt_memstream(&text, &size);

	for (size_t i = 0; i < a->count; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", a->places[i].key);
	gt_memstream_close(out);
	return text;
}

static struct gt_fleet_place *find_place(const struct gt_fleet_answer *a, uint64_t key)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->places[i].key == key)
			return &a->places[i];
	return NULL;
}

static void take_words(struct gt_fleet_place *p, struct table *t)
{
	p->place = text_of(t);
	p->file = text_of(t);
	p->line = (uint32_t)count_of(t);
	p->api = text_of(t);
	p->kind = text_of(t);
}

/* The words of the places, and what is held of them on the last day. */
static int describe(struct gt_fleet_answer *a, struct gt_clickhouse *c, struct gt_error *error)
{
	struct gt_fleet_place unknown;
	char *keys = key_list(a);
	struct table t;
	int e;

	e = ask(&t, c, a, error, SQL_WORDS, a->from, a->to, keys);
	for (; !e && next_line(&t); end_line(&t)) {
		struct gt_fleet_place *p = find_place(a, count_of(&t));

		take_words(p ? p : &unknown, &t);
	}
	if (!e)
		e = finish(&t, c, error);
	if (!e)
		e = ask(&t, c, a, error, SQL_HELD, a->to, keys, a->to);
	for (; !e && next_line(&t); end_line(&t)) {
		struct gt_fleet_place *p = find_place(a, count_of(&t));

		if (!p)
			p = &unknown;
		p->held_bytes = count_of(&t);
		p->held_objects = count_of(&t);
	}
	free(keys);
	return e ? e : finish(&t, c, error);
}

int gt_fleet_top(struct gt_fleet_answer *a, struct gt_clickhouse *c, const char *from,
		 const char *to, uint64_t top, struct gt_error *error)
{
	size_t room = 0;
	struct table t;
	int e;

	*a = (struct gt_fleet_answer){ 0 };
	e = find_days(a, c, from, to, error);
	if (!e)
		e = ask(&t, c, a, error, SQL_TOP, a->to, a->to, DAY_S, a->from, a->to, a->from,
			a->to, a->from, a->to);
	for (; !e && next_line(&t); end_line(&t), a->total++) {
		struct gt_fleet_place p = { .place = "", .file = "", .api = "", .kind = "" };

		p.key = count_of(&t);
		p.grown_bytes = gt_whole(number_of(&t));
		p.grown_objects = gt_whole(number_of(&t));
		p.growth_bytes = number_of(&t);
		p.growth_objects = number_of(&t);
		p.hosts = count_of(&t);
		p.processes = count_of(&t);
		time_of(p.since, &t);
		if (a->count >= top)
			continue;
		GT_GROW(a->places, a->count, room);
		a->places[a->count++] = p;
	}
	if (!e)
		e = finish(&t, c, error);
	if (!e && a->count)
		e = describe(a, c, error);
	return e;
}

/* The rows at a moment, as a subquery with these columns. The caller frees it. */
static char *rows_at(const char *moment, const char *columns)
{
	bool has_time = strlen(moment) > strlen("2026-11-16");
	char *text;

	if ((has_time ? asprintf(&text, SQL_ROWS, columns, moment, LATEST_S, moment, LATEST_S,
				 moment) :
			asprintf(&text, SQL_DAY, columns, moment)) < 0)
		gt_memory_check(NULL);
	return text;
}

static int count_hosts(struct gt_fleet_answer *a, struct gt_clickhouse *c, const char *rows,
		       struct gt_error *error)
{
	struct table t;
	int e = ask(&t, c, a, error, "SELECT uniqExact(host) FROM %s", rows);

	if (e)
		return e;
	a->hosts = count_of(&t);
	return finish(&t, c, error);
}

/* The words of all places at a moment. */
static int name_places(struct gt_fleet_answer *a, struct gt_clickhouse *c, const char *names,
		       const char *seen, struct gt_error *error)
{
	struct gt_fleet_place unknown;
	struct table t;
	int e = ask(&t, c, a, error, SQL_AT_WORDS, names, seen);

	for (; !e && next_line(&t); end_line(&t)) {
		struct gt_fleet_place *p = find_place(a, count_of(&t));

		take_words(p ? p : &unknown, &t);
	}
	return e ? e : finish(&t, c, error);
}

static void take_state(struct gt_fleet_place *p, struct table *t)
{
	*p = (struct gt_fleet_place){ .place = "", .file = "", .api = "", .kind = "" };
	p->key = count_of(t);
	p->held_bytes = count_of(t);
	p->held_objects = count_of(t);
	p->growth_bytes = number_of(t);
	p->growth_objects = number_of(t);
	p->hosts = count_of(t);
	p->processes = count_of(t);
	time_of(p->since, t);
	if (p->growth_bytes <= 0 && p->growth_objects <= 0)
		p->since[0] = '\0';
}

int gt_fleet_at(struct gt_fleet_answer *a, struct gt_clickhouse *c, const char *moment,
		struct gt_error *error)
{
	char *state = rows_at(moment, SQL_STATE), *seen = rows_at(moment, SQL_SEEN);
	char *names = rows_at(moment, SQL_NAMES);
	size_t room = 0;
	struct table t;
	int e;

	*a = (struct gt_fleet_answer){ 0 };
	snprintf(a->from, sizeof a->from, "%s", moment);
	snprintf(a->to, sizeof a->to, "%s", moment);
	e = count_hosts(a, c, seen, error);
	if (!e)
		e = ask(&t, c, a, error, SQL_AT, state, seen);
	for (; !e && next_line(&t); end_line(&t)) {
		GT_GROW(a->places, a->count, room);
		take_state(&a->places[a->count++], &t);
	}
	a->total = a->count;
	if (!e)
		e = finish(&t, c, error);
	if (!e)
		e = name_places(a, c, names, seen, error);
	free(state);
	free(seen);
	free(names);
	return e;
}

/* For a text between single quotes; the caller frees it. */
static char *quote(const char *text)
{
	char *quoted = NULL;
	size_t size = 0;
	FILE *out = gt_memstream(&quoted, &size);

	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
	gt_memstream_close(out);
	return quoted;
}

static void take_process(struct gt_fleet_process *p, struct table *t)
{
	p->host = text_of(t);
	p->pod = text_of(t);
	p->process = text_of(t);
	p->pid = (uint32_t)count_of(t);
	p->place = text_of(t);
	p->kind = text_of(t);
	p->gpu = text_of(t);
	time_of(p->first, t);
	time_of(p->last, t);
	time_of(p->since, t);
	p->held_bytes = count_of(t);
	p->held_objects = count_of(t);
	p->growth_bytes = number_of(t);
	p->growth_objects = number_of(t);
	p->runs = count_of(t);
	if (p->growth_bytes <= 0 && p->growth_objects <= 0)
		p->since[0] = '\0';
}

int gt_fleet_where(struct gt_fleet_answer *a, struct gt_clickhouse *c, const char *file,
		   uint32_t line, const char *from, const char *to, uint64_t top,
		   struct gt_error *error)
{
	char *name = quote(file), at_line[32] = "";
	size_t room = 0;
	struct table t;
	int e;

	*a = (struct gt_fleet_answer){ 0 };
	if (line)
		snprintf(at_line, sizeof at_line, " AND line = %" PRIu32, line);
	e = find_days(a, c, from, to, error);
	if (!e)
		e = ask(&t, c, a, error, SQL_WHERE, a->from, a->to, name, name, at_line, a->from,
			a->to);
	for (; !e && next_line(&t); end_line(&t), a->total++) {
		struct gt_fleet_process p;

		if (a->count >= top)
			continue;
		take_process(&p, &t);
		GT_GROW(a->processes, a->count, room);
		a->processes[a->count++] = p;
	}
	free(name);
	return e ? e : finish(&t, c, error);
}
