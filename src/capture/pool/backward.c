/* SPDX-License-Identifier: MIT */
/*
 * backward.c - in the preloaded library: PyTorch's backward passes, and the threads that they run
 * on.
 *
 * Stands before functions of C++ (AROUND in pool.def) as report.c does. Their arguments are passed
 * on as words, six in registers and two on the stack: none has more, and a function does not look
 * at what it has no argument for. An exception passes through us: the frame's personality is a
 * function of ours, which the unwinder calls on its way, and needs nothing of the C++ library's.
 */
#include "capture/pool/pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

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

/* Elsewhere a result may be returned through a register that C knows nothing of: no lines then. */
#ifdef __x86_64__
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

typedef uint64_t word;
typedef word words_fn(word a, word b, word c, word d, word e, word f, word g, word h);

/* clang-format off */
#define AROUND(id, symbol, part)                                                                   \
	__asm__(".symver gt_around_" #id "," symbol "@GPUTRACK, remove");                          \
	__attribute__((visibility("default"), used, noinline)) words_fn gt_around_##id;            \
	word gt_around_##id(word a, word b, word c, word d, word e, word f, word g, word h)        \
	{                                                                                          \
		static _Atomic(void *) slot;                                                       \
		words_fn *next = (words_fn *)gt_report_next(&slot, symbol);                        \
		word result;                                                                       \
                                                                                                   \
		__asm__ volatile(".cfi_personality 0x1b, gt_unwound_" #part);                      \
		begin_##part(__builtin_return_address(0));                                         \
		result = next(a, b, c, d, e, f, g, h);                                             \
		end_##part();                                                                      \
		return result;                                                                     \
	}
#include "api/pool.def"
/* clang-format on */
#endif
