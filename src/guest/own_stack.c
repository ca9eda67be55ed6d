/* SPDX-License-Identifier: MIT */
/* own_stack.c - the calling thread's stack as return addresses, each new one walked once. */
#include "guest/own_stack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/cancellation.h"
#include "base/thread_key.h"
#include "guest/walk.h"
#include "tracker/meter.h"
#include "trace/layout.h"

enum {
	OWN_MAX = 9, /* our frames between the program and the innermost: wrapper and recorder */
	FRAME_BYTES_MAX = 1 << 20, /* of a frame without a frame pointer */
	LOOKED_AT_MAX = 512,       /* frames in which a signal's is looked for */
};

/*
 * The cache: stacks that this thread has had before, known again by their return addresses. It is
 * no general hash table: it has a fixed size, and a signal handler may use it at any moment.
 *
 * Unwinding finds, frame by frame, where on the stack the next return address lies, and where frame
 * pointers were saved: with both, the next frame lies where it lay. A stack that has been unwound
 * once is remembered with those words: when the same place on the stack is reached again and each
 * of them is unchanged, from the inside outwards, it is the same stack. Each word read lies in a
 * frame that the words before it have proved to be there.
 */
enum {
	CACHE_FRAMES = 80, /* longer stacks are not cached */
	CACHE_WORDS = 2 * CACHE_FRAMES,
	SETS = 16,
	WAYS = 16,
	CANDIDATES = 32, /* more than WAYS: stacks in turn are to be known again */
	LEARN_FREELY = 64,
	TOUCHED = 4096,
};

/* A word on the stack by which it is known again: a return address or a saved frame pointer. */
struct stack_word {
	const uint64_t *at;
	uint64_t value;
};

struct cached {
	const void *frame; /* NULL: none */
	uint32_t generation, count, word_count;
	uint64_t raw[CACHE_FRAMES];
	struct stack_word words[CACHE_WORDS];
};

struct set {
	struct cached ways[WAYS];
	unsigned next; /* way to be replaced */
	unsigned next_candidate;
	uint32_t learnt, found; /* how often; a set that finds nothing again stops learning */
	uint64_t candidates[CANDIDATES]; /* hashes of the last stacks that were not cached */
};

/* Per thread, in mapped pages rather than malloc's: a signal handler may be the first user. */
static __thread struct set *sets __attribute__((tls_model("initial-exec")));
static _Atomic uint32_t generation;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static _Atomic bool cache_started;

/* One function makes many calls at one stack depth: they differ by the return address. */
static struct set *set_of(const void *frame, const void *caller)
{
	uint64_t key = (uint64_t)(uintptr_t)frame ^ (uint64_t)(uintptr_t)caller << 20;

	return &sets[gt_mix64(key) % SETS];
}

/* True when the stack was among the last ones and the set is worth learning for. */
static bool is_candidate(struct set *set, uint64_t hash)
{
	if (set->learnt > LEARN_FREELY && set->learnt > set->found)
		return false;
	for (int i = 0; i < CANDIDATES; i++)
		if (set->candidates[i] == hash) {
			set->candidates[i] = 0;
			return true;
		}
	set->candidates[set->next_candidate++ % CANDIDATES] = hash;
	return false;
}

static bool is_same(const struct cached *k, const void *frame, uint32_t now, size_t room)
{
	if (k->frame != frame || k->generation != now || k->count > room)
		return false;
		/* from the inside outwards: only then is the next word known to exist */
#pragma GCC unroll 4
	for (uint32_t i = 0; i < k->word_count; i++)
		if (*k->words[i].at != k->words[i].value)
			return false;
	return true;
}

/*
 * Frames of a cached stack into `raw`, as they were walked from `frame`; 0: not cached.
 * `caller` is any address in which most stacks differ.
 */
static size_t cache_find(const void *frame, const void *caller, uint64_t *raw, size_t room)
{
	uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
	struct set *set;

	if (!sets)
		return 0;
	set = set_of(frame, caller);
	for (int i = 0; i < WAYS; i++) {
		const struct cached *k = &set->ways[i];

		if (is_same(k, frame, now, room)) {
			set->found++;
			memcpy(raw, k->raw, k->count * sizeof *raw);
			return k->count;
		}
	}
	return 0;
}

/*
 * Offers what a walk gave. True when one gave the same a short while ago: the caller then finds
 * the words by which to know the stack again, and passes them to cache_learn.
 */
static bool cache_wants(const void *frame, const void *caller, const uint64_t *raw, size_t count)
{
	if (count < 2 || count > CACHE_FRAMES || !atomic_load(&cache_started))
		return false;
	if (!sets) {
		void *pages = mmap(NULL, SETS * sizeof *sets, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (pages == MAP_FAILED)
			return false;
		sets = pages;
		pthread_setspecific(thread_end, pages);
	}
	return is_candidate(set_of(frame, caller),
			    gt_hash_bytes(raw, count * sizeof *raw) ^ (uint64_t)(uintptr_t)frame);
}

/* `words` are those of the stack, from the inside outwards; at most CACHE_WORDS. */
static void cache_learn(const void *frame, const void *caller, const uint64_t *raw, size_t count,
			const struct stack_word *words, size_t word_count)
{
	struct set *set = set_of(frame, caller);
	struct cached *k = &set->ways[set->next++ % WAYS];

	set->learnt++;
	/* a signal handler in between finds nothing half written */
	k->frame = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(k->raw, raw, count * sizeof *raw);
	memcpy(k->words, words, word_count * sizeof *words);
	k->count = (uint32_t)count;
	k->word_count = (uint32_t)word_count;
	k->generation = atomic_load(&generation);
	atomic_signal_fence(memory_order_seq_cst);
	k->frame = frame;
}

/* Addresses mean other code now: forgets all stacks, in all threads. */
static void cache_forget(void)
{
	atomic_fetch_add(&generation, 1);
}

/* Makes the pages of the thread's cache resident, if it has one. */
static void cache_touch(void)
{
	char *pages = (char *)sets;

	/* written unchanged: a page that is read first is faulted in twice */
	for (size_t i = 0; pages && i < SETS * sizeof *sets; i += TOUCHED)
		__atomic_fetch_or(&pages[i], 0, __ATOMIC_RELAXED);
}

/*
 * What the recorder needs for a stack, in mapped pages as well: the program's own stack may be
 * small. A thread uses it for one stack at a time: no signal handler unwinds in the recorder.
 */
struct scratch {
	uint64_t frames[GT_STACK_FRAMES_MAX + OWN_MAX];
	struct stack_word words[CACHE_WORDS];
	struct gt_walk here, walk, caller;
	struct gt_frame_work work;
};
static __thread struct scratch *scratch __attribute__((tls_model("initial-exec")));
static pthread_key_t scratch_end;

static void thread_ended(void *pages)
{
	sets = NULL;
	munmap(pages, SETS * sizeof *sets);
}

static void scratch_ended(void *pages)
{
	scratch = NULL;
	munmap(pages, sizeof *scratch);
}

static void start_once(void)
{
	if (gt_thread_key_create(&thread_end, thread_ended) &&
	    gt_thread_key_create(&scratch_end, scratch_ended))
		atomic_store(&cache_started, true);
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
	if (!atomic_load(&cache_started))
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
	struct stack_word *words = s->words;
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
			words[n++] = (struct stack_word){ frame->frame_at, bp };
		}
		/* a signal frame has no return address there */
		if (!caller->return_at || gt_code_address(*caller->return_at) != s->frames[i])
			return 0;
		words[n] = (struct stack_word){ caller->return_at, *caller->return_at };
		n++;
		*frame = *caller;
	}
	return n;
}

/* The stack from this frame on, at most `room` addresses, the first in this function. */
__attribute__((noinline)) static size_t backtrace_from_here(struct scratch *s, size_t room,
							    const void *caller)
{
	const void *frame = __builtin_frame_address(0);
	size_t count = cache_find(frame, caller, s->frames, room), word_count;

	if (count)
		return count;
	gt_cancellation_hold();
	gt_meter_invalidate();
	GT_WALK_HERE(&s->here, &s->work);
	s->walk = s->here;
	do
		s->frames[count++] = s->walk.registers[GT_RETURN];
	while (count < room && gt_walk_step(&s->walk));
	if (cache_wants(frame, caller, s->frames, count)) {
		word_count = find_words(s, count);
		if (word_count)
			cache_learn(frame, caller, s->frames, count, s->words, word_count);
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
	count = backtrace_from_here(s, most + OWN_MAX, caller);
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
	cache_forget();
	gt_walk_flush();
}

void gt_unwind_warm(void)
{
	uint64_t *frames;

	/* once unknown, once learnt, once cached: allocates what each way needs */
	for (int i = 0; i < 3; i++)
		gt_unwind(&frames, GT_STACK_FRAMES_MAX, __builtin_return_address(0));
	cache_touch();
	gt_walk_warm();
}
