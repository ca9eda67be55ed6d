/* SPDX-License-Identifier: MIT */
/* Every enqueue call, with an event to be released, and some that fail and make none. */
#include "objects.h"

static const size_t origin[3] = { 0, 0, 0 };
static const size_t corner[3] = { 4, 4, 1 };
static const size_t one = 1;

/*
 * Each of these sets b->line to its call's line, and b->err instead of returning it, so that the
 * compiler cannot turn the call into a jump that leaves the function out of the stack.
 */
static void read_buffer(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueReadBuffer(b->queue, b->buffer, CL_FALSE, 0, 64, b->host, 0, NULL, event);
}

static void read_buffer_rect(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueReadBufferRect(b->queue, b->buffer, CL_TRUE, origin, origin, corner, 0, 0,
					 0, 0, b->host, 0, NULL, event);
}

static void write_buffer(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueWriteBuffer(b->queue, b->buffer, CL_TRUE, 0, 64, b->host, 0, NULL, event);
}

static void write_buffer_rect(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueWriteBufferRect(b->queue, b->buffer, CL_FALSE, origin, origin, corner, 0,
					  0, 0, 0, b->host, 0, NULL, event);
}

static void fill_buffer(struct bench *b, cl_event *event)
{
	const cl_int pattern = 7;

	b->line = __LINE__ + 1;
	b->err = clEnqueueFillBuffer(b->queue, b->buffer, &pattern, sizeof(pattern), 0, 64, 0, NULL,
				     event);
}

static void copy_buffer(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 2; /* where the call is */
	b->err =
		clEnqueueCopyBuffer(b->queue, b->buffer, b->other_buffer, 0, 0, 64, 0, NULL, event);
}

static void copy_buffer_rect(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueCopyBufferRect(b->queue, b->buffer, b->other_buffer, origin, origin,
					 corner, 0, 0, 0, 0, 0, NULL, event);
}

static void read_image(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueReadImage(b->queue, b->image, CL_TRUE, origin, corner, 0, 0, b->host, 0,
				    NULL, event);
}

static void write_image(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueWriteImage(b->queue, b->image, CL_TRUE, origin, corner, 0, 0, b->host, 0,
				     NULL, event);
}

static void fill_image(struct bench *b, cl_event *event)
{
	const cl_float color[4] = { 1, 0, 0, 1 };

	b->line = __LINE__ + 1;
	b->err = clEnqueueFillImage(b->queue, b->image, color, origin, corner, 0, NULL, event);
}

static void copy_image(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueCopyImage(b->queue, b->image, b->other_image, origin, origin, corner, 0,
				    NULL, event);
}

static void copy_image_to_buffer(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueCopyImageToBuffer(b->queue, b->image, b->buffer, origin, corner, 0, 0,
					    NULL, event);
}

static void copy_buffer_to_image(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueCopyBufferToImage(b->queue, b->buffer, b->image, 0, origin, corner, 0,
					    NULL, event);
}

static void map_buffer(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->mapped = clEnqueueMapBuffer(b->queue, b->buffer, CL_TRUE, CL_MAP_READ, 0, 64, 0, NULL,
				       event, &b->err);
}

static void unmap_buffer(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueUnmapMemObject(b->queue, b->buffer, b->mapped, 0, NULL, event);
}

static void map_image(struct bench *b, cl_event *event)
{
	size_t row_bytes;
	void *pixels;

	b->line = __LINE__ + 1;
	pixels = clEnqueueMapImage(b->queue, b->image, CL_TRUE, CL_MAP_READ, origin, corner,
				   &row_bytes, NULL, 0, NULL, event, &b->err);
	/* without an event pointer an enqueue makes no event */
	if (pixels)
		MUST(clEnqueueUnmapMemObject(b->queue, b->image, pixels, 0, NULL, NULL));
}

static void migrate(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueMigrateMemObjects(b->queue, 1, &b->buffer, 0, 0, NULL, event);
}

static void run_range(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueNDRangeKernel(b->queue, b->kernel, 1, NULL, &one, NULL, 0, NULL, event);
}

static void run_task(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueTask(b->queue, b->kernel, 0, NULL, event);
}

static void CL_CALLBACK native_function(void *argument)
{
	(void)argument;
}

static void run_native(struct bench *b, cl_event *event)
{
	int argument = 1;

	b->line = __LINE__ + 1;
	b->err = clEnqueueNativeKernel(b->queue, native_function, &argument, sizeof(argument), 0,
				       NULL, NULL, 0, NULL, event);
}

static void mark(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueMarker(b->queue, event);
}

static void mark_with_list(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueMarkerWithWaitList(b->queue, 0, NULL, event);
}

static void bar_with_list(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueBarrierWithWaitList(b->queue, 0, NULL, event);
}

static void svm_copy(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueSVMMemcpy(b->queue, CL_TRUE, b->other_svm, b->svm, 64, 0, NULL, event);
}

static void svm_fill(struct bench *b, cl_event *event)
{
	const cl_int pattern = 7;

	b->line = __LINE__ + 1;
	b->err = clEnqueueSVMMemFill(b->queue, b->svm, &pattern, sizeof(pattern), 64, 0, NULL,
				     event);
}

static void svm_map(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueSVMMap(b->queue, CL_TRUE, CL_MAP_READ, b->svm, 64, 0, NULL, event);
}

static void svm_unmap(struct bench *b, cl_event *event)
{
	b->line = __LINE__ + 1;
	b->err = clEnqueueSVMUnmap(b->queue, b->svm, 0, NULL, event);
}

static void svm_migrate(struct bench *b, cl_event *event)
{
	const void *pointer = b->svm;

	b->line = __LINE__ + 1;
	b->err = clEnqueueSVMMigrateMem(b->queue, 1, &pointer, NULL, 0, 0, NULL, event);
}

enum needs { NEEDS_NOTHING, NEEDS_IMAGES, NEEDS_SVM };

/* In this order: an unmap follows its map. clEnqueueSVMFree is in objects_memory.c. */
/* clang-format off */
static const struct enqueue {
	const char *name;
	void (*call)(struct bench *b, cl_event *event);
	enum needs needs;
	int since; /* the OpenCL version */
} enqueues[] = {
	{ .name = "clEnqueueReadBuffer", .call = read_buffer, .since = 10 },
	{ .name = "clEnqueueReadBufferRect", .call = read_buffer_rect, .since = 11 },
	{ .name = "clEnqueueWriteBuffer", .call = write_buffer, .since = 10 },
	{ .name = "clEnqueueWriteBufferRect", .call = write_buffer_rect, .since = 11 },
	{ .name = "clEnqueueFillBuffer", .call = fill_buffer, .since = 12 },
	{ .name = "clEnqueueCopyBuffer", .call = copy_buffer, .since = 10 },
	{ .name = "clEnqueueCopyBufferRect", .call = copy_buffer_rect, .since = 11 },
	{ .name = "clEnqueueReadImage", .call = read_image, .needs = NEEDS_IMAGES, .since = 10 },
	{ .name = "clEnqueueWriteImage", .call = write_image, .needs = NEEDS_IMAGES, .since = 10 },
	{ .name = "clEnqueueFillImage", .call = fill_image, .needs = NEEDS_IMAGES, .since = 12 },
	{ .name = "clEnqueueCopyImage", .call = copy_image, .needs = NEEDS_IMAGES, .since = 10 },
	{ .name = "clEnqueueCopyImageToBuffer", .call = copy_image_to_buffer,
	  .needs = NEEDS_IMAGES, .since = 10 },
	{ .name = "clEnqueueCopyBufferToImage", .call = copy_buffer_to_image,
	  .needs = NEEDS_IMAGES, .since = 10 },
	{ .name = "clEnqueueMapBuffer", .call = map_buffer, .since = 10 },
	{ .name = "clEnqueueUnmapMemObject", .call = unmap_buffer, .since = 10 },
	{ .name = "clEnqueueMapImage", .call = map_image, .needs = NEEDS_IMAGES, .since = 10 },
	{ .name = "clEnqueueMigrateMemObjects", .call = migrate, .since = 12 },
	{ .name = "clEnqueueNDRangeKernel", .call = run_range, .since = 10 },
	{ .name = "clEnqueueTask", .call = run_task, .since = 10 },
	{ .name = "clEnqueueNativeKernel", .call = run_native, .since = 10 },
	{ .name = "clEnqueueMarker", .call = mark, .since = 10 },
	{ .name = "clEnqueueMarkerWithWaitList", .call = mark_with_list, .since = 12 },
	{ .name = "clEnqueueBarrierWithWaitList", .call = bar_with_list, .since = 12 },
	{ .name = "clEnqueueSVMMemcpy", .call = svm_copy, .needs = NEEDS_SVM, .since = 20 },
	{ .name = "clEnqueueSVMMemFill", .call = svm_fill, .needs = NEEDS_SVM, .since = 20 },
	{ .name = "clEnqueueSVMMap", .call = svm_map, .needs = NEEDS_SVM, .since = 20 },
	{ .name = "clEnqueueSVMUnmap", .call = svm_unmap, .needs = NEEDS_SVM, .since = 20 },
	{ .name = "clEnqueueSVMMigrateMem", .call = svm_migrate, .needs = NEEDS_SVM, .since = 21 },
};
/* clang-format on */

static bool can_run(const struct bench *b, const struct enqueue *e)
{
	if (b->version < e->since)
		return false;
	if (e->needs == NEEDS_IMAGES)
		return b->image && b->other_image;
	if (e->needs == NEEDS_SVM)
		return b->svm && b->other_svm;
	return true;
}

void exercise_enqueues(struct bench *b)
{
	b->svm = svm_make(b);
	b->other_svm = svm_make(b);
	for (size_t i = 0; i < sizeof(enqueues) / sizeof(enqueues[0]); i++) {
		const struct enqueue *e = &enqueues[i];
		cl_event event = NULL;

		if (!can_run(b, e)) {
			unsupported(e->name, CL_INVALID_OPERATION);
			continue;
		}
		e->call(b, &event);
		made(KIND_EVENT, event, b->err, 0, e->name, b->line);
		MUST(clFinish(b->queue));
		if (b->err == CL_SUCCESS)
			cycle(KIND_EVENT, event);
	}
	svm_free(b, b->svm);
	svm_free(b, b->other_svm);
}

/*
 * Enqueues that must fail: they make no event, whatever they leave in the event pointer. Some
 * drivers leave it as it was, so it starts as something that is not NULL.
 */
void exercise_failed_enqueues(struct bench *b)
{
	cl_event event = (cl_event)b;
	const size_t too_many = BUFFER_BYTES + 1;
	int refused = 0;

	/* not a read beyond the end: Intel's driver takes that and returns an event */
	refused += clEnqueueFillBuffer(b->queue, b->buffer, b->host, 3, 0, 63, 0, NULL, &event) !=
		   CL_SUCCESS;
	event = (cl_event)b;
	refused += clEnqueueCopyBuffer(b->queue, b->buffer, b->other_buffer, too_many, 0, 64, 0,
				       NULL, &event) != CL_SUCCESS;
	event = (cl_event)b;
	/* four dimensions */
	refused += clEnqueueNDRangeKernel(b->queue, b->kernel, 4, NULL, &one, NULL, 0, NULL,
					  &event) != CL_SUCCESS;
	event = (cl_event)b;
	/* a wait list without a length */
	refused += clEnqueueMarkerWithWaitList(b->queue, 0, &event, &event) != CL_SUCCESS;
	event = (cl_event)b;
	refused += clEnqueueTask(NULL, b->kernel, 0, NULL, &event) != CL_SUCCESS;
	if (refused != 5)
		quit(STATUS_FAILED, "only %d of 5 wrong enqueues were refused", refused);
}
