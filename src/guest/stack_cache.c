/* SPDX-License-Identifier: MIT */
/* stack_cache.c - stacks that this thread has had before, known again by their return addresses. */
#include "guest/stack_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"

enum { SETS = 16, WAYS = 8, CANDIDATES = 8, LEARN_FREELY = 64, TOUCHED = 4096 };

struct known {
	const void *frame; /* NULL: none */
	uint32_t generation, count, word_count;
	void *raw[GT_STACK_CACHE_FRAMES];
	struct gt_stack_word words[GT_STACK_CACHE_WORDS];
};

struct set {
	struct known ways[WAYS];
	unsigned next; /* way to be replaced */
	unsigned next_candidate;
	uint32_t learnt, found; /* how often; what is not found again is not worth learning */
	uint64_t candidates[CANDIDATES]; /* hashes of the last stacks that were not known */
};

/* A thread's own, in pages of their own: a signal handler may be the first to ask. */
static __thread struct set *sets __attribute__((tls_model("initial-exec")));
static _Atomic uint32_t generation;
static pthread_key_t thread_end;
static _Atomic bool started;

/* One function makes many calls from one place on the stack: they differ by the return address. */
static struct set *set_of(const void *frame, const void *caller)
{
	uint64_t key = (uint64_t)(uintptr_t)frame ^ (uint64_t)(uintptr_t)caller << 20;

	return &sets[gt_mix64(key) % SETS];
}

/* True when it was among the last ones, and worth it. */
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

static bool is_same(const struct known *k, const void *frame, uint32_t now, size_t room)
{
	if (k->frame != frame || k->generation != now || k->count > room)
		return false;
	/* inside out: only then is the next word known to be there */
	for (uint32_t i = 0; i < k->word_count; i++)
		if (*k->words[i].at != k->words[i].value)
			return false;
	return true;
}

size_t gt_stack_cache_find(const void *frame, const void *caller, void **raw, size_t room)
{
	uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
	struct set *set;

	if (!sets)
		return 0;
	set = set_of(frame, caller);
	for (int i = 0; i < WAYS; i++) {
		const struct known *k = &set->ways[i];

		if (is_same(k, frame, now, room)) {
			set->found++;
			memcpy(raw, k->raw, k->count * sizeof *raw);
			return k->count;
		}
	}
	return 0;
}

_Bool gt_stack_cache_wants(const void *frame, const void *caller, void *const *raw, size_t count)
{
	if (count < 2 || count > GT_STACK_CACHE_FRAMES || !atomic_load(&started))
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

void gt_stack_cache_learn(const void *frame, const void *caller, void *const *raw, size_t count,
			  const struct gt_stack_word *words, size_t word_count)
{
	struct set *set = set_of(frame, caller);
	struct known *k = &set->ways[set->next++ % WAYS];

	set->learnt++;
	/* a signal handler that comes in between finds nothing half written */
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

void gt_stack_cache_forget(void)
{
	atomic_fetch_add(&generation, 1);
}

void gt_stack_cache_touch(void)
{
	char *pages = (char *)sets;

	/* written as it is: a page that is read first is the kernel's, and touched twice */
	for (size_t i = 0; pages && i < SETS * sizeof *sets; i += TOUCHED)
		__atomic_fetch_or(&pages[i], 0, __ATOMIC_RELAXED);
}

static void thread_ended(void *pages)
{
	sets = NULL;
	munmap(pages, SETS * sizeof *sets);
}

void gt_stack_cache_start(void)
{
	if (!pthread_key_create(&thread_end, thread_ended))
		atomic_store(&started, true);
}
