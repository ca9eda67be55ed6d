/* SPDX-License-Identifier: MIT */
/* live_objects.c - the extension cl_altera_live_object_tracking, added to every platform. */
#include "capture/opencl/opencl.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "gputrack/live_objects.h"
#include "tracker/creation_sites.h"

/* Since when each platform's objects are tracked; 0: they are not. */
static _Atomic uint64_t since[GT_CL_PLATFORMS_MAX];
static _Atomic bool from_start;

void gt_cl_live_start(void)
{
	if (secure_getenv("ACL_TRACK_LEAKS")) {
		atomic_store(&from_start, true);
		gt_live_table_start(true);
	}
}

static void CL_API_CALL track(cl_platform_id platform)
{
	uint64_t never = 0;
	int index;

	gt_guest_set_up_child();
	index = gt_cl_platform_index(platform);
	if (index < 0)
		return;
	gt_live_table_start(false);
	atomic_compare_exchange_strong(&since[index], &never, gt_now_ns());
}

struct selection {
	uint16_t place;
	uint64_t since_ns;
	bool with_memory; /* also memory without an API object */
};

static const char *type_of(const struct gt_entry *entry)
{
	return gt_kinds[gt_entry_kind(entry)].type[GT_OPENCL];
}

/* A retain of a handle that was not in the table: it does not name the platform. */
static bool is_adopted(const struct gt_entry *entry)
{
	return gt_functions[entry->function].effect == GT_RETAIN;
}

static bool wanted(void *context, const struct gt_entry *entry)
{
	const struct selection *s = context;

	return gt_functions[entry->function].api == GT_OPENCL &&
	       (entry->place == s->place || is_adopted(entry)) && entry->time_ns >= s->since_ns &&
	       (s->with_memory || !strncmp(type_of(entry), "cl_", 3));
}

/* The living objects of a platform; NULL when there is none or it is not tracked. */
static struct gt_entry *snapshot(cl_platform_id platform, bool with_memory, size_t *count)
{
	struct selection s = { .with_memory = with_memory };
	struct gt_entry *entries;
	size_t found = 0;
	int index;

	*count = 0;
	gt_guest_set_up_child();
	index = gt_cl_platform_index(platform);
	if (index < 0)
		return NULL;
	s.place = gt_cl_platform_place(index);
	s.since_ns = atomic_load(&since[index]);
	if (!s.since_ns && !atomic_load(&from_start))
		return NULL;
	if (atomic_load(&from_start))
		s.since_ns = 0;
	entries = gt_live_table_snapshot(count, wanted, &s);
	/* the driver may be asked here, where no lock is held */
	for (size_t i = 0; i < *count; i++)
		if (!is_adopted(&entries[i]) ||
		    gt_cl_platform_of(gt_entry_kind(&entries[i]), entries[i].handle) == index)
			entries[found++] = entries[i];
	*count = found;
	return entries;
}

static void CL_API_CALL report(cl_platform_id platform, gputrack_report_fn report_fn,
			       void *user_data)
{
	struct gt_entry *entries;
	size_t count;

	if (!report_fn)
		return;
	entries = snapshot(platform, false, &count);
	for (size_t i = 0; i < count; i++)
		report_fn(user_data, (void *)(uintptr_t)entries[i].handle, type_of(&entries[i]),
			  entries[i].refs);
	gt_live_table_free(entries);
}

/* An entry's stack as the callback gets it; NULL when there is no memory. */
static gputrack_frame *make_frames(const struct gt_symbol *symbols, size_t count)
{
	gputrack_frame *frames = calloc(count ? count : 1, sizeof *frames);

	for (size_t i = 0; frames && i < count; i++)
		frames[i] = (gputrack_frame){
			.function = symbols[i].function,
			.file = symbols[i].file,
			.line = symbols[i].line,
			.inlined = symbols[i].inlined,
			.module = symbols[i].module,
			.offset = (size_t)symbols[i].offset,
		};
	return frames;
}

static void CL_API_CALL report_stacks(cl_platform_id platform, gputrack_report_stacks_fn report_fn,
				      void *user_data)
{
	struct gt_creation_sites *origins;
	struct gt_entry *entries;
	size_t count;

	if (!report_fn)
		return;
	entries = snapshot(platform, true, &count);
	origins = count ? gt_creation_sites_new(entries, count) : NULL;
	for (size_t i = 0; i < count; i++) {
		const struct gt_entry *e = &entries[i];
		const struct gt_symbol *symbols = NULL;
		size_t frame_count = origins ? gt_creation_sites_get(origins, i, &symbols) : 0;
		gputrack_frame *frames = make_frames(symbols, frame_count);
		gputrack_live_object object = {
			.struct_size = sizeof object,
			.object = (void *)(uintptr_t)e->handle,
			.type_name = type_of(e),
			.kind = gt_kinds[gt_entry_kind(e)].name,
			.created_by = gt_function_names[e->function],
			.refcount = e->refs,
			.size = (size_t)e->size,
			.thread = e->tid,
			.time_ns = e->time_ns,
			.frame_count = frames ? frame_count : 0,
			.frames = frames,
		};

		report_fn(user_data, &object);
		free(frames);
	}
	gt_creation_sites_free(origins);
	gt_live_table_free(entries);
}

void *gt_cl_live_function(const char *name)
{
	static const struct {
		const char *name;
		void *function;
	} functions[] = {
		{ "clTrackLiveObjectsIntelFPGA", (void *)track },
		{ "clTrackLiveObjectsAltera", (void *)track },
		{ "clReportLiveObjectsIntelFPGA", (void *)report },
		{ "clReportLiveObjectsAltera", (void *)report },
		{ "clReportLiveObjectsWithStacksGPUTRACK", (void *)report_stacks },
	};

	for (size_t i = 0; name && i < sizeof functions / sizeof *functions; i++)
		if (!strcmp(functions[i].name, name))
			return functions[i].function;
	return NULL;
}

#define EXTENSION "cl_altera_live_object_tracking"

/* Returns an answer of our own by the rules of clGetPlatformInfo. */
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

/* The driver's answer with room for `more` bytes after it; the caller frees it. */
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
		/* some drivers end their list with a space */
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
