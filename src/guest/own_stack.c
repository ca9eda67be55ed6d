/* SPDX-License-Identifier: MIT */
/* own_stack.c - the calling thread's stack as return addresses, each new one walked once. */
#include "guest/own_stack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cancellation.h"
#include "base/thread_key.h"
#include "guest/stack_cache.h"
#include "guest/walk.h"
#include "tracker/meter.h"
#include "trace/layout.h"

enum {
	OWN_MAX = 9, /* our frames between the program and the innermost: wrapper and recorder */
	FRAME_BYTES_MAX = 1 << 20, /* of a frame without a frame pointer */
	LOOKED_AT_MAX = 512,       /* frames in which a signal's is looked for */
};

/*
 * What the recorder needs for a stack, in mapped pages as well: the program's own stack may be
 * small. A thread uses it for one stack at a time: no signal handler unwinds in the recorder.
 */
struct scratch {
	uint64_t frames[GT_STACK_FRAMES_MAX + OWN_MAX];
	struct gt_stack_word words[GT_STACK_CACHE_WORDS];
	struct gt_walk here, walk, caller;
	struct gt_frame_work work;
};
static __thread struct scratch *scratch __attribute__((tls_model("initial-exec")));
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t scratch_end;
static _Atomic bool has_scratch;

static void scratch_ended(void *pages)
{
	scratch = NULL;
	munmap(pages, sizeof *scratch);
}

static void start_once(void)
{
	if (gt_stack_cache_start() && gt_thread_key_create(&scratch_end, scratch_ended))
		atomic_store(&has_scratch, true);
}

void gt_unwind_start(void)
{
	pthread_once(&once, start_once);
}

/* The thread's; NULL: there is no memory for it. */
static struct scratch *own_scratch(void)
{
	void *pages;

	if (scratch)
		return scratch;
	gt_cancellation_hold();
	gt_unwind_start();
	if (!atomic_load(&has_scratch))
		return NULL;
	pages = mmap(NULL, sizeof *scratch, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (pages == MAP_FAILED)
		return NULL;
	gt_meter_invalidate();
	scratch = pages;
	pthread_setspecific(scratch_end, pages);
	return scratch;
}

/*
 * True when the caller's frame lies above this one on the same stack. It may lie on another stack
 * (coroutines, signal stacks), which may be gone when this frame is reached again.
 */
static bool is_above(const struct gt_walk *frame, const struct gt_walk *caller, bool by_bp)
{
	uint64_t sp = frame->registers[GT_STACK], caller_sp = caller->registers[GT_STACK];

	return caller_sp > sp && (by_bp || caller_sp - sp <= FRAME_BYTES_MAX);
}

/*
 * Finds the words by which a stack is known again, by walking it once more; 0: there are none. A
 * frame pointer counts if it points into its frame, which may then have any size; otherwise it is
 * just another register.
 */
static size_t find_words(struct scratch *s, size_t count)
{
	struct gt_walk *frame = &s->walk, *caller = &s->caller;
	struct gt_stack_word *words = s->words;
	size_t n = 0;

	*frame = s->here;
	for (size_t i = 1; i < count; i++) {
		uint64_t bp = frame->registers[GT_FRAME], caller_sp;
		bool by_bp;

		*caller = *frame;
		if (!gt_walk_step(caller))
			return 0;
		caller_sp = caller->registers[GT_STACK];
		by_bp = frame->registers[GT_STACK] <= bp && bp < caller_sp;
		if (!is_above(frame, caller, by_bp))
			return 0;
		/* the innermost frame is our own, and its address is the cache's key */
		if (i > 1 && by_bp) {
			if (!frame->frame_at || *frame->frame_at != bp)
				return 0;
			words[n++] = (struct gt_stack_word){ .at = frame->frame_at, .value = bp };
		}
		/* a signal frame has no return address there */
		if (!caller->return_at || gt_code_address(*caller->return_at) != s->frames[i])
			return 0;
		words[n++] = (struct gt_stack_word){ .at = caller->return_at,
						     .value = s->frames[i],
						     .returns = true };
		*frame = *caller;
	}
	return n;
}

/* The stack from this frame on, at most `room` addresses, the first in this function. */
__attribute__((noinline)) static size_t backtrace_from_here(struct scratch *s, size_t room)
{
	const void *frame = __builtin_frame_address(0);
	size_t count = gt_stack_cache_find(frame, s->frames, room), word_count;

	if (count) {
		s->frames[0] = (uint64_t)(uintptr_t)backtrace_from_here;
		return count;
	}
	gt_cancellation_hold();
	gt_meter_invalidate();
	GT_WALK_HERE(&s->here, &s->work);
	s->walk = s->here;
	do
		s->frames[count++] = s->walk.registers[GT_RETURN];
	while (count < room && gt_walk_step(&s->walk));
	if (gt_stack_cache_wants(frame, s->frames, count)) {
		word_count = find_words(s, count);
		if (word_count)
			gt_stack_cache_learn(frame, room, s->words, word_count);
	}
	return count;
}

uint64_t *gt_unwind_spare(size_t *room)
{
	/* used while a stack is walked, and only then */
	*room = scratch ? sizeof scratch->words / (sizeof(uint64_t)) : 0;
	return scratch ? (uint64_t *)scratch->words : NULL;
}

size_t gt_unwind(uint64_t **frames, size_t most, const void *caller)
{
	uint64_t address = (uint64_t)(uintptr_t)caller;
	struct scratch *s = own_scratch();
	size_t count, first = 0;

	if (!s)
		return 0;
	count = backtrace_from_here(s, most + OWN_MAX);
	while (first < count && first < OWN_MAX && s->frames[first] != address)
		first++;
	/* no frame returns to `caller`: our frames cannot be told apart, so give it alone */
	if (first == count || first == OWN_MAX) {
		s->frames[0] = address;
		first = 0;
		count = 1;
	}
	*frames = s->frames + first;
	return count - first < most ? count - first : most;
}

__attribute__((noinline)) bool gt_stack_is_interrupted(void)
{
	struct scratch *s = own_scratch();
	struct gt_walk *w;
	int left = LOOKED_AT_MAX;

	if (!s)
		return true;
	w = &s->walk;
	GT_WALK_HERE(w, &s->work);
	while (gt_walk_step(w))
		if (w->is_interrupted || w->is_guessed || !--left)
			return true;
	return !w->is_outermost || w->is_guessed;
}

void gt_unwind_flush(void)
{
	gt_stack_cache_forget();
	gt_walk_flush();
}

void gt_unwind_warm(void)
{
	uint64_t *frames;

	/* once unknown, once learnt, once cached: allocates what each way needs */
	for (int i = 0; i < 3; i++)
		gt_unwind(&frames, GT_STACK_FRAMES_MAX, __builtin_return_address(0));
	gt_stack_cache_touch();
	gt_walk_warm();
}
