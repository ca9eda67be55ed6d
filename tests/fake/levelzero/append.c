/* SPDX-License-Identifier: MIT */
/*
 * append.c - every zeCommandListAppend function: copies copy, fills fill, kernels do nothing.
 */
#include "fake.h"

#include <string.h>

#include "tables.h"

static const struct command nothing = { .op = OP_NOTHING };

/* What the signatures end with, written once. */
#define EVENTS_DECL ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits
#define EVENTS      signal, wait_count, waits

static ze_result_t append_copy(ze_command_list_handle_t list, void *dst, const void *src,
			       size_t size, EVENTS_DECL)
{
	struct command c = { .op = OP_COPY, .dst = dst, .src = src, .size = size };

	NEED_POINTER(dst);
	NEED_POINTER(src);
	return list_append(list, &c, EVENTS);
}

static ze_result_t append_fill(ze_command_list_handle_t list, void *ptr, const void *pattern,
			       size_t pattern_bytes, size_t size, EVENTS_DECL)
{
	struct command c = { .op = OP_FILL, .dst = ptr };

	NEED_POINTER(ptr);
	NEED_POINTER(pattern);
	if (!pattern_bytes || pattern_bytes > sizeof(c.fill.pattern))
		return ZE_RESULT_ERROR_INVALID_SIZE;
	c.fill.size = size;
	c.fill.pattern_bytes = pattern_bytes;
	memcpy(c.fill.pattern, pattern, pattern_bytes);
	return list_append(list, &c, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void *dst,
							  const void *src, size_t size, EVENTS_DECL)
{
	ENTER(zeCommandListAppendMemoryCopy);
	return append_copy(list, dst, src, size, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendMemoryCopyFromContext(ze_command_list_handle_t list,
								     void *dst,
								     ze_context_handle_t context,
								     const void *src, size_t size,
								     EVENTS_DECL)
{
	ENTER(zeCommandListAppendMemoryCopyFromContext);
	NEED(object_check(context, KIND_CONTEXT));
	return append_copy(list, dst, src, size, EVENTS);
}

ze_result_t fake_zeCommandListAppendMemoryCopyWithParameters(ze_command_list_handle_t list,
							     void *dst, const void *src,
							     size_t size, const void *next,
							     EVENTS_DECL)
{
	ENTER(zeCommandListAppendMemoryCopyWithParameters);
	(void)next;
	return append_copy(list, dst, src, size, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendMemoryFill(ze_command_list_handle_t list, void *ptr,
							  const void *pattern, size_t pattern_bytes,
							  size_t size, EVENTS_DECL)
{
	ENTER(zeCommandListAppendMemoryFill);
	return append_fill(list, ptr, pattern, pattern_bytes, size, EVENTS);
}

ze_result_t fake_zeCommandListAppendMemoryFillWithParameters(ze_command_list_handle_t list,
							     void *ptr, const void *pattern,
							     size_t pattern_bytes, size_t size,
							     const void *next, EVENTS_DECL)
{
	ENTER(zeCommandListAppendMemoryFillWithParameters);
	(void)next;
	return append_fill(list, ptr, pattern, pattern_bytes, size, EVENTS);
}

static size_t at_origin(const ze_copy_region_t *r, size_t pitch, size_t slice)
{
	return r->originX + r->originY * pitch + r->originZ * slice;
}

ze_result_t ZE_APICALL fake_zeCommandListAppendMemoryCopyRegion(
	ze_command_list_handle_t list, void *dst, const ze_copy_region_t *dst_region,
	uint32_t dst_pitch, uint32_t dst_slice, const void *src, const ze_copy_region_t *src_region,
	uint32_t src_pitch, uint32_t src_slice, EVENTS_DECL)
{
	struct command c = { .op = OP_COPY_BOX };

	ENTER(zeCommandListAppendMemoryCopyRegion);
	NEED_POINTER(dst);
	NEED_POINTER(dst_region);
	NEED_POINTER(src);
	NEED_POINTER(src_region);
	c.dst = (char *)dst + at_origin(dst_region, dst_pitch, dst_slice);
	c.src = (const char *)src + at_origin(src_region, src_pitch, src_slice);
	c.box = (struct box){ .row_bytes = src_region->width,
			      .rows = src_region->height,
			      .slices = src_region->depth ? src_region->depth : 1,
			      .dst_pitch = dst_pitch,
			      .dst_slice = dst_slice,
			      .src_pitch = src_pitch,
			      .src_slice = src_slice };
	return list_append(list, &c, EVENTS);
}

/*
 * One side of an image copy: a box of pixels in an image, the whole of it without a region.
 * INVALID_ARGUMENT when the region leaves the image.
 */
static ze_result_t image_box(ze_image_handle_t handle, const ze_image_region_t *region,
			     uint8_t **at, struct box *b)
{
	struct image *i = (struct image *)handle;
	ze_image_region_t r;

	NEED(object_check(handle, KIND_IMAGE));
	r = (ze_image_region_t){ .width = i->width, .height = i->height, .depth = i->depth };
	if (region)
		r = *region;
	if (!r.height)
		r.height = 1;
	if (!r.depth)
		r.depth = 1;
	if ((uint64_t)r.originX + r.width > i->width ||
	    (uint64_t)r.originY + r.height > i->height || (uint64_t)r.originZ + r.depth > i->depth)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	*b = (struct box){ .row_bytes = (size_t)r.width * i->pixel_bytes,
			   .rows = r.height,
			   .slices = r.depth };
	b->dst_pitch = b->src_pitch = (size_t)i->width * i->pixel_bytes;
	b->dst_slice = b->src_slice = b->dst_pitch * i->height;
	*at = i->pixels + (size_t)r.originX * i->pixel_bytes + r.originY * b->dst_pitch +
	      r.originZ * b->dst_slice;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t append_image_copy(ze_command_list_handle_t list, ze_image_handle_t dst,
				     ze_image_handle_t src, const ze_image_region_t *dst_region,
				     const ze_image_region_t *src_region, EVENTS_DECL)
{
	struct command c = { .op = OP_COPY_BOX };
	struct box to, from;
	uint8_t *dst_at, *src_at;

	NEED(image_box(dst, dst_region, &dst_at, &to));
	NEED(image_box(src, src_region, &src_at, &from));
	if (to.row_bytes != from.row_bytes || to.rows != from.rows || to.slices != from.slices)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	c.dst = dst_at;
	c.src = src_at;
	c.box = to;
	c.box.src_pitch = from.src_pitch;
	c.box.src_slice = from.src_slice;
	return list_append(list, &c, EVENTS);
}

/* Pitches of 0: the memory is packed. */
static ze_result_t append_image_memory(ze_command_list_handle_t list, ze_image_handle_t image,
				       const ze_image_region_t *region, void *dst, const void *src,
				       uint32_t pitch, uint32_t slice, EVENTS_DECL)
{
	struct command c = { .op = OP_COPY_BOX, .dst = dst, .src = src };
	uint8_t *pixels;

	if (!dst == !src)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	NEED(image_box(image, region, &pixels, &c.box));
	if (dst) {
		c.src = pixels;
		c.box.dst_pitch = pitch ? pitch : c.box.row_bytes;
		c.box.dst_slice = slice ? slice : c.box.dst_pitch * c.box.rows;
	} else {
		c.dst = pixels;
		c.box.src_pitch = pitch ? pitch : c.box.row_bytes;
		c.box.src_slice = slice ? slice : c.box.src_pitch * c.box.rows;
	}
	return list_append(list, &c, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendImageCopy(ze_command_list_handle_t list,
							 ze_image_handle_t dst,
							 ze_image_handle_t src, EVENTS_DECL)
{
	ENTER(zeCommandListAppendImageCopy);
	return append_image_copy(list, dst, src, NULL, NULL, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendImageCopyRegion(
	ze_command_list_handle_t list, ze_image_handle_t dst, ze_image_handle_t src,
	const ze_image_region_t *dst_region, const ze_image_region_t *src_region, EVENTS_DECL)
{
	ENTER(zeCommandListAppendImageCopyRegion);
	return append_image_copy(list, dst, src, dst_region, src_region, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendImageCopyToMemory(ze_command_list_handle_t list,
								 void *dst, ze_image_handle_t src,
								 const ze_image_region_t *region,
								 EVENTS_DECL)
{
	ENTER(zeCommandListAppendImageCopyToMemory);
	return append_image_memory(list, src, region, dst, NULL, 0, 0, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendImageCopyFromMemory(ze_command_list_handle_t list,
								   ze_image_handle_t dst,
								   const void *src,
								   const ze_image_region_t *region,
								   EVENTS_DECL)
{
	ENTER(zeCommandListAppendImageCopyFromMemory);
	return append_image_memory(list, dst, region, NULL, src, 0, 0, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendImageCopyToMemoryExt(
	ze_command_list_handle_t list, void *dst, ze_image_handle_t src,
	const ze_image_region_t *region, uint32_t pitch, uint32_t slice, EVENTS_DECL)
{
	ENTER(zeCommandListAppendImageCopyToMemoryExt);
	return append_image_memory(list, src, region, dst, NULL, pitch, slice, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendImageCopyFromMemoryExt(
	ze_command_list_handle_t list, ze_image_handle_t dst, const void *src,
	const ze_image_region_t *region, uint32_t pitch, uint32_t slice, EVENTS_DECL)
{
	ENTER(zeCommandListAppendImageCopyFromMemoryExt);
	return append_image_memory(list, dst, region, NULL, src, pitch, slice, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendMemoryPrefetch(ze_command_list_handle_t list,
							      const void *ptr, size_t size)
{
	ENTER(zeCommandListAppendMemoryPrefetch);
	(void)size;
	NEED_POINTER(ptr);
	return list_append(list, &nothing, NULL, 0, NULL);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendMemAdvise(ze_command_list_handle_t list,
							 ze_device_handle_t device, const void *ptr,
							 size_t size, ze_memory_advice_t advice)
{
	ENTER(zeCommandListAppendMemAdvise);
	(void)size;
	(void)advice;
	NEED(device_check(device));
	NEED_POINTER(ptr);
	return list_append(list, &nothing, NULL, 0, NULL);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendWriteGlobalTimestamp(ze_command_list_handle_t list,
								    uint64_t *dst, EVENTS_DECL)
{
	struct command c = { .op = OP_GLOBAL_TIME, .dst = dst };

	ENTER(zeCommandListAppendWriteGlobalTimestamp);
	NEED_POINTER(dst);
	return list_append(list, &c, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendBarrier(ze_command_list_handle_t list, EVENTS_DECL)
{
	ENTER(zeCommandListAppendBarrier);
	return list_append(list, &nothing, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendMemoryRangesBarrier(ze_command_list_handle_t list,
								   uint32_t count,
								   const size_t *sizes,
								   const void **ranges, EVENTS_DECL)
{
	ENTER(zeCommandListAppendMemoryRangesBarrier);
	(void)count;
	NEED_POINTER(sizes);
	NEED_POINTER(ranges);
	return list_append(list, &nothing, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendSignalEvent(ze_command_list_handle_t list,
							   ze_event_handle_t event)
{
	ENTER(zeCommandListAppendSignalEvent);
	NEED(event_check(event));
	return list_append(list, &nothing, event, 0, NULL);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendWaitOnEvents(ze_command_list_handle_t list,
							    uint32_t count,
							    ze_event_handle_t *events)
{
	ENTER(zeCommandListAppendWaitOnEvents);
	NEED_POINTER(events);
	return list_append(list, &nothing, NULL, count, events);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendEventReset(ze_command_list_handle_t list,
							  ze_event_handle_t event)
{
	struct command c = { .op = OP_EVENT_RESET };

	ENTER(zeCommandListAppendEventReset);
	NEED(event_check(event));
	c.event = event;
	return list_append(list, &c, NULL, 0, NULL);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendQueryKernelTimestamps(
	ze_command_list_handle_t list, uint32_t count, ze_event_handle_t *events, void *dst,
	const size_t *offsets, EVENTS_DECL)
{
	struct command c = { .op = OP_EVENT_TIMES, .dst = dst };
	struct event_query *block;

	ENTER(zeCommandListAppendQueryKernelTimestamps);
	NEED_POINTER(events);
	NEED_POINTER(dst);
	for (uint32_t i = 0; i < count; i++)
		NEED(event_check(events[i]));
	block = block_get(sizeof(*block) + count * (sizeof(*events) + sizeof(*offsets)));
	if (!block)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	c.times.block = block;
	c.times.count = count;
	c.times.has_offsets = offsets != NULL;
	memcpy(block->events, events, count * sizeof(*events));
	if (offsets)
		memcpy(block->events + count, offsets, count * sizeof(*offsets));
	return list_append(list, &c, EVENTS);
}

static ze_result_t append_kernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
				 const void *arguments, EVENTS_DECL)
{
	NEED(object_check(kernel, KIND_KERNEL));
	NEED_POINTER(arguments);
	return list_append(list, &nothing, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendLaunchKernel(ze_command_list_handle_t list,
							    ze_kernel_handle_t kernel,
							    const ze_group_count_t *groups,
							    EVENTS_DECL)
{
	ENTER(zeCommandListAppendLaunchKernel);
	return append_kernel(list, kernel, groups, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendLaunchCooperativeKernel(
	ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t *groups,
	EVENTS_DECL)
{
	ENTER(zeCommandListAppendLaunchCooperativeKernel);
	return append_kernel(list, kernel, groups, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendLaunchKernelIndirect(ze_command_list_handle_t list,
								    ze_kernel_handle_t kernel,
								    const ze_group_count_t *groups,
								    EVENTS_DECL)
{
	ENTER(zeCommandListAppendLaunchKernelIndirect);
	return append_kernel(list, kernel, groups, EVENTS);
}

ze_result_t ZE_APICALL fake_zeCommandListAppendLaunchMultipleKernelsIndirect(
	ze_command_list_handle_t list, uint32_t count, ze_kernel_handle_t *kernels,
	const uint32_t *count_buffer, const ze_group_count_t *groups, EVENTS_DECL)
{
	ENTER(zeCommandListAppendLaunchMultipleKernelsIndirect);
	NEED_POINTER(kernels);
	NEED_POINTER(count_buffer);
	NEED_POINTER(groups);
	for (uint32_t i = 0; i < count; i++)
		NEED(object_check(kernels[i], KIND_KERNEL));
	return list_append(list, &nothing, EVENTS);
}

ze_result_t fake_zeCommandListAppendLaunchKernelWithParameters(ze_command_list_handle_t list,
							       ze_kernel_handle_t kernel,
							       const ze_group_count_t *groups,
							       const void *next, EVENTS_DECL)
{
	ENTER(zeCommandListAppendLaunchKernelWithParameters);
	(void)next;
	return append_kernel(list, kernel, groups, EVENTS);
}

ze_result_t fake_zeCommandListAppendLaunchKernelWithArguments(
	ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t groups,
	const struct fake_group_size size, void **arguments, const void *next, EVENTS_DECL)
{
	ENTER(zeCommandListAppendLaunchKernelWithArguments);
	(void)size;
	(void)arguments;
	(void)next;
	return append_kernel(list, kernel, &groups, EVENTS);
}
