/* SPDX-License-Identifier: MIT */
/* runners.c - which `gputrack run`s of a job's ranks still run, as a line of `info`. */
#include "cli/run/runners.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"

enum { PLACE_MAX = 128 };

struct runner {
	char rank[12], place[PLACE_MAX];
	pid_t pid;
};

static void find_place(char place[PLACE_MAX])
{
	char space[48] = "";
	struct utsname system = { 0 };
	ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space - 1);

	space[n > 0 ? n : 0] = '\0';
	uname(&system);
	snprintf(place, PLACE_MAX, "%.64s/%s", system.nodename, space);
	/* a list must stay one, whatever the host is called */
	for (char *at = place; (at = strpbrk(at, ", "));)
		*at = '_';
}

/* "a", "a,b", …; the old text is freed. */
static void append(char **list, const char *text)
{
	size_t size = strlen(*list);

	*list = gt_realloc(*list, size + strlen(text) + 2);
	sprintf(*list + size, "%s%s", size ? "," : "", text);
}

static void append_runner(char **list, const struct runner *one)
{
	char text[PLACE_MAX + 40];

	snprintf(text, sizeof text, "%s %d %s", one->rank, (int)one->pid, one->place);
	append(list, text);
}

char *gt_runners_add(const char *list, const char *rank, pid_t pid)
{
	char *longer = gt_strdup(list);
	struct runner one = { .pid = pid };

	snprintf(one.rank, sizeof one.rank, "%s", rank);
	find_place(one.place);
	append_runner(&longer, &one);
	return longer;
}

/* The next of the list; what is none is passed over. */
static bool next(const char **list, struct runner *one)
{
	bool found = false;
	int pid;

	while (!found && **list) {
		found = sscanf(*list, "%11[0-9] %d %127[^, ]", one->rank, &pid, one->place) == 3 &&
			pid > 0;
		*list += strcspn(*list, ",");
		*list += **list == ',';
	}
	if (found)
		one->pid = pid;
	return found;
}

void gt_runners_look(struct gt_runners *r, const char *list, const char *without)
{
	char place[PLACE_MAX];
	struct runner one;
	size_t room = 0;

	*r = (struct gt_runners){ .list = gt_strdup(""), .killed = gt_strdup("") };
	find_place(place);
	while (next(&list, &one)) {
		bool is_here = !strcmp(one.place, place);

		if (!strcmp(one.rank, without))
			continue;
		if (is_here && !gt_process_start_ns((uint32_t)one.pid)) {
			append(&r->killed, one.rank);
			continue;
		}
		append_runner(&r->list, &one);
		r->count++;
		if (is_here) {
			GT_GROW(r->here, r->here_count, room);
			r->here[r->here_count++] = one.pid;
		}
	}
}

void gt_runners_fini(struct gt_runners *r)
{
	free(r->list);
	free(r->killed);
	free(r->here);
	*r = (struct gt_runners){ 0 };
}

void gt_runners_wait(const struct gt_runners *r, int most_ms)
{
	uint64_t until_ns = gt_now_ns() + (uint64_t)most_ms * 1000000;

	for (size_t i = 0; i < r->here_count; i++) {
		struct pollfd end = { .events = POLLIN };
		uint64_t now_ns = gt_now_ns();

		end.fd = (int)syscall(SYS_pidfd_open, r->here[i], 0);
		if (end.fd < 0)
			continue;
		if (now_ns < until_ns)
			poll(&end, 1, (int)((until_ns - now_ns) / 1000000));
		close(end.fd);
	}
}
