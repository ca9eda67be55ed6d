/* SPDX-License-Identifier: MIT */
/* three_callers.c - one function that makes buffers, called from three. */
#include "gpu.h"

static cl_mem kept[3];

__attribute__((noinline)) static void make(int i, size_t bytes)
{
	kept[i] = clCreateBuffer(gpu_context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
	__asm__ volatile("");
}

__attribute__((noinline)) void load_words(void)
{
	make(0, 1 << 10);
	__asm__ volatile("");
}

__attribute__((noinline)) void load_rules(void)
{
	make(1, 2 << 10);
	__asm__ volatile("");
}

__attribute__((noinline)) void load_masks(void)
{
	make(2, 3 << 10);
	__asm__ volatile("");
}

int main(void)
{
	gpu_open();
	load_words();
	load_rules();
	load_masks();
	return 0;
}
