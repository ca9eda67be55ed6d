/* SPDX-License-Identifier: MIT */
/*
 * virtual.c - reserved addresses, physical memory, and the mapping of one to the other.
 *
 * A reservation is inaccessible until mapped; each mapping has fresh zeroed memory, whatever the
 * physical object's other mappings hold.
 */
#include "fake.h"

#include <pthread.h>
#include <sys/mman.h>

#include "tables.h"

#define PAGE_BYTES 4096u

struct physical {
	struct object base;
	size_t size_bytes;
};

/* a reservation or a mapping */
struct region {
	struct object base;
	enum kind kind;
	char *start;
	size_t size_bytes;
	ze_memory_access_attribute_t access;
	struct region *next;
};

static struct region *regions;
static pthread_mutex_t regions_lock = PTHREAD_MUTEX_INITIALIZER;

static int protection(ze_memory_access_attribute_t access)
{
	switch (access) {
	case ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE: return PROT_READ | PROT_WRITE;
	case ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY: return PROT_READ;
	default: return PROT_NONE;
	}
}

/* Under the lock: where the region of this kind that holds all of [ptr, ptr + size) hangs. */
static struct region **region_around(enum kind kind, const void *ptr, size_t size)
{
	struct region **at;

	for (at = &regions; *at; at = &(*at)->next)
		if ((*at)->kind == kind && (*at)->start <= (const char *)ptr &&
		    (const char *)ptr + size <= (*at)->start + (*at)->size_bytes)
			return at;
	return NULL;
}

static bool is_mapped_within(const char *start, size_t size)
{
	for (struct region *r = regions; r; r = r->next)
		if (r->kind == KIND_MAPPING && r->start < start + size &&
		    start < r->start + r->size_bytes)
			return true;
	return false;
}

static struct region *region_add(enum kind kind, const void *start, size_t size)
{
	struct region *r = object_new(kind, struct region);

	if (!r)
		return NULL;
	r->kind = kind;
	r->start = (char *)start;
	r->size_bytes = size;
	r->next = regions;
	regions = r;
	return r;
}

/* Under the lock: ends the region that is exactly [ptr, ptr + size). */
static ze_result_t region_drop(enum kind kind, const void *ptr, size_t size)
{
	struct region **at = region_around(kind, ptr, size);
	struct region *r = at ? *at : NULL;

	if (!r || r->start != ptr || r->size_bytes != size)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	*at = r->next;
	return object_free(r, kind);
}

static ze_result_t range_check(ze_context_handle_t context, const void *ptr, size_t size)
{
	NEED(object_check(context, KIND_CONTEXT));
	NEED_POINTER(ptr);
	if (!size || size % PAGE_BYTES)
		return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zePhysicalMemCreate(ze_context_handle_t context,
						ze_device_handle_t device,
						ze_physical_mem_desc_t *desc,
						ze_physical_mem_handle_t *out)
{
	struct physical *p;

	ENTER(zePhysicalMemCreate);
	NEED(place_check(context, device));
	NEED_POINTER(desc);
	NEED_POINTER(out);
	if (!desc->size || desc->size % PAGE_BYTES)
		return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
	p = object_new(KIND_PHYSICAL, struct physical);
	if (!p)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	p->size_bytes = desc->size;
	*out = (ze_physical_mem_handle_t)p;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zePhysicalMemDestroy(ze_context_handle_t context,
						 ze_physical_mem_handle_t physical)
{
	ENTER(zePhysicalMemDestroy);
	NEED(object_check(context, KIND_CONTEXT));
	return object_free(physical, KIND_PHYSICAL);
}

ze_result_t ZE_APICALL fake_zeVirtualMemQueryPageSize(ze_context_handle_t context,
						      ze_device_handle_t device, size_t size,
						      size_t *page)
{
	ENTER(zeVirtualMemQueryPageSize);
	(void)size;
	NEED(place_check(context, device));
	NEED_POINTER(page);
	*page = PAGE_BYTES;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeVirtualMemReserve(ze_context_handle_t context, const void *start,
						size_t size, void **out)
{
	struct region *r;
	void *p;

	ENTER(zeVirtualMemReserve);
	(void)start;
	NEED_POINTER(out);
	NEED(range_check(context, out, size));
	p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	pthread_mutex_lock(&regions_lock);
	r = region_add(KIND_RESERVATION, p, size);
	pthread_mutex_unlock(&regions_lock);
	if (!r) {
		munmap(p, size);
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	}
	*out = p;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeVirtualMemFree(ze_context_handle_t context, const void *ptr,
					     size_t size)
{
	ze_result_t rc;

	ENTER(zeVirtualMemFree);
	NEED(range_check(context, ptr, size));
	pthread_mutex_lock(&regions_lock);
	rc = is_mapped_within(ptr, size) ? ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE :
					   region_drop(KIND_RESERVATION, ptr, size);
	pthread_mutex_unlock(&regions_lock);
	if (rc == ZE_RESULT_SUCCESS)
		munmap((void *)ptr, size);
	return rc;
}

/* Fresh pages over a part of a reservation; inaccessible ones take nothing. */
static bool remap(const void *ptr, size_t size, int prot)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;

	return mmap((void *)ptr, size, prot, flags, -1, 0) != MAP_FAILED;
}

static ze_result_t map_locked(const void *ptr, size_t size, ze_memory_access_attribute_t access)
{
	struct region *r;

	if (!region_around(KIND_RESERVATION, ptr, size) || is_mapped_within(ptr, size))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	r = region_add(KIND_MAPPING, ptr, size);
	if (!r)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	r->access = access;
	if (remap(ptr, size, protection(access)))
		return ZE_RESULT_SUCCESS;
	region_drop(KIND_MAPPING, ptr, size);
	return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

ze_result_t ZE_APICALL fake_zeVirtualMemMap(ze_context_handle_t context, const void *ptr,
					    size_t size, ze_physical_mem_handle_t physical,
					    size_t offset, ze_memory_access_attribute_t access)
{
	struct physical *p = (struct physical *)physical;
	ze_result_t rc;

	ENTER(zeVirtualMemMap);
	NEED(range_check(context, ptr, size));
	NEED(object_check(physical, KIND_PHYSICAL));
	if (offset > p->size_bytes || size > p->size_bytes - offset)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	pthread_mutex_lock(&regions_lock);
	rc = map_locked(ptr, size, access);
	pthread_mutex_unlock(&regions_lock);
	return rc;
}

ze_result_t ZE_APICALL fake_zeVirtualMemUnmap(ze_context_handle_t context, const void *ptr,
					      size_t size)
{
	ze_result_t rc;

	ENTER(zeVirtualMemUnmap);
	NEED(range_check(context, ptr, size));
	pthread_mutex_lock(&regions_lock);
	rc = region_drop(KIND_MAPPING, ptr, size);
	if (rc == ZE_RESULT_SUCCESS && !remap(ptr, size, PROT_NONE))
		rc = ZE_RESULT_ERROR_UNKNOWN;
	pthread_mutex_unlock(&regions_lock);
	return rc;
}

ze_result_t ZE_APICALL fake_zeVirtualMemSetAccessAttribute(ze_context_handle_t context,
							   const void *ptr, size_t size,
							   ze_memory_access_attribute_t access)
{
	struct region **at;

	ENTER(zeVirtualMemSetAccessAttribute);
	NEED(range_check(context, ptr, size));
	pthread_mutex_lock(&regions_lock);
	at = region_around(KIND_MAPPING, ptr, size);
	if (at) {
		(*at)->access = access;
		mprotect((void *)ptr, size, protection(access));
	}
	pthread_mutex_unlock(&regions_lock);
	return at ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ze_result_t ZE_APICALL fake_zeVirtualMemGetAccessAttribute(ze_context_handle_t context,
							   const void *ptr, size_t size,
							   ze_memory_access_attribute_t *access,
							   size_t *out_size)
{
	struct region **at;

	ENTER(zeVirtualMemGetAccessAttribute);
	NEED(range_check(context, ptr, size));
	NEED_POINTER(access);
	NEED_POINTER(out_size);
	pthread_mutex_lock(&regions_lock);
	at = region_around(KIND_MAPPING, ptr, size);
	*access = at ? (*at)->access : ZE_MEMORY_ACCESS_ATTRIBUTE_NONE;
	*out_size = at ? size : 0;
	pthread_mutex_unlock(&regions_lock);
	return ZE_RESULT_SUCCESS;
}
