/* SPDX-License-Identifier: MIT */
/*
 * nvtx_memory.c - regions of memory that a program registers with NVTX: blocks of a pool.
 *
 * An allocator tells tools such as compute-sanitizer what it gives out: a heap that is registered
 * as a sub-allocator is a pool, its regions are the blocks. These go to the functions that
 * gputrack/pool.h calls. Regions of other heaps, and of main memory, are annotations of memory that
 * somebody else counts.
 *
 * Living regions are kept in a table, without a lock: a program may end them by a handle of another
 * tool, or all at once with their heap. Regions for which it has no room are lost, and counted.
 */
#include "capture/nvtx/nvtx_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "guest/guest.h"
#include "guest/ranges.h"

enum {
	HEAPS = 256,
	REGIONS = 1 << 16,
	PROBES = 32,
	FUNCTIONS = 8,
};

/* Keys of a place that is not in use, and of one that is being filled in. */
enum { NEVER_USED, FREED, CLAIMED };

static struct {
	_Atomic uint64_t handle;
	_Atomic uint32_t name; /* guest/ranges.h */
} heaps[HEAPS];

/* Found by its address and, if another tool has a handle for it, by that. */
static struct region {
	_Atomic uint64_t key, address, handle;
	_Atomic uint32_t heap; /* from 1 */
} regions[REGIONS];

static void (*tell_block)(const char *pool, const void *address, size_t bytes, int device);
static void (*tell_end)(const char *pool, const void *address);
static _Atomic(gt_nvtx_fn *) next_memory[FUNCTIONS];

#define NEXT(id)                                                                                   \
	((typeof(&wrap_##id))(void *)atomic_load_explicit(&next_memory[GT_NVTX_##id],              \
							  memory_order_relaxed))

/* As CUDA's driver says it; without one there is none. */
static bool is_device_memory(const void *address)
{
	enum { MEMORY_TYPE = 2, DEVICE = 2 };
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	int (*ask)(void *data, int attribute, uint64_t address) = NULL;
	unsigned type = 0;

	if (driver)
		*(void **)&ask = dlsym(driver, "cuPointerGetAttribute");
	if (ask && ask(&type, MEMORY_TYPE, (uint64_t)(uintptr_t)address))
		type = 0;
	if (driver)
		dlclose(driver);
	return type == DEVICE;
}

/* From 1; 0: no pool of ours. */
static uint32_t heap_of(const void *handle)
{
	uint64_t key = (uint64_t)(uintptr_t)handle;

	for (uint32_t i = 0; i < HEAPS && key; i++)
		if (atomic_load_explicit(&heaps[i].handle, memory_order_acquire) == key)
			return i + 1;
	return 0;
}

static bool claim(_Atomic uint64_t *key, uint64_t expected)
{
	return atomic_compare_exchange_strong(key, &expected, CLAIMED);
}

static void add_heap(const void *handle, uint32_t name)
{
	for (uint32_t i = 0; i < HEAPS && handle; i++) {
		if (!claim(&heaps[i].handle, NEVER_USED))
			continue;
		atomic_store(&heaps[i].name, name);
		atomic_store_explicit(&heaps[i].handle, (uint64_t)(uintptr_t)handle,
				      memory_order_release);
		return;
	}
}

static const char *name_of(uint32_t heap)
{
	size_t size;
	uint32_t name = atomic_load(&heaps[heap - 1].name);

	return name && name != GT_RANGE_NO_ROOM ? gt_range_text_get(name, &size) : NULL;
}

static struct region *find_region(uint64_t key)
{
	for (uint64_t i = 0, at = gt_mix64(key); i < PROBES && key > CLAIMED; i++) {
		struct region *r = &regions[(at + i) % REGIONS];
		uint64_t found = atomic_load_explicit(&r->key, memory_order_acquire);

		if (found == key)
			return r;
		if (!found)
			break;
	}
	return NULL;
}

/* False: there is no room. */
static bool add_region(uint64_t key, uint64_t address, uint64_t handle, uint32_t heap)
{
	struct region *known = find_region(key);

	for (uint64_t i = 0, at = gt_mix64(key); i < PROBES && key > CLAIMED; i++) {
		struct region *r = known ? known : &regions[(at + i) % REGIONS];
		uint64_t old = atomic_load(&r->key);

		/* one at the same address replaces it */
		if ((old > FREED && old != key) || !claim(&r->key, old))
			continue;
		atomic_store(&r->heap, heap);
		atomic_store(&r->address, address);
		atomic_store(&r->handle, handle);
		atomic_store_explicit(&r->key, key, memory_order_release);
		return true;
	}
	return false;
}

static void forget(uint64_t key)
{
	struct region *r = find_region(key);

	if (r)
		atomic_store(&r->key, FREED);
}

static void end_region(const struct region *r)
{
	uint64_t address = atomic_load(&r->address), handle = atomic_load(&r->handle);

	forget(handle);
	forget(address);
	tell_end(NULL, (const void *)(uintptr_t)address);
}

/* All of a heap's: it has been reset, or is gone. */
static void end_regions(uint32_t heap)
{
	for (uint32_t i = 0; i < REGIONS && heap; i++) {
		const struct region *r = &regions[i];

		if (atomic_load(&r->key) > CLAIMED && atomic_load(&r->heap) == heap)
			end_region(r);
	}
}

/* The elements of an array lie so far apart; 0: they are none that we know. */
static size_t stride_of(size_t told, size_t ours)
{
	return told >= ours ? told : told ? 0 : ours;
}

static void *wrap_MemHeapRegister(const void *domain, const struct gt_nvtx_heap *heap)
{
	void *theirs = NEXT(MemHeapRegister) ? NEXT(MemHeapRegister)(domain, heap) : NULL;
	const struct gt_nvtx_span *span = heap && heap->size >= sizeof *heap ? heap->span : NULL;
	int saved = errno;

	if (!span || heap->type != GT_NVTX_VIRTUAL_ADDRESS || heap->span_size < sizeof *span)
		return theirs;
	if (!theirs)
		theirs = (void *)(uintptr_t)span->address;
	if (heap->usage == GT_NVTX_SUB_ALLOCATOR && is_device_memory(span->address))
		add_heap(theirs, gt_nvtx_text(heap->message_type, &heap->message));
	errno = saved;
	return theirs;
}

static void wrap_MemHeapReset(const void *domain, const void *heap)
{
	end_regions(heap_of(heap));
	if (NEXT(MemHeapReset))
		NEXT(MemHeapReset)(domain, heap);
}

static void wrap_MemHeapUnregister(const void *domain, const void *heap)
{
	uint32_t known = heap_of(heap);

	end_regions(known);
	if (known)
		atomic_store(&heaps[known - 1].handle, 0);
	if (NEXT(MemHeapUnregister))
		NEXT(MemHeapUnregister)(domain, heap);
}

/* The other tool's handles are needed first: by these the program ends the regions. */
static void wrap_MemRegionsRegister(const void *domain, const struct gt_nvtx_regions *r)
{
	const char *at = r ? r->elements : NULL;
	uint32_t heap = r ? heap_of(r->heap) : 0;
	size_t stride = r ? stride_of(r->element_size, sizeof(struct gt_nvtx_span)) : 0;
	bool has_next = NEXT(MemRegionsRegister);

	if (has_next)
		NEXT(MemRegionsRegister)(domain, r);
	if (!at || !stride || r->size < sizeof *r || r->type != GT_NVTX_VIRTUAL_ADDRESS)
		return;
	for (size_t i = 0; i < r->count; i++, at += stride) {
		const struct gt_nvtx_span *span = (const struct gt_nvtx_span *)at;
		uint64_t address = (uint64_t)(uintptr_t)span->address, handle = address;

		if (r->handles && has_next)
			handle = (uint64_t)(uintptr_t)r->handles[i];
		else if (r->handles)
			r->handles[i] = span->address;
		if (!heap)
			continue;
		if (!add_region(address, address, handle, heap) ||
		    (handle != address && !add_region(handle, address, handle, heap)))
			gt_guest_lose();
		else
			tell_block(name_of(heap), span->address, span->bytes, 0);
	}
}

static void wrap_MemRegionsResize(const void *domain, const struct gt_nvtx_resize *r)
{
	const char *at = r ? r->elements : NULL;
	size_t stride = r ? stride_of(r->element_size, sizeof(struct gt_nvtx_span)) : 0;

	if (NEXT(MemRegionsResize))
		NEXT(MemRegionsResize)(domain, r);
	if (!at || !stride || r->size < sizeof *r || r->type != GT_NVTX_VIRTUAL_ADDRESS)
		return;
	for (size_t i = 0; i < r->count; i++, at += stride) {
		const struct gt_nvtx_span *span = (const struct gt_nvtx_span *)at;
		const struct region *known = find_region((uint64_t)(uintptr_t)span->address);

		if (!known)
			continue;
		tell_end(NULL, span->address);
		tell_block(name_of(atomic_load(&known->heap)), span->address, span->bytes, 0);
	}
}

static void wrap_MemRegionsUnregister(const void *domain, const struct gt_nvtx_refs *r)
{
	const char *at = r ? r->elements : NULL;
	size_t stride = r ? stride_of(r->element_size, sizeof(void *)) : 0;

	for (size_t i = 0; at && stride && r->size >= sizeof *r && i < r->count;
	     i++, at += stride) {
		const struct region *known = find_region(*(const uint64_t *)at);

		if (known)
			end_region(known);
	}
	if (NEXT(MemRegionsUnregister))
		NEXT(MemRegionsUnregister)(domain, r);
}

#define OURS(id) [GT_NVTX_##id] = (gt_nvtx_fn *)(void *)wrap_##id
static gt_nvtx_fn *const ours[FUNCTIONS] = {
	OURS(MemHeapRegister),    OURS(MemHeapUnregister), OURS(MemHeapReset),
	OURS(MemRegionsRegister), OURS(MemRegionsResize),  OURS(MemRegionsUnregister),
};

/* As in nvtx_door.c: all instances of NVTX must have the same next functions. */
static void fill_slots(gt_nvtx_fn **slots, size_t count, bool is_chained)
{
	for (size_t i = 0; i < count && i < FUNCTIONS; i++) {
		gt_nvtx_fn *theirs = is_chained && (uintptr_t)slots[i] > 1 ? slots[i] : NULL;
		gt_nvtx_fn *known = NULL;

		if (!ours[i])
			continue;
		if (theirs && atomic_compare_exchange_strong(&next_memory[i], &known, theirs))
			known = theirs;
		else
			known = atomic_load(&next_memory[i]);
		if (known == theirs)
			slots[i] = ours[i];
	}
}

bool gt_nvtx_memory_start(const struct gt_nvtx_extension *module, bool is_chained)
{
	if (module->size < sizeof *module || module->id != GT_NVTX_MEMORY || !module->segments ||
	    !module->segments->slots || !gt_settings_get()->recording || !gt_ranges_start())
		return false;
	*(void **)&tell_block = dlsym(RTLD_DEFAULT, "gputrack_on_pool_block");
	*(void **)&tell_end = dlsym(RTLD_DEFAULT, "gputrack_on_pool_end");
	if (!tell_block || !tell_end)
		return false;
	fill_slots(module->segments->slots, module->segments->count, is_chained);
	return true;
}
