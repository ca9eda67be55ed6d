/* SPDX-License-Identifier: MIT */
/* direct_statics.c - records the static variables of code that a call has loaded. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/cuda/cuda.h"
#include "capture/cuda/statics.h"

enum { VARIABLES_MAX = 4096 };

/* The variables of loaded modules. Those that do not fit last as long as the process for us. */
static struct {
	_Atomic uint64_t module; /* 0: free */
	_Atomic uint64_t address;
} variables[VARIABLES_MAX];

/* The module that was loaded. */
struct loaded {
	uint64_t module, owner;
	uint16_t place;
	const void *caller;
};

struct variable_call {
	struct gt_guest_call guest;
	const struct loaded *loaded;
};

static const struct loaded *loaded_by(const struct gt_call *call)
{
	return ((const struct variable_call *)((const char *)call -
					       offsetof(struct variable_call, guest.call)))
		->loaded;
}

static uint64_t owner_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	return loaded_by(call)->owner;
}

static uint16_t place_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	return loaded_by(call)->place;
}

static const struct gt_call_door door = { .owner = owner_of, .place = place_of };

static void remember(uint64_t module, uint64_t address)
{
	for (size_t i = 0; i < VARIABLES_MAX; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&variables[i].module, &none, module)) {
			atomic_store(&variables[i].address, address);
			return;
		}
	}
}

static void record(void *context, const struct gt_cuda_variable *v)
{
	const struct loaded *loaded = context;
	/* handles are addresses of at least 16 bytes */
	uint64_t argv[] = { gt_cuda_variable_address(loaded->module >> 4, v), v->bytes };
	struct variable_call call = { .loaded = loaded };

	gt_guest_begin(&call.guest,
		       v->managed ? GT_FN_cudaManagedVariable : GT_FN_cudaDeviceVariable, argv,
		       loaded->caller);
	gt_guest_end(&call.guest, 0, &door);
	gt_guest_name(&call.guest, argv[0], v->name);
	remember(loaded->module, argv[0]);
}

/* A file that the driver has just read. */
static void record_file(const char *path, struct loaded *loaded)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size > 0) {
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes != MAP_FAILED) {
			gt_cuda_file_variables(bytes, (size_t)st.st_size, record, loaded);
			munmap(bytes, (size_t)st.st_size);
		}
	}
	close(fd);
}

void gt_cuda_code_loaded(enum gt_function_id function, const uint64_t *argv, CUcontext context,
			 const void *caller)
{
	/* in all of them: the handle is returned in the first argument, the second is the code */
	const uint64_t *module = (const uint64_t *)(uintptr_t)argv[0];
	const void *code = (const void *)(uintptr_t)argv[1];
	struct loaded loaded = { .owner = (uint64_t)(uintptr_t)context,
				 .place = gt_cuda_place(NULL, function, context, false),
				 .caller = caller };
	int error = errno;

	if (!module || !code)
		return;
	loaded.module = *module;
	if (function == GT_FN_cuModuleLoad || function == GT_FN_cuLibraryLoadFromFile)
		record_file(code, &loaded);
	else
		gt_cuda_image_variables(code, record, &loaded);
	errno = error;
}

void gt_cuda_code_unloaded(uint64_t module, const void *caller)
{
	struct loaded loaded = { .module = module, .caller = caller };

	for (size_t i = 0; module && i < VARIABLES_MAX; i++) {
		uint64_t address = atomic_load(&variables[i].address);
		struct variable_call call = { .loaded = &loaded };

		if (atomic_load(&variables[i].module) != module || !address)
			continue;
		gt_guest_begin(&call.guest, GT_FN_cudaVariableGone, &address, caller);
		gt_guest_end(&call.guest, 0, &door);
		atomic_store(&variables[i].address, 0);
		atomic_store(&variables[i].module, 0);
	}
}
