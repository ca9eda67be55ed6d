/* SPDX-License-Identifier: MIT */
/*
 * end_watcher.c - records how traced processes end, and when, if they cannot record it themselves.
 */
#include "cli/run/end_watcher.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"
#include "base/tool.h"
#include "cli/run/process_state.h"
#include "trace/info.h"
#include "trace/layout.h"
#include "trace/recording.h"
#include "trace/trace_file.h"

enum {
	PIDFDS_MAX =
		16384,  /* beyond it, only /proc tells: while nobody has waited for the process */
	WAIT_MS = 1000, /* at the end, for the last processes to be waited for */
	STEP_MS = 5,
};

/* A trace whose process has not ended. */
struct watched {
	char *name;
	uint32_t pid, ppid;
	int pidfd;        /* -1: none */
	bool is_verified; /* the process has the trace: its pid is not another one's */
	bool is_closed;   /* the kernel has closed the trace, and the process did not exec */
	char *group;      /* its memory group; NULL: unknown */
	uint64_t kills;   /* for want of memory, in that group, before it was seen */
	struct watched *next;
};

struct gt_end_watcher {
	pthread_t thread;
	char *path;                       /* of the folder */
	int folder, inotify, stop, epoll; /* descriptors; stop: an eventfd */
	int socket;                       /* on which processes announce their traces; -1: none */
	int ends;                         /* -1 until there is something to write */
	struct watched *list;
	size_t pidfds, pidfds_max;
	uint64_t number, unrecorded;
};

static bool read_header(const struct gt_end_watcher *w, const char *name, struct gt_trace_header *h)
{
	int fd = openat(w->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_read = fd >= 0 && pread(fd, h, sizeof *h, 0) == sizeof *h &&
		       !memcmp(h->magic, GT_TRACE_MAGIC, sizeof h->magic) && h->pid;

	if (fd >= 0)
		close(fd);
	return is_read;
}

static void write_line(struct gt_end_watcher *w, const char *name, const char *how, uint64_t number)
{
	if (w->ends < 0) {
		w->ends = openat(w->folder, GT_ENDS_FILE,
				 O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
		/* several tools may record into one folder: the first one writes the header */
		if (w->ends >= 0 && !lseek(w->ends, 0, SEEK_END))
			dprintf(w->ends, GT_ENDS_MAGIC);
	}
	if (w->ends >= 0)
		dprintf(w->ends, "%s %s%" PRIu64 "\n", name, how, number);
}

/* The time, unless the process has recorded it. */
static void record_time(struct gt_end_watcher *w, const char *name)
{
	struct gt_trace_header h;

	if (read_header(w, name, &h) && h.state == GT_TRACE_RUNNING)
		write_line(w, name, "", gt_now_ns());
}

static void record_status(struct gt_end_watcher *w, const struct watched *p, int status)
{
	uint64_t kills;

	if (WIFSIGNALED(status))
		write_line(w, p->name, "signal ", (uint64_t)WTERMSIG(status));
	else if (WIFEXITED(status))
		write_line(w, p->name, "exit ", (uint64_t)WEXITSTATUS(status));
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && gt_oom_kills(p->group, &kills) &&
	    kills > p->kills)
		write_line(w, p->name, "oom ", SIGKILL);
}

static void find_group(struct watched *p)
{
	free(p->group);
	p->group = gt_oom_group(p->pid);
	if (!gt_oom_kills(p->group, &p->kills)) {
		free(p->group);
		p->group = NULL;
	}
}

static struct watched **find(struct gt_end_watcher *w, const char *name)
{
	struct watched **at = &w->list;

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

static void forget(struct gt_end_watcher *w, struct watched *p)
{
	struct watched **at = find(w, p->name);

	*at = p->next;
	gt_trace_file_finish(w->folder, p->name);
	if (p->pidfd >= 0) {
		close(p->pidfd);
		w->pidfds--;
	}
	free(p->group);
	free(p->name);
	free(p);
}

/*
 * How the process ended, as from waitpid. The kernel shows the status of a process that is ending,
 * until somebody has waited for it; a descriptor of the process tells it after that.
 */
static bool find_status(const struct gt_end_watcher *w, const struct watched *p, int *status)
{
	struct gt_process_state state;
	struct gt_trace_header h;

	/* a process of another namespace may have the pid: would its parent have that of ours, too?
	 */
	if (!p->is_verified && (!read_header(w, p->name, &h) || h.ppid != p->ppid))
		return false;
	if (p->pidfd >= 0 && gt_pidfd_exit_status(p->pidfd, status))
		return true;
	if (!gt_process_state_read(&state, p->pid) || !state.is_ending)
		return false;
	/* not waited for yet, so what was read was not of another process that got its pid */
	if (p->pidfd >= 0 ? gt_pidfd_is_reaped(p->pidfd) : state.ppid != p->ppid)
		return false;
	*status = state.exit_status;
	return true;
}

/* Records how it ended, if that is known by now. */
static void settle(struct gt_end_watcher *w, struct watched *p)
{
	int status;

	if (!find_status(w, p, &status))
		return;
	if (!p->is_closed)
		record_time(w, p->name);
	record_status(w, p, status);
	forget(w, p);
}

/* A second trace with its pid: it executed another program, although somebody else has its trace.
 */
static void settle_before(struct gt_end_watcher *w, const struct watched *now)
{
	for (struct watched *p = now->next, *next; p && now->is_verified; p = next) {
		next = p->next;
		if (p->pid != now->pid)
			continue;
		if (p->pidfd >= 0 && !gt_pidfd_is_reaped(p->pidfd)) {
			record_time(w, p->name);
			write_line(w, p->name, "exec ", 0);
			forget(w, p);
		} else {
			settle(w, p);
		}
	}
}

/* Is told when it ends. */
static void follow(struct gt_end_watcher *w, struct watched *p)
{
	w->pidfds++;
	epoll_ctl(w->epoll, EPOLL_CTL_ADD, p->pidfd,
		  &(struct epoll_event){ .events = EPOLLIN | EPOLLET, .data.ptr = p });
}

/* A process has announced its trace: it is certain whose it is, even if it has ended since. */
static void take_announced(struct gt_end_watcher *w, const char *name, uint32_t pid, int pidfd)
{
	struct watched *p = *find(w, name);

	if (p && p->pidfd >= 0) {
		close(p->pidfd);
		w->pidfds--;
	}
	if (!p) {
		p = gt_alloc(sizeof *p);
		p->name = gt_strdup(name);
		p->next = w->list;
		w->list = p;
	}
	p->pid = pid;
	p->pidfd = pidfd;
	p->is_verified = true;
	find_group(p);
	settle_before(w, p);
	follow(w, p);
}

static void add(struct gt_end_watcher *w, const char *name)
{
	struct gt_process_state state;
	char path[PATH_MAX];
	struct watched *p;
	uint32_t pid = (uint32_t)strtoul(name, NULL, 10);

	if (!gt_recording_is_trace(name) || !pid || *find(w, name))
		return;
	p = gt_alloc(sizeof *p);
	p->pidfd = w->pidfds < w->pidfds_max ? gt_pidfd_open(pid) : -1;
	if (!gt_process_state_read(&state, pid)) {
		if (p->pidfd >= 0)
			close(p->pidfd);
		free(p);
		return;
	}
	snprintf(path, sizeof path, "%s/%s", w->path, name);
	p->name = gt_strdup(name);
	p->pid = pid;
	p->ppid = state.ppid;
	p->is_verified = gt_process_uses_file(pid, path);
	find_group(p);
	p->next = w->list;
	w->list = p;
	settle_before(w, p);
	if (p->pidfd >= 0)
		follow(w, p);
}

/* A process of any user: the secret tells that it is one of ours. */
static bool is_unrecorded(const struct gt_end_watcher *w, const char *text)
{
	char expected[sizeof GT_WATCHER_UNRECORDED + 20];

	snprintf(expected, sizeof expected, GT_WATCHER_UNRECORDED "%" PRIu64, w->number);
	return !strcmp(text, expected);
}

/* One announcement (guest/announce.c); false if there are no more for now. */
static bool read_announcement(struct gt_end_watcher *w)
{
	int from = w->socket < 0 ? -1 : accept4(w->socket, NULL, NULL, SOCK_CLOEXEC), pidfd = -1;
	char name[NAME_MAX + 1];
	struct ucred sender;
	ssize_t size;

	if (from < 0)
		return false;
	size = gt_descriptor_receive(from, name, sizeof name - 1, &pidfd);
	name[size > 0 ? size : 0] = '\0';
	w->unrecorded += is_unrecorded(w, name);
	if (pidfd >= 0 && w->pidfds < w->pidfds_max && gt_recording_is_trace(name) &&
	    !strchr(name, '/') &&
	    !getsockopt(from, SOL_SOCKET, SO_PEERCRED, &sender, &(socklen_t){ sizeof sender }) &&
	    sender.uid == geteuid())
		take_announced(w, name, (uint32_t)sender.pid, pidfd);
	else if (pidfd >= 0)
		close(pidfd);
	close(from);
	return true;
}

/* Traces made before we watched, or while too much happened at once. */
static void add_all(struct gt_end_watcher *w)
{
	DIR *folder = opendir(w->path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		add(w, entry->d_name);
	if (folder)
		closedir(folder);
}

/* The process has ended or executed another program, or only its descriptor was opened anew. */
static void on_close(struct gt_end_watcher *w, const char *name)
{
	struct watched *p = *find(w, name);
	struct gt_process_state state;
	char path[PATH_MAX];

	if (!gt_recording_is_trace(name))
		return;
	if (!p) {
		record_time(w, name);
		return;
	}
	snprintf(path, sizeof path, "%s/%s", w->path, name);
	if (!gt_process_state_read(&state, p->pid) || state.is_ending ||
	    (p->pidfd >= 0 && gt_pidfd_is_reaped(p->pidfd))) {
		p->is_closed = true;
		record_time(w, name);
		settle(w, p);
	} else if (!gt_process_uses_file(p->pid, path)) {
		record_time(w, name);
		if (p->is_verified)
			write_line(w, name, "exec ", 0);
		forget(w, p);
	}
}

/* False if there are no more events for now. */
static bool read_events(struct gt_end_watcher *w)
{
	_Alignas(struct inotify_event) char events[4096];
	ssize_t size = read(w->inotify, events, sizeof events);

	for (ssize_t at = 0; at < size;) {
		const struct inotify_event *event = (const void *)(events + at);

		if (event->mask & IN_Q_OVERFLOW)
			add_all(w);
		if (event->len && event->mask & IN_CREATE)
			add(w, event->name);
		if (event->len && event->mask & IN_CLOSE_WRITE)
			on_close(w, event->name);
		at += (ssize_t)(sizeof *event + event->len);
	}
	return size > 0;
}

static void *watch(void *context)
{
	struct gt_end_watcher *w = context;
	struct epoll_event event = { 0 };

	do {
		/* one at a time: what it is about must not have been forgotten */
		if (epoll_wait(w->epoll, &event, 1, -1) < 1)
			continue;
		if (event.data.ptr && event.data.ptr != w && event.data.ptr != &w->socket)
			settle(w, event.data.ptr);
		while (read_announcement(w))
			;
		while (read_events(w))
			;
	} while (event.data.ptr != w);
	return NULL;
}

static void *close_slowly(void *fd)
{
	close((int)(intptr_t)fd);
	return NULL;
}

/* The kernel takes milliseconds to close this: the report is made meanwhile. */
static void close_inotify(int fd)
{
	pthread_t thread;

	if (fd >= 0 && gt_thread_start(&thread, close_slowly, (void *)(intptr_t)fd))
		close(fd);
	else if (fd >= 0)
		pthread_detach(thread);
}

static void let_go(struct gt_end_watcher *w)
{
	const int all[] = { w->folder, w->stop, w->ends, w->epoll, w->socket };

	close_inotify(w->inotify);

	while (w->list)
		forget(w, w->list);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i] >= 0)
			close(all[i]);
	free(w->path);
	free(w);
}

static bool wait_for(struct gt_end_watcher *w, int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	return fd >= 0 && !epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Without it, processes that end at once may end before we have looked at them. */
static void listen_in(struct gt_end_watcher *w)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int size = snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
			    GT_WATCHER_SOCKET "%d", (int)getpid());

	w->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (w->socket < 0)
		return;
	if (bind(w->socket, (const struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size)) ||
	    listen(w->socket, SOMAXCONN) || !wait_for(w, w->socket, &w->socket)) {
		close(w->socket);
		w->socket = -1;
	}
}

/* A descriptor for each process; programs that we start get back the limit that we found. */
static size_t allow_pidfds(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	if (limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	return limit.rlim_cur / 2 < PIDFDS_MAX ? limit.rlim_cur / 2 : PIDFDS_MAX;
}

struct gt_end_watcher *gt_end_watcher_start(const char *folder, uint64_t number)
{
	struct gt_end_watcher *w = gt_alloc(sizeof *w);

	w->ends = w->socket = -1;
	w->path = gt_strdup(folder);
	w->number = number;
	w->pidfds_max = allow_pidfds();
	w->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	w->stop = eventfd(0, EFD_CLOEXEC);
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (w->folder >= 0 && wait_for(w, w->inotify, NULL) && wait_for(w, w->stop, w) &&
	    inotify_add_watch(w->inotify, folder, IN_CREATE | IN_CLOSE_WRITE) >= 0) {
		listen_in(w);
		add_all(w);
		if (!gt_thread_start(&w->thread, watch, w))
			return w;
	}
	let_go(w);
	return NULL;
}

/* Our child: its status is certain. */
static void settle_child(struct gt_end_watcher *w, pid_t pid, int status)
{
	for (struct watched *p = w->list, *next; p && status >= 0; p = next) {
		next = p->next;
		if (p->pid != (uint32_t)pid || (!p->is_closed && !p->is_verified))
			continue;
		if (!p->is_closed)
			record_time(w, p->name);
		record_status(w, p, status);
		forget(w, p);
	}
}

/* Asks again about those that have ended; false when all is known that can be. */
static bool settle_rest(struct gt_end_watcher *w)
{
	bool is_more = false;

	for (struct watched *p = w->list, *next; p; p = next) {
		next = p->next;
		is_more |= p->is_closed && p->pidfd >= 0 && !gt_pidfd_is_reaped(p->pidfd);
		settle(w, p);
	}
	return is_more;
}

uint64_t gt_end_watcher_stop(struct gt_end_watcher *w, pid_t pid, int status)
{
	uint64_t unrecorded;

	if (!w)
		return 0;
	eventfd_write(w->stop, 1);
	pthread_join(w->thread, NULL);
	settle_child(w, pid, status);
	for (int ms = 0; settle_rest(w) && ms < WAIT_MS; ms += STEP_MS)
		usleep(STEP_MS * 1000);
	unrecorded = w->unrecorded;
	let_go(w);
	return unrecorded;
}
