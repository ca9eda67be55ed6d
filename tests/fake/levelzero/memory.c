/* SPDX-License-Identifier: MIT */
/*
 * memory.c - device, host and shared memory, all of it host memory, and its IPC handles.
 *
 * Small allocations lie behind their header in an arena block and are recycled at once. Larger or
 * strictly aligned ones are mappings of their own, so that the process grows and shrinks with them,
 * and are found through a table under a lock.
 *
 * An IPC handle holds a file descriptor open in this process, with a copy of the contents, until
 * zeMemPutIpcHandle or zeMemFree; opening it, here or in another process, maps that copy.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "fake.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tables.h"

#define SMALL_BYTES  (32u << 10)
#define HEADER_BYTES 64
#define PAGE_BYTES   4096u
#define BUCKET_COUNT 4096u

struct memory {
	struct object base;
	char *data;
	size_t size_bytes;
	size_t mapped_bytes; /* 0: data lies behind this header */
	ze_device_handle_t device;
	struct memory *next;
	uint32_t type;
	_Atomic int ipc_fd; /* + 1, 0: none */
};

_Static_assert(sizeof(struct memory) <= HEADER_BYTES, "the header fits in front of the data");

struct memory_ipc {
	char magic[8];
	uint64_t ptr, size_bytes;
	int32_t pid, fd;
};

static const char ipc_magic[8] = "gtmem";

static struct memory *mapped[BUCKET_COUNT];
static pthread_mutex_t mapped_lock = PTHREAD_MUTEX_INITIALIZER;

static struct memory **bucket_of(const void *ptr)
{
	return &mapped[((uintptr_t)ptr / PAGE_BYTES) % BUCKET_COUNT];
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/* Maps exactly `bytes` (whole pages) at a multiple of `alignment`. */
static void *map_aligned(size_t bytes, size_t alignment)
{
	size_t extra = alignment > PAGE_BYTES ? alignment : 0;
	char *p = mmap(NULL, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	char *at;

	if (p == MAP_FAILED)
		return NULL;
	if (!extra)
		return p;
	at = (char *)round_up((uintptr_t)p, alignment);
	if (at > p)
		munmap(p, at - p);
	if (at < p + extra)
		munmap(at + bytes, p + extra - at);
	return at;
}

static struct memory *mapped_add(enum kind kind, void *data, size_t size, size_t mapped_bytes)
{
	struct memory *m = object_new(kind, struct memory);
	struct memory **bucket = bucket_of(data);

	if (!m)
		return NULL;
	m->data = data;
	m->size_bytes = size;
	m->mapped_bytes = mapped_bytes;
	pthread_mutex_lock(&mapped_lock);
	m->next = *bucket;
	*bucket = m;
	pthread_mutex_unlock(&mapped_lock);
	return m;
}

/* Takes the mapping that starts at `ptr` out of the table; NULL when there is none of that kind. */
static struct memory *mapped_take(const void *ptr, enum kind kind)
{
	struct memory **at, *m;

	pthread_mutex_lock(&mapped_lock);
	for (at = bucket_of(ptr); (m = *at); at = &m->next)
		if (m->data == ptr && object_check(m, kind) == ZE_RESULT_SUCCESS) {
			*at = m->next;
			break;
		}
	pthread_mutex_unlock(&mapped_lock);
	return m;
}

static bool holds(const struct memory *m, const void *ptr)
{
	return (const char *)ptr >= m->data && (const char *)ptr < m->data + m->size_bytes;
}

/* The allocation (or opened IPC memory) that holds `ptr`; NULL when none does. */
static struct memory *memory_find(const void *ptr)
{
	struct memory *m = block_find(ptr);

	if (m && (object_check(m, KIND_MEMORY) != ZE_RESULT_SUCCESS || !holds(m, ptr)))
		return NULL;
	if (m)
		return m;
	pthread_mutex_lock(&mapped_lock);
	for (unsigned int i = 0; !m && i < BUCKET_COUNT; i++)
		for (m = mapped[i]; m && !holds(m, ptr); m = m->next)
			;
	pthread_mutex_unlock(&mapped_lock);
	return m;
}

static struct memory *memory_new(size_t size, size_t alignment)
{
	size_t bytes = round_up(size, PAGE_BYTES);
	struct memory *m;
	void *data;

	if (size <= SMALL_BYTES && alignment <= HEADER_BYTES) {
		m = object_new_tail(KIND_MEMORY, HEADER_BYTES, size);
		if (m) {
			m->data = (char *)m + HEADER_BYTES;
			m->size_bytes = size;
			return m;
		}
	}
	data = map_aligned(bytes, alignment);
	if (!data)
		return NULL;
	m = mapped_add(KIND_MEMORY, data, size, bytes);
	if (!m)
		munmap(data, bytes);
	return m;
}

static ze_result_t memory_alloc(ze_context_handle_t context, ze_device_handle_t device,
				ze_memory_type_t type, size_t size, size_t alignment, void **out)
{
	struct memory *m;

	NEED(object_check(context, KIND_CONTEXT));
	if (device)
		NEED(device_check(device));
	NEED_POINTER(out);
	if (!size || size > 1ul << 40)
		return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
	if (alignment & (alignment - 1))
		return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
	m = memory_new(size, alignment);
	if (!m)
		return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
	m->type = type;
	m->device = device;
	*out = m->data;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeMemAllocDevice(ze_context_handle_t context,
					     const ze_device_mem_alloc_desc_t *desc, size_t size,
					     size_t alignment, ze_device_handle_t device,
					     void **out)
{
	ENTER(zeMemAllocDevice);
	NEED_POINTER(desc);
	NEED(device_check(device));
	return memory_alloc(context, device, ZE_MEMORY_TYPE_DEVICE, size, alignment, out);
}

ze_result_t ZE_APICALL fake_zeMemAllocHost(ze_context_handle_t context,
					   const ze_host_mem_alloc_desc_t *desc, size_t size,
					   size_t alignment, void **out)
{
	ENTER(zeMemAllocHost);
	NEED_POINTER(desc);
	return memory_alloc(context, NULL, ZE_MEMORY_TYPE_HOST, size, alignment, out);
}

ze_result_t ZE_APICALL fake_zeMemAllocShared(ze_context_handle_t context,
					     const ze_device_mem_alloc_desc_t *device_desc,
					     const ze_host_mem_alloc_desc_t *host_desc, size_t size,
					     size_t alignment, ze_device_handle_t device,
					     void **out)
{
	ENTER(zeMemAllocShared);
	NEED_POINTER(device_desc);
	NEED_POINTER(host_desc);
	return memory_alloc(context, device, ZE_MEMORY_TYPE_SHARED, size, alignment, out);
}

static ze_result_t memory_free(ze_context_handle_t context, const void *ptr, enum kind kind)
{
	struct memory *m;
	int fd;

	NEED(object_check(context, KIND_CONTEXT));
	NEED_POINTER(ptr);
	m = block_find(ptr);
	if (m && (const char *)ptr != (char *)m + HEADER_BYTES)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	if (!m)
		m = mapped_take(ptr, kind);
	if (!m)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	NEED(object_end(m, kind));
	fd = atomic_exchange(&m->ipc_fd, 0) - 1;
	if (fd >= 0)
		close(fd);
	if (m->mapped_bytes)
		munmap(m->data, m->mapped_bytes);
	block_put(m);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeMemFree(ze_context_handle_t context, void *ptr)
{
	ENTER(zeMemFree);
	return memory_free(context, ptr, KIND_MEMORY);
}

ze_result_t ZE_APICALL fake_zeMemFreeExt(ze_context_handle_t context,
					 const ze_memory_free_ext_desc_t *desc, void *ptr)
{
	ENTER(zeMemFreeExt);
	NEED_POINTER(desc);
	return memory_free(context, ptr, KIND_MEMORY);
}

ze_result_t ZE_APICALL fake_zeMemGetAllocProperties(ze_context_handle_t context, const void *ptr,
						    ze_memory_allocation_properties_t *p,
						    ze_device_handle_t *device)
{
	struct memory *m;

	ENTER(zeMemGetAllocProperties);
	NEED(object_check(context, KIND_CONTEXT));
	NEED_POINTER(ptr);
	NEED_POINTER(p);
	m = memory_find(ptr);
	SET_PROPERTIES(p, .type = m ? (ze_memory_type_t)m->type : ZE_MEMORY_TYPE_UNKNOWN,
		       .id = m ? (uintptr_t)m : 0, .pageSize = m ? PAGE_BYTES : 0);
	if (device)
		*device = m ? m->device : NULL;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeMemGetAddressRange(ze_context_handle_t context, const void *ptr,
						 void **base, size_t *size)
{
	struct memory *m;

	ENTER(zeMemGetAddressRange);
	NEED(object_check(context, KIND_CONTEXT));
	NEED_POINTER(ptr);
	m = memory_find(ptr);
	if (!m)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	if (base)
		*base = m->data;
	if (size)
		*size = m->size_bytes;
	return ZE_RESULT_SUCCESS;
}

static int contents_fd(const struct memory *m)
{
	int fd = memfd_create("gt-fake-ze", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	for (size_t done = 0; done < m->size_bytes;) {
		ssize_t n = pwrite(fd, m->data + done, m->size_bytes - done, (off_t)done);

		if (n <= 0) {
			close(fd);
			return -1;
		}
		done += (size_t)n;
	}
	return fd;
}

ze_result_t memory_ipc_get(const void *ptr, ze_ipc_mem_handle_t *handle)
{
	struct memory *m = memory_find(ptr);
	struct memory_ipc ipc = { .ptr = (uintptr_t)ptr, .pid = getpid() };
	int old = 0, fd;

	if (!m || ptr != m->data)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	fd = atomic_load(&m->ipc_fd) - 1;
	if (fd < 0) {
		fd = contents_fd(m);
		if (fd < 0)
			return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
		if (!atomic_compare_exchange_strong(&m->ipc_fd, &old, fd + 1)) {
			close(fd);
			fd = old - 1;
		}
	}
	memcpy(ipc.magic, ipc_magic, sizeof(ipc.magic));
	ipc.size_bytes = m->size_bytes;
	ipc.fd = fd;
	memset(handle, 0, sizeof(*handle));
	memcpy(handle->data, &ipc, sizeof(ipc));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ipc_read(struct memory_ipc *ipc, const ze_ipc_mem_handle_t *handle)
{
	memcpy(ipc, handle->data, sizeof(*ipc));
	/* the last byte is the number of a tile: newer.c */
	if (memcmp(ipc->magic, ipc_magic, sizeof(ipc->magic) - 1))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	return ZE_RESULT_SUCCESS;
}

ze_result_t memory_ipc_put(ze_ipc_mem_handle_t handle)
{
	struct memory_ipc ipc;
	struct memory *m;
	int expected;

	NEED(ipc_read(&ipc, &handle));
	m = memory_find((void *)(uintptr_t)ipc.ptr);
	expected = ipc.fd + 1;
	if (!m || !atomic_compare_exchange_strong(&m->ipc_fd, &expected, 0))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	close(ipc.fd);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeMemGetIpcHandle(ze_context_handle_t context, const void *ptr,
					      ze_ipc_mem_handle_t *handle)
{
	ENTER(zeMemGetIpcHandle);
	NEED(object_check(context, KIND_CONTEXT));
	NEED_POINTER(ptr);
	NEED_POINTER(handle);
	return memory_ipc_get(ptr, handle);
}

ze_result_t ZE_APICALL fake_zeMemOpenIpcHandle(ze_context_handle_t context,
					       ze_device_handle_t device,
					       ze_ipc_mem_handle_t handle,
					       ze_ipc_memory_flags_t flags, void **out)
{
	struct memory_ipc ipc;
	struct memory *m;
	size_t bytes;
	char path[64];
	void *data;
	int fd;

	ENTER(zeMemOpenIpcHandle);
	(void)flags;
	NEED(place_check(context, device));
	NEED_POINTER(out);
	NEED(ipc_read(&ipc, &handle));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", ipc.pid, ipc.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	bytes = round_up(ipc.size_bytes, PAGE_BYTES);
	data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	m = mapped_add(KIND_IPC_MEMORY, data, ipc.size_bytes, bytes);
	if (!m) {
		munmap(data, bytes);
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	}
	m->type = ZE_MEMORY_TYPE_DEVICE;
	m->device = device;
	*out = data;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeMemCloseIpcHandle(ze_context_handle_t context, const void *ptr)
{
	ENTER(zeMemCloseIpcHandle);
	return memory_free(context, ptr, KIND_IPC_MEMORY);
}

void *storage_get(size_t size)
{
	char *block;
	void *p;

	if (size <= SMALL_BYTES) {
		block = block_get(HEADER_BYTES + size);
		return block ? memset(block + HEADER_BYTES, 0, size) : NULL;
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

void storage_put(void *storage, size_t size)
{
	if (size <= SMALL_BYTES)
		block_put((char *)storage - HEADER_BYTES);
	else
		munmap(storage, size);
}
