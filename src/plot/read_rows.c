/* SPDX-License-Identifier: MIT */
/* read_rows.c - the lines of a foreign table, field by field, as a stream; which table it is. */
#include "plot/read_rows.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "base/mem.h"

/* A number that does not fit into 64 bits is neither size nor time, and would spoil an axis. */
#define NUMBER_MOST 2e19

int gt_rows_open(struct gt_rows *r, const char *path, struct gt_error *error)
{
	struct stat st;

	memset(r, 0, sizeof *r);
	r->in = strcmp(path, "-") ? fopen(path, "re") : stdin;
	if (!r->in)
		return gt_error_set(error, -errno, "%s", strerror(errno));
	if (!fstat(fileno(r->in), &st) && S_ISDIR(st.st_mode)) {
		gt_rows_close(r);
		return gt_error_set(error, -EISDIR, "it is a folder");
	}
	__fsetlocking(r->in, FSETLOCKING_BYCALLER);
	r->line = gt_alloc(GT_ROW_MAX);
	return 0;
}

int gt_rows_verdict(const struct gt_rows *r, uint64_t good, uint64_t bad, const char *none,
		    struct gt_error *error)
{
	if (ferror(r->in))
		return gt_error_set(error, -EIO, "it could not be read completely");
	if (good)
		return 0;
	return gt_error_set(error, -ENODATA, "%s", bad ? "all its rows are damaged" : none);
}

void gt_rows_close(struct gt_rows *r)
{
	if (r->in && r->in != stdin)
		fclose(r->in);
	free(r->line);
	memset(r, 0, sizeof *r);
}

/* One line, without its newline; false if there is none. */
static bool read_line(struct gt_rows *r)
{
	size_t used = 0;
	int c;

	while ((c = getc_unlocked(r->in)) != EOF && c != '\n')
		if (used < GT_ROW_MAX - 1)
			r->line[used++] = c ? (char)c : '?';
	r->cut = c == EOF;
	if (c == EOF && !used)
		return false;
	if (used && r->line[used - 1] == '\r')
		used--;
	r->line[used] = '\0';
	if (!r->number++ && !strncmp(r->line, "\xef\xbb\xbf", 3))
		memmove(r->line, r->line + 3, used - 2);
	return true;
}

static char separator_of(const char *line)
{
	size_t commas = 0, tabs = 0;

	for (; *line; line++) {
		commas += *line == ',';
		tabs += *line == '\t';
	}
	return tabs > commas ? '\t' : ',';
}

/* A quoted field, from behind its first quote: "" is a quote. Returns what follows it. */
static char *unquote(char *at, char **end)
{
	char *to = at;

	for (; *at; at++) {
		if (*at == '"' && *++at != '"')
			break;
		*to++ = *at;
	}
	*end = to;
	return at;
}

static void split(struct gt_rows *r)
{
	char *at = r->line;

	r->count = 0;
	while (r->count < GT_ROW_FIELDS) {
		char *from, *end, *next;

		while (*at == ' ')
			at++;
		from = at;
		if (*at == '"' && r->separator == ',') {
			from = ++at;
			at = unquote(at, &end);
			next = strchrnul(at, r->separator);
		} else {
			next = end = strchrnul(at, r->separator);
		}
		r->fields[r->count++] = from;
		at = next + 1;
		next = *next ? next : NULL;
		while (end > from && end[-1] == ' ')
			end--;
		*end = '\0';
		if (!next)
			break;
	}
}

bool gt_rows_next(struct gt_rows *r)
{
	if (r->again) {
		r->again = false;
		return true;
	}
	do
		if (!read_line(r))
			return false;
	while (!r->line[strspn(r->line, " \t")]);
	if (!r->separator)
		r->separator = separator_of(r->line);
	split(r);
	return true;
}

void gt_rows_again(struct gt_rows *r)
{
	r->again = true;
}

int gt_rows_find(const struct gt_rows *r, const char *heading)
{
	for (size_t i = 0; i < r->count; i++)
		if (!strcasecmp(r->fields[i], heading))
			return (int)i;
	return -1;
}

bool gt_number_parse(const char *text, double *out)
{
	const char *at = text;
	bool negative = *at == '-';
	int64_t whole = 0;
	char *end;

	/* a fast path: most numbers are short and whole, and there are millions of them */
	at += negative;
	for (; *at >= '0' && *at <= '9' && at - text < 18; at++)
		whole = whole * 10 + (*at - '0');
	if (!*at && at != text + negative) {
		*out = (double)(negative ? -whole : whole);
		return true;
	}
	if (!*text || text[strspn(text, "0123456789+-.eE")])
		return false;
	*out = strtod(text, &end);
	return !*end && fabs(*out) < NUMBER_MOST;
}

bool gt_moment_parse(const char *text, double *out)
{
	struct tm tm = { .tm_isdst = -1 };
	double fraction = 0;
	char mark[2], between;
	int used = 0;
	time_t seconds;

	if (sscanf(text, "%4d%1[-/]%2d%1[-/]%2d%c%2d:%2d:%2d%n", &tm.tm_year, mark, &tm.tm_mon,
		   mark, &tm.tm_mday, &between, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &used) != 9 ||
	    !used || (between != ' ' && between != 'T'))
		return false;
	if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 ||
	    tm.tm_hour < 0 || tm.tm_hour > 23 || tm.tm_min < 0 || tm.tm_min > 59 || tm.tm_sec < 0 ||
	    tm.tm_sec > 60 || tm.tm_year < 1970)
		return false;
	if (text[used] && (text[used] != '.' || !isdigit((unsigned char)text[used + 1]) ||
			   !gt_number_parse(text + used, &fraction)))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	seconds = mktime(&tm);
	*out = (double)seconds + fraction;
	return seconds != (time_t)-1;
}

static bool are_numbers(const struct gt_rows *r, size_t from)
{
	double value;

	for (size_t i = from; i < r->count; i++)
		if (!gt_number_parse(r->fields[i], &value))
			return false;
	return r->count > from;
}

/* A row of a monitor's CSV without heading: time, [description,] pid, name, five numbers. */
static bool is_monitor_row(const struct gt_rows *r)
{
	double value;

	return (r->count == 8 || r->count == 9) && gt_moment_parse(r->fields[0], &value) &&
	       gt_number_parse(r->fields[r->count - 7], &value) && are_numbers(r, r->count - 5);
}

static enum gt_table_kind kind_of(const struct gt_rows *r)
{
	double value;

	if (gt_rows_find(r, "APICall") >= 0)
		return GT_TABLE_TRACKER;
	if (gt_rows_find(r, "cpu_percent") >= 0 || is_monitor_row(r))
		return GT_TABLE_MONITOR;
	if (gt_rows_find(r, "chart") >= 0 && gt_rows_find(r, "curve") >= 0)
		return GT_TABLE_CHARTS;
	if (r->separator == '\t' && r->count >= 2 &&
	    (!strncmp(r->fields[0], "time", 4) || are_numbers(r, 0)))
		return GT_TABLE_USAGE;
	if (!strncmp(r->fields[0], "timestamp", 9) || gt_moment_parse(r->fields[0], &value))
		return GT_TABLE_SMI;
	return GT_TABLE_UNKNOWN;
}

enum gt_table_kind gt_table_kind(struct gt_rows *r)
{
	if (!gt_rows_next(r))
		return GT_TABLE_EMPTY;
	gt_rows_again(r);
	return kind_of(r);
}
