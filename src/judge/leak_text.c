/* SPDX-License-Identifier: MIT */
/* leak_text.c - a leak in words, for the forms that continuous integration reads. */
#include "judge/leak_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "replay/group_text.h"
#include "replay/stack.h"

char *gt_leak_title(const struct gt_leak *leak)
{
	char kind[GT_KIND_TEXT], words[GT_KIND_TEXT], bytes[GT_FORMAT_MAX], *text;

	gt_kind_count(kind, (enum gt_kind)leak->kind, leak->count);
	gt_format_bytes(bytes, leak->bytes);
	if (asprintf(&text, "%s %s %s (%s)%s%s", kind,
		     leak->held_count < leak->count ? "leaked by" :
						      "alive in programs that went on, made by",
		     gt_function_words(words, leak->function), gt_api_names[leak->api],
		     leak->bytes ? ": " : "", leak->bytes ? bytes : "") < 0)
		return gt_strdup(kind);
	return text;
}

char *gt_leak_excuse(const struct gt_view *v, const struct gt_leak *leak)
{
	char *text = NULL;
	int length = 0;

	if (leak->suppressed)
		length = asprintf(&text, "suppressed by %s:%u %s", leak->suppressed->file,
				  leak->suppressed->line, leak->suppressed->text);
	else if (!leak->new_count && !leak->new_bytes)
		length = asprintf(&text, "in %s already", v->verdict->options.baseline_path);
	return length < 0 ? NULL : text;
}

static void put_frame(FILE *out, const struct gt_view *v, const struct gt_frame *frame)
{
	char *file = frame->file ? gt_frame_file(v, frame) : NULL;

	if (frame->function)
		fprintf(out, "  %s", frame->function);
	else
		fprintf(out, "  %s+0x%" PRIx64, frame->module ? frame->module : "", frame->offset);
	if (file)
		fprintf(out, " (%s:%" PRIu32 ")", file, frame->line);
	putc('\n', out);
	free(file);
}

char *gt_leak_text(const struct gt_view *v, const struct gt_leak *leak)
{
	const struct gt_frame *frames;
	size_t size, count = gt_frames_get(v->frames, leak->stack, &frames);
	char *text = NULL, *title = gt_leak_title(leak);
	FILE *out = gt_memstream(&text, &size);

	fprintf(out, "%s\n", title);
	if (leak->old_count)
		fprintf(out, "%" PRIu64 " and %" PRIu64 " bytes in %s already\n", leak->old_count,
			leak->old_bytes, v->verdict->options.baseline_path);
	for (size_t i = 0; i < count; i++)
		put_frame(out, v, &frames[i]);
	if (!count)
		fputs("  (no stack was recorded)\n", out);
	gt_memstream_close(out);
	free(title);
	return text;
}

static const struct gt_frame *frame_of(const struct gt_view *v, uint32_t stack)
{
	const struct gt_frame *frames, *first = NULL;
	size_t count = gt_frames_get(v->frames, stack, &frames);

	for (size_t i = 0; i < count; i++) {
		char *file;
		bool below;

		if (!frames[i].file || !frames[i].line)
			continue;
		file = gt_frame_file(v, &frames[i]);
		below = *file != '/';
		free(file);
		if (below)
			return &frames[i];
		if (!first)
			first = &frames[i];
	}
	return first;
}

const struct gt_frame *gt_leak_frame(const struct gt_view *v, const struct gt_leak *leak)
{
	return frame_of(v, leak->stack);
}

const struct gt_frame *gt_peak_frame(const struct gt_view *v)
{
	const struct gt_site *most = NULL;

	for (size_t i = 0; i < v->ledger->site_count; i++) {
		const struct gt_site *site = &v->ledger->sites[i];

		if (gt_kind_on_device((enum gt_kind)site->kind) &&
		    (!most || site->bytes_at_peak > most->bytes_at_peak))
			most = site;
	}
	return most ? frame_of(v, most->stack) : NULL;
}

char *gt_frame_file(const struct gt_view *v, const struct gt_frame *frame)
{
	return gt_strdup(gt_style_relative(&v->style, frame->file));
}

const char *gt_leak_name(const struct gt_view *v, const struct gt_leak *leak)
{
	const struct gt_frame **frames;
	size_t count = gt_frames_brief(v->frames, leak->stack, &frames);
	const char *name = NULL;

	for (size_t i = 0; i < count && !name; i++)
		name = frames[i]->function;
	if (!name && count)
		name = frames[0]->module;
	free(frames);
	return name ? name : gt_function_names[leak->function];
}
