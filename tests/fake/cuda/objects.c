/* SPDX-License-Identifier: MIT */
/*
 * objects.c - what is alive in the stand-in driver: one table, a lock for each part of it.
 *
 * With one lock, benchmarks of several threads would time how they wait for it, which changes with
 * whatever is done between two calls.
 */
#include "fake.h"
#include "../gpu_memory/share.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 10, PARTS = 64 };

/* As far apart as processors fetch memory. */
static struct part {
	_Alignas(128) pthread_mutex_t lock;
	uint64_t alive;
	struct fake_object *table[BUCKETS];
} parts[PARTS] = { [0 ... PARTS - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER } };
static _Atomic uint64_t bytes;
static struct fake_share *share;
static pthread_mutex_t share_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_share(void)
{
	share = fake_share_open();
}

/* Tells the stand-in libnvidia-ml. */
static void count_bytes(uint64_t more)
{
	if (!more)
		return;
	atomic_fetch_add(&bytes, more);
	if (!share)
		return;
	/* the last to tell must tell the last figure */
	pthread_mutex_lock(&share_lock);
	atomic_store(&share->bytes, atomic_load(&bytes));
	atomic_store(&share->pid, (uint64_t)getpid());
	pthread_mutex_unlock(&share_lock);
}

static bool on_device(enum fake_class class)
{
	return class == FAKE_MEMORY || class == FAKE_PHYSICAL || class == FAKE_ARRAY ||
	       class == FAKE_MIPMAP;
}

/* Device memory that the driver takes for itself: none, unless FAKE_CUDA_COSTS is set. */
static uint64_t cost(enum fake_class class)
{
	static const uint64_t costs[FAKE_CLASS_COUNT] = {
		[FAKE_CONTEXT] = 300 << 20, [FAKE_MODULE] = 2 << 20, [FAKE_LIBRARY] = 1 << 20,
		[FAKE_STREAM] = 2 << 20,    [FAKE_EXEC] = 4 << 20,   [FAKE_CODE] = 3 << 20
	};

	return getenv("FAKE_CUDA_COSTS") ? costs[class] : 0;
}

/* Others, as the stand-in libnvidia-ml has it, take 412 MiB. */
uint64_t fake_cuda_total(void)
{
	const char *mib = getenv("FAKE_GPU_MIB");

	return mib ? ((uint64_t)atoi(mib) - 412) << 20 : 16ull << 30;
}

static uint64_t hash_of(enum fake_class class, uint64_t handle)
{
	return (handle ^ (uint64_t) class << 48) * 0x9e3779b97f4a7c15u;
}

/* Its part of the table, locked. */
static struct part *enter(enum fake_class class, uint64_t handle)
{
	struct part *part = &parts[(hash_of(class, handle) >> 32) % PARTS];

	pthread_mutex_lock(&part->lock);
	return part;
}

static void leave(struct part *part)
{
	pthread_mutex_unlock(&part->lock);
}

static struct fake_object **find(struct part *part, enum fake_class class, uint64_t handle)
{
	struct fake_object **at = &part->table[(hash_of(class, handle) >> 48) % BUCKETS];

	while (*at && ((*at)->handle != handle || (*at)->class != class))
		at = &(*at)->next;
	return at;
}

/* False, and nothing counted, if the GPU is full. */
static bool take_bytes(enum fake_class class, size_t size)
{
	uint64_t more = (on_device(class) ? size : 0) + cost(class);

	count_bytes(more);
	if (!on_device(class) || !getenv("FAKE_GPU_MIB") ||
	    atomic_load(&bytes) - cost(class) <= fake_cuda_total())
		return true;
	count_bytes(0 - more);
	return false;
}

static CUresult add(enum fake_class class, uint64_t handle, size_t size, CUcontext owner,
		    void *block)
{
	struct fake_object *fresh = malloc(sizeof *fresh), **at;
	CUresult result = CUDA_SUCCESS;
	struct part *part;

	if (!fresh)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*fresh = (struct fake_object){ .handle = handle,
				       .size = size,
				       .owner = owner,
				       .block = block,
				       .refs = 1,
				       .class = (uint8_t) class };
	pthread_once(&once, open_share);
	part = enter(class, handle);
	at = find(part, class, handle);
	if (*at) {
		result = CUDA_ERROR_ALREADY_MAPPED;
	} else if (!take_bytes(class, size)) {
		result = CUDA_ERROR_OUT_OF_MEMORY;
	} else {
		*at = fresh;
		part->alive++;
	}
	leave(part);
	if (result)
		free(fresh);
	return result;
}

CUresult fake_new(enum fake_class class, uint64_t *handle, size_t size, CUcontext owner)
{
	/* the allocator hands out last what was freed last: handles are reused at once */
	void *block = handle ? malloc(size ? size : 1) : NULL;
	CUresult result;

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = add(class, H(block), size, owner, block);
	if (result)
		free(block);
	else
		*handle = H(block);
	return result;
}

CUresult fake_new_at(enum fake_class class, uint64_t handle, size_t size, CUcontext owner)
{
	return handle ? add(class, handle, size, owner, NULL) : CUDA_ERROR_INVALID_VALUE;
}

static void take_out(struct part *part, struct fake_object **at)
{
	struct fake_object *gone = *at;

	*at = gone->next;
	part->alive--;
	count_bytes(0 - (on_device(gone->class) ? gone->size : 0) - cost(gone->class));
	/* the object before its block: the block is what the next one gets */
	void *block = gone->block;
	free(gone);
	free(block);
}

CUresult fake_end(enum fake_class class, uint64_t handle)
{
	struct part *part = enter(class, handle);
	struct fake_object **at = find(part, class, handle);
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (*at) {
		result = CUDA_SUCCESS;
		if (!--(*at)->refs)
			take_out(part, at);
	}
	leave(part);
	return result;
}

CUresult fake_retain(enum fake_class class, uint64_t handle)
{
	struct part *part = enter(class, handle);
	struct fake_object *object = *find(part, class, handle);

	if (object)
		object->refs++;
	leave(part);
	return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool fake_is_alive(enum fake_class class, uint64_t handle)
{
	struct part *part = enter(class, handle);
	bool found = *find(part, class, handle) != NULL;

	leave(part);
	return found;
}

uint64_t fake_size(enum fake_class class, uint64_t handle)
{
	struct part *part = enter(class, handle);
	const struct fake_object *object = *find(part, class, handle);
	uint64_t size = object ? object->size : 0;

	leave(part);
	return size;
}

void fake_set_key(enum fake_class class, uint64_t handle, uint64_t key)
{
	struct part *part = enter(class, handle);
	struct fake_object *object = *find(part, class, handle);

	if (object)
		object->key = key;
	leave(part);
}

uint64_t fake_key(enum fake_class class, uint64_t handle)
{
	struct part *part = enter(class, handle);
	const struct fake_object *object = *find(part, class, handle);
	uint64_t key = object ? object->key : 0;

	leave(part);
	return key;
}

/* The first object of a class that `is` says yes to, one reference more. */
static uint64_t search(enum fake_class class, bool (*is)(const struct fake_object *, uint64_t),
		       uint64_t word)
{
	uint64_t found = 0;

	for (struct part *part = parts; part < parts + PARTS && !found; part++) {
		pthread_mutex_lock(&part->lock);
		for (int i = 0; i < BUCKETS && !found; i++)
			for (struct fake_object *o = part->table[i]; o && !found; o = o->next)
				if (o->class == class && is(o, word)) {
					o->refs++;
					found = o->handle;
				}
		leave(part);
	}
	return found;
}

static bool has_key(const struct fake_object *o, uint64_t key)
{
	return o->key == key;
}

static bool has_address(const struct fake_object *o, uint64_t address)
{
	return address >= o->handle && address - o->handle < o->size;
}

uint64_t fake_find_key(enum fake_class class, uint64_t key)
{
	return search(class, has_key, key);
}

uint64_t fake_find_address(enum fake_class class, uint64_t address)
{
	return search(class, has_address, address);
}

void fake_end_owned(CUcontext context)
{
	for (struct part *part = parts; part < parts + PARTS; part++) {
		pthread_mutex_lock(&part->lock);
		for (int i = 0; i < BUCKETS; i++)
			for (struct fake_object **at = &part->table[i]; *at;) {
				if ((*at)->owner == context)
					take_out(part, at);
				else
					at = &(*at)->next;
			}
		leave(part);
	}
}

uint64_t fake_cuda_alive(void)
{
	uint64_t count = 0;

	for (struct part *part = parts; part < parts + PARTS; part++) {
		pthread_mutex_lock(&part->lock);
		count += part->alive;
		leave(part);
	}
	return count;
}

uint64_t fake_cuda_bytes(void)
{
	return atomic_load(&bytes);
}
