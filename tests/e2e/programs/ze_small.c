/* SPDX-License-Identifier: MIT */
/*
 * ze_small.c - small_stack.h for Level Zero. As a library, for a caller with frames of its own:
 * `measure` prints how much of a stack two calls take each.
 */
#include "ze_common.h"

#include "small_stack.h"

static struct ze ze;
static ze_context_handle_t context;

static void *allocate(void)
{
	ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	void *p = NULL;

	CHECK(zeMemAllocDevice, context, &desc, 64, 64, ze.device, &p);
	return p;
}

static void release(void *block)
{
	CHECK(zeMemFree, context, block);
}

static void open_context(void)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };

	ze_open(&ze);
	CHECK(zeContextCreate, ze.driver, &desc, &context);
}

__attribute__((noinline)) static void one(void)
{
	release(allocate());
}

#ifdef LIBRARY
void measure(void);
__attribute__((visibility("default"))) void measure(void)
{
	if (!context)
		open_context();
	printf("first %zu\n", bytes_of(one));
	for (int i = 0; i < 4; i++)
		bytes_of(one);
	printf("again %zu\n", bytes_of(one));
	fflush(stdout);
}
#else
int main(int argc, char **argv)
{
	int status;

	open_context();
	status = small_main(argc, argv);
	CHECK(zeContextDestroy, context);
	return status;
}
#endif
