/* unwind.c - the calling thread's stack as return addresses, through libunwind. */
#define UNW_LOCAL_ONLY
#include "guest/unwind.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <libunwind.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "trace/layout.h"

enum {
	OWN_MAX = 8,               /* frames between the program and here: wrapper and recorder */
	PIPE_GAP_MAX = 64,
};

/*
 * libunwind asks the kernel whether memory can be read by writing from it into a pipe, whose two
 * numbers it never looks at again. In a program that closes all descriptors and opens its own under
 * the same numbers it would read from those and write into them. So the pipe is made under high
 * numbers, looked at now and then, and libunwind is not called again once it is gone.
 */
static struct {
	int fd;
	struct gt_file_id id;
} pipe_ends[2] = { { .fd = -1 }, { .fd = -1 } };
static _Atomic bool pipe_is_gone;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool is_pipe(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISFIFO(st.st_mode);
}

/* Whatever is opened next gets a number from GT_FD_FIRST on; `taken` are those to be given back. */
static int take_low_numbers(int taken[GT_FD_FIRST])
{
	int dummy = open("/dev/null", O_RDONLY | O_CLOEXEC), count = 0, fd;

	if (dummy < 0)
		return 0;
	if (dummy < GT_FD_FIRST)
		taken[count++] = dummy;
	while ((fd = fcntl(dummy, F_DUPFD_CLOEXEC, 0)) >= 0 && fd < GT_FD_FIRST)
		taken[count++] = fd;
	if (fd >= 0)
		close(fd);
	if (dummy >= GT_FD_FIRST)
		close(dummy);
	return count;
}

static void start(void)
{
	int taken[GT_FD_FIRST], count = take_low_numbers(taken), first;
	void *frames[4];

	first = fcntl(count ? taken[0] : STDERR_FILENO, F_DUPFD_CLOEXEC, GT_FD_FIRST);
	if (first >= 0)
		close(first);
	unw_backtrace(frames, 4); /* makes the pipe */
	for (int i = 0; i < count; i++)
		close(taken[i]);
	if (first < 0 || !is_pipe(first))
		return;
	pipe_ends[0].fd = first;
	gt_file_id_of(&pipe_ends[0].id, first);
	for (int fd = first + 1; fd < first + PIPE_GAP_MAX && pipe_ends[1].fd < 0; fd++)
		if (gt_fd_is(fd, &pipe_ends[0].id)) {
			pipe_ends[1].fd = fd;
			pipe_ends[1].id = pipe_ends[0].id;
		}
}

static bool can_use_libunwind(uint64_t now_ns)
{
	static _Atomic uint64_t checked_ns;

	if (gt_fd_is_due(&checked_ns, now_ns))
		for (int i = 0; i < 2; i++)
			if (pipe_ends[i].fd >= 0 && !gt_fd_is(pipe_ends[i].fd, &pipe_ends[i].id))
				atomic_store(&pipe_is_gone, true);
	return !atomic_load_explicit(&pipe_is_gone, memory_order_relaxed);
}

size_t gt_unwind(uint64_t *frames, size_t most, const void *caller, uint64_t now_ns)
{
	void *raw[GT_STACK_FRAMES_MAX + OWN_MAX];
	int room = (int)most + OWN_MAX, count, first = 0;
	size_t kept = 0;

	pthread_once(&once, start);
	count = can_use_libunwind(now_ns) ? unw_backtrace(raw, room) : backtrace(raw, room);
	while (first < count && first < OWN_MAX && raw[first] != caller)
		first++;
	/* without a way back to the caller no frame of ours can be told: keep the caller */
	if (first == count || first == OWN_MAX) {
		frames[0] = (uint64_t)(uintptr_t)caller;
		return 1;
	}
	for (int i = first; i < count && kept < most; i++)
		frames[kept++] = (uint64_t)(uintptr_t)raw[i];
	return kept;
}

void gt_unwind_forget(void)
{
	if (!atomic_load(&pipe_is_gone))
		unw_flush_cache(unw_local_addr_space, 0, 0);
}
