/* SPDX-License-Identifier: MIT */
/* descriptors.c - descriptors that are closed, replaced, or of unusual kinds. */
#include "odd.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

enum { FILES = 40, HIGHEST = 1024 };

static int own[FILES];

static void open_files(void)
{
	char name[16];

	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%d.txt", i);
		own[i] = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (own[i] < 0)
			fail("cannot make %s: %m", name);
	}
}

static void write_files(void)
{
	for (int i = 0; i < FILES; i++)
		dprintf(own[i], "line of file %d\n", i);
}

static void use_files(void)
{
	open_files();
	for (int i = 0; i < 5; i++) {
		write_files();
		calls(20);
	}
	say("first %d last %d", own[0], own[FILES - 1]);
	for (int i = 0; i < FILES; i++)
		if (close(own[i]))
			say("file %d was closed by somebody else", i);
}

static int close_range_all(void)
{
	if (close_range(STDERR_FILENO + 1, ~0U, 0))
		fail("cannot close: %m");
	use_files();
	return 0;
}

static int close_each(void)
{
	for (int i = STDERR_FILENO + 1; i < HIGHEST; i++)
		close(i);
	use_files();
	return 0;
}

/* One file under every number that there is. */
static int dup_over_all(void)
{
	int fd = open("all.txt", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	for (int i = STDERR_FILENO + 1; i < HIGHEST; i++)
		if (i != fd && dup2(fd, i) < 0)
			fail("no descriptor %d: %m", i);
	calls(200);
	for (int i = STDERR_FILENO + 1; i < HIGHEST; i++)
		if (i != fd && close(i))
			say("%d was closed by somebody else", i);
	say("size %d", (int)lseek(fd, 0, SEEK_END));
	close(fd);
	return 0;
}

/* Closed before the door is opened: its files must not become the program's streams. */
static int no_streams(void)
{
	int fd = open("said.txt", O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	say_to = fcntl(fd, F_DUPFD_CLOEXEC, 20);
	close(fd);
	for (int i = 0; i < 3; i++)
		close(i);
	door_open();
	calls(200);
	say("next %d", open("/dev/null", O_RDWR | O_CLOEXEC));
	(void)!write(STDOUT_FILENO, "out", 3);
	(void)!write(STDERR_FILENO, "err", 3);
	state("without streams");
	door_close();
	return 0;
}

/* Kinds of descriptors that a recorder might mistake for its own, and a ring for input and output.
 */
static int unusual(void)
{
	struct itimerspec soon = { { 0, 0 }, { 0, 1000000 } };
	struct epoll_event event = { .events = EPOLLIN };
	int watch = inotify_init1(IN_CLOEXEC), epoll = epoll_create1(EPOLL_CLOEXEC),
	    timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), counter = eventfd(0, EFD_CLOEXEC),
	    memory = memfd_create("memory", MFD_CLOEXEC);
	char parameters[256] = { 0 }, name[512];
	long ring = syscall(SYS_io_uring_setup, 8, parameters);
	ssize_t n;

	inotify_add_watch(watch, ".", IN_CREATE | IN_OPEN | IN_CLOSE);
	timerfd_settime(timer, 0, &soon, NULL);
	epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
	calls(200);
	say("epoll %d", epoll_wait(epoll, &event, 1, 10000));
	fcntl(watch, F_SETFL, O_NONBLOCK);
	n = read(watch, name, sizeof(name));
	say("watched %zd %d %d %d %s", n, epoll, counter, memory, ring < 0 ? "no ring" : "ring");
	state("unusual");
	return 0;
}

const struct mode descriptor_modes[] = {
	{ .name = "close-range", .run = close_range_all },
	{ .name = "close-each", .run = close_each },
	{ .name = "dup-over-all", .run = dup_over_all },
	{ .name = "no-streams", .run = no_streams, .opens_itself = true },
	{ .name = "unusual-descriptors", .run = unusual },
	{ .name = NULL },
};
