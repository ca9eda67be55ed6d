/* SPDX-License-Identifier: MIT */
/* child.c - tries loaders and drivers in a child process, which may crash or hang. */
#include "cli/doctor/doctor.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "base/tool.h"

enum { PATIENCE_S = 30 };

bool gt_doctor_loads_none(struct gt_doctor *d, const char *what)
{
	if (!gt_tool_is_static())
		return false;
	gt_doctor_say(d, GT_FINDING_NOTE, what,
		      "not tried: this gputrack is a static program, which loads no libraries");
	return true;
}

void gt_child_tell(FILE *out, const char *key, const char *text)
{
	fprintf(out, "%s\t", key);
	gt_tsv_put(out, text);
	putc('\n', out);
}

void gt_child_tell_number(FILE *out, const char *key, int64_t number)
{
	fprintf(out, "%s\t%" PRId64 "\n", key, number);
}

void *gt_child_load(FILE *out, const char *library)
{
	const char *why;
	void *loaded = gt_tool_load(library, RTLD_NOW | RTLD_LOCAL, &why);
	struct link_map *map;

	if (!loaded)
		gt_child_tell(out, "missing", why);
	else if (!dlinfo(loaded, RTLD_DI_LINKMAP, &map))
		gt_child_tell(out, "path", map->l_name);
	fflush(out); /* keep this if a driver crashes from here on */
	return loaded;
}

/* Keeps the drivers' output out of the report. */
static void silence_streams(void)
{
	FILE *nowhere = fopen("/dev/null", "r+");

	if (nowhere)
		for (int fd = 0; fd < 3; fd++)
			dup2(fileno(nowhere), fd);
}

static void live_as_child(int fd, gt_explore_fn *explore, const void *context)
{
	FILE *out = fdopen(fd, "w");

	silence_streams();
	alarm(PATIENCE_S);
	unsetenv("GPUTRACK_RECORDING");
	if (out) {
		explore(out, context);
		fflush(out);
	}
	_exit(0);
}

/* Reads to the end; gives up if a grandchild keeps the pipe open longer than the child may live. */
static void read_all(int fd, char *text, size_t size)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	size_t used = 0;
	ssize_t n;

	while (used + 1 < size && poll(&wait, 1, (PATIENCE_S + 5) * 1000) > 0) {
		n = read(fd, text + used, size - 1 - used);
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	text[used] = '\0';
}

int gt_child_explore(gt_explore_fn *explore, const void *context, char *text, size_t size)
{
	int ends[2], status = -1;
	pid_t child;

	text[0] = '\0';
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	fflush(NULL);
	child = fork();
	if (child < 0) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	if (!child) {
		close(ends[0]);
		live_as_child(ends[1], explore, context);
	}
	close(ends[1]);
	read_all(ends[0], text, size);
	close(ends[0]);
	waitpid(child, &status, 0);
	return status;
}

bool gt_child_next(const char **at, const char *key, char *out, size_t size)
{
	size_t length = strlen(key);

	while (**at) {
		const char *line = *at, *end = strchrnul(line, '\n');

		*at = *end ? end + 1 : end;
		if (!strncmp(line, key, length) && line[length] == '\t') {
			snprintf(out, size, "%.*s", (int)(end - line - (long)length - 1),
				 line + length + 1);
			return true;
		}
	}
	return false;
}

bool gt_child_first(const char *text, const char *key, char *out, size_t size)
{
	out[0] = '\0';
	return gt_child_next(&text, key, out, size);
}

long gt_child_number(const char *text, const char *key, long otherwise)
{
	char number[32];

	return gt_child_first(text, key, number, sizeof number) ? strtol(number, NULL, 10) :
								  otherwise;
}

void gt_child_say_end(struct gt_doctor *d, const char *what, int status)
{
	if (status == -1)
		gt_doctor_say(d, GT_FINDING_BAD, what, "could not be tested");
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		gt_doctor_say(d, GT_FINDING_BAD, what, "did not respond within %d s", PATIENCE_S);
	else if (WIFSIGNALED(status))
		gt_doctor_say(d, GT_FINDING_BAD, what, "crashed: %s", strsignal(WTERMSIG(status)));
	else
		gt_doctor_say(d, GT_FINDING_BAD, what, "ended the process with status %d",
			      WEXITSTATUS(status));
}
