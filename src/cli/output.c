/* SPDX-License-Identifier: MIT */
/* output.c - where output goes: stdout, or a file that appears whole or not at all; its style. */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"
#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/folder.h"
#include "replay/replay.h"

/* A nameless file in the folder of `path`, gone if we die; not all file systems have them. */
static int open_nameless(const char *path)
{
	size_t size = gt_path_folder_size(path);
	char *folder = size ? gt_strndup(path, size) : gt_strdup(".");
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);

	free(folder);
	return fd;
}

/* A name in the output's own folder: rename cannot cross file systems. */
static char *name_beside(const char *path)
{
	char *name;

	return asprintf(&name, "%s.XXXXXX", path) < 0 ? gt_strdup(path) : name;
}

static int open_beside(struct gt_output *o)
{
	mode_t mask = umask(0);
	int fd, e;

	umask(mask);
	fd = open_nameless(o->path);
	if (fd >= 0) {
		o->nameless = true;
		return fd;
	}
	o->beside = name_beside(o->path);
	fd = mkostemp(o->beside, O_CLOEXEC);
	if (fd < 0) {
		e = -errno;
		free(o->beside);
		o->beside = NULL;
		return e;
	}
	/* mkostemp makes files private; a report is as readable as the user's other files */
	fchmod(fd, 0666 & ~mask);
	return fd;
}

/*
 * /dev/stdout and the like are links, which lead to a regular file if the shell redirected the
 * stream there. Then the stream is meant, not a file in the link's place.
 */
static int stream_behind(const char *path, const struct stat *st)
{
	struct stat link, stream;

	if (lstat(path, &link) || !S_ISLNK(link.st_mode))
		return -1;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (!fstat(fd, &stream) && stream.st_dev == st->st_dev &&
		    stream.st_ino == st->st_ino)
			return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return -1;
}

const char *gt_output_promises(const char *path)
{
	static const char *const endings[] = { ".gz", ".zst", ".xz", ".bz2", ".lz4", ".zip" };
	size_t length = path ? strlen(path) : 0;

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t size = strlen(endings[i]);

		if (length > size && !strcmp(path + length - size, endings[i]))
			return endings[i];
	}
	return NULL;
}

int gt_output_check(const char *path, struct gt_error *error)
{
	return gt_folder_has_own(path) ?
		       gt_error_set(error, -EEXIST,
				    "%s is part of a recording and will not be overwritten; choose "
				    "another place to write to",
				    path) :
		       0;
}

int gt_output_open(struct gt_output *o, const char *path, struct gt_error *error)
{
	struct stat st;
	int fd = -1, e;

	*o = (struct gt_output){ .file = stdout };
	/* one thread writes millions of small pieces */
	__fsetlocking(stdout, FSETLOCKING_BYCALLER);
	if (!path || !strcmp(path, "-"))
		return 0;
	e = gt_output_check(path, error);
	if (e)
		return e;
	o->path = gt_strdup(path);
	if (stat(path, &st)) {
		fd = open_beside(o);
	} else if (!S_ISREG(st.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	} else {
		fd = stream_behind(path, &st);
		if (fd < 0)
			fd = open_beside(o);
	}
	if (fd < 0) {
		free(o->path);
		return gt_error_set(error, fd, "cannot write %s: %s; choose another place with -o",
				    path, strerror(-fd));
	}
	o->file = fdopen(fd, "w");
	if (!o->file) {
		fd = -errno;
		gt_output_abandon(o);
		return gt_error_set(error, fd, "cannot write %s: %s", path, strerror(-fd));
	}
	__fsetlocking(o->file, FSETLOCKING_BYCALLER);
	return 0;
}

static const char *random_letters(char letters[7])
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz012345";
	uint8_t bytes[6] = { 0 };

	if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) < 0)
		memcpy(bytes, &(uint64_t){ gt_now_ns() }, sizeof bytes);
	for (int i = 0; i < 6; i++)
		letters[i] = alphabet[bytes[i] % 32];
	letters[6] = '\0';
	return letters;
}

/* Gives the finished nameless file a temporary name beside its final one. */
static int link_nameless(struct gt_output *o, int fd)
{
	char self[32], letters[7];
	int e = 0;

	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	/* linkat never replaces a file: if the name is taken by now, try another */
	for (int attempt = 0; attempt < 100; attempt++) {
		char *name = name_beside(o->path);

		memcpy(name + strlen(name) - 6, random_letters(letters), 6);
		e = linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) ? errno : 0;
		if (!e) {
			o->beside = name;
			return 0;
		}
		free(name);
		if (e != EEXIST)
			break;
	}
	return e;
}

static void output_free(struct gt_output *o)
{
	free(o->path);
	free(o->beside);
	*o = (struct gt_output){ 0 };
}

/* A stream knows that a write failed but not why: writing one more byte fails the same way. */
static int write_errno(FILE *file)
{
	return write(fileno(file), "", 1) < 0 && errno ? errno : EIO;
}

static int flush(FILE *file)
{
	errno = 0;
	if (fflush(file))
		return errno;
	return ferror(file) ? write_errno(file) : 0;
}

static int set_error(struct gt_error *error, int e, const char *path)
{
	return gt_error_set(error, -e,
			    "cannot write %s: %s; make room or choose another place with -o",
			    path ? path : "the output", strerror(e));
}

int gt_output_flush(struct gt_output *o, struct gt_error *error)
{
	int e = flush(o->file);

	return e ? set_error(error, e, o->path) : 0;
}

int gt_output_close(struct gt_output *o, struct gt_error *error)
{
	int e = flush(o->file);

	if (!e && o->nameless)
		e = link_nameless(o, fileno(o->file));
	if (o->path && fclose(o->file) && !e)
		e = errno;
	if (!e && o->beside && rename(o->beside, o->path))
		e = errno;
	if (e && o->beside)
		unlink(o->beside);
	if (e)
		set_error(error, e, o->path);
	output_free(o);
	return -e;
}

char *gt_output_stem(const char *input)
{
	char *stem = gt_strdup(input), *whole;

	gt_path_trim_slashes(stem);
	if (strcmp(gt_path_name(stem), ".") && strcmp(gt_path_name(stem), ".."))
		return stem;
	whole = realpath(stem, NULL);
	if (!whole)
		return stem;
	free(stem);
	return whole;
}

void gt_output_abandon(struct gt_output *o)
{
	if (o->path && o->file)
		fclose(o->file);
	if (o->beside)
		unlink(o->beside);
	output_free(o);
}

enum { WIDTH_DEFAULT = 80, WIDTH_MAX = 300 };

/* clang-format off */
const char *const gt_color_names[] = {
	[GT_COLOR_AUTO] = "auto", [GT_COLOR_ALWAYS] = "always", [GT_COLOR_NEVER] = "never", NULL,
};
/* clang-format on */

static bool wants_color(FILE *out, enum gt_color color)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (color != GT_COLOR_AUTO)
		return color == GT_COLOR_ALWAYS;
	return isatty(fileno(out)) && !(no_color && *no_color) && term && strcmp(term, "dumb");
}

/* COLUMNS of the environment; 0: not set. */
static uint64_t width_given(void)
{
	const char *columns = getenv("COLUMNS");
	uint64_t given;

	return columns && gt_count_parse(columns, &given) ? given : 0;
}

static unsigned width_of(FILE *out)
{
	uint64_t given = width_given();
	struct winsize size;

	if (given)
		;
	else if (isatty(fileno(out)) && !ioctl(fileno(out), TIOCGWINSZ, &size) && size.ws_col)
		given = size.ws_col;
	else
		given = WIDTH_DEFAULT;
	return given < GT_PAGE_MIN ? GT_PAGE_MIN : given > WIDTH_MAX ? WIDTH_MAX : (unsigned)given;
}

struct gt_style gt_terminal_style(FILE *out, enum gt_color color)
{
	static char directory[PATH_MAX];

	if (!getcwd(directory, sizeof directory))
		directory[0] = '\0';
	return (struct gt_style){
		.color = wants_color(out, color),
		.utf8 = gt_is_utf8(),
		.width = width_of(out),
		.whole = !width_given() && !isatty(fileno(out)),
		.directory = directory,
	};
}

/* The progress line: since when, when it was last written, and the events of the last tick. */
static struct {
	uint64_t began_ns, shown_ns, events;
	bool is_again; /* they are being read a second time */
} progress;

void gt_progress_tick(uint64_t events)
{
	uint64_t now = gt_now_ns();
	bool is_writing = events == GT_TICK_WRITING;
	/* the last line of one kind must not stay while the next one is done */
	bool is_new = is_writing != (progress.events == GT_TICK_WRITING);
	char text[GT_FORMAT_MAX];

	if (!progress.began_ns)
		progress.began_ns = now;
	progress.is_again |= !is_writing && events < progress.events;
	progress.events = events;
	if (now - progress.began_ns < 1000000000u ||
	    (!is_new && now - progress.shown_ns < 200000000u) || !isatty(STDERR_FILENO))
		return;
	progress.shown_ns = now;
	if (is_writing)
		fputs("\r\033[Kgputrack: writing", stderr);
	else
		fprintf(stderr, "\rgputrack: read %s events%s", gt_format_count(text, events),
			progress.is_again ? " again" : "");
}

void gt_progress_end(void)
{
	if (progress.shown_ns)
		fputs("\r\033[K", stderr);
	memset(&progress, 0, sizeof progress);
}
