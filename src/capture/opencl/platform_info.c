/* SPDX-License-Identifier: MIT */
/* platform_info.c - adds the live-object extension to what a platform says about itself. */
#include "capture/opencl/opencl.h"

#include <stdlib.h>
#include <string.h>

#define EXTENSION "cl_altera_live_object_tracking"

/* Hands an answer of our own over by the rules of clGetPlatformInfo. */
static cl_int answer(const void *from, size_t from_size, size_t size, void *value, size_t *size_ret)
{
	if (value && size < from_size)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, from_size);
	if (size_ret)
		*size_ret = from_size;
	return CL_SUCCESS;
}

/* The driver's answer with room for `more` bytes behind it; the caller frees it. */
static cl_int ask(cl_platform_id platform, cl_platform_info name, size_t more, char **out,
		  size_t *used)
{
	cl_int e = gt_cl_next->clGetPlatformInfo(platform, name, 0, NULL, used);

	if (e)
		return e;
	*out = calloc(1, *used + more);
	if (!*out)
		return CL_OUT_OF_HOST_MEMORY;
	e = gt_cl_next->clGetPlatformInfo(platform, name, *used, *out, NULL);
	if (e)
		free(*out);
	return e;
}

static cl_int names(cl_platform_id platform, size_t size, void *value, size_t *size_ret)
{
	char *text;
	size_t used, length;
	cl_int e = ask(platform, CL_PLATFORM_EXTENSIONS, sizeof " " EXTENSION, &text, &used);

	if (e)
		return e;
	length = strlen(text);
	if (!strstr(text, EXTENSION)) {
		/* some end their list in a space, some do not */
		if (length && text[length - 1] != ' ')
			text[length++] = ' ';
		strcpy(text + length, EXTENSION);
	}
	e = answer(text, strlen(text) + 1, size, value, size_ret);
	free(text);
	return e;
}

static cl_int names_with_version(cl_platform_id platform, size_t size, void *value,
				 size_t *size_ret)
{
	const cl_name_version ours = { .version = CL_MAKE_VERSION(0, 0, 0), .name = EXTENSION };
	char *list;
	size_t used;
	cl_int e = ask(platform, CL_PLATFORM_EXTENSIONS_WITH_VERSION, sizeof ours, &list, &used);

	if (e)
		return e;
	memcpy(list + used, &ours, sizeof ours);
	e = answer(list, used + sizeof ours, size, value, size_ret);
	free(list);
	return e;
}

cl_int CL_API_CALL gt_cl_get_platform_info(cl_platform_id platform, cl_platform_info name,
					   size_t size, void *value, size_t *size_ret)
{
	switch (name) {
	case CL_PLATFORM_EXTENSIONS: return names(platform, size, value, size_ret);
	case CL_PLATFORM_EXTENSIONS_WITH_VERSION:
		return names_with_version(platform, size, value, size_ret);
	default: return gt_cl_next->clGetPlatformInfo(platform, name, size, value, size_ret);
	}
}
