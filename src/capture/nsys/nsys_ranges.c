/* SPDX-License-Identifier: MIT */
/* nsys_ranges.c - the NVTX ranges of an export: in which phase an event was made. */
#include "capture/nsys/nsys_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"
#include "capture/nsys/nsys_kinds.h"
#include "trace/layout.h"

#define TABLE "NVTX_EVENTS"

enum { CATEGORY = 33, PUSH_POP = 59, START_END = 60, DOMAIN = 75 }; /* types of rows */
enum { OPEN_MAX = 64 }; /* ranges of a thread, or of a process, that are open at a time */

struct open_range {
	int64_t start, end;
	char *name;
	const char *domain, *category;
};

/* The open ranges of a thread, or of a process; the outermost first. */
struct open_ranges {
	struct open_range list[OPEN_MAX];
	size_t count;
	uint32_t version; /* changes with the list */
	/* of a thread: its phase as of these versions; 0: not known */
	uint32_t phase, own_version, outer_version;
};

struct gt_nsys_ranges {
	const struct gt_database *database;
	struct gt_nsys_names *names;
	sqlite3_stmt *rows; /* NULL: there are none */
	bool sorted, has_row;
	int64_t start;         /* of the row that comes next */
	struct gt_map threads; /* global id of a thread -> struct open_ranges */
	struct gt_map processes;
	struct gt_intern *labels; /* struct label -> its name in `texts` */
	char **texts;
	size_t text_count, text_room;
	uint64_t count;
	char *said; /* of gt_nsys_ranges_text */
};

/* A domain, or a category of one. No padding, as its bytes are interned. */
struct label {
	uint64_t process;
	int64_t domain, category; /* category -1: the domain itself */
};

static const char *label_text(const struct gt_nsys_ranges *r, uint64_t process, int64_t domain,
			      int64_t category)
{
	const struct label key = { process, domain, category };
	uint32_t number = gt_intern_find(r->labels, &key, sizeof key);

	return number == GT_NOT_INTERNED ? "" : r->texts[number];
}

/* Columns of both queries. */
enum { TYPE, START, END, THREAD, DOMAIN_ID, CATEGORY_ID, TEXT, TEXT_ID, PAYLOAD };

static const char *text_of(struct gt_nsys_ranges *r)
{
	const char *text = (const char *)sqlite3_column_text(r->rows, TEXT);

	if (text && *text)
		return text;
	if (sqlite3_column_type(r->rows, TEXT_ID) != SQLITE_NULL)
		text = gt_nsys_string(r->names, sqlite3_column_int64(r->rows, TEXT_ID));
	if (!text || !*text)
		text = (const char *)sqlite3_column_text(r->rows, PAYLOAD);
	return text ? text : "";
}

/* Names of domains and categories: all of them first, as they may be given late. */
static void read_label(struct gt_nsys_ranges *r)
{
	int64_t type = sqlite3_column_int64(r->rows, TYPE);
	const struct label key = { gt_nsys_process(sqlite3_column_int64(r->rows, THREAD)),
				   sqlite3_column_int64(r->rows, DOMAIN_ID),
				   type == DOMAIN ? -1 :
						    sqlite3_column_int64(r->rows, CATEGORY_ID) };
	uint32_t number = gt_intern(r->labels, &key, sizeof key);

	if (number == r->text_count) {
		GT_GROW(r->texts, r->text_count, r->text_room);
		r->texts[r->text_count++] = gt_strdup(text_of(r));
	}
}

static int open_rows(struct gt_nsys_ranges *r, const char *where, const char *order,
		     struct gt_error *error)
{
	const struct gt_database *d = r->database;

	sqlite3_finalize(r->rows);
	r->rows = NULL;
	return gt_database_query(
		&r->rows, d, error,
		"SELECT eventType, start, %s, globalTid, %s, %s, %s, %s, "
		"CAST(COALESCE(NULL, %s, %s, %s, %s, %s, %s, %s) AS TEXT) FROM " TABLE
		" WHERE eventType IN (%s)%s",
		gt_database_column(d, TABLE, "end"), gt_database_column(d, TABLE, "domainId"),
		gt_database_column(d, TABLE, "category"), gt_database_column(d, TABLE, "text"),
		gt_database_column(d, TABLE, "textId"), gt_database_column(d, TABLE, "jsonText"),
		gt_database_column(d, TABLE, "uint64Value"),
		gt_database_column(d, TABLE, "int64Value"),
		gt_database_column(d, TABLE, "doubleValue"),
		gt_database_column(d, TABLE, "uint32Value"),
		gt_database_column(d, TABLE, "int32Value"),
		gt_database_column(d, TABLE, "floatValue"), where, order);
}

static int next_row(struct gt_nsys_ranges *r, struct gt_error *error)
{
	int step = sqlite3_step(r->rows);
	int64_t before = r->start;

	r->has_row = step == SQLITE_ROW;
	if (!r->has_row)
		return step == SQLITE_DONE ? 0 : gt_database_failed(r->database, error);
	r->start = sqlite3_column_int64(r->rows, START);
	return r->start < before && !r->sorted ? -EAGAIN : 0;
}

static int read_labels(struct gt_nsys_ranges *r, struct gt_error *error)
{
	int e = open_rows(r, "33, 75", "", error), step;

	if (e)
		return e;
	while ((step = sqlite3_step(r->rows)) == SQLITE_ROW)
		read_label(r);
	return step == SQLITE_DONE ? 0 : gt_database_failed(r->database, error);
}

int gt_nsys_ranges_new(struct gt_nsys_ranges **out, const struct gt_database *d,
		       struct gt_nsys_names *names, bool sorted, struct gt_error *error)
{
	static const char *const needed[] = { "start", "eventType", "globalTid", NULL };
	struct gt_nsys_ranges *r = gt_alloc(sizeof *r);
	int e = 0;

	*out = NULL;
	r->database = d;
	r->names = names;
	r->sorted = sorted;
	r->start = INT64_MIN;
	r->labels = gt_intern_new();
	if (gt_database_has_table(d, TABLE)) {
		e = gt_database_needs(d, TABLE, needed, error);
		if (!e)
			e = read_labels(r, error);
		if (!e)
			e = open_rows(r, "59, 60",
				      sorted ? " ORDER BY CAST(start AS INTEGER), rowid" : "",
				      error);
		if (!e)
			e = next_row(r, error);
	}
	if (e)
		gt_nsys_ranges_free(r);
	else
		*out = r;
	return e;
}

static void close_range(struct open_ranges *o, size_t i)
{
	free(o->list[i].name);
	memmove(&o->list[i], &o->list[i + 1], (o->count - i - 1) * sizeof o->list[0]);
	o->count--;
	o->version++;
}

static void free_all(struct gt_map *map)
{
	for (size_t i = 0; i < map->count; i++) {
		struct open_ranges *o = map->values[i];

		while (o && o->count)
			close_range(o, o->count - 1);
		free(o);
	}
	gt_map_fini(map);
}

void gt_nsys_ranges_free(struct gt_nsys_ranges *r)
{
	free_all(&r->threads);
	free_all(&r->processes);
	for (size_t i = 0; i < r->text_count; i++)
		free(r->texts[i]);
	free(r->texts);
	gt_intern_free(r->labels);
	sqlite3_finalize(r->rows);
	free(r->said);
	free(r);
}

static void close_ended(struct open_ranges *o, int64_t time)
{
	for (size_t i = o->count; i-- > 0;)
		if (o->list[i].end < time)
			close_range(o, i);
}

static struct open_ranges *ranges_at(struct gt_map *map, uint64_t key)
{
	void **at = gt_map_at(map, key);

	if (!*at) {
		struct open_ranges *o = gt_alloc(sizeof *o);

		o->version = 1;
		*at = o;
	}
	return *at;
}

/* Of two that start together, the longer is around the other. */
static void open_range(struct open_ranges *o, const struct open_range *range)
{
	size_t at;

	close_ended(o, range->start);
	if (o->count == OPEN_MAX)
		return;
	for (at = o->count;
	     at > 0 && o->list[at - 1].start == range->start && o->list[at - 1].end < range->end;)
		at--;
	memmove(&o->list[at + 1], &o->list[at], (o->count - at) * sizeof o->list[0]);
	o->list[at] = *range;
	o->list[at].name = gt_strdup(range->name);
	o->count++;
	o->version++;
}

/* Takes the row that has been read; one that never ended lasts. */
static void take_row(struct gt_nsys_ranges *r)
{
	int64_t global = sqlite3_column_int64(r->rows, THREAD);
	int64_t domain = sqlite3_column_int64(r->rows, DOMAIN_ID);
	int64_t category = sqlite3_column_int64(r->rows, CATEGORY_ID);
	bool is_of_process = sqlite3_column_int64(r->rows, TYPE) == START_END;
	uint64_t process = gt_nsys_process(global);
	struct open_range range = { .start = r->start, .end = INT64_MAX };

	if (sqlite3_column_type(r->rows, END) != SQLITE_NULL)
		range.end = sqlite3_column_int64(r->rows, END);
	range.domain = label_text(r, process, domain, -1);
	range.category = category ? label_text(r, process, domain, category) : "";
	range.name = (char *)text_of(r);
	open_range(is_of_process ? ranges_at(&r->processes, process) :
				   ranges_at(&r->threads, (uint64_t)global),
		   &range);
	r->count++;
}

/* The ranges around a moment: those of the process, then those of the thread. */
static int find(struct gt_nsys_ranges *r, const struct gt_nsys_moment *m,
		struct open_ranges **outer, struct open_ranges **own, struct gt_error *error)
{
	while (r->has_row && r->start <= m->time) {
		int e;

		take_row(r);
		e = next_row(r, error);
		if (e)
			return e;
	}
	*outer = ranges_at(&r->processes, m->process);
	*own = ranges_at(&r->threads, m->tid ? m->process << 24 | m->tid : UINT64_MAX);
	close_ended(*outer, m->time);
	close_ended(*own, m->time);
	return 0;
}

static uint32_t write_ranges(struct gt_writer *w, uint32_t phase, const struct open_ranges *o)
{
	for (size_t i = 0; i < o->count; i++) {
		const struct gt_range range = { .name = o->list[i].name,
						.domain = o->list[i].domain,
						.category = o->list[i].category };
		uint32_t inner = gt_writer_phase(w, phase, &range);

		phase = inner ? inner : phase;
	}
	return phase;
}

int gt_nsys_ranges_phase(struct gt_nsys_ranges *r, const struct gt_nsys_moment *m,
			 struct gt_nsys_trace *trace, uint32_t *phase, struct gt_error *error)
{
	struct open_ranges *outer, *own;
	int e;

	*phase = 0;
	if (!r->rows)
		return 0;
	e = find(r, m, &outer, &own, error);
	if (e || !(outer->count + own->count))
		return e;
	if (!m->tid || own->own_version != own->version || own->outer_version != outer->version) {
		*phase = write_ranges(trace->writer, 0, outer);
		own->phase = write_ranges(trace->writer, *phase, own);
		own->own_version = own->version;
		own->outer_version = outer->version;
	}
	*phase = own->phase;
	return 0;
}

int gt_nsys_ranges_text(struct gt_nsys_ranges *r, const struct gt_nsys_moment *m, const char **text,
			struct gt_error *error)
{
	struct open_ranges *lists[2];
	size_t size;
	FILE *out;
	int e;

	*text = "";
	if (!r->rows)
		return 0;
	e = find(r, m, &lists[0], &lists[1], error);
	if (e)
		return e;
	free(r->said);
	out = gt_memstream(&r->said, &size);
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < lists[i]->count; k++)
			fprintf(out, "%s%s%s%s", ftell(out) > 0 ? " > " : "",
				lists[i]->list[k].domain, *lists[i]->list[k].domain ? ":" : "",
				lists[i]->list[k].name);
	gt_memstream_close(out);
	*text = r->said;
	return 0;
}

uint64_t gt_nsys_ranges_count(const struct gt_nsys_ranges *r)
{
	return r->count;
}
