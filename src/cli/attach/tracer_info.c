/* SPDX-License-Identifier: MIT */
/* tracer_info.c - what a recording's info says of the libraries and tables of its tracer. */
#include "cli/attach/tracer_info.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* In use before it was probed, so its first calls are missing. */
static bool is_late(const struct gt_library *l)
{
	return l->is_late && l->functions;
}

static bool is_refused(const struct gt_library *l)
{
	return l->is_refused;
}

static void list_dropped(FILE *out, const struct gt_libraries *l)
{
	for (size_t i = 0; i < l->dropped_count; i++)
		fprintf(out, "%s%zu libraries of process %u, which has mapped too many",
			ftell(out) ? ", " : "", l->dropped[i].count, l->dropped[i].pid);
	if (l->has_more_dropped)
		fprintf(out, ", libraries of further processes");
}

static void record_libraries(struct gt_info *info, struct gt_tracer *tracer, const char *key,
			     bool (*is)(const struct gt_library *))
{
	const struct gt_libraries *l = gt_tracer_libraries(tracer);
	char *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	for (size_t i = 0; i < l->count; i++)
		if (is(&l->list[i]))
			fprintf(out, "%s%s", ftell(out) ? ", " : "", l->list[i].path);
	if (is == is_refused)
		list_dropped(out, l);
	gt_memstream_close(out);
	if (*text)
		gt_info_set(info, key, text);
	free(text);
}

static void record_tables(struct gt_info *info, struct gt_tracer *tracer)
{
	struct gt_unwind_size size;

	if (!gt_tracer_tables(tracer, &size))
		return;
	gt_info_set(info, "unwind", "tables");
	gt_info_setf(info, "unwind_rows", "%llu", (unsigned long long)size.rows);
	gt_info_setf(info, "unwind_images", "%llu", (unsigned long long)size.images);
	gt_info_setf(info, "unwind_bytes", "%llu", (unsigned long long)size.bytes);
}

void gt_tracer_info(struct gt_info *info, struct gt_tracer *tracer)
{
	record_libraries(info, tracer, "late_libraries", is_late);
	record_libraries(info, tracer, "refused_libraries", is_refused);
	record_tables(info, tracer);
}
