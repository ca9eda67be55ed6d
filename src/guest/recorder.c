/* SPDX-License-Identifier: MIT */
/* recorder.c - this process's trace: a lane per thread, a new trace after fork. */
#include "guest/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/cancellation.h"
#include "base/guest_file.h"
#include "base/process.h"
#include "base/small_printf.h"
#include "base/thread_key.h"
#include "guest/announce.h"
#include "guest/bus_guard.h"
#include "guest/loaded_modules.h"
#include "guest/settings.h"
#include "guest/own_stack.h"
#include "guest/ranges.h"
#include "trace/layout.h"
#include "trace/room.h"
#include "trace/window.h"
#include "trace/writer.h"
#include "tracker/creation_sites.h"

enum {
	TICK_NS = 10 * 1000 * 1000, /* how often we look for unloaded code, */
	CHECK_NS = 1000 * 1000,     /* and whether the trace is still ours */
	FIRST_BYTES = 1 << 20,      /* a program that restricts its system calls gets this far */
	LIMIT_SHARE = 64,
	LINE_SPINS = 1 << 20,
};

static _Atomic(struct gt_writer *) writer;
static _Atomic uint64_t last_tick_ns, last_check_ns;
static _Atomic uint32_t trace_count; /* traces opened: a forked child has its own */
static pthread_key_t thread_end;
static bool have_thread_end;
static bool has_stacks;
static _Atomic bool follows_touches;
static bool is_unrecorded; /* the trace could not be opened */

/* Each thread has its own; the lane is stale unless `writer` is the current one. */
static __thread struct {
	struct gt_lane *lane;
	struct gt_writer *writer;
	uint32_t tid;
	bool is_unguarded;   /* it would not survive a store that fails, */
	uint64_t checked_ns; /* so others' checks do not suffice */
} self __attribute__((tls_model("initial-exec")));

uint32_t gt_thread_id(void)
{
	if (!self.tid)
		self.tid = (uint32_t)syscall(SYS_gettid);
	return self.tid;
}

static struct gt_writer *current_writer(void)
{
	return atomic_load_explicit(&writer, memory_order_acquire);
}

void gt_recorder_thread_end(void *lane)
{
	bool is_ours = self.lane == lane && self.writer == current_writer();

	self.lane = NULL;
	if (!is_ours)
		return;
	gt_writer_check(self.writer, lane);
	gt_lane_release(lane);
}

/* Apart: whoever asks for a lane nearly always has one. */
static __attribute__((noinline)) struct gt_lane *acquire_lane(struct gt_writer *w)
{
	char name[32] = "";

	gt_cancellation_hold();
	prctl(PR_GET_NAME, name);
	self.is_unguarded = gt_bus_guard_is_blocked();
	self.lane = gt_lane_acquire(w, gt_thread_id(), name);
	self.writer = w;
	if (have_thread_end)
		pthread_setspecific(thread_end, self.lane);
	return self.lane;
}

/* The thread's lane; NULL if it cannot get one. */
static struct gt_lane *own_lane(struct gt_writer *w)
{
	return self.lane && self.writer == w ? self.lane : acquire_lane(w);
}

/* Runs in one thread at a time, at the start and in a child's first call, whose stack may be small.
 */
static void write_file(struct gt_writer *w, const char *key, const char *path)
{
	static char text[1024];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);

	if (fd >= 0)
		close(fd);
	if (n > 0)
		gt_writer_info(w, key, text, (size_t)n);
}

static void write_info(struct gt_writer *w)
{
	static struct utsname system;
	const char *rank = gt_job_rank();
	static char path[PATH_MAX]; /* as in write_file */
	char depth[16];

	gt_modules_program(path);
	if (path[0])
		gt_writer_info(w, "program", path, strlen(path));
	write_file(w, "command", "/proc/self/cmdline");
	if (getcwd(path, sizeof path))
		gt_writer_info(w, "directory", path, strlen(path));
	if (!uname(&system)) {
		gt_writer_info(w, "host", system.nodename, strlen(system.nodename));
		gt_writer_info(w, "kernel", system.release, strlen(system.release));
	}
	gt_writer_info(w, "boot", gt_boot_id(), strlen(gt_boot_id()));
	gt_snprintf(depth, sizeof depth, "%" PRIu32, (uint32_t)getauxval(AT_UID));
	gt_writer_info(w, "uid", depth, strlen(depth));
	if (rank)
		gt_writer_info(w, "rank", rank, strlen(rank));
	gt_snprintf(depth, sizeof depth, "%" PRIu32, gt_settings_get()->stack_depth);
	gt_writer_info(w, "stack_depth", depth, strlen(depth));
	gt_writer_info(w, "gputrack", GT_VERSION, strlen(GT_VERSION));
	if (atomic_load(&follows_touches))
		gt_writer_info(w, "touches", "1", 1);
}

static void stopped(struct gt_writer *w, void *context, int error)
{
	(void)w;
	(void)context;
	if (error == -ETIME)
		return; /* as asked */
	if (error == -EFBIG && gt_settings_get()->max_bytes) {
		gt_stderr_line(
			"recording stopped: %s is as large as it may get; the program runs on, "
			"what was recorded can be read",
			gt_settings_get()->recording);
		return;
	}
	if (error == -ESTALE) {
		gt_stderr_line("recording stopped: a trace in %s was shortened or overwritten "
			       "while it was "
			       "written; the program runs on",
			       gt_settings_get()->recording);
		return;
	}
	gt_stderr_line(
		"recording stopped: %s, in %s; the program runs on, what was recorded can be read",
		gt_error_text(-error), gt_settings_get()->recording);
}

/* What this process has reserved, beside all others of the recording; NULL: it counts alone. */
static struct gt_room *shared_room(const char *folder)
{
	static struct gt_room room = { .fd = -1 };
	static char path[PATH_MAX];

	/* a forked child has its parent's */
	gt_room_close(&room);
	if (gt_snprintf(path, sizeof path, "%s/" GT_ROOM_FILE, folder) >= (int)sizeof path ||
	    gt_room_open(&room, path))
		return NULL;
	return &room;
}

static int open_trace(struct gt_writer **w, const char *folder)
{
	struct gt_writer_options options = { .pid = (uint32_t)getpid(),
					     .ppid = (uint32_t)getppid(),
					     .read_only = true,
					     .is_guarded = gt_bus_guard_is_on,
					     .until_ns = gt_settings_get()->until_ns,
					     .max_bytes = gt_settings_get()->max_bytes,
					     .first_bytes = FIRST_BYTES,
					     .modules = gt_modules_define,
					     .stopped = stopped };

	if (mkdir(folder, 0700) && errno != EEXIST)
		return -errno;
	if (options.max_bytes)
		options.room = shared_room(folder);
	/* many processes may share a limit */
	if (options.max_bytes && options.max_bytes / LIMIT_SHARE < FIRST_BYTES)
		options.first_bytes = options.max_bytes / LIMIT_SHARE;
	/* space under a limit is given back by whoever took it */
	options.leaves_tail = gt_settings_get()->watcher && !options.max_bytes;
	return gt_writer_open_in(w, folder, &options);
}

static void announce_unrecorded(void)
{
	uint64_t watcher = gt_settings_get()->watcher;

	is_unrecorded = true;
	if (watcher)
		gt_announce_unrecorded(watcher);
}

static void open_writer(void)
{
	const char *folder = gt_settings_get()->recording;
	struct gt_writer *w = NULL;
	int e;

	if (!folder)
		return;
	gt_modules_restart();
	atomic_store(&gt_windows_failed, false);
	e = open_trace(&w, folder);
	if (e) {
		gt_stderr_line("cannot record into %s: %s; the program runs on untracked", folder,
			       gt_error_text(-e));
		announce_unrecorded();
		return;
	}
	if (gt_settings_get()->watcher)
		gt_announce_trace(gt_writer_name_of(w), gt_settings_get()->watcher);
	write_info(w);
	atomic_fetch_add(&trace_count, 1);
	atomic_store(&writer, w);
}

void gt_recorder_start(void (*at_thread_end)(void *))
{
	have_thread_end = gt_thread_key_create(&thread_end, at_thread_end);
	has_stacks = gt_settings_get()->stack_depth;
	if (gt_settings_get()->recording)
		gt_bus_guard_start();
	open_writer();
}

bool gt_recorder_is_on(void)
{
	return current_writer() != NULL;
}

void gt_recorder_end(void)
{
	struct gt_writer *w = current_writer();

	if (w && self.lane && self.writer == w)
		gt_lane_end_touches(self.lane);
	if (w)
		gt_writer_end(w);
}

void gt_recorder_restart(bool can_free)
{
	struct gt_writer *w = atomic_exchange(&writer, NULL);

	self.tid = 0;
	self.lane = NULL;
	/* its child has no access, either, and is one more */
	if (is_unrecorded)
		announce_unrecorded();
	if (!w)
		return;
	/* no other thread is here; a thread of the parent that was writing left it consistent */
	if (can_free)
		gt_writer_free(w);
	else
		gt_writer_abandon(w);
	open_writer();
}

void gt_recorder_info(const char *key, const char *value)
{
	struct gt_writer *w = current_writer();

	if (w)
		gt_writer_info(w, key, value, strlen(value));
}

uint32_t gt_recorder_stack(const uint64_t *frames, size_t count)
{
	struct gt_writer *w = current_writer();

	return w ? gt_writer_stack(w, frames, count) : 0;
}

uint32_t gt_recorder_phase(void)
{
	struct gt_writer *w = current_writer();

	return w ? gt_ranges_phase(w, atomic_load_explicit(&trace_count, memory_order_relaxed)) : 0;
}

uint64_t gt_recorder_text_frame(const struct gt_text_frame *frame)
{
	struct gt_writer *w = current_writer();

	return w ? gt_writer_text_frame(w, frame) : 0;
}

void gt_recorder_name(uint64_t time_ns, uint64_t handle, const char *name)
{
	struct gt_writer *w = current_writer();

	if (w)
		gt_writer_name(w, time_ns, handle, name);
}

void gt_recorder_place(uint16_t number, enum gt_api api, const char *name)
{
	struct gt_writer *w = current_writer();

	if (w)
		gt_writer_place(w, number, api, name);
}

/* Apart: it is nearly always too early for it. */
static __attribute__((noinline)) void check_now(uint64_t now_ns)
{
	struct gt_writer *w;
	struct gt_lane *lane;

	gt_cancellation_hold();
	w = current_writer();
	lane = self.writer == w ? self.lane : NULL;
	if (w && self.is_unguarded) {
		self.checked_ns = now_ns;
		gt_writer_check_file(w, lane);
		return;
	}
	if (w)
		gt_writer_check(w, lane);
	/* last: until then, other threads check for themselves */
	atomic_store_explicit(&last_check_ns, now_ns, memory_order_release);
}

void gt_recorder_check(uint64_t now_ns)
{
	uint64_t last = self.is_unguarded ?
				self.checked_ns :
				atomic_load_explicit(&last_check_ns, memory_order_relaxed);
	bool has_failed = atomic_load_explicit(&gt_windows_failed, memory_order_relaxed);

	if ((int64_t)(now_ns - last) >= CHECK_NS || has_failed)
		check_now(now_ns);
}

static __attribute__((noinline)) void tick(uint64_t now_ns, uint64_t last)
{
	struct gt_writer *w;

	gt_cancellation_hold();
	if (!atomic_compare_exchange_strong(&last_tick_ns, &last, now_ns) || !gt_modules_unloaded())
		return;
	gt_unwind_flush();
	gt_creation_stacks_outdate();
	w = current_writer();
	if (w)
		gt_writer_forget_stacks(w);
}

void gt_recorder_tick(uint64_t now_ns)
{
	uint64_t last = atomic_load_explicit(&last_tick_ns, memory_order_relaxed);

	gt_recorder_check(now_ns);
	/* another thread, or a finer clock, may have been here at a later time than `now_ns` */
	if ((int64_t)(now_ns - last) >= TICK_NS)
		tick(now_ns, last);
}

void gt_recorder_event(const struct gt_event *event)
{
	struct gt_writer *w = current_writer();
	struct gt_lane *lane = w ? own_lane(w) : NULL;

	if (lane)
		gt_lane_event(lane, event);
	else
		gt_recorder_lose();
}

/* The number of some work in the current trace, with the count of that trace above it. */
static __attribute__((noinline)) uint64_t define_work(struct gt_writer *w,
						      struct gt_guest_work *work)
{
	uint64_t number = gt_writer_work(w, &work->work);

	number |= (uint64_t)atomic_load(&trace_count) << 32;
	atomic_store_explicit(&work->number, number, memory_order_relaxed);
	return number;
}

void gt_recorder_touch(struct gt_guest_work *work, uint64_t time_ns, const struct gt_naming *named)
{
	struct gt_writer *w = current_writer();
	struct gt_lane *lane = w ? own_lane(w) : NULL;
	uint64_t number = atomic_load_explicit(&work->number, memory_order_relaxed);

	if (!lane)
		return;
	if (number >> 32 != atomic_load_explicit(&trace_count, memory_order_relaxed))
		number = define_work(w, work);
	gt_recorder_check(time_ns);
	gt_lane_touch(lane, (uint32_t)number, work->work.kind, time_ns, named);
}

void gt_recorder_follow_touches(void)
{
	if (!atomic_exchange(&follows_touches, true))
		gt_recorder_info("touches", "1");
}

void gt_recorder_lose_touch(void)
{
	struct gt_writer *w = current_writer();

	if (w)
		gt_writer_lose_touch(w);
}

void gt_recorder_lose_stack(void)
{
	struct gt_writer *w = current_writer();

	if (w)
		gt_writer_lose_stack(w);
}

__attribute__((noinline)) void gt_recorder_lose(void)
{
	struct gt_writer *w = current_writer();

	if (w)
		gt_writer_lose(w, 1);
}

void gt_recorder_enter(const struct gt_event *event, const uint64_t *argv, const void *call)
{
	struct gt_writer *w = current_writer();
	struct gt_lane *lane = w ? own_lane(w) : NULL;

	if (lane)
		gt_lane_enter(lane, event, argv, gt_functions[event->function].argc, call);
}

bool gt_recorder_announce(enum gt_function_id function, const uint64_t *argv, const void *caller,
			  const void *call)
{
	struct gt_writer *w = current_writer();

	return self.lane && self.writer == w &&
	       gt_lane_announce(self.lane, (uint16_t)function, argv, has_stacks ? caller : NULL,
				call);
}

void gt_recorder_learn(enum gt_function_id function, const void *caller)
{
	struct gt_writer *w = current_writer();
	struct gt_lane *lane = w ? own_lane(w) : NULL;

	if (lane)
		gt_lane_learn(lane, (uint16_t)function, has_stacks ? caller : NULL);
}

void gt_recorder_leave(const void *call)
{
	struct gt_writer *w = current_writer();

	if (w && self.lane && self.writer == w)
		gt_lane_leave(self.lane, call);
}

/* Control characters beyond ASCII, in UTF-8: U+0080 to U+009F. */
static bool is_c1(const char *at)
{
	return (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] >= 0x80 &&
	       (unsigned char)at[1] < 0xa0;
}

void gt_stderr_line(const char *format, ...)
{
	static const char prefix[] = "gputrack: ";
	static _Atomic bool is_used;
	static char line[1024];
	size_t used = sizeof prefix - 1;
	va_list args;
	int n, saved = errno;

	gt_cancellation_hold();
	/* a thread that uses it for longer is gone, or interrupted by us */
	for (int i = 0; atomic_exchange(&is_used, true) && i < LINE_SPINS; i++)
		gt_pause();
	memcpy(line, prefix, used);
	va_start(args, format);
	n = gt_vsnprintf(line + used, sizeof line - used - 1, format, args);
	va_end(args);
	if (n > 0)
		used += (size_t)n < sizeof line - used - 1 ? (size_t)n : sizeof line - used - 2;
	/* file names come from outside; a terminal must not interpret them */
	for (size_t i = sizeof prefix - 1; i < used; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f || is_c1(line + i))
			line[i] = '?';
	line[used++] = '\n';
	/* one write, so that it does not mix with the program's lines; lost if stderr is closed */
	gt_write_without_signals(STDERR_FILENO, line, used, true);
	atomic_store(&is_used, false);
	errno = saved;
}
