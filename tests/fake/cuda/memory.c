/* SPDX-License-Identifier: MIT */
/* memory.c - memory of every kind, from the host's. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

enum { PITCH = 512 };

static uint64_t element_bytes(CUarray_format format, unsigned channels)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF: return 2 * channels;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT: return 4 * channels;
	default: return channels;
	}
}

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

static uint64_t array_bytes(const CUDA_ARRAY_DESCRIPTOR *d)
{
	return element_bytes(d->Format, d->NumChannels) * d->Width * at_least_one(d->Height);
}

static uint64_t array3d_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return element_bytes(d->Format, d->NumChannels) * d->Width * at_least_one(d->Height) *
	       at_least_one(d->Depth);
}

static CUresult alloc_pitch(CUdeviceptr *dptr, size_t *pitch, size_t width, size_t height)
{
	if (!dptr || !pitch || !width || !height)
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = (width + PITCH - 1) / PITCH * PITCH;
	return fake_new(FAKE_MEMORY, OUT(dptr), *pitch * height, fake_current());
}

static CUresult free_memory(CUdeviceptr dptr)
{
	return dptr ? fake_end(FAKE_MEMORY, dptr) : CUDA_SUCCESS;
}

static CUresult memory_type(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	uint64_t found = fake_find_address(FAKE_MEMORY, ptr);

	if (!found || attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
		return CUDA_ERROR_INVALID_VALUE;
	fake_end(FAKE_MEMORY, found);
	*(CUmemorytype *)data = CU_MEMORYTYPE_DEVICE;
	return CUDA_SUCCESS;
}

PLAIN(cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr ptr),
      memory_type(data, attribute, ptr))

TRACED(cuMemAlloc_v2, (CUdeviceptr * dptr, size_t bytesize), (dptr, bytesize),
       NEED_CONTEXT(NEED(bytesize, fake_new(FAKE_MEMORY, OUT(dptr), bytesize, fake_current()))))
TRACED(cuMemAllocPitch_v2,
       (CUdeviceptr * dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
	unsigned int ElementSizeBytes),
       (dptr, pPitch, WidthInBytes, Height, ElementSizeBytes),
       NEED_CONTEXT(alloc_pitch(dptr, pPitch, WidthInBytes, Height)))
TRACED(cuMemAllocManaged, (CUdeviceptr * dptr, size_t bytesize, unsigned int flags),
       (dptr, bytesize, flags),
       NEED_CONTEXT(fake_new(FAKE_MEMORY, OUT(dptr), bytesize, fake_current())))
TRACED(cuMemAllocHost_v2, (void **pp, size_t bytesize), (pp, bytesize),
       NEED_CONTEXT(fake_new(FAKE_HOST, OUT(pp), bytesize, fake_current())))
TRACED(cuMemHostAlloc, (void **pp, size_t bytesize, unsigned int Flags), (pp, bytesize, Flags),
       NEED_CONTEXT(fake_new(FAKE_HOST, OUT(pp), bytesize, fake_current())))
TRACED(cuMemHostRegister_v2, (void *p, size_t bytesize, unsigned int Flags), (p, bytesize, Flags),
       NEED_CONTEXT(fake_new_at(FAKE_REGISTERED, H(p), bytesize, fake_current())))
TRACED(cuMemHostUnregister, (void *p), (p), fake_end(FAKE_REGISTERED, H(p)))
TRACED(cuMemFree_v2, (CUdeviceptr dptr), (dptr), NEED_CONTEXT(free_memory(dptr)))
TRACED(cuMemFreeHost, (void *p), (p), NEED_CONTEXT(fake_end(FAKE_HOST, H(p))))

#define ALLOC_ASYNC(fn)                                                                            \
	TRACED(fn, (CUdeviceptr * dptr, size_t bytesize, CUstream hStream),                        \
	       (dptr, bytesize, hStream),                                                          \
	       NEED_CONTEXT(fake_new(FAKE_MEMORY, OUT(dptr), bytesize, fake_current())))
#define ALLOC_FROM_POOL(fn)                                                                        \
	TRACED(fn, (CUdeviceptr * dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream),     \
	       (dptr, bytesize, pool, hStream),                                                    \
	       fake_is_alive(FAKE_POOL, H(pool)) ?                                                 \
		       fake_new(FAKE_MEMORY, OUT(dptr), bytesize, NULL) :                          \
		       CUDA_ERROR_INVALID_VALUE)
#define FREE_ASYNC(fn)                                                                             \
	TRACED(fn, (CUdeviceptr dptr, CUstream hStream), (dptr, hStream),                          \
	       NEED_CONTEXT(free_memory(dptr)))
ALLOC_ASYNC(cuMemAllocAsync)
ALLOC_ASYNC(cuMemAllocAsync_ptsz)
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync)
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync_ptsz)
FREE_ASYNC(cuMemFreeAsync)
FREE_ASYNC(cuMemFreeAsync_ptsz)

TRACED(cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *poolProps), (pool, poolProps),
       fake_new(FAKE_POOL, OUT(pool), 64, NULL))
TRACED(cuMemPoolDestroy, (CUmemoryPool pool), (pool), fake_end(FAKE_POOL, H(pool)))
TRACED(cuMemPoolImportFromShareableHandle,
       (CUmemoryPool * pool_out, void *handle, CUmemAllocationHandleType handleType,
	unsigned long long flags),
       (pool_out, handle, handleType, flags), fake_new(FAKE_POOL, OUT(pool_out), 64, NULL))
TRACED(cuMemPoolImportPointer,
       (CUdeviceptr * ptr_out, CUmemoryPool pool, CUmemPoolPtrExportData *shareData),
       (ptr_out, pool, shareData), fake_new(FAKE_MEMORY, OUT(ptr_out), 4096, NULL))

TRACED(cuMemCreate,
       (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp *prop,
	unsigned long long flags),
       (handle, size, prop, flags), fake_new(FAKE_PHYSICAL, OUT(handle), size, NULL))
TRACED(cuMemRelease, (CUmemGenericAllocationHandle handle), (handle),
       fake_end(FAKE_PHYSICAL, handle))

static CUresult retain_mapped(CUmemGenericAllocationHandle *handle, void *addr)
{
	uint64_t mapping = fake_find_address(FAKE_MAPPING, H(addr));

	if (!mapping)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = fake_key(FAKE_MAPPING, mapping);
	fake_end(FAKE_MAPPING, mapping);
	return fake_retain(FAKE_PHYSICAL, *handle);
}

TRACED(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * handle, void *addr),
       (handle, addr), retain_mapped(handle, addr))
TRACED(cuMemImportFromShareableHandle,
       (CUmemGenericAllocationHandle * handle, void *osHandle,
	CUmemAllocationHandleType shHandleType),
       (handle, osHandle, shHandleType), fake_new(FAKE_PHYSICAL, OUT(handle), 4096, NULL))
TRACED(cuMulticastCreate,
       (CUmemGenericAllocationHandle * mcHandle, const CUmulticastObjectProp *prop),
       (mcHandle, prop), fake_new(FAKE_PHYSICAL, OUT(mcHandle), 64, NULL))
TRACED(cuMemAddressReserve,
       (CUdeviceptr * ptr, size_t size, size_t alignment, CUdeviceptr addr,
	unsigned long long flags),
       (ptr, size, alignment, addr, flags), fake_new(FAKE_RESERVATION, OUT(ptr), size, NULL))
TRACED(cuMemAddressFree, (CUdeviceptr ptr, size_t size), (ptr, size),
       fake_end(FAKE_RESERVATION, ptr))

static CUresult map(CUdeviceptr ptr, size_t size, CUmemGenericAllocationHandle handle)
{
	CUresult result = fake_retain(FAKE_PHYSICAL, handle);

	if (!result)
		result = fake_new_at(FAKE_MAPPING, ptr, size, NULL);
	if (!result)
		fake_set_key(FAKE_MAPPING, ptr, handle);
	return result;
}

/* All mappings of the range, one after the other. */
static CUresult unmap(CUdeviceptr ptr, size_t size)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t done = 0; !result && done < size;) {
		uint64_t physical = fake_key(FAKE_MAPPING, ptr + done);
		size_t one = fake_size(FAKE_MAPPING, ptr + done);

		result = fake_end(FAKE_MAPPING, ptr + done);
		if (!result)
			result = fake_end(FAKE_PHYSICAL, physical);
		done += one;
	}
	return result;
}

TRACED(cuMemMap,
       (CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
	unsigned long long flags),
       (ptr, size, offset, handle, flags), map(ptr, size, handle))
TRACED(cuMemUnmap, (CUdeviceptr ptr, size_t size), (ptr, size), unmap(ptr, size))

TRACED(cuArrayCreate_v2, (CUarray * pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray),
       (pHandle, pAllocateArray),
       NEED_CONTEXT(NEED(pAllocateArray, fake_new(FAKE_ARRAY, OUT(pHandle),
						  array_bytes(pAllocateArray), fake_current()))))
TRACED(cuArray3DCreate_v2, (CUarray * pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray),
       (pHandle, pAllocateArray),
       NEED_CONTEXT(NEED(pAllocateArray, fake_new(FAKE_ARRAY, OUT(pHandle),
						  array3d_bytes(pAllocateArray), fake_current()))))
TRACED(cuArrayDestroy, (CUarray hArray), (hArray), fake_end(FAKE_ARRAY, H(hArray)))
TRACED(cuMipmappedArrayCreate,
       (CUmipmappedArray * pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
	unsigned int numMipmapLevels),
       (pHandle, pMipmappedArrayDesc, numMipmapLevels),
       NEED_CONTEXT(NEED(pMipmappedArrayDesc,
			 fake_new(FAKE_MIPMAP, OUT(pHandle), array3d_bytes(pMipmappedArrayDesc),
				  fake_current()))))
TRACED(cuMipmappedArrayDestroy, (CUmipmappedArray hMipmappedArray), (hMipmappedArray),
       fake_end(FAKE_MIPMAP, H(hMipmappedArray)))

/* Opening the same memory again gives the same address, with one reference more. */
static CUresult open_ipc(CUdeviceptr *pdptr, const CUipcMemHandle *handle)
{
	uint64_t key, known;
	CUresult result;

	memcpy(&key, handle, sizeof key);
	known = fake_find_key(FAKE_IPC, key);
	if (known) {
		*pdptr = known;
		return CUDA_SUCCESS;
	}
	result = fake_new(FAKE_IPC, OUT(pdptr), 4096, fake_current());
	if (!result)
		fake_set_key(FAKE_IPC, *pdptr, key);
	return result;
}

TRACED(cuIpcOpenMemHandle, (CUdeviceptr * pdptr, CUipcMemHandle handle, unsigned int Flags),
       (pdptr, handle, Flags), NEED_CONTEXT(open_ipc(pdptr, &handle)))
TRACED(cuIpcOpenMemHandle_v2, (CUdeviceptr * pdptr, CUipcMemHandle handle, unsigned int Flags),
       (pdptr, handle, Flags), NEED_CONTEXT(open_ipc(pdptr, &handle)))
TRACED(cuIpcCloseMemHandle, (CUdeviceptr dptr), (dptr), fake_end(FAKE_IPC, dptr))
PLAIN(cuIpcGetMemHandle, (CUipcMemHandle * pHandle, CUdeviceptr dptr),
      (memset(pHandle, 0, sizeof *pHandle), memcpy(pHandle, &dptr, sizeof dptr), CUDA_SUCCESS))

TRACED(cuImportExternalMemory,
       (CUexternalMemory * extMem_out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *memHandleDesc),
       (extMem_out, memHandleDesc),
       NEED_CONTEXT(fake_new(FAKE_EXTERNAL, OUT(extMem_out), 64, fake_current())))
TRACED(cuExternalMemoryGetMappedBuffer,
       (CUdeviceptr * devPtr, CUexternalMemory extMem,
	const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *bufferDesc),
       (devPtr, extMem, bufferDesc),
       NEED_CONTEXT(NEED(bufferDesc,
			 fake_new(FAKE_MEMORY, OUT(devPtr), bufferDesc->size, fake_current()))))
TRACED(cuExternalMemoryGetMappedMipmappedArray,
       (CUmipmappedArray * mipmap, CUexternalMemory extMem,
	const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *mipmapDesc),
       (mipmap, extMem, mipmapDesc),
       NEED_CONTEXT(fake_new(FAKE_MIPMAP, OUT(mipmap), 4096, fake_current())))
TRACED(cuDestroyExternalMemory, (CUexternalMemory extMem), (extMem),
       fake_end(FAKE_EXTERNAL, H(extMem)))

PLAIN(cuMemSetAccess, (CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count),
      CUDA_SUCCESS)
PLAIN(cuMemGetAllocationGranularity,
      (size_t * granularity, const CUmemAllocationProp *prop,
       CUmemAllocationGranularity_flags option),
      (*granularity = 2 << 20, CUDA_SUCCESS))
PLAIN(cuMemGetInfo_v2, (size_t * free, size_t *total),
      NEED_CONTEXT((*total = fake_cuda_total(), *free = *total - fake_cuda_bytes(), CUDA_SUCCESS)))
PLAIN(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), CUDA_SUCCESS)
