/* SPDX-License-Identifier: MIT */
/* things.c - objects without bytes: streams, events, modules, libraries, graphs, textures. */
#include "fake.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "../../libc_first.h"

#define CREATED(class, handle) NEED_CONTEXT(fake_new(class, OUT(handle), 64, fake_current()))
#define UNOWNED(class, handle) fake_new(class, OUT(handle), 64, NULL)
#define ENDED(class, handle)   fake_end(class, H(handle))

TRACED(cuStreamCreate, (CUstream * phStream, unsigned int Flags), (phStream, Flags),
       CREATED(FAKE_STREAM, phStream))
TRACED(cuStreamCreateWithPriority, (CUstream * phStream, unsigned int flags, int priority),
       (phStream, flags, priority), CREATED(FAKE_STREAM, phStream))
TRACED(cuGreenCtxStreamCreate,
       (CUstream * phStream, CUgreenCtx greenCtx, unsigned int flags, int priority),
       (phStream, greenCtx, flags, priority),
       fake_new(FAKE_STREAM, OUT(phStream), 64, (CUcontext)greenCtx))
TRACED(cuStreamDestroy, (CUstream hStream), (hStream), ENDED(FAKE_STREAM, hStream))
TRACED(cuStreamDestroy_v2, (CUstream hStream), (hStream), ENDED(FAKE_STREAM, hStream))

TRACED(cuEventCreate, (CUevent * phEvent, unsigned int Flags), (phEvent, Flags),
       CREATED(FAKE_EVENT, phEvent))
TRACED(cuIpcOpenEventHandle, (CUevent * phEvent, CUipcEventHandle handle), (phEvent, handle),
       CREATED(FAKE_EVENT, phEvent))
TRACED(cuEventDestroy, (CUevent hEvent), (hEvent), ENDED(FAKE_EVENT, hEvent))
TRACED(cuEventDestroy_v2, (CUevent hEvent), (hEvent), ENDED(FAKE_EVENT, hEvent))

enum { CUBIN_MAX = 1 << 16 };

/* A module that comes from a file keeps its bytes as its own, and is told of. */
static CUresult load_file(CUmodule *module, const char *path)
{
	FILE *in = path ? fopen(path, "re") : NULL;
	CUresult result;
	size_t size;

	if (!in)
		return fake_new(FAKE_MODULE, OUT(module), 64, fake_current());
	result = fake_new(FAKE_MODULE, OUT(module), CUBIN_MAX, fake_current());
	size = result ? 0 : fread(*module, 1, CUBIN_MAX, in);
	fclose(in);
	if (size) {
		fake_set_key(FAKE_MODULE, H(*module), size);
		fake_tell_module((uint32_t)(H(*module) >> 4 & 0xffffff), *module, size, true);
	}
	return result;
}

static CUresult unload(CUmodule module)
{
	uint64_t size = fake_key(FAKE_MODULE, H(module));

	if (size)
		fake_tell_module((uint32_t)(H(module) >> 4 & 0xffffff), module, size, false);
	return ENDED(FAKE_MODULE, module);
}

TRACED(cuModuleLoad, (CUmodule * module, const char *fname), (module, fname),
       NEED_CONTEXT(load_file(module, fname)))
TRACED(cuModuleLoadData, (CUmodule * module, const void *image), (module, image),
       CREATED(FAKE_MODULE, module))
TRACED(cuModuleLoadDataEx,
       (CUmodule * module, const void *image, unsigned int numOptions, CUjit_option *options,
	void **optionValues),
       (module, image, numOptions, options, optionValues), CREATED(FAKE_MODULE, module))
TRACED(cuModuleLoadFatBinary, (CUmodule * module, const void *fatCubin), (module, fatCubin),
       CREATED(FAKE_MODULE, module))
TRACED(cuModuleUnload, (CUmodule hmod), (hmod), unload(hmod))

#define LOAD_LIBRARY(fn, type, from)                                                               \
	TRACED(fn,                                                                                 \
	       (CUlibrary * library, const type *from, CUjit_option *jitOptions,                   \
		void **jitOptionsValues, unsigned int numJitOptions,                               \
		CUlibraryOption *libraryOptions, void **libraryOptionValues,                       \
		unsigned int numLibraryOptions),                                                   \
	       (library, from, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,        \
		libraryOptionValues, numLibraryOptions),                                           \
	       UNOWNED(FAKE_LIBRARY, library))
LOAD_LIBRARY(cuLibraryLoadData, void, code)
LOAD_LIBRARY(cuLibraryLoadFromFile, char, fileName)
TRACED(cuLibraryUnload, (CUlibrary library), (library), ENDED(FAKE_LIBRARY, library))

TRACED(cuGraphCreate, (CUgraph * phGraph, unsigned int flags), (phGraph, flags),
       UNOWNED(FAKE_GRAPH, phGraph))
TRACED(cuGraphClone, (CUgraph * phGraphClone, CUgraph originalGraph), (phGraphClone, originalGraph),
       UNOWNED(FAKE_GRAPH, phGraphClone))
#define END_CAPTURE(fn)                                                                            \
	TRACED(fn, (CUstream hStream, CUgraph * phGraph), (hStream, phGraph),                      \
	       UNOWNED(FAKE_GRAPH, phGraph))
END_CAPTURE(cuStreamEndCapture)
END_CAPTURE(cuStreamEndCapture_ptsz)
#define INSTANTIATE(fn)                                                                            \
	TRACED(fn,                                                                                 \
	       (CUgraphExec * phGraphExec, CUgraph hGraph, CUgraphNode * phErrorNode,              \
		char *logBuffer, size_t bufferSize),                                               \
	       (phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize),                          \
	       UNOWNED(FAKE_EXEC, phGraphExec))
INSTANTIATE(cuGraphInstantiate)
INSTANTIATE(cuGraphInstantiate_v2)
TRACED(cuGraphInstantiateWithFlags,
       (CUgraphExec * phGraphExec, CUgraph hGraph, unsigned long long flags),
       (phGraphExec, hGraph, flags), UNOWNED(FAKE_EXEC, phGraphExec))
#define INSTANTIATE_PARAMS(fn)                                                                     \
	TRACED(fn,                                                                                 \
	       (CUgraphExec * phGraphExec, CUgraph hGraph,                                         \
		CUDA_GRAPH_INSTANTIATE_PARAMS * instantiateParams),                                \
	       (phGraphExec, hGraph, instantiateParams), UNOWNED(FAKE_EXEC, phGraphExec))
INSTANTIATE_PARAMS(cuGraphInstantiateWithParams)
INSTANTIATE_PARAMS(cuGraphInstantiateWithParams_ptsz)
TRACED(cuGraphDestroy, (CUgraph hGraph), (hGraph), ENDED(FAKE_GRAPH, hGraph))
TRACED(cuGraphExecDestroy, (CUgraphExec hGraphExec), (hGraphExec), ENDED(FAKE_EXEC, hGraphExec))

TRACED(cuTexObjectCreate,
       (CUtexObject * pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
	const CUDA_TEXTURE_DESC *pTexDesc, const CUDA_RESOURCE_VIEW_DESC *pResViewDesc),
       (pTexObject, pResDesc, pTexDesc, pResViewDesc), CREATED(FAKE_TEXTURE, pTexObject))
TRACED(cuTexObjectDestroy, (CUtexObject texObject), (texObject), ENDED(FAKE_TEXTURE, texObject))
TRACED(cuSurfObjectCreate, (CUsurfObject * pSurfObject, const CUDA_RESOURCE_DESC *pResDesc),
       (pSurfObject, pResDesc), CREATED(FAKE_SURFACE, pSurfObject))
TRACED(cuSurfObjectDestroy, (CUsurfObject surfObject), (surfObject),
       ENDED(FAKE_SURFACE, surfObject))

TRACED(cuImportExternalSemaphore,
       (CUexternalSemaphore * extSem_out, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *semHandleDesc),
       (extSem_out, semHandleDesc), CREATED(FAKE_SEMAPHORE, extSem_out))
TRACED(cuDestroyExternalSemaphore, (CUexternalSemaphore extSem), (extSem),
       ENDED(FAKE_SEMAPHORE, extSem))

PLAIN(cuStreamSynchronize, (CUstream hStream), CUDA_SUCCESS)
PLAIN(cuIpcGetEventHandle, (CUipcEventHandle * pHandle, CUevent event),
      (memset(pHandle, 0, sizeof *pHandle), CUDA_SUCCESS))

/* By base name, in its newest version. */
static CUresult find_function(const char *symbol, void **function)
{
	static const char *const endings[] = { "_v2", "" };
	/* the C library's own, whoever stands before it: a driver knows its functions by itself */
	void *(*find)(void *, const char *) =
		(void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", LIBC_FIRST);
	char name[128];
	Dl_info self;
	void *driver;

	*function = NULL;
	if (!dladdr((const void *)find_function, &self))
		return CUDA_ERROR_NOT_FOUND;
#ifdef FAKE_NSIGHT
	driver = fake_behind();
#else
	driver = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
#endif
	for (size_t i = 0; driver && !*function && i < sizeof endings / sizeof *endings; i++) {
		snprintf(name, sizeof name, "%s%s", symbol, endings[i]);
		*function = find(driver, name);
	}
	if (driver)
		dlclose(driver);
	return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

#undef cuGetProcAddress
PLAIN(cuGetProcAddress, (const char *symbol, void **function, int version, cuuint64_t flags),
      find_function(symbol, function))
PLAIN(cuGetProcAddress_v2,
      (const char *symbol, void **function, int version, cuuint64_t flags,
       CUdriverProcAddressQueryResult *status),
      find_function(symbol, function))
