/* SPDX-License-Identifier: MIT */
/*
 * arena.c - blocks, handles and their lives.
 *
 * The arena is one reserved range of addresses, cut into spans of one block size each, so that any
 * address can be judged without reading it. Its first part is resident from the start: as long as
 * a program keeps to that, no create call grows the process, and whatever growth a tracker sees is
 * what GT_FAKE_ZE_RESIDUE asked for.
 */
#include "fake.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA_BYTES  (1UL << 30)
#define SPAN_BYTES   (1UL << 16)
#define SPAN_COUNT   (ARENA_BYTES / SPAN_BYTES)
#define READY_BYTES  (4UL << 20)
#define GROW_BYTES   (1UL << 20)
#define SMALLEST_LOG 6
#define CLASS_COUNT  11
#define PARTS        16

#define MAGIC_LIVE 0x5a450000u
#define MAGIC_DEAD 0xdeadu

static char *arena;
static size_t arena_used, arena_ready;
static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;

/* class + 1 of each span, 0: not handed out */
static _Atomic uint8_t span_class[SPAN_COUNT];

/*
 * A part for each thread, shared by some where there are more. With one for all, benchmarks of
 * several threads would time how they wait for it. Blocks are taken from other parts where a
 * thread's own has none, before the arena grows.
 */
static struct part {
	/* low half: block number + 1, high half: a count that tells two visits of one block apart
	 */
	_Alignas(128) _Atomic uint64_t free_head[CLASS_COUNT];
	_Atomic long live[KIND_COUNT];
} parts[PARTS];

static const char *const kind_names[KIND_COUNT] = {
#define X(id, name) [KIND_##id] = name,
	FAKE_KINDS(X)
#undef X
};

static bool arena_grow(size_t bytes)
{
	char *from = arena + arena_ready;

	if (arena_ready + bytes > ARENA_BYTES || mprotect(from, bytes, PROT_READ | PROT_WRITE))
		return false;
	memset(from, 0, bytes);
	arena_ready += bytes;
	return true;
}

__attribute__((constructor)) static void arena_init(void)
{
	void *p = mmap(NULL, ARENA_BYTES + SPAN_BYTES, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return;
	arena = (char *)(((uintptr_t)p + SPAN_BYTES - 1) & ~(SPAN_BYTES - 1));
	arena_grow(READY_BYTES);
}

static struct object *block_at(uint32_t number)
{
	return (struct object *)(arena + ((size_t)number << SMALLEST_LOG));
}

static uint32_t block_number(const void *block)
{
	return (uint32_t)(((const char *)block - arena) >> SMALLEST_LOG);
}

static int class_of(size_t size)
{
	int c = 0;

	while (c < CLASS_COUNT && (1UL << (c + SMALLEST_LOG)) < size)
		c++;
	return c;
}

static unsigned own_number(void)
{
	static __thread __attribute__((tls_model("initial-exec"))) unsigned number;
	static _Atomic unsigned threads;

	if (!number)
		number = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
	return (number - 1) % PARTS;
}

static void push(int class, struct object *block)
{
	_Atomic uint64_t *free_head = &parts[own_number()].free_head[class];
	uint64_t head = atomic_load_explicit(free_head, memory_order_relaxed);
	uint64_t mine;

	do {
		atomic_store_explicit(&block->next, (uint32_t)head, memory_order_relaxed);
		mine = (((head >> 32) + 1) << 32) | (block_number(block) + 1);
	} while (!atomic_compare_exchange_weak_explicit(
		free_head, &head, mine, memory_order_release, memory_order_relaxed));
}

static struct object *pop_from(_Atomic uint64_t *free_head)
{
	uint64_t head = atomic_load_explicit(free_head, memory_order_acquire);
	uint64_t rest;
	struct object *block;

	do {
		if (!(uint32_t)head)
			return NULL;
		block = block_at((uint32_t)head - 1);
		rest = (((head >> 32) + 1) << 32) |
		       atomic_load_explicit(&block->next, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(
		free_head, &head, rest, memory_order_acquire, memory_order_acquire));
	return block;
}

static struct object *pop(int class)
{
	struct object *block = NULL;
	unsigned own = own_number();

	for (unsigned i = 0; !block && i < PARTS; i++)
		block = pop_from(&parts[(own + i) % PARTS].free_head[class]);
	return block;
}

/* Cuts one more span for the class; the first block is the caller's. */
static struct object *refill(int class)
{
	size_t size = 1UL << (class + SMALLEST_LOG);
	struct object *first = NULL;

	pthread_mutex_lock(&arena_lock);
	/* somebody may have done it while we waited */
	first = pop(class);
	if (!first && arena && (arena_used + SPAN_BYTES <= arena_ready || arena_grow(GROW_BYTES))) {
		char *span = arena + arena_used;

		atomic_store(&span_class[arena_used / SPAN_BYTES], class + 1);
		arena_used += SPAN_BYTES;
		/* downwards, so that the lowest address is given out first */
		for (size_t at = SPAN_BYTES - size; at; at -= size)
			push(class, (struct object *)(span + at));
		first = (struct object *)span;
	}
	pthread_mutex_unlock(&arena_lock);
	return first;
}

void *block_get(size_t size)
{
	int class = class_of(size);
	struct object *block;

	if (class == CLASS_COUNT)
		return NULL;
	block = pop(class);
	return block ? block : refill(class);
}

void *block_find(const void *p)
{
	size_t at = (size_t)((const char *)p - arena);
	int class;

	if (!arena || (const char *)p < arena || at >= ARENA_BYTES)
		return NULL;
	class = atomic_load_explicit(&span_class[at / SPAN_BYTES], memory_order_relaxed) - 1;
	if (class < 0)
		return NULL;
	return arena + (at & ~((1UL << (class + SMALLEST_LOG)) - 1));
}

void block_put(void *block)
{
	size_t at = (size_t)((char *)block - arena);

	push(atomic_load_explicit(&span_class[at / SPAN_BYTES], memory_order_relaxed) - 1, block);
}

void *object_new_tail(enum kind kind, size_t size, size_t tail)
{
	struct object *o = block_get(size + tail);

	if (!o)
		return NULL;
	memset(o + 1, 0, size - sizeof(*o));
	atomic_store_explicit(&o->state, MAGIC_LIVE | kind, memory_order_release);
	object_count(kind, 1);
	return o;
}

ze_result_t object_check(const void *handle, enum kind kind)
{
	const struct object *o = handle;

	if (!handle)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (block_find(handle) != handle ||
	    atomic_load_explicit(&o->state, memory_order_acquire) != (MAGIC_LIVE | kind))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	return ZE_RESULT_SUCCESS;
}

ze_result_t object_end(void *handle, enum kind kind)
{
	uint32_t expected = MAGIC_LIVE | kind;
	struct object *o = handle;

	NEED(object_check(handle, kind));
	if (!atomic_compare_exchange_strong(&o->state, &expected, MAGIC_DEAD))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	object_count(kind, -1);
	return ZE_RESULT_SUCCESS;
}

ze_result_t object_free(void *handle, enum kind kind)
{
	NEED(object_end(handle, kind));
	block_put(handle);
	return ZE_RESULT_SUCCESS;
}

void object_count(enum kind kind, long change)
{
	atomic_fetch_add_explicit(&parts[own_number()].live[kind], change, memory_order_relaxed);
}

static long live_of(int kind)
{
	long sum = 0;

	/* of one part it may be negative: another thread destroys what this one has created */
	for (int i = 0; i < PARTS; i++)
		sum += atomic_load(&parts[i].live[kind]);
	return sum;
}

long gt_fake_ze_live(const char *kind)
{
	long sum = 0;

	for (int i = 0; i < KIND_COUNT; i++) {
		if (kind && !strcmp(kind, kind_names[i]))
			return live_of(i);
		sum += live_of(i);
	}
	return kind ? -1 : sum;
}
