/* SPDX-License-Identifier: MIT */
/* encode.c - rows over time, stacks and names in the compact form that a page gets. */
#include "page/encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"

/* The largest integer that JavaScript represents exactly. */
#define MOST ((UINT64_C(1) << 53) - 1)

static uint64_t held(uint64_t value)
{
	return value < MOST ? value : MOST;
}

void gt_page_times_json(struct gt_json *j, const char *key, const struct gt_time_series *p)
{
	uint8_t *bytes = gt_alloc(p->count * GT_VARINT_MAX + 1), *at = bytes;
	uint64_t last = 0;

	for (size_t i = 0; i < p->count; i++) {
		at = gt_put_varint(at, held(p->times[i]) - last);
		last = held(p->times[i]);
	}
	gt_json_base64(j, key, bytes, (size_t)(at - bytes));
	free(bytes);
}

void gt_page_channel_json(struct gt_json *j, const char *key, const struct gt_time_series *p,
			  size_t channel)
{
	uint8_t *bytes = gt_alloc(p->count * 3 * GT_VARINT_MAX + 1), *at = bytes;
	uint64_t last = 0;
	bool used = false;

	for (size_t i = 0; i < p->count; i++) {
		const struct gt_extent *e = gt_time_series_at(p, i, channel);

		used |= e->high != 0;
		at = gt_put_varint(at, gt_delta(last, held(e->last)));
		last = held(e->last);
		at = gt_put_varint(at, last - held(e->low));
		at = gt_put_varint(at, held(e->high) - last);
	}
	if (used)
		gt_json_base64(j, key, bytes, (size_t)(at - bytes));
	else
		gt_json_null(j, key);
	free(bytes);
}

void gt_page_track_json(struct gt_json *j, const struct gt_page *h, const struct gt_page_set *set,
			size_t track)
{
	size_t rows = set->kinds.count, before = 0;
	uint8_t *bytes = gt_alloc(rows * 3 * GT_VARINT_MAX + 1), *at = bytes;
	struct gt_page_state last = { 0, 0 };

	for (size_t i = 0; i < rows; i++) {
		struct gt_page_state now = set->tracks[i * h->track_count + track];

		now.bytes = held(now.bytes);
		now.count = held(now.count);
		if (now.bytes == last.bytes && now.count == last.count)
			continue;
		at = gt_put_varint(at, i + 1 - before);
		at = gt_put_varint(at, gt_delta(last.bytes, now.bytes));
		at = gt_put_varint(at, gt_delta(last.count, now.count));
		before = i + 1;
		last = now;
	}
	gt_json_base64(j, NULL, bytes, (size_t)(at - bytes));
	free(bytes);
}

void gt_page_trail_json(struct gt_json *j, const char *key, const struct gt_trail *t)
{
	size_t words = t->count * (t->width + 1);
	uint8_t *bytes = gt_alloc(words * 8 + 1);

	if (!t->count) {
		gt_json_null(j, key);
		goto free_bytes;
	}
	for (size_t i = 0; i < words; i++) {
		uint64_t word;

		memcpy(&word, &t->points[i], sizeof word);
		for (int k = 0; k < 8; k++)
			bytes[8 * i + (size_t)k] = (uint8_t)(word >> 8 * k);
	}
	gt_json_base64(j, key, bytes, words * 8);
free_bytes:
	free(bytes);
}

enum { NAME_MAX_BYTES = 600 };

struct gt_page_names {
	struct gt_frames *source;
	struct gt_intern *names, *frames, *stacks;
};

/* The key of a frame: without padding, so that equal frames have equal bytes. */
struct frame_key {
	uint64_t offset;
	uint32_t function, file, module, line;
	uint64_t flags;
};

/* As the page's script reads them. */
enum { FRAME_INLINED = 1, FRAME_LIBRARY = 2 };

struct gt_page_names *gt_page_names_new(struct gt_frames *frames)
{
	struct gt_page_names *n = gt_alloc(sizeof *n);

	n->source = frames;
	n->names = gt_intern_new();
	n->frames = gt_intern_new();
	n->stacks = gt_intern_new();
	gt_intern(n->names, "", 1);
	gt_intern(n->stacks, "", 0);
	return n;
}

void gt_page_names_free(struct gt_page_names *n)
{
	gt_intern_free(n->names);
	gt_intern_free(n->frames);
	gt_intern_free(n->stacks);
	free(n);
}

uint32_t gt_page_name(struct gt_page_names *n, const char *name)
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
static uint32_t cut_frame(struct gt_page_names *n, size_t frames)
{
	struct frame_key key;
	char text[64];

	snprintf(text, sizeof text, "[cut after --stack-depth %zu]", frames);
	memset(&key, 0, sizeof key);
	key.function = gt_page_name(n, text);
	return gt_intern(n->frames, &key, sizeof key);
}

uint32_t gt_page_stack(struct gt_page_names *n, uint32_t stack)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(n->source, stack, &frames);
	uint32_t *numbers = gt_alloc((count + 1) * sizeof *numbers), number;

	for (size_t i = 0; i < count; i++) {
		struct frame_key key;

		memset(&key, 0, sizeof key);
		/* where there is a line, the same line is the same frame */
		key.offset = frames[i].line ? 0 : frames[i].offset;
		key.function = gt_page_name(n, frames[i].function);
		key.file = gt_page_name(n, frames[i].file);
		key.module = gt_page_name(n, frames[i].module);
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

static void frames_json(struct gt_page_names *n, struct gt_json *j)
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

void gt_page_names_json(struct gt_page_names *n, struct gt_json *j)
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
