/* output.c - where a report goes: stdout, or a file that appears whole or not at all. */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* A new file in the same folder; rename cannot cross file systems. */
static int open_beside(struct gt_output *o)
{
	mode_t mask = umask(0);
	int fd, e;

	umask(mask);
	if (asprintf(&o->beside, "%s.XXXXXX", o->path) < 0)
		o->beside = gt_strdup(o->path);
	fd = mkostemp(o->beside, O_CLOEXEC);
	if (fd < 0) {
		e = -errno;
		free(o->beside);
		o->beside = NULL;
		return e;
	}
	/* mkostemp makes files private; a report is as readable as any other file of the user */
	fchmod(fd, 0666 & ~mask);
	return fd;
}

int gt_output_open(struct gt_output *o, const char *path, struct gt_error *error)
{
	struct stat st;
	int fd;

	*o = (struct gt_output){ .file = stdout };
	/* one thread writes millions of small pieces */
	__fsetlocking(stdout, FSETLOCKING_BYCALLER);
	if (!path || !strcmp(path, "-"))
		return 0;
	o->path = gt_strdup(path);
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	} else {
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

static void output_free(struct gt_output *o)
{
	free(o->path);
	free(o->beside);
	*o = (struct gt_output){ 0 };
}

int gt_output_close(struct gt_output *o, struct gt_error *error)
{
	int e = 0;

	errno = 0;
	if (fflush(o->file) || ferror(o->file))
		e = errno ? errno : EIO;
	if (o->path && fclose(o->file) && !e)
		e = errno;
	if (!e && o->beside && rename(o->beside, o->path))
		e = errno;
	if (e && o->beside)
		unlink(o->beside);
	if (e)
		gt_error_set(error, -e,
			     "cannot write %s: %s; make room or choose another place with -o",
			     o->path ? o->path : "the output", strerror(e));
	output_free(o);
	return -e;
}

void gt_output_abandon(struct gt_output *o)
{
	if (o->path && o->file)
		fclose(o->file);
	if (o->beside)
		unlink(o->beside);
	output_free(o);
}
