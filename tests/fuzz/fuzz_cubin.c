/* SPDX-License-Identifier: MIT */
/* fuzz_cubin.c - looks for static variables in any bytes, as in a cubin or a fat binary. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/cuda/statics.h"
#include "fuzz.h"

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
	left = 1 << 20;
	gt_cuda_file_variables(data, size, count, &left);
	return 0;
}
