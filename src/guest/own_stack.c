/* SPDX-License-Identifier: MIT */
/* own_stack.c - the calling thread's stack as return addresses, through libunwind. */
#define UNW_LOCAL_ONLY
#include "guest/own_stack.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <libunwind.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guest_file.h"
#include "base/process.h"
#include "guest/foreign.h"
#include "tracker/meter.h"
#include "guest/stack_cache.h"
#include "trace/layout.h"

enum {
	OWN_MAX = 9, /* frames between the program and here: wrapper and recorder */
	PIPE_GAP_MAX = 64,
	FRAME_BYTES_MAX = 1 << 20, /* of one whose size is known without a frame pointer */
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

static _Atomic bool has_started;

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

	gt_stack_cache_start();
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

	if (gt_fd_check_is_due(&checked_ns, now_ns))
		for (int i = 0; i < 2; i++)
			if (pipe_ends[i].fd >= 0 && !gt_fd_is(pipe_ends[i].fd, &pipe_ends[i].id))
				atomic_store(&pipe_is_gone, true);
	return !atomic_load_explicit(&pipe_is_gone, memory_order_relaxed);
}

/* Where a frame is, as libunwind tells: its stack pointer, its frame pointer, where that lies. */
struct place {
	uint64_t sp, bp;
	const uint64_t *bp_at; /* NULL: in a register, or not known */
};

static bool find_place(unw_cursor_t *cursor, struct place *p)
{
	unw_save_loc_t saved;

	if (unw_get_reg(cursor, UNW_X86_64_RSP, &p->sp) ||
	    unw_get_reg(cursor, UNW_X86_64_RBP, &p->bp) ||
	    unw_get_save_loc(cursor, UNW_X86_64_RBP, &saved))
		return false;
	p->bp_at = saved.type == UNW_SLT_MEMORY ? (const uint64_t *)(uintptr_t)saved.u.addr : NULL;
	return true;
}

/*
 * True where the caller's frame lies behind this one, as on one stack. It may also lie on another
 * (coroutines, signal stacks), which can be gone when this frame is met again.
 */
static bool is_behind(const struct place *frame, const struct place *caller, bool by_bp)
{
	return caller->sp > frame->sp && (by_bp || caller->sp - frame->sp <= FRAME_BYTES_MAX);
}

/*
 * The words by which a stack is known again, by libunwind's slow way; 0: it cannot be. A frame
 * pointer counts where it points into its frame, which may then be of any size; elsewhere it is
 * just a register.
 */
static size_t find_words(unw_context_t *context, void *const *raw, size_t count,
			 struct gt_stack_word *words)
{
	struct place frame, caller;
	unw_cursor_t cursor;
	size_t n = 0;
	bool by_bp;

	if (unw_init_local(&cursor, context) || !find_place(&cursor, &frame))
		return 0;
	for (size_t i = 1; i < count; i++, frame = caller) {
		if (unw_step(&cursor) <= 0 || !find_place(&cursor, &caller))
			return 0;
		by_bp = frame.sp <= frame.bp && frame.bp < caller.sp;
		if (!is_behind(&frame, &caller, by_bp))
			return 0;
		/* the innermost frame is our own, by whose pointer the stack is looked up */
		if (i > 1 && by_bp) {
			if (!frame.bp_at || *frame.bp_at != frame.bp)
				return 0;
			words[n++] = (struct gt_stack_word){ frame.bp_at, frame.bp };
		}
		words[n] = (struct gt_stack_word){ (const uint64_t *)(uintptr_t)caller.sp - 1,
						   (uint64_t)(uintptr_t)raw[i] };
		/* a signal's frame has no return address there */
		if (*words[n].at != words[n].value)
			return 0;
		n++;
	}
	return n;
}

/* The stack from this frame on, at most `room` addresses, the first in this function. */
__attribute__((noinline)) static int backtrace_from_here(void **raw, int room, const void *caller,
							 uint64_t now_ns)
{
	const void *frame = __builtin_frame_address(0);
	struct gt_stack_word words[GT_STACK_CACHE_WORDS];
	int count = (int)gt_stack_cache_find(frame, caller, raw, (size_t)room);
	_Atomic uint32_t *place;
	unw_context_t context;
	size_t word_count;

	if (count)
		return count;
	gt_meter_spoil();
	place = gt_foreign_enter();
	if (!place)
		return 0;
	if (!can_use_libunwind(now_ns)) {
		count = backtrace(raw, room);
		gt_foreign_leave(place);
		return count;
	}
	count = unw_backtrace(raw, room);
	if (count > 0 && gt_stack_cache_wants(frame, caller, raw, (size_t)count) &&
	    !unw_getcontext(&context)) {
		word_count = find_words(&context, raw, (size_t)count, words);
		if (word_count)
			gt_stack_cache_learn(frame, caller, raw, (size_t)count, words, word_count);
	}
	gt_foreign_leave(place);
	return count;
}

static bool start_if_needed(void)
{
	_Atomic uint32_t *place;

	if (atomic_load_explicit(&has_started, memory_order_acquire))
		return true;
	place = gt_foreign_enter();
	if (!place)
		return false;
	pthread_once(&once, start);
	atomic_store_explicit(&has_started, true, memory_order_release);
	gt_foreign_leave(place);
	return true;
}

size_t gt_unwind(uint64_t *frames, size_t most, const void *caller, uint64_t now_ns)
{
	void *raw[GT_STACK_FRAMES_MAX + OWN_MAX];
	int room = (int)most + OWN_MAX, count, first = 0;
	size_t kept = 0;

	count = start_if_needed() ? backtrace_from_here(raw, room, caller, now_ns) : 0;
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
	_Atomic uint32_t *place;

	gt_stack_cache_forget();
	if (atomic_load(&pipe_is_gone) || !(place = gt_foreign_enter()))
		return;
	unw_flush_cache(unw_local_addr_space, 0, 0);
	gt_foreign_leave(place);
}

void gt_unwind_warm(void)
{
	uint64_t frames[GT_STACK_FRAMES_MAX];

	/* new, the same once more and learnt, known: whatever each of them takes */
	for (int i = 0; i < 3; i++)
		gt_unwind(frames, GT_STACK_FRAMES_MAX, __builtin_return_address(0), gt_now_ns());
	gt_stack_cache_touch();
}
