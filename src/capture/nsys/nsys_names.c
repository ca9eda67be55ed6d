/* SPDX-License-Identifier: MIT */
/* nsys_names.c - the strings of an export, and what the CUDA functions that they name do. */
#include "capture/nsys/nsys_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"
#include "base/text.h"

struct gt_nsys_names {
	sqlite3_stmt *string_of; /* NULL: the export has none */
	struct gt_map rows;      /* id -> row + 1 */
};

/* By name without version. Other functions of the driver are those of cuda.def. */
static const struct {
	const char *name;
	enum gt_function_id row;
} functions[] = {
	{ "cudaMalloc", GT_FN_nsysDeviceAllocation },
	{ "cudaMallocPitch", GT_FN_nsysDeviceAllocation },
	{ "cudaMalloc3D", GT_FN_nsysDeviceAllocation },
	{ "cudaMallocAsync", GT_FN_nsysDeviceAllocation },
	{ "cudaMallocFromPoolAsync", GT_FN_nsysDeviceAllocation },
	{ "cuMemAlloc", GT_FN_nsysDeviceAllocation },
	{ "cuMemAllocPitch", GT_FN_nsysDeviceAllocation },
	{ "cuMemAllocAsync", GT_FN_nsysDeviceAllocation },
	{ "cuMemAllocFromPoolAsync", GT_FN_nsysDeviceAllocation },
	{ "cuMemCreate", GT_FN_nsysDeviceAllocation },
	{ "cudaMallocManaged", GT_FN_nsysManagedAllocation },
	{ "cuMemAllocManaged", GT_FN_nsysManagedAllocation },
	{ "cudaMallocHost", GT_FN_nsysPinnedAllocation },
	{ "cudaHostAlloc", GT_FN_nsysPinnedAllocation },
	{ "cuMemAllocHost", GT_FN_nsysPinnedAllocation },
	{ "cuMemHostAlloc", GT_FN_nsysPinnedAllocation },
	{ "cudaMallocArray", GT_FN_nsysArrayAllocation },
	{ "cudaMalloc3DArray", GT_FN_nsysArrayAllocation },
	{ "cudaMallocMipmappedArray", GT_FN_nsysArrayAllocation },
	{ "cuArrayCreate", GT_FN_nsysArrayAllocation },
	{ "cuArray3DCreate", GT_FN_nsysArrayAllocation },
	{ "cuMipmappedArrayCreate", GT_FN_nsysArrayAllocation },
	{ "cudaFree", GT_FN_nsysDeviceDeallocation },
	{ "cudaFreeAsync", GT_FN_nsysDeviceDeallocation },
	{ "cuMemFree", GT_FN_nsysDeviceDeallocation },
	{ "cuMemFreeAsync", GT_FN_nsysDeviceDeallocation },
	{ "cuMemRelease", GT_FN_nsysDeviceDeallocation },
	{ "cudaFreeHost", GT_FN_nsysPinnedDeallocation },
	{ "cuMemFreeHost", GT_FN_nsysPinnedDeallocation },
	{ "cudaFreeArray", GT_FN_nsysArrayDeallocation },
	{ "cudaFreeMipmappedArray", GT_FN_nsysArrayDeallocation },
	{ "cuArrayDestroy", GT_FN_nsysArrayDeallocation },
	{ "cuMipmappedArrayDestroy", GT_FN_nsysArrayDeallocation },
	{ "cudaMemPoolCreate", GT_FN_nsysPoolCreated },
	{ "cuMemPoolCreate", GT_FN_nsysPoolCreated },
	{ "cudaMemPoolDestroy", GT_FN_nsysPoolDestroyed },
	{ "cuMemPoolDestroy", GT_FN_nsysPoolDestroyed },
	{ "cudaHostRegister", GT_FN_cuMemHostRegister_v2 },
	{ "cudaHostUnregister", GT_FN_cuMemHostUnregister },
	{ "cudaStreamCreate", GT_FN_cuStreamCreate },
	{ "cudaStreamCreateWithFlags", GT_FN_cuStreamCreate },
	{ "cudaStreamCreateWithPriority", GT_FN_cuStreamCreateWithPriority },
	{ "cudaStreamDestroy", GT_FN_cuStreamDestroy_v2 },
	{ "cudaEventCreate", GT_FN_cuEventCreate },
	{ "cudaEventCreateWithFlags", GT_FN_cuEventCreate },
	{ "cudaEventDestroy", GT_FN_cuEventDestroy_v2 },
	{ "cudaGraphCreate", GT_FN_cuGraphCreate },
	{ "cudaGraphClone", GT_FN_cuGraphClone },
	{ "cudaStreamEndCapture", GT_FN_cuStreamEndCapture },
	{ "cudaGraphDestroy", GT_FN_cuGraphDestroy },
	{ "cudaGraphInstantiate", GT_FN_cuGraphInstantiateWithFlags },
	{ "cudaGraphInstantiateWithFlags", GT_FN_cuGraphInstantiateWithFlags },
	{ "cudaGraphInstantiateWithParams", GT_FN_cuGraphInstantiateWithParams },
	{ "cudaGraphExecDestroy", GT_FN_cuGraphExecDestroy },
	{ "cudaCreateTextureObject", GT_FN_cuTexObjectCreate },
	{ "cudaDestroyTextureObject", GT_FN_cuTexObjectDestroy },
	{ "cudaCreateSurfaceObject", GT_FN_cuSurfObjectCreate },
	{ "cudaDestroySurfaceObject", GT_FN_cuSurfObjectDestroy },
	{ "cudaIpcOpenMemHandle", GT_FN_cuIpcOpenMemHandle_v2 },
	{ "cudaIpcCloseMemHandle", GT_FN_cuIpcCloseMemHandle },
	{ "cudaImportExternalMemory", GT_FN_cuImportExternalMemory },
	{ "cudaDestroyExternalMemory", GT_FN_cuDestroyExternalMemory },
	{ "cudaImportExternalSemaphore", GT_FN_cuImportExternalSemaphore },
	{ "cudaDestroyExternalSemaphore", GT_FN_cuDestroyExternalSemaphore },
	{ "cudaLibraryLoadData", GT_FN_cuLibraryLoadData },
	{ "cudaLibraryUnload", GT_FN_cuLibraryUnload },
	/* these return the error of an earlier call */
	{ "cudaGetLastError", GT_FN_NONE },
	{ "cudaPeekAtLastError", GT_FN_NONE },
};

size_t gt_nsys_base_length(const char *name)
{
	static const char *const ends[] = { "_ptsz", "_ptds" };
	size_t length = strlen(name), digits;

	for (size_t i = 0; i < 2; i++)
		if (length > 5 && !strncmp(name + length - 5, ends[i], 5))
			length -= 5;
	for (digits = 0; digits < length && name[length - digits - 1] >= '0' &&
			 name[length - digits - 1] <= '9';)
		digits++;
	if (digits && length > digits + 2 && !strncmp(name + length - digits - 2, "_v", 2))
		length -= digits + 2;
	return length;
}

enum gt_function_id gt_nsys_function_named(const char *name)
{
	size_t length = gt_nsys_base_length(name);

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strlen(functions[i].name) == length &&
		    !strncmp(functions[i].name, name, length))
			return functions[i].row;
	for (int i = 1; i < GT_FN_COUNT; i++)
		if (gt_functions[i].api == GT_CUDA && !gt_functions[i].also &&
		    !strcmp(gt_function_names[i], name))
			return (enum gt_function_id)i;
	return GT_FN_nsysCall;
}

bool gt_nsys_allocates(enum gt_function_id row)
{
	return row >= GT_FN_nsysPageableAllocation && row < GT_FN_nsysPoolCreated &&
	       gt_functions[row].effect == GT_CREATE;
}

bool gt_nsys_frees(enum gt_function_id row)
{
	return row >= GT_FN_nsysPageableAllocation && row < GT_FN_nsysPoolCreated &&
	       gt_functions[row].effect == GT_DESTROY;
}

int gt_nsys_names_new(struct gt_nsys_names **out, const struct gt_database *d,
		      struct gt_error *error)
{
	static const char *const needed[] = { "id", NULL };
	struct gt_nsys_names *n = gt_alloc(sizeof *n);
	const char *table;
	int e = 0;

	if (gt_database_has_table(d, "StringIds")) {
		e = gt_database_needs(d, "StringIds", needed, error);
		if (!e)
			e = gt_database_index(d, "StringIds", "gt_strings", "id, value", &table,
					      error);
		if (!e)
			e = gt_database_query(&n->string_of, d, error,
					      "SELECT value FROM %s WHERE id = ?", table);
	}
	if (e) {
		gt_nsys_names_free(n);
		return e;
	}
	*out = n;
	return 0;
}

void gt_nsys_names_free(struct gt_nsys_names *n)
{
	sqlite3_finalize(n->string_of);
	gt_map_fini(&n->rows);
	free(n);
}

const char *gt_nsys_string(struct gt_nsys_names *n, int64_t id)
{
	const char *text = NULL;

	if (!n->string_of)
		return "";
	sqlite3_reset(n->string_of);
	sqlite3_bind_int64(n->string_of, 1, id);
	if (sqlite3_step(n->string_of) == SQLITE_ROW)
		text = (const char *)sqlite3_column_text(n->string_of, 0);
	return text ? text : "";
}

enum gt_function_id gt_nsys_function(struct gt_nsys_names *n, int64_t id)
{
	void **row = gt_map_at(&n->rows, (uint64_t)id);

	if (!*row)
		*row = (void *)(uintptr_t)(gt_nsys_function_named(gt_nsys_string(n, id)) + 1);
	return (enum gt_function_id)((uintptr_t)*row - 1);
}
