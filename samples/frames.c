/* SPDX-License-Identifier: MIT */
/*
 * frames: copies pictures to a device with Level Zero, and forgets to destroy some of what it made.
 *
 * Run it under gputrack to see what a report looks like. It leaks, on purpose:
 *   - 24 events from zeEventCreate in upload(), one for each frame,
 *   - 3 images of 1920 × 1080 from zeImageCreate in make_picture(), one for every eighth frame.
 * Everything else is destroyed. It needs no GPU: Intel's driver simulates one (see `./dev demo`).
 */
#include <stdio.h>
#include <stdlib.h>

#include <level_zero/ze_api.h>

#define FRAMES     24
#define KEPT_EVERY 8
#define WIDTH      1920
#define HEIGHT     1080

struct device {
	ze_device_handle_t device;
	ze_context_handle_t context;
	ze_command_list_handle_t list;
	ze_event_pool_handle_t pool;
	void *pixels;
};

static void check(ze_result_t result, const char *what)
{
	if (result == ZE_RESULT_SUCCESS)
		return;
	fprintf(stderr, "frames: %s failed: error 0x%x\n", what, (unsigned int)result);
	exit(1);
}

static void device_open(struct device *d)
{
	const ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	const ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	const ze_event_pool_desc_t pool = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
					    .count = FRAMES };
	const ze_host_mem_alloc_desc_t host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	ze_driver_handle_t driver;
	uint32_t count = 1;

	check(zeInit(0), "zeInit");
	check(zeDriverGet(&count, &driver), "zeDriverGet");
	check(zeDeviceGet(driver, &count, &d->device), "zeDeviceGet");
	check(zeContextCreate(driver, &context, &d->context), "zeContextCreate");
	check(zeCommandListCreateImmediate(d->context, d->device, &queue, &d->list),
	      "zeCommandListCreateImmediate");
	check(zeEventPoolCreate(d->context, &pool, 0, NULL, &d->pool), "zeEventPoolCreate");
	check(zeMemAllocHost(d->context, &host, 4 * WIDTH * HEIGHT, 64, &d->pixels),
	      "zeMemAllocHost");
}

static void device_close(struct device *d)
{
	check(zeMemFree(d->context, d->pixels), "zeMemFree");
	check(zeEventPoolDestroy(d->pool), "zeEventPoolDestroy");
	check(zeCommandListDestroy(d->list), "zeCommandListDestroy");
	check(zeContextDestroy(d->context), "zeContextDestroy");
}

static ze_image_handle_t make_picture(struct device *d)
{
	const ze_image_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
				       .type = ZE_IMAGE_TYPE_2D,
				       .format = { .layout = ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8,
						   .y = ZE_IMAGE_FORMAT_SWIZZLE_G,
						   .z = ZE_IMAGE_FORMAT_SWIZZLE_B,
						   .w = ZE_IMAGE_FORMAT_SWIZZLE_A },
				       .width = WIDTH,
				       .height = HEIGHT };
	ze_image_handle_t picture;

	check(zeImageCreate(d->context, d->device, &desc, &picture), "zeImageCreate");
	return picture;
}

static void upload(struct device *d, ze_image_handle_t picture, uint32_t frame)
{
	const ze_event_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = frame };
	ze_event_handle_t copied;

	check(zeEventCreate(d->pool, &desc, &copied), "zeEventCreate");
	check(zeCommandListAppendImageCopyFromMemory(d->list, picture, d->pixels, NULL, copied, 0,
						     NULL),
	      "zeCommandListAppendImageCopyFromMemory");
	/* zeEventDestroy(copied) is missing */
}

int main(void)
{
	struct device d;

	device_open(&d);
	for (uint32_t frame = 0; frame < FRAMES; frame++) {
		ze_image_handle_t picture = make_picture(&d);

		upload(&d, picture, frame);
		if (frame % KEPT_EVERY) /* the others are never destroyed */
			check(zeImageDestroy(picture), "zeImageDestroy");
	}
	device_close(&d);
	printf("uploaded %d frames of %d x %d pixels\n", FRAMES, WIDTH, HEIGHT);
	return 0;
}
