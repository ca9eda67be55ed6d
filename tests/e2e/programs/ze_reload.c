/* SPDX-License-Identifier: MIT */
/*
 * ze_reload.c - loads the Level Zero loader, works, and unloads it again, so many times.
 *
 * ze_reload [ROUNDS]: each round leaves one block of device memory of 1000 * round bytes.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <level_zero/ze_api.h>

#define FIND(name) __typeof__(&name) p_##name = (__typeof__(&name))dlsym(library, #name)
#define CHECK(call)                                                                                \
	do {                                                                                       \
		if ((call) != ZE_RESULT_SUCCESS) {                                                 \
			fprintf(stderr, "%s failed\n", #call);                                     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void work(void *library, size_t size)
{
	FIND(zeInit);
	FIND(zeDriverGet);
	FIND(zeDeviceGet);
	FIND(zeContextCreate);
	FIND(zeContextDestroy);
	FIND(zeMemAllocDevice);
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_device_mem_alloc_desc_t memory = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	uint32_t one = 1;
	void *block;

	CHECK(p_zeInit(0));
	CHECK(p_zeDriverGet(&one, &driver));
	one = 1;
	CHECK(p_zeDeviceGet(driver, &one, &device));
	CHECK(p_zeContextCreate(driver, &desc, &context));
	CHECK(p_zeMemAllocDevice(context, &memory, size, 64, device, &block));
	CHECK(p_zeContextDestroy(context));
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 3;

	for (int i = 1; i <= rounds; i++) {
		void *library = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);

		if (!library)
			return 77;
		work(library, (size_t)i * 1000);
		dlclose(library);
	}
	puts("done");
	return 7;
}
