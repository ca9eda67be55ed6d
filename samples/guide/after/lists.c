/* lists.c - fills memory through a command list, frame by frame: problem 4 of doc/guide.md. */
#include <stdio.h>
#include <stdlib.h>

#include <level_zero/ze_api.h>

enum { FRAMES = 100, FRAME_BYTES = 4096 };

struct gpu {
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	void *image;
};

static void check(ze_result_t result, const char *what)
{
	if (result == ZE_RESULT_SUCCESS)
		return;
	fprintf(stderr, "%s failed with result 0x%x\n", what, (unsigned int)result);
	exit(1);
}

static ze_command_list_handle_t make_list(struct gpu *gpu)
{
	ze_command_list_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_command_list_handle_t list;

	check(zeCommandListCreate(gpu->context, gpu->device, &desc, &list), "zeCommandListCreate");
	return list;
}

static void draw_frame(struct gpu *gpu, ze_command_list_handle_t list, unsigned char shade)
{
	check(zeCommandListAppendMemoryFill(list, gpu->image, &shade, 1, FRAME_BYTES, NULL, 0, NULL),
	      "zeCommandListAppendMemoryFill");
	check(zeCommandListClose(list), "zeCommandListClose");
}

static void gpu_open(struct gpu *gpu)
{
	ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_device_mem_alloc_desc_t memory = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	uint32_t one = 1;

	check(zeInit(0), "zeInit");
	check(zeDriverGet(&one, &gpu->driver), "zeDriverGet");
	check(zeDeviceGet(gpu->driver, &one, &gpu->device), "zeDeviceGet");
	check(zeContextCreate(gpu->driver, &context, &gpu->context), "zeContextCreate");
	check(zeMemAllocDevice(gpu->context, &memory, FRAME_BYTES, 64, gpu->device, &gpu->image),
	      "zeMemAllocDevice");
}

int main(void)
{
	ze_command_list_handle_t list;
	struct gpu gpu;

	gpu_open(&gpu);
	list = make_list(&gpu);
	for (int i = 0; i < FRAMES; i++) {
		draw_frame(&gpu, list, (unsigned char)i);
		check(zeCommandListReset(list), "zeCommandListReset");
	}
	check(zeCommandListDestroy(list), "zeCommandListDestroy");
	check(zeMemFree(gpu.context, gpu.image), "zeMemFree");
	check(zeContextDestroy(gpu.context), "zeContextDestroy");
	printf("drew %d frames\n", FRAMES);
	return 0;
}
/* SPDX-License-Identifier: MIT */
