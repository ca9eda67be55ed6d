/* SPDX-License-Identifier: MIT */
/* interned.c - stacks, frames and names of a page, each written once and known by its number. */
#include "page/interned.h"

#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"

enum { NAME_MAX_BYTES = 600 };

struct gt_html_names {
	struct gt_frames *source;
	struct gt_intern *names, *frames, *stacks;
};

/* What a frame is known by: whole, so that equal ones have equal bytes. */
struct frame_key {
	uint64_t offset;
	uint32_t function, file, module, line;
	uint64_t flags;
};

/* As the page's script reads them. */
enum { FRAME_INLINED = 1, FRAME_LIBRARY = 2 };

struct gt_html_names *gt_html_names_new(struct gt_frames *frames)
{
	struct gt_html_names *n = gt_alloc(sizeof *n);

	n->source = frames;
	n->names = gt_intern_new();
	n->frames = gt_intern_new();
	n->stacks = gt_intern_new();
	gt_intern(n->names, "", 1);
	gt_intern(n->stacks, "", 0);
	return n;
}

void gt_html_names_free(struct gt_html_names *n)
{
	gt_intern_free(n->names);
	gt_intern_free(n->frames);
	gt_intern_free(n->stacks);
	free(n);
}

uint32_t gt_html_name(struct gt_html_names *n, const char *name)
{
	char cut[NAME_MAX_BYTES + sizeof "…"];
	size_t size, half = NAME_MAX_BYTES / 2;

	if (!name)
		return 0;
	size = strlen(name);
	if (size <= NAME_MAX_BYTES)
		return gt_intern(n->names, name, size + 1);
	/* a character that is cut through becomes U+FFFD, as any broken one does */
	snprintf(cut, sizeof cut, "%.*s…%s", (int)half, name, name + size - half);
	return gt_intern(n->names, cut, strlen(cut) + 1);
}

/* A frame in place of all that the recorder did not keep. */
static uint32_t cut_frame(struct gt_html_names *n, size_t frames)
{
	struct frame_key key;
	char text[64];

	snprintf(text, sizeof text, "[cut after --stack-depth %zu]", frames);
	memset(&key, 0, sizeof key);
	key.function = gt_html_name(n, text);
	return gt_intern(n->frames, &key, sizeof key);
}

uint32_t gt_html_stack(struct gt_html_names *n, uint32_t stack)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(n->source, stack, &frames);
	uint32_t *numbers = gt_alloc((count + 1) * sizeof *numbers), number;

	for (size_t i = 0; i < count; i++) {
		struct frame_key key;

		memset(&key, 0, sizeof key);
		/* where there is a line, the same line is the same frame */
		key.offset = frames[i].line ? 0 : frames[i].offset;
		key.function = gt_html_name(n, frames[i].function);
		key.file = gt_html_name(n, frames[i].file);
		key.module = gt_html_name(n, frames[i].module);
		key.line = frames[i].line;
		key.flags = (frames[i].inlined ? FRAME_INLINED : 0) |
			    (gt_frame_is_library(&frames[i]) ? FRAME_LIBRARY : 0);
		numbers[i] = gt_intern(n->frames, &key, sizeof key);
	}
	if (gt_frames_cut(n->source, stack))
		numbers[count++] = cut_frame(n, gt_frames_cut(n->source, stack));
	number = gt_intern(n->stacks, numbers, count * sizeof *numbers);
	free(numbers);
	return number;
}

static void frames_json(struct gt_html_names *n, struct gt_json *j)
{
	gt_json_array(j, "frames");
	for (size_t i = 0; i < gt_intern_count(n->frames); i++) {
		size_t size;
		const struct frame_key *key = gt_intern_get(n->frames, (uint32_t)i, &size);

		gt_json_array(j, NULL);
		gt_json_uint(j, NULL, key->function);
		gt_json_uint(j, NULL, key->file);
		gt_json_uint(j, NULL, key->line);
		gt_json_uint(j, NULL, key->module);
		gt_json_hex(j, NULL, key->offset);
		gt_json_uint(j, NULL, key->flags);
		gt_json_end(j);
	}
	gt_json_end(j);
}

void gt_html_names_json(struct gt_html_names *n, struct gt_json *j)
{
	size_t size;

	gt_json_array(j, "stacks");
	for (size_t i = 0; i < gt_intern_count(n->stacks); i++) {
		const uint32_t *numbers = gt_intern_get(n->stacks, (uint32_t)i, &size);

		gt_json_array(j, NULL);
		for (size_t k = 0; k < size / sizeof *numbers; k++)
			gt_json_uint(j, NULL, numbers[k]);
		gt_json_end(j);
	}
	gt_json_end(j);
	frames_json(n, j);
	gt_json_array(j, "names");
	for (size_t i = 0; i < gt_intern_count(n->names); i++)
		gt_json_text(j, NULL, gt_intern_get(n->names, (uint32_t)i, &size));
	gt_json_end(j);
}
