/* SPDX-License-Identifier: MIT */
/* numbers.c - a recording's own numbers for modules, stacks, places, text frames and series. */
#include "trace/numbers.h"

#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"

struct gt_numbers {
	struct gt_recorded_module *modules;
	size_t module_count, module_room;
	struct gt_text_frame *text_frames;
	size_t text_frame_count, text_frame_room;
	struct gt_series *series;
	size_t series_count, series_room;
	/* keys -> index in the arrays above; stacks and places are their own keys */
	struct gt_intern *module_ids, *text_frame_ids, *series_ids, *stacks, *places;
};

struct gt_numbers *gt_numbers_new(void)
{
	struct gt_numbers *n = gt_alloc(sizeof *n);

	n->module_ids = gt_intern_new();
	n->text_frame_ids = gt_intern_new();
	n->series_ids = gt_intern_new();
	n->stacks = gt_intern_new();
	n->places = gt_intern_new();
	gt_intern(n->stacks, "", 0); /* number 0: no stack */
	gt_intern(n->places, "", 1); /* number 0: no place */
	return n;
}

void gt_numbers_free(struct gt_numbers *n)
{
	for (size_t i = 0; i < n->module_count; i++)
		free((char *)n->modules[i].path);
	for (size_t i = 0; i < n->text_frame_count; i++) {
		free((char *)n->text_frames[i].function);
		free((char *)n->text_frames[i].file);
		free((char *)n->text_frames[i].module);
	}
	for (size_t i = 0; i < n->series_count; i++) {
		free((char *)n->series[i].name);
		free((char *)n->series[i].unit);
		free((char *)n->series[i].subject);
	}
	free(n->modules);
	free(n->text_frames);
	free(n->series);
	gt_intern_free(n->module_ids);
	gt_intern_free(n->text_frame_ids);
	gt_intern_free(n->series_ids);
	gt_intern_free(n->stacks);
	gt_intern_free(n->places);
	free(n);
}

/* Interns a key of several parts; NUL bytes keep them apart. */
struct part {
	const void *bytes;
	size_t size;
};

static uint32_t intern_parts(struct gt_intern *in, const struct part *parts, size_t count)
{
	size_t size = 0;
	uint8_t *key, *at;
	uint32_t number;

	for (size_t i = 0; i < count; i++)
		size += parts[i].size + 1;
	at = key = gt_alloc(size);
	for (size_t i = 0; i < count; i++) {
		memcpy(at, parts[i].bytes, parts[i].size);
		at += parts[i].size + 1;
	}
	number = gt_intern(in, key, size);
	free(key);
	return number;
}

static struct part text_part(const char *text)
{
	return (struct part){ text, strlen(text) };
}

static uint32_t module_number(struct gt_numbers *n, const struct gt_trace_module *m)
{
	const struct part parts[] = { text_part(m->path), { m->build_id, m->build_id_size } };
	uint32_t number = intern_parts(n->module_ids, parts, 2);

	if (number == n->module_count) {
		struct gt_recorded_module copy = { .path = gt_strdup(m->path),
						   .build_id_size = m->build_id_size,
						   .file_size = m->file_size,
						   .mtime_ns = m->mtime_ns };

		memcpy(copy.build_id, m->build_id, sizeof copy.build_id);
		GT_GROW(n->modules, n->module_count, n->module_room);
		n->modules[n->module_count++] = copy;
	}
	return number;
}

static uint32_t text_frame_number(struct gt_numbers *n, const struct gt_text_frame *frame)
{
	const struct part parts[] = { text_part(frame->function),
				      text_part(frame->file),
				      text_part(frame->module),
				      { &frame->line, sizeof frame->line } };
	uint32_t number = intern_parts(n->text_frame_ids, parts, 4);

	if (number == n->text_frame_count) {
		GT_GROW(n->text_frames, n->text_frame_count, n->text_frame_room);
		n->text_frames[n->text_frame_count++] =
			(struct gt_text_frame){ .function = gt_strdup(frame->function),
						.file = gt_strdup(frame->file),
						.module = gt_strdup(frame->module),
						.line = frame->line };
	}
	return number;
}

static uint16_t series_number(struct gt_numbers *n, const struct gt_series *s)
{
	const struct part parts[] = { text_part(s->name), text_part(s->unit),
				      text_part(s->subject) };
	uint32_t number = intern_parts(n->series_ids, parts, 3);

	if (number == n->series_count) {
		GT_GROW(n->series, n->series_count, n->series_room);
		n->series[n->series_count++] =
			(struct gt_series){ .name = gt_strdup(s->name),
					    .unit = gt_strdup(s->unit),
					    .subject = gt_strdup(s->subject) };
	}
	return (uint16_t)number;
}

/* A frame in the recording's numbers, as it is interned: padding zeroed too, so never copied. */
static void put_own_frame(struct gt_trace_frame *own, const struct gt_trace_frame *frame,
			  const uint32_t *modules, const uint32_t *text_frames)
{
	memset(own, 0, sizeof *own);
	own->module = frame->module;
	own->address = frame->address;
	if (frame->module == GT_TEXT_MODULE)
		own->address = text_frames[frame->address - 1];
	else if (frame->module != GT_NO_MODULE)
		own->module = modules[frame->module];
}

static uint32_t *take_stacks(struct gt_numbers *n, const struct gt_definitions *d)
{
	struct gt_trace_frame frames[GT_STACK_FRAMES_MAX];
	uint32_t *modules = gt_alloc(d->module_count * sizeof *modules);
	uint32_t *text_frames = gt_alloc(d->text_frame_count * sizeof *text_frames);
	uint32_t *stacks = gt_alloc((d->stack_count + 1) * sizeof *stacks);

	for (size_t i = 0; i < d->module_count; i++)
		modules[i] = module_number(n, &d->modules[i]);
	for (size_t i = 0; i < d->text_frame_count; i++)
		text_frames[i] = text_frame_number(n, &d->text_frames[i]);
	for (size_t i = 0; i < d->stack_count; i++) {
		const struct gt_trace_stack *stack = &d->stacks[i];

		for (uint32_t f = 0; f < stack->count; f++)
			put_own_frame(&frames[f], &d->frames[stack->first + f], modules,
				      text_frames);
		stacks[i + 1] = gt_intern(n->stacks, frames, stack->count * sizeof *frames);
	}
	free(modules);
	free(text_frames);
	return stacks;
}

/* A number that is defined twice means what it was last said to mean; 0 means no place. */
static void take_places(struct gt_numbers *n, struct gt_numbers_map *map,
			const struct gt_definitions *d)
{
	for (size_t i = 0; i < d->place_count; i++)
		if (d->places[i].number >= map->place_count)
			map->place_count = d->places[i].number + 1u;
	map->places = gt_alloc(map->place_count * sizeof *map->places);
	for (size_t i = 0; i < d->place_count; i++) {
		const char *name = d->places[i].name;
		uint32_t number =
			d->places[i].number ? gt_intern(n->places, name, strlen(name) + 1) : 0;

		map->places[d->places[i].number] = number <= UINT16_MAX ? (uint16_t)number : 0;
	}
}

void gt_numbers_take(struct gt_numbers *n, struct gt_numbers_map *map,
		     const struct gt_definitions *d)
{
	map->stacks = take_stacks(n, d);
	take_places(n, map, d);
	map->series = gt_alloc((d->series_count + 1) * sizeof *map->series);
	for (size_t i = 0; i < d->series_count; i++)
		map->series[i + 1] = series_number(n, &d->series[i]);
}

void gt_numbers_map_fini(struct gt_numbers_map *map)
{
	free(map->stacks);
	free(map->places);
	free(map->series);
	*map = (struct gt_numbers_map){ 0 };
}

size_t gt_numbers_stack(const struct gt_numbers *n, uint32_t stack,
			const struct gt_trace_frame **frames)
{
	size_t size;

	*frames = gt_intern_get(n->stacks, stack, &size);
	return size / sizeof **frames;
}

size_t gt_numbers_stack_count(const struct gt_numbers *n)
{
	return gt_intern_count(n->stacks);
}

const struct gt_recorded_module *gt_numbers_module(const struct gt_numbers *n, uint32_t module)
{
	return &n->modules[module];
}

size_t gt_numbers_module_count(const struct gt_numbers *n)
{
	return n->module_count;
}

const char *gt_numbers_place(const struct gt_numbers *n, uint16_t place)
{
	size_t size;

	return gt_intern_get(n->places, place, &size);
}

size_t gt_numbers_place_count(const struct gt_numbers *n)
{
	size_t count = gt_intern_count(n->places);

	return count <= UINT16_MAX ? count : UINT16_MAX + (size_t)1;
}

const struct gt_text_frame *gt_numbers_text_frame(const struct gt_numbers *n, uint64_t number)
{
	return &n->text_frames[number];
}

const struct gt_series *gt_numbers_series(const struct gt_numbers *n, uint16_t series)
{
	return &n->series[series];
}

size_t gt_numbers_series_count(const struct gt_numbers *n)
{
	return n->series_count;
}
