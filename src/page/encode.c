/* SPDX-License-Identifier: MIT */
/* encode.c - rows over time, stacks and names in the compact form that a page gets. */
#include "page/encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"
#include "replay/place.h"

/* The largest integer that JavaScript represents exactly. */
#define MOST ((UINT64_C(1) << 53) - 1)

uint64_t gt_page_number(uint64_t value)
{
	return value < MOST ? value : MOST;
}

void gt_page_times_json(struct gt_json *j, const char *key, const struct gt_time_series *p)
{
	uint8_t *bytes = gt_alloc(p->count * GT_VARINT_MAX + 1), *at = bytes;
	uint64_t last = 0;

	for (size_t i = 0; i < p->count; i++) {
		at = gt_put_varint(at, gt_page_number(p->times[i]) - last);
		last = gt_page_number(p->times[i]);
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
		const struct gt_value_range *e = gt_time_series_at(p, i, channel);

		used |= e->high != 0;
		at = gt_put_varint(at, gt_delta(last, gt_page_number(e->last)));
		last = gt_page_number(e->last);
		at = gt_put_varint(at, last - gt_page_number(e->low));
		at = gt_put_varint(at, gt_page_number(e->high) - last);
	}
	if (used)
		gt_json_base64(j, key, bytes, (size_t)(at - bytes));
	else
		gt_json_null(j, key);
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
	struct gt_intern *names, *frames, *stacks, *places;
	struct gt_intern *known; /* struct gt_frame */
	uint32_t *known_numbers; /* by its number: the page's */
	size_t known_count, known_room;
};

/* The key of a frame: without padding, so that equal frames have equal bytes. */
struct frame_key {
	uint64_t offset;
	uint32_t function, file, module, line;
	uint32_t brief, path; /* the function and the file as places say them */
	uint64_t flags;
};

/* A place's words. */
struct place_key {
	uint32_t function, where, via, callers;
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
	n->places = gt_intern_new();
	n->known = gt_intern_new();
	gt_intern(n->places, &(struct place_key){ 0 }, sizeof(struct place_key));
	return n;
}

void gt_page_names_free(struct gt_page_names *n)
{
	gt_intern_free(n->names);
	gt_intern_free(n->frames);
	gt_intern_free(n->stacks);
	gt_intern_free(n->places);
	gt_intern_free(n->known);
	free(n->known_numbers);
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

uint32_t gt_page_place(struct gt_page_names *n, uint32_t stack)
{
	struct gt_place_words w;
	struct place_key key;

	if (!stack)
		return 0;
	w = gt_place_words(n->source, stack, true);
	key = (struct place_key){ gt_page_name(n, w.function), gt_page_name(n, w.where),
				  gt_page_name(n, w.via), gt_page_name(n, w.callers) };
	gt_place_words_fini(&w);
	return gt_intern(n->places, &key, sizeof key);
}

/* The function without its template arguments; 0 if that is the same. */
static uint32_t brief_name(struct gt_page_names *n, const struct gt_frame *frame)
{
	uint32_t number = 0;
	char *brief;

	if (!frame->function)
		return 0;
	brief = gt_place_function(frame);
	if (strcmp(brief, frame->function))
		number = gt_page_name(n, brief);
	free(brief);
	return number;
}

/* The file relative to a root; 0 if it lies below none. */
static uint32_t relative_path(struct gt_page_names *n, const struct gt_frame *frame)
{
	const char *path = gt_own_file(gt_frames_own(n->source), frame);

	return path == frame->file ? 0 : gt_page_name(n, path);
}

static uint32_t frame_number(struct gt_page_names *n, const struct gt_frame *frame)
{
	struct frame_key key;

	memset(&key, 0, sizeof key);
	/* where there is a line, the same line is the same frame */
	key.offset = frame->line ? 0 : frame->offset;
	key.function = gt_page_name(n, frame->function);
	key.file = gt_page_name(n, frame->file);
	key.module = gt_page_name(n, frame->module);
	key.line = frame->line;
	key.brief = brief_name(n, frame);
	key.path = relative_path(n, frame);
	key.flags = (frame->inlined ? FRAME_INLINED : 0) |
		    (gt_own_is(gt_frames_own(n->source), frame) ? 0 : FRAME_LIBRARY);
	return gt_intern(n->frames, &key, sizeof key);
}

/* The same by the frame's own bytes: most stacks are made of frames that others have, too. */
static uint32_t known_frame(struct gt_page_names *n, const struct gt_frame *frame)
{
	struct gt_frame key;
	uint32_t number;

	memset(&key, 0, sizeof key);
	key.function = frame->function;
	key.file = frame->file;
	key.module = frame->module;
	key.offset = frame->offset;
	key.line = frame->line;
	key.inlined = frame->inlined;
	number = gt_intern(n->known, &key, sizeof key);
	if (number == n->known_count) {
		GT_GROW(n->known_numbers, n->known_count, n->known_room);
		n->known_numbers[n->known_count++] = frame_number(n, frame);
	}
	return n->known_numbers[number];
}

uint32_t gt_page_stack(struct gt_page_names *n, uint32_t stack)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(n->source, stack, &frames);
	uint32_t *numbers = gt_alloc((count + 1) * sizeof *numbers), number;

	for (size_t i = 0; i < count; i++)
		numbers[i] = known_frame(n, &frames[i]);
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
		gt_json_uint(j, NULL, key->brief);
		gt_json_uint(j, NULL, key->path);
		gt_json_end(j);
	}
	gt_json_end(j);
}

static void places_json(struct gt_page_names *n, struct gt_json *j)
{
	gt_json_array(j, "places");
	for (size_t i = 0; i < gt_intern_count(n->places); i++) {
		size_t size;
		const struct place_key *key = gt_intern_get(n->places, (uint32_t)i, &size);

		gt_json_array(j, NULL);
		gt_json_uint(j, NULL, key->function);
		gt_json_uint(j, NULL, key->where);
		gt_json_uint(j, NULL, key->via);
		gt_json_uint(j, NULL, key->callers);
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
	places_json(n, j);
	gt_json_array(j, "names");
	for (size_t i = 0; i < gt_intern_count(n->names); i++)
		gt_json_text(j, NULL, gt_intern_get(n->names, (uint32_t)i, &size));
	gt_json_end(j);
}
