/* SPDX-License-Identifier: MIT */
/* end_watcher.c - records when traced processes end that cannot record it themselves. */
#include "cli/run/end_watcher.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"
#include "base/tool.h"
#include "trace/info.h"
#include "trace/layout.h"

struct gt_end_watcher {
	pthread_t thread;
	int folder, inotify, stop; /* descriptors; stop: an eventfd */
	int ends;                  /* -1 until there is something to write */
};

/* True for a trace whose process has not written its end. */
static bool has_no_end(const struct gt_end_watcher *w, const char *name)
{
	int fd = openat(w->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct gt_trace_header h = { 0 };
	bool has_none = fd >= 0 && pread(fd, &h, sizeof h, 0) == sizeof h &&
			!memcmp(h.magic, GT_TRACE_MAGIC, sizeof h.magic) && h.pid &&
			h.state == GT_TRACE_RUNNING;

	if (fd >= 0)
		close(fd);
	return has_none;
}

static void record_end(struct gt_end_watcher *w, const char *name, uint64_t now_ns)
{
	if (!has_no_end(w, name))
		return;
	if (w->ends < 0) {
		w->ends = openat(w->folder, GT_ENDS_FILE,
				 O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
		/* several tools may record into one folder: the first one writes the header */
		if (w->ends >= 0 && !lseek(w->ends, 0, SEEK_END))
			dprintf(w->ends, GT_ENDS_MAGIC);
	}
	if (w->ends >= 0)
		dprintf(w->ends, "%s %" PRIu64 "\n", name, now_ns);
}

/* False if there are no more events for now. */
static bool read_events(struct gt_end_watcher *w)
{
	_Alignas(struct inotify_event) char events[4096];
	ssize_t size = read(w->inotify, events, sizeof events);
	uint64_t now_ns = gt_now_ns();

	for (ssize_t at = 0; at < size;) {
		const struct inotify_event *event = (const void *)(events + at);

		if (event->len)
			record_end(w, event->name, now_ns);
		at += (ssize_t)(sizeof *event + event->len);
	}
	return size > 0;
}

static void *watch(void *context)
{
	struct gt_end_watcher *w = context;
	struct pollfd wait[] = { { .fd = w->inotify, .events = POLLIN },
				 { .fd = w->stop, .events = POLLIN } };

	do {
		poll(wait, 2, -1);
		while (read_events(w))
			;
	} while (!(wait[1].revents & POLLIN));
	return NULL;
}

static void let_go(struct gt_end_watcher *w)
{
	const int all[] = { w->folder, w->inotify, w->stop, w->ends };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i] >= 0)
			close(all[i]);
	free(w);
}

struct gt_end_watcher *gt_end_watcher_start(const char *folder)
{
	struct gt_end_watcher *w = gt_alloc(sizeof *w);

	w->ends = -1;
	w->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	w->stop = eventfd(0, EFD_CLOEXEC);
	if (w->folder >= 0 && w->inotify >= 0 && w->stop >= 0 &&
	    inotify_add_watch(w->inotify, folder, IN_CLOSE_WRITE) >= 0 &&
	    !gt_thread_start(&w->thread, watch, w))
		return w;
	let_go(w);
	return NULL;
}

void gt_end_watcher_stop(struct gt_end_watcher *w)
{
	if (!w)
		return;
	eventfd_write(w->stop, 1);
	pthread_join(w->thread, NULL);
	let_go(w);
}
