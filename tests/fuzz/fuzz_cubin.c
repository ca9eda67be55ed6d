/* SPDX-License-Identifier: MIT */
/* fuzz_cubin.c - looks for static variables in any bytes, as in the cubin of a loaded module. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/cuda/cuda.h"
#include "fuzz.h"

/* Stands in for what statics.c passes variables to, which is not tested here. */
const struct gt_call_door gt_cuda_door;

void gt_guest_begin(struct gt_guest_call *call, enum gt_function_id function, const uint64_t *argv,
		    const void *caller)
{
	(void)call, (void)function, (void)argv, (void)caller;
}

void gt_guest_end(struct gt_guest_call *call, uint64_t ret, const struct gt_call_door *door)
{
	(void)call, (void)ret, (void)door;
}

void gt_guest_name(const struct gt_guest_call *call, uint64_t handle, const char *name)
{
	(void)call, (void)handle, (void)name;
}

static void count(void *context, const struct gt_cuda_variable *v)
{
	size_t *left = context;

	FUZZ_CHECK(v->bytes && *left);
	--*left;
	/* the whole name can be read */
	FUZZ_CHECK(strlen(v->name) < SIZE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t left = 1 << 20;

	gt_cuda_variables(data, size, count, &left);
	return 0;
}
