/* SPDX-License-Identifier: MIT */
/* nsight_words.c - the words of Nsight's analyses: what they call kinds, operations and stacks. */
#include "replay/nsight_words.h"

#include <inttypes.h>

#include "base/text.h"
#include "replay/phase.h"

#define KIND(name) "CUDA_MEMOPR_MEMORY_KIND_" name

static const char *const kinds[GT_KIND_COUNT] = {
	[GT_PAGEABLE_MEMORY] = KIND("PAGEABLE"),      [GT_ARRAY] = KIND("ARRAY"),
	[GT_MIPMAPPED_ARRAY] = KIND("ARRAY"),         [GT_STATIC_MEMORY] = KIND("DEVICE_STATIC"),
	[GT_STATIC_MANAGED] = KIND("MANAGED_STATIC"), [GT_UNKNOWN_MEMORY] = KIND("UNKNOWN"),
};

const char *const gt_origin_names[GT_ORIGIN_COUNT] = {
	[GT_ORIGIN_VALID] = "valid",
	[GT_ORIGIN_INVALID] = "invalid",
	[GT_ORIGIN_DRIVER] = "driver",
};

/* Nsight distinguishes the others only by where they reside. */
static const char *by_memory(enum gt_kind kind)
{
	switch ((enum gt_memory)gt_kinds[kind].memory) {
	case GT_MEMORY_DEVICE: return KIND("DEVICE");
	case GT_MEMORY_SHARED: return KIND("MANAGED");
	case GT_MEMORY_HOST: return KIND("PINNED");
	case GT_MEMORY_NO:
	case GT_MEMORY_VIEW: break;
	}
	return NULL;
}

const char *gt_nsight_kind(enum gt_api api, enum gt_kind kind)
{
	const char *name = kinds[kind] ? kinds[kind] : by_memory(kind);

	if (api != GT_CUDA)
		return gt_kinds[kind].name;
	return name ? name : KIND("UNKNOWN");
}

const char *gt_nsight_operation(bool allocates)
{
	return allocates ? "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION" :
			   "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION";
}

static void put_frame(FILE *out, const struct gt_frame *frame, enum gt_where where)
{
	putc('[', out);
	if (frame->function)
		gt_tsv_put(out, frame->function);
	else
		fprintf(out, "0x%" PRIx64, frame->offset);
	fputs("] (", out);
	if (where == GT_WHERE_LINE && frame->file) {
		gt_tsv_put(out, frame->file);
		if (frame->line)
			fprintf(out, ":%" PRIu32, frame->line);
	} else {
		gt_tsv_put(out, frame->module ? frame->module : "[unknown]");
	}
	putc(')', out);
}

void gt_nsight_stack(FILE *out, struct gt_frames *frames, enum gt_origin origin, uint16_t function,
		     uint32_t stack, enum gt_where where)
{
	const struct gt_frame *list;
	size_t count = gt_frames_get(frames, stack, &list);

	if (origin == GT_ORIGIN_INVALID) {
		fputs("STACK_NOT_FOUND", out);
		return;
	}
	if (origin == GT_ORIGIN_DRIVER) {
		gt_tsv_put(out, count && list->function && !gt_frame_is_phase(list) ?
					list->function :
					gt_function_names[function]);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (i)
			fputs(" -> ", out);
		put_frame(out, &list[i], where);
	}
}
