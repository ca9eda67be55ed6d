/* SPDX-License-Identifier: MIT */
/*
 * pool_backward.c - in the preloaded library: PyTorch's backward passes, and the threads that they
 * run on.
 *
 * Stands before functions of C++ (AROUND in pool.def) as pool_report.c does, in assembly: where a
 * result of C++ goes, C may not know. Arguments are passed on as words, eight at most: none has
 * more, and a function does not look at what it has no argument for. An exception passes through
 * us: the frame's personality is a function of ours, which the unwinder calls on its way, and needs
 * nothing of the C++ library's.
 */
#include "capture/pool/pool_door.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/machine.h"

#define TLS __attribute__((tls_model("initial-exec")))

/* Of a thread of the engine: the address that thread_init returns to. */
static __thread struct {
	const void *caller;
	bool is_told;
} worker TLS;

void gt_report_thread(const struct gt_pool_door *door)
{
	if (__builtin_expect(!worker.caller || worker.is_told, 1))
		return;
	worker.is_told = true;
	door->backward_worker(worker.caller);
}

static void begin_WORKER(const void *caller)
{
	const struct gt_pool_door *door = gt_report_door();

	worker.caller = caller;
	if (door)
		gt_report_thread(door);
}

static void end_WORKER(void)
{
	if (worker.is_told)
		gt_report_door()->backward_worker(NULL);
	worker.caller = NULL;
	worker.is_told = false;
}

static void begin_BACKWARD(const void *caller)
{
	const struct gt_pool_door *door = gt_report_door();
	int saved = errno;

	if (door) {
		gt_report_thread(door);
		door->backward_begin(caller);
	}
	errno = saved;
}

static void end_BACKWARD(void)
{
	const struct gt_pool_door *door = gt_report_door();
	int saved = errno;

	if (door)
		door->backward_end();
	errno = saved;
}

/* Of the unwinder's interface: what a personality is asked for, and its answer. */
enum { CLEANUP_PHASE = 2, CONTINUE_UNWIND = 8 };

#define PERSONALITY(part)                                                                          \
	__attribute__((visibility("hidden"), used)) int gt_unwound_##part(                         \
		int version, int actions, uint64_t language, void *exception, void *context);      \
	int gt_unwound_##part(int version, int actions, uint64_t language, void *exception,        \
			      void *context)                                                       \
	{                                                                                          \
		if (actions & CLEANUP_PHASE)                                                       \
			end_##part();                                                              \
		return CONTINUE_UNWIND;                                                            \
	}
PERSONALITY(BACKWARD)
PERSONALITY(WORKER)

/* A function that we stand before. */
struct around {
	const char *name;
	_Atomic(void *) next;
};

#define HIDDEN __attribute__((visibility("hidden"), used))
#define PART(part)                                                                                 \
	HIDDEN void *gt_begin_##part(struct around *a, const void *caller);                        \
	void *gt_begin_##part(struct around *a, const void *caller)                                \
	{                                                                                          \
		void *next = gt_report_next(&a->next, a->name);                                    \
                                                                                                   \
		begin_##part(caller);                                                              \
		return next;                                                                       \
	}                                                                                          \
	HIDDEN void gt_end_##part(void);                                                           \
	void gt_end_##part(void)                                                                   \
	{                                                                                          \
		end_##part();                                                                      \
	}
PART(BACKWARD)
PART(WORKER)

#define AROUND(id, symbol, part)                                                                   \
	extern struct around gt_around_of_##id;                                                    \
	HIDDEN struct around gt_around_of_##id = { .name = symbol };                               \
	__asm__(".symver gt_around_" #id "," symbol "@GPUTRACK, remove");                          \
	__asm__(GT_ASM_AROUND(id, part));
#include "api/pool.def"
