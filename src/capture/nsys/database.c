/* SPDX-License-Identifier: MIT */
/* database.c - an SQLite file of another program, opened so that nothing is written to it. */
#include "capture/nsys/database.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { LENGTH_MIN = 1 << 16 };

static const char magic[16] = "SQLite format 3";

/* The size that the first page states; 0 if it does not. */
static uint64_t claimed_size(const uint8_t *head)
{
	uint64_t page = (uint64_t)head[16] << 8 | head[17];
	uint64_t pages = (uint64_t)head[28] << 24 | head[29] << 16 | head[30] << 8 | head[31];

	return (page == 1 ? 65536 : page) * pages;
}

/*
 * Files beside an export that was not closed: SQLite needs them to read it. A log has rows that are
 * not in the file yet, a journal the pages that a change which never ended has overwritten.
 */
static const char *const companions[] = { "-wal", "-journal" };

enum { COMPANIONS = sizeof companions / sizeof *companions };

static bool has_companion(const char *path, int which, char name[PATH_MAX + 16])
{
	char whole[PATH_MAX];
	struct stat st;

	/* they lie beside the file, not beside a link to it */
	snprintf(name, PATH_MAX + 16, "%.4095s%s", realpath(path, whole) ? whole : path,
		 companions[which]);
	return !stat(name, &st) && S_ISREG(st.st_mode) && st.st_size;
}

static bool needs_copy(const char *path)
{
	char name[PATH_MAX + 16];

	for (int i = 0; i < COMPANIONS; i++)
		if (has_companion(path, i, name))
			return true;
	return false;
}

static bool is_report(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (!strcmp(dot, ".nsys-rep") || !strcmp(dot, ".qdrep"));
}

/* SQLite takes an empty file for an empty database, and notices truncation only where it reads. */
static int check_file(const char *path, uint64_t *size, struct gt_error *error)
{
	uint8_t head[100] = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n;
	int e = 0;

	if (fd < 0)
		return gt_error_set(error, -errno, "cannot read %s: %s%s", path, strerror(errno),
				    errno == ENOENT ? "; `nsys export --type sqlite` makes one" :
						      "");
	n = fstat(fd, &st) || !S_ISREG(st.st_mode) ? -1 : pread(fd, head, sizeof head, 0);
	if (n < 0)
		e = gt_error_set(error, -EINVAL,
				 "%s is not a file: name the .sqlite file that "
				 "`nsys export --type sqlite` makes",
				 path);
	else if (!n)
		e = gt_error_set(error, -EINVAL,
				 "%s is empty: export the profile again with "
				 "`nsys export --type sqlite`",
				 path);
	else if (n < (ssize_t)sizeof magic || memcmp(head, magic, sizeof magic))
		e = gt_error_set(error, -EINVAL,
				 "%s is not an SQLite database: %s `nsys export --type sqlite %s`",
				 path,
				 is_report(path) ? "make one of this profile with" :
						   "import takes what is made by",
				 is_report(path) ? path : "PROFILE.nsys-rep");
	else if (n < (ssize_t)sizeof head ||
		 ((uint64_t)st.st_size < claimed_size(head) && !needs_copy(path)))
		e = gt_error_set(error, -EINVAL,
				 "%s is cut: it has %llu of %llu bytes; copy it or "
				 "export the profile again",
				 path, (unsigned long long)st.st_size,
				 (unsigned long long)claimed_size(head));
	*size = e ? 0 : (uint64_t)st.st_size;
	close(fd);
	return e;
}

/* A path as a URI, whatever characters it has. */
static char *uri_of(const char *path, const char *options)
{
	char *uri = gt_alloc(3 * strlen(path) + strlen(options) + 8), *at = uri;

	at += sprintf(at, "file:");
	for (; *path; path++)
		at += sprintf(at, strchr("%?#", *path) ? "%%%02x" : "%c", (unsigned char)*path);
	strcpy(at, options);
	return uri;
}

static int copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), e = in < 0 ? -errno : 0;
	int out = e ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char buffer[1 << 16];
	ssize_t n;

	if (!e && out < 0)
		e = -errno;
	while (!e && (n = read(in, buffer, sizeof buffer)) != 0)
		if (n < 0 || write(out, buffer, (size_t)n) != n)
			e = errno ? -errno : -ENOSPC;
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) && !e)
		e = -errno;
	return e;
}

static void remove_copy(struct gt_database *d)
{
	static const char *const names[] = { "/copy", "/copy-wal", "/copy-shm", "/copy-journal" };
	char path[PATH_MAX];

	for (size_t i = 0; d->copy && i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s%s", d->copy, names[i]);
		unlink(path);
	}
	if (d->copy)
		rmdir(d->copy);
	free(d->copy);
	d->copy = NULL;
}

/* SQLite would write to the file and beside it: it gets copies. */
static int copy_all(struct gt_database *d, struct gt_error *error)
{
	const char *temporary = getenv("TMPDIR");
	char from[PATH_MAX + 16], to[PATH_MAX];
	int e;

	if (asprintf(&d->copy, "%s/gputrack-import.XXXXXX",
		     temporary && *temporary ? temporary : "/tmp") < 0)
		d->copy = gt_strdup("");
	e = mkdtemp(d->copy) ? 0 : -errno;
	snprintf(to, sizeof to, "%s/copy", d->copy);
	if (!e)
		e = copy_file(d->path, to);
	for (int i = 0; i < COMPANIONS && !e; i++) {
		snprintf(to, sizeof to, "%s/copy%s", d->copy, companions[i]);
		if (has_companion(d->path, i, from))
			e = copy_file(from, to);
	}
	return e ? gt_error_set(error, e,
				"cannot copy %s, which was not closed, and its log to %s: %s; set "
				"TMPDIR to a folder with enough space, or run `sqlite3 %s .tables`",
				d->path, d->copy, strerror(-e), d->path) :
		   0;
}

/* The name to open: the file's, or that of a copy where SQLite needs the files beside it. */
static int find_source(struct gt_database *d, char **uri, struct gt_error *error)
{
	char copy[PATH_MAX];
	int e;

	if (!needs_copy(d->path)) {
		*uri = uri_of(d->path, "?immutable=1");
		return 0;
	}
	e = copy_all(d, error);
	if (e)
		return e;
	snprintf(copy, sizeof copy, "%s/copy", d->copy);
	*uri = uri_of(copy, "");
	return 0;
}

int gt_database_open(struct gt_database *d, const char *path, struct gt_error *error)
{
	uint64_t size = 0;
	int e = check_file(path, &size, error);
	char *uri;

	if (e)
		return e;
	*d = (struct gt_database){ .path = path };
	e = find_source(d, &uri, error);
	if (e) {
		remove_copy(d);
		return e;
	}
	/* one thread reads: a lock for each column of each row would take a fifth of the time */
	e = sqlite3_open_v2(uri, &d->db,
			    (d->copy ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) |
				    SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
			    NULL);
	free(uri);
	/* a column may be an expression that yields a gigabyte: values in the file are smaller */
	sqlite3_limit(d->db, SQLITE_LIMIT_LENGTH,
		      size < LENGTH_MIN ? LENGTH_MIN :
		      size < INT_MAX    ? (int)size :
					  INT_MAX);
	if (e)
		e = gt_database_failed(d, error);
	/* sort in files, so that memory does not grow with the rows */
	if (!e)
		e = gt_database_run(d,
				    "PRAGMA temp_store = FILE; PRAGMA cache_size = -8000;"
				    "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON",
				    error);
	if (e)
		gt_database_close(d);
	return e;
}

void gt_database_close(struct gt_database *d)
{
	sqlite3_close_v2(d->db);
	d->db = NULL;
	remove_copy(d);
}

int gt_database_failed(const struct gt_database *d, struct gt_error *error)
{
	int code = sqlite3_errcode(d->db);

	if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_IOERR)
		return gt_error_set(error, -EIO, "%s is damaged (%s): export the profile again",
				    d->path, sqlite3_errmsg(d->db));
	if (code == SQLITE_FULL || code == SQLITE_CANTOPEN)
		return gt_error_set(error, -ENOSPC,
				    "cannot sort the rows of %s (%s): make room, "
				    "or set SQLITE_TMPDIR to where there is some",
				    d->path, sqlite3_errmsg(d->db));
	return gt_error_set(error, -EIO, "cannot read %s: %s", d->path, sqlite3_errmsg(d->db));
}

static sqlite3_stmt *prepare(const struct gt_database *d, const char *format, va_list args)
{
	sqlite3_stmt *statement = NULL;
	char *sql = sqlite3_vmprintf(format, args);

	if (sql)
		sqlite3_prepare_v2(d->db, sql, -1, &statement, NULL);
	sqlite3_free(sql);
	return statement;
}

sqlite3_stmt *gt_database_prepare(const struct gt_database *d, const char *format, ...)
{
	sqlite3_stmt *statement;
	va_list args;

	va_start(args, format);
	statement = prepare(d, format, args);
	va_end(args);
	return statement;
}

int gt_database_query(sqlite3_stmt **statement, const struct gt_database *d, struct gt_error *error,
		      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	*statement = prepare(d, format, args);
	va_end(args);
	return *statement ? 0 : gt_database_failed(d, error);
}

int gt_database_run(const struct gt_database *d, const char *sql, struct gt_error *error)
{
	return sqlite3_exec(d->db, sql, NULL, NULL, NULL) ? gt_database_failed(d, error) : 0;
}

/* True when the statement returns a row. Finalizes the statement. */
static bool has_row(sqlite3_stmt *statement)
{
	bool has = statement && sqlite3_step(statement) == SQLITE_ROW;

	sqlite3_finalize(statement);
	return has;
}

bool gt_database_has_table(const struct gt_database *d, const char *table)
{
	return has_row(gt_database_prepare(d,
					   "SELECT 1 FROM sqlite_master WHERE type = 'table' "
					   "AND name = %Q COLLATE NOCASE",
					   table));
}

bool gt_database_has_view(const struct gt_database *d, const char *name)
{
	return has_row(gt_database_prepare(d,
					   "SELECT 1 FROM sqlite_master WHERE type = 'view' "
					   "AND name = %Q COLLATE NOCASE",
					   name));
}

bool gt_database_has_rowid(const struct gt_database *d, const char *table)
{
	sqlite3_stmt *s = gt_database_prepare(d, "SELECT rowid FROM %s LIMIT 0", table);
	bool has = s;

	sqlite3_finalize(s);
	return has;
}

bool gt_database_has_column(const struct gt_database *d, const char *table, const char *column)
{
	return has_row(gt_database_prepare(d, "SELECT 1 FROM pragma_table_info(%Q) WHERE name = %Q",
					   table, column));
}

const char *gt_database_column(const struct gt_database *d, const char *table, const char *column)
{
	return gt_database_has_column(d, table, column) ? column : "NULL";
}

int gt_database_needs(const struct gt_database *d, const char *table, const char *const *columns,
		      struct gt_error *error)
{
	for (; *columns; columns++)
		if (!gt_database_has_column(d, table, *columns))
			return gt_error_set(error, -EINVAL,
					    "%s cannot be imported: its table %s has no column %s; "
					    "export the profile again with `nsys export --type "
					    "sqlite`",
					    d->path, table, *columns);
	return 0;
}

int gt_database_index(const struct gt_database *d, const char *table, const char *copy,
		      const char *columns, const char **name, struct gt_error *error)
{
	char sql[512];

	*name = table;
	if (gt_database_has_index(d, table, "id"))
		return 0;
	*name = copy;
	snprintf(sql, sizeof sql,
		 "CREATE TEMP TABLE %s AS SELECT %s FROM %s;CREATE INDEX temp.%s_by_id ON %s (id)",
		 copy, columns, table, copy, copy);
	return gt_database_run(d, sql, error);
}

bool gt_database_has_index(const struct gt_database *d, const char *table, const char *column)
{
	return has_row(gt_database_prepare(d,
					   "SELECT 1 FROM pragma_table_info(%Q) WHERE name = %Q "
					   "AND pk = 1 AND type = 'INTEGER' AND NOT EXISTS "
					   "(SELECT 1 FROM pragma_table_info(%Q) WHERE pk = 2)",
					   table, column, table)) ||
	       has_row(gt_database_prepare(d,
					   "SELECT 1 FROM pragma_index_list(%Q) AS i, "
					   "pragma_index_info(i.name) AS c WHERE c.seqno = 0 AND "
					   "c.name = %Q",
					   table, column));
}

int gt_database_time_order(struct gt_time_order *o, const struct gt_database *d, const char *sql,
			   struct gt_error *error)
{
	sqlite3_stmt *rows = gt_database_prepare(d, "%s", sql);
	int step = SQLITE_ERROR;

	*o = (struct gt_time_order){ .first = INT64_MAX, .last = INT64_MIN, .last_end = INT64_MIN };
	while (rows && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		int64_t start = sqlite3_column_int64(rows, 0), end = sqlite3_column_int64(rows, 1);

		o->out_of_order += o->rows++ && start < o->last;
		o->first = start < o->first ? start : o->first;
		o->last = start > o->last ? start : o->last;
		o->last_end = end > o->last_end ? end : o->last_end;
	}
	if (step != SQLITE_DONE)
		gt_database_failed(d, error);
	sqlite3_finalize(rows);
	return step == SQLITE_DONE ? 0 : -EIO;
}
