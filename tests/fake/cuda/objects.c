/* SPDX-License-Identifier: MIT */
/* objects.c - what is alive in the stand-in driver: one table, one lock. */
#include "fake.h"
#include "../gpu_memory/share.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 16 };

static struct fake_object *table[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t alive, bytes;
static struct fake_share *share;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_share(void)
{
	share = fake_share_open();
}

/* Under the lock: tells the stand-in libnvidia-ml. */
static void count_bytes(uint64_t more)
{
	bytes += more;
	if (share) {
		atomic_store(&share->bytes, bytes);
		atomic_store(&share->pid, (uint64_t)getpid());
	}
}

static struct fake_object **find(enum fake_class class, uint64_t handle)
{
	uint64_t hash = (handle ^ (uint64_t) class << 48) * 0x9e3779b97f4a7c15u;
	struct fake_object **at = &table[hash >> 48];

	while (*at && ((*at)->handle != handle || (*at)->class != class))
		at = &(*at)->next;
	return at;
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

static CUresult add(enum fake_class class, uint64_t handle, size_t size, CUcontext owner,
		    void *block)
{
	struct fake_object *fresh = malloc(sizeof *fresh), **at;

	if (!fresh)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*fresh = (struct fake_object){ .handle = handle,
				       .size = size,
				       .owner = owner,
				       .block = block,
				       .refs = 1,
				       .class = (uint8_t) class };
	pthread_once(&once, open_share);
	pthread_mutex_lock(&lock);
	at = find(class, handle);
	if (*at) {
		pthread_mutex_unlock(&lock);
		free(fresh);
		return CUDA_ERROR_ALREADY_MAPPED;
	}
	if (on_device(class) && getenv("FAKE_GPU_MIB") && bytes + size > fake_cuda_total()) {
		pthread_mutex_unlock(&lock);
		free(fresh);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*at = fresh;
	alive++;
	count_bytes((on_device(class) ? size : 0) + cost(class));
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
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

static void take_out(struct fake_object **at)
{
	struct fake_object *gone = *at;

	*at = gone->next;
	alive--;
	count_bytes(0 - (on_device(gone->class) ? gone->size : 0) - cost(gone->class));
	/* the object before its block: the block is what the next one gets */
	void *block = gone->block;
	free(gone);
	free(block);
}

CUresult fake_end(enum fake_class class, uint64_t handle)
{
	struct fake_object **at;
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&lock);
	at = find(class, handle);
	if (*at) {
		result = CUDA_SUCCESS;
		if (!--(*at)->refs)
			take_out(at);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

CUresult fake_retain(enum fake_class class, uint64_t handle)
{
	struct fake_object *object;

	pthread_mutex_lock(&lock);
	object = *find(class, handle);
	if (object)
		object->refs++;
	pthread_mutex_unlock(&lock);
	return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool fake_is_alive(enum fake_class class, uint64_t handle)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = *find(class, handle) != NULL;
	pthread_mutex_unlock(&lock);
	return found;
}

uint64_t fake_size(enum fake_class class, uint64_t handle)
{
	const struct fake_object *object;
	uint64_t size;

	pthread_mutex_lock(&lock);
	object = *find(class, handle);
	size = object ? object->size : 0;
	pthread_mutex_unlock(&lock);
	return size;
}

void fake_set_key(enum fake_class class, uint64_t handle, uint64_t key)
{
	struct fake_object *object;

	pthread_mutex_lock(&lock);
	object = *find(class, handle);
	if (object)
		object->key = key;
	pthread_mutex_unlock(&lock);
}

uint64_t fake_key(enum fake_class class, uint64_t handle)
{
	const struct fake_object *object;
	uint64_t key;

	pthread_mutex_lock(&lock);
	object = *find(class, handle);
	key = object ? object->key : 0;
	pthread_mutex_unlock(&lock);
	return key;
}

/* The first object of a class that `is` says yes to, one reference more. */
static uint64_t search(enum fake_class class, bool (*is)(const struct fake_object *, uint64_t),
		       uint64_t word)
{
	uint64_t found = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < BUCKETS && !found; i++)
		for (struct fake_object *o = table[i]; o && !found; o = o->next)
			if (o->class == class && is(o, word)) {
				o->refs++;
				found = o->handle;
			}
	pthread_mutex_unlock(&lock);
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
	pthread_mutex_lock(&lock);
	for (int i = 0; i < BUCKETS; i++)
		for (struct fake_object **at = &table[i]; *at;) {
			if ((*at)->owner == context)
				take_out(at);
			else
				at = &(*at)->next;
		}
	pthread_mutex_unlock(&lock);
}

uint64_t fake_cuda_alive(void)
{
	uint64_t count;

	pthread_mutex_lock(&lock);
	count = alive;
	pthread_mutex_unlock(&lock);
	return count;
}

uint64_t fake_cuda_bytes(void)
{
	uint64_t sum;

	pthread_mutex_lock(&lock);
	sum = bytes;
	pthread_mutex_unlock(&lock);
	return sum;
}
