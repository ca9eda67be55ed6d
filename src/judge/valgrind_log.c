/* SPDX-License-Identifier: MIT */
/*
 * valgrind_log.c - leaks in the form of Valgrind's log, which `ctest -T memcheck` reads: one loss
 * record for each call site that counts.
 *
 * CTest counts lines by their words: "definitely lost" is a memory leak, "possibly lost" a
 * potential one. What a program left that was killed is possibly lost.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/text.h"
#include "judge/merged.h"
#include "judge/verdict.h"

/* "==123==", as every line begins. */
struct log {
	FILE *out;
	uint32_t pid;
};

static void put_line(const struct log *log, const char *indent, const char *text)
{
	char *clean = gt_text_sanitize(text);

	fprintf(log->out, "==%" PRIu32 "== %s%s\n", log->pid, indent, clean);
	free(clean);
}

static void put_frame(const struct log *log, const struct gt_view *v, const char *word,
		      const struct gt_frame *frame)
{
	char *file = frame->file ? gt_frame_file(v, frame) : NULL, *text = NULL;
	int n;

	if (file)
		n = asprintf(&text, "%s 0x%" PRIx64 ": %s (%s:%" PRIu32 ")", word, frame->offset,
			     frame->function ? frame->function : "???", file, frame->line);
	else
		n = asprintf(&text, "%s 0x%" PRIx64 ": %s (in %s)", word, frame->offset,
			     frame->function ? frame->function : "???",
			     frame->module ? frame->module : "???");
	if (n >= 0)
		put_line(log, "   ", text);
	free(text);
	free(file);
}

static void put_leak(const struct log *log, const struct gt_view *v, const struct gt_leak *leak,
		     size_t number, size_t count)
{
	struct gt_leak_part new = gt_leak_new(leak);
	char *title = gt_leak_title(v, leak), bytes[GT_FORMAT_MAX], blocks[GT_FORMAT_MAX];
	const struct gt_frame *frames;
	size_t depth = gt_frames_get(v->frames, leak->stack, &frames);

	fprintf(log->out,
		"==%" PRIu32 "== %s bytes in %s blocks are %s lost in loss record %zu of %zu\n",
		log->pid, gt_format_count(bytes, new.bytes), gt_format_count(blocks, new.count),
		leak->fate == GT_FATE_LEAKED ? "definitely" : "possibly", number, count);
	put_line(log, "  ", title);
	for (size_t i = 0; i < depth; i++)
		put_frame(log, v, i ? "by" : "at", &frames[i]);
	put_line(log, "", "");
	free(title);
}

static bool counts(const struct gt_leak *leak)
{
	struct gt_leak_part new = gt_leak_new(leak);

	return new.count || new.bytes;
}

void gt_leaks_valgrind(const struct gt_views *views, FILE *out)
{
	const struct gt_recording *first = views->list[0]->recording;
	struct log log = { .out = out };
	size_t count = 0, number = 0;
	struct gt_merged m;

	if (gt_recording_process_count(first))
		log.pid = gt_recording_process(first, 0)->pid;
	gt_merged_init(&m, views);
	gt_merged_list_places(&m, views);
	for (size_t i = 0; i < m.leaks.count; i++)
		count += counts(&m.leaks.list[i]);
	put_line(&log, "", "gputrack: leaks in the form of Valgrind's log");
	for (size_t i = 0; i < views->count; i++)
		if (views->list[i]->verdict->doubt)
			put_line(&log, "", views->list[i]->verdict->doubt);
	for (size_t i = 0; i < m.leaks.count; i++)
		if (counts(&m.leaks.list[i]))
			put_leak(&log, views->list[m.from[i]], &m.leaks.list[i], ++number, count);
	gt_merged_fini(&m);
}
