/* SPDX-License-Identifier: MIT */
/* catalog_query.c - answers questions about stacks, phases, places, text frames and series. */
#include "trace/catalog_state.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* NULL for a stack as it was recorded. */
static const struct part_key *key_of(const struct gt_catalog *c, uint32_t stack)
{
	size_t size;

	return stack < c->part_of_size && c->part_of[stack] ?
		       gt_intern_get(c->part_ids, c->part_of[stack] - 1, &size) :
		       NULL;
}

/* NULL for a stack that is whole. */
static const struct part_key *part_of(const struct gt_catalog *c, uint32_t stack)
{
	const struct part_key *key = key_of(c, stack);

	return key && !key->ranges ? key : NULL;
}

/* The phase whose ranges follow the frames of a stack, or of the one it is a part of; 0: none. */
static uint32_t ranges_of(const struct gt_catalog *c, uint32_t stack)
{
	const struct part_key *key = part_of(c, stack);

	key = key_of(c, key ? key->stack : stack);
	return key ? key->ranges : 0;
}

bool gt_recording_stack_part(const struct gt_recording *r, uint32_t stack,
			     struct gt_stack_part *part)
{
	const struct part_key *key = part_of(r->catalog, stack);

	if (key)
		*part = key->part;
	return key;
}

uint32_t gt_recording_stack_whole(const struct gt_recording *r, uint32_t stack)
{
	const struct part_key *key = part_of(r->catalog, stack);

	return key ? key->stack : stack;
}

/* A node's frame; `node` becomes that of its caller. */
static uint32_t step_out(const struct gt_catalog *c, uint32_t *node)
{
	const struct gt_stack_node *in_tree;
	uint32_t frame;

	if (c->packed) {
		frame = c->packed[*node].frame;
		*node = c->packed[*node].parent;
		return frame;
	}
	in_tree = &c->tree.nodes[*node];
	*node = in_tree->parent;
	return (uint32_t)in_tree->frame;
}

size_t gt_recording_stack_numbers(const struct gt_recording *r, uint32_t stack,
				  uint32_t numbers[GT_STACK_FRAMES_MAX])
{
	const struct gt_catalog *c = r->catalog;
	size_t count = 0;

	for (uint32_t node = c->stacks[stack]; node;)
		numbers[count++] = step_out(c, &node);
	for (uint32_t phase = ranges_of(c, stack); phase && count < GT_STACK_FRAMES_MAX;
	     phase = c->phases[phase].parent)
		numbers[count++] = c->phases[phase].frame;
	return count;
}

const struct gt_trace_frame *gt_recording_frame(const struct gt_recording *r, uint32_t number)
{
	size_t size;

	return gt_intern_get(r->catalog->frames, number, &size);
}

size_t gt_recording_stack(const struct gt_recording *r, uint32_t stack,
			  const struct gt_trace_frame **frames)
{
	struct gt_catalog *c = r->catalog;
	uint32_t numbers[GT_STACK_FRAMES_MAX];
	size_t count = gt_recording_stack_numbers(r, stack, numbers);

	for (size_t i = 0; i < count; i++)
		c->asked[i] = *gt_recording_frame(r, numbers[i]);
	*frames = c->asked;
	return count;
}

size_t gt_recording_stack_depth(const struct gt_recording *r, uint32_t stack, size_t most)
{
	const struct gt_catalog *c = r->catalog;
	size_t count = 0;

	for (uint32_t node = c->stacks[stack]; node && count < most; count++)
		step_out(c, &node);
	return count;
}

/* Imported events have no call: without a stack, not even the function's name is known. */
static bool is_imported(uint16_t function)
{
	return function >= GT_FN_nsysPageableAllocation && function <= GT_FN_nsysCall;
}

enum gt_origin gt_recording_origin(const struct gt_recording *r, uint16_t function, uint32_t stack)
{
	const struct gt_trace_frame *frames;
	uint32_t node = r->catalog->stacks[stack];
	bool is_empty = !node;

	/* of every event: stacks of more frames are not looked at whole */
	if (!is_empty)
		step_out(r->catalog, &node);
	if (node)
		return GT_ORIGIN_VALID;
	if (is_empty)
		return is_imported(function) ? GT_ORIGIN_INVALID : GT_ORIGIN_DRIVER;
	if (gt_recording_stack(r, stack, &frames) && frames->module == GT_TEXT_MODULE) {
		const struct gt_text_frame *text = gt_recording_text_frame(r, frames->address);

		if (!*text->module && !*text->file)
			return GT_ORIGIN_DRIVER;
		if (!strcmp(text->module, GT_CALL_ONLY))
			return GT_ORIGIN_INVALID;
	}
	return GT_ORIGIN_VALID;
}

size_t gt_recording_stack_count(const struct gt_recording *r)
{
	return r->catalog->stack_count;
}

const struct gt_recorded_module *gt_recording_module(const struct gt_recording *r, uint32_t module)
{
	return &r->catalog->modules[module];
}

size_t gt_recording_module_count(const struct gt_recording *r)
{
	return r->catalog->module_count;
}

const char *gt_recording_place(const struct gt_recording *r, uint16_t place)
{
	size_t size;

	return gt_intern_get(r->catalog->places, place, &size);
}

size_t gt_recording_place_count(const struct gt_recording *r)
{
	size_t count = gt_intern_count(r->catalog->places);

	return count <= UINT16_MAX ? count : UINT16_MAX + (size_t)1;
}

size_t gt_recording_phase_count(const struct gt_recording *r)
{
	return r->catalog->phase_count;
}

const char *gt_recording_phase_name(const struct gt_recording *r, uint32_t phase)
{
	return r->catalog->phases[phase].name;
}

uint32_t gt_recording_phase_parent(const struct gt_recording *r, uint32_t phase)
{
	return r->catalog->phases[phase].parent;
}

char *gt_recording_phase_text(const struct gt_recording *r, uint32_t phase)
{
	/* of a deeper one, the innermost */
	uint32_t ranges[GT_STACK_FRAMES_MAX];
	size_t size, count = 0;
	char *text = NULL;
	FILE *out;

	if (!phase)
		return gt_strdup("(no phase)");
	for (; phase && count < GT_STACK_FRAMES_MAX; phase = gt_recording_phase_parent(r, phase))
		ranges[count++] = phase;
	out = gt_memstream(&text, &size);
	while (count-- > 0)
		fprintf(out, "%s%s", gt_recording_phase_name(r, ranges[count]), count ? " > " : "");
	gt_memstream_close(out);
	return text;
}

const struct gt_text_frame *gt_recording_text_frame(const struct gt_recording *r, uint64_t number)
{
	return &r->catalog->text_frames[number];
}

const struct gt_series *gt_recording_series(const struct gt_recording *r, uint16_t series)
{
	return &r->catalog->series[series];
}

size_t gt_recording_series_count(const struct gt_recording *r)
{
	return r->catalog->series_count;
}

const char *gt_recording_name(const struct gt_recording *r, uint32_t process, uint64_t handle,
			      uint64_t time_ns)
{
	const struct name_key key = { process, handle, time_ns };
	uint32_t number = gt_intern_find(r->catalog->name_ids, &key, sizeof key);

	return number == GT_NOT_INTERNED ? "" : r->catalog->names[number];
}
