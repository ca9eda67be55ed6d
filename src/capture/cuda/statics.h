/* SPDX-License-Identifier: MIT */
/* statics.h - the static variables of device code, which come and go with their module. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A static variable of device code. */
struct gt_cuda_variable {
	const char *name; /* as the compiler mangled it */
	uint64_t bytes;
	uint32_t index; /* of its symbol */
	bool managed;
};

typedef void gt_cuda_variable_fn(void *context, const struct gt_cuda_variable *variable);

/* Calls `each` on every variable of a cubin. Bytes that are no cubin have none. */
void gt_cuda_variables(const void *bytes, size_t size, gt_cuda_variable_fn *each, void *context);

/* Likewise of a file: a cubin or a fat binary. */
void gt_cuda_file_variables(const void *bytes, size_t size, gt_cuda_variable_fn *each,
			    void *context);

/*
 * Likewise of code that the driver has just loaded from memory: a cubin, a fat binary, or nvcc's
 * wrapper around one. Its size is not known; the driver has checked it. Text (PTX) has none.
 */
void gt_cuda_image_variables(const void *image, gt_cuda_variable_fn *each, void *context);

/* A number that stands for a variable's address, which nobody tells us. */
static inline uint64_t gt_cuda_variable_address(uint64_t module, const struct gt_cuda_variable *v)
{
	/* user-space addresses never have the top bit set */
	return UINT64_C(1) << 63 | module << 24 | v->index;
}
