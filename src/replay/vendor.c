/* SPDX-License-Identifier: MIT */
/* vendor.c - the GPU library that asked for memory itself: cuBLAS, cuDNN, NCCL. */
#include "replay/vendor.h"

#include <string.h>

#include "base/text.h"
#include "replay/held.h"

/* The first name that a file's begins with; NULL: between a library and the driver. */
static const struct {
	const char *file, *name;
} libraries[] = {
	{ "libgputrack", NULL },       { "libcuda", NULL }, /* and libcudart */
	{ "libcublas", "cuBLAS" },     { "libcudnn", "cuDNN" },
	{ "libnccl", "NCCL" },         { "libcufft", "cuFFT" },
	{ "libcusolver", "cuSOLVER" }, { "libcusparse", "cuSPARSE" },
	{ "libcurand", "cuRAND" },     { "libcutensor", "cuTENSOR" },
	{ "libnvrtc", "NVRTC" },       { "libnvJitLink", "nvJitLink" },
	{ "libnvinfer", "TensorRT" },  { "libnvshmem", "NVSHMEM" },
	{ "libnpp", "NPP" },
};

enum { LIBRARIES = sizeof libraries / sizeof *libraries };

static size_t library_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL, *file = slash ? slash + 1 : path;
	size_t i = file ? 0 : LIBRARIES;

	while (i < LIBRARIES && strncmp(file, libraries[i].file, strlen(libraries[i].file)))
		i++;
	return i;
}

static const char *path_of(const struct gt_recording *r, const struct gt_trace_frame *frame)
{
	if (frame->module == GT_TEXT_MODULE)
		return gt_recording_text_frame(r, frame->address)->module;
	return frame->module == GT_NO_MODULE ? NULL : gt_recording_module(r, frame->module)->path;
}

const char *gt_vendor_of(const struct gt_recording *r, const struct gt_site *site)
{
	const struct gt_trace_frame *frames;
	const struct gt_held_entry *list;
	size_t count = gt_recording_stack(r, site->stack, &frames);

	for (size_t i = 0; i < count; i++) {
		size_t library = library_of(path_of(r, &frames[i]));

		if (library == LIBRARIES)
			break;
		if (libraries[library].name)
			return libraries[library].name;
	}
	if (!site->held)
		return NULL;
	gt_held_list(&list);
	return list[site->held - 1].library;
}
