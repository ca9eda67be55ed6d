/* SPDX-License-Identifier: MIT */
/*
 * catalog.c - what the traces of a recording define: modules, stacks, places, text frames, series
 * and the names of resources.
 */
#include "trace/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"

/* A node of the tree of stacks, once no more are added. */
struct packed_node {
	uint32_t parent, frame;
};

struct gt_catalog {
	struct gt_recorded_module *modules;
	size_t module_count, module_room;
	struct gt_text_frame *text_frames;
	size_t text_frame_count, text_frame_room;
	struct gt_series *series;
	size_t series_count, series_room;
	const char **names; /* of resources */
	size_t name_count, name_room;
	/* key -> index in the arrays above */
	struct gt_intern *module_ids, *text_frame_ids, *series_ids, *name_ids;
	/* bytes that are their own key */
	struct gt_intern *frames, *places, *texts;
	struct gt_stack_tree tree; /* of numbers of frames */
	uint32_t *stacks;          /* by number: its node */
	size_t stack_count, stack_room;
	uint32_t *stack_of; /* by node: the number of its stack; 0: none */
	size_t node_count;
	struct gt_intern *part_ids; /* struct part_key -> index in `parts` */
	uint32_t *parts;            /* numbers of stacks */
	size_t part_count, part_room;
	uint32_t *part_of; /* by stack: its index in `parts`, + 1; 0: it is whole */
	size_t part_of_size;
	struct packed_node *packed; /* instead of `tree` and `stack_of`, at a third of the memory */
	size_t packed_count;
	struct gt_trace_frame asked[GT_STACK_FRAMES_MAX]; /* of the latest gt_recording_stack */
};

/* A resource: no padding, as its bytes are interned. */
struct name_key {
	uint64_t process, handle, time_ns;
};

/* A part of a stack: no padding, as its bytes are interned. */
struct part_key {
	uint32_t stack;
	struct gt_stack_part part;
};

/* The number of the stack that ends at a node. */
static uint32_t add_stack(struct gt_catalog *c, uint32_t node)
{
	GT_REACH(c->stack_of, c->node_count, node);
	if (!c->stack_of[node] && (node || !c->stack_count)) {
		GT_GROW(c->stacks, c->stack_count, c->stack_room);
		c->stacks[c->stack_count] = node;
		c->stack_of[node] = (uint32_t)c->stack_count++;
	}
	return c->stack_of[node];
}

struct gt_catalog *gt_catalog_new(void)
{
	struct gt_catalog *c = gt_alloc(sizeof *c);

	c->module_ids = gt_intern_new();
	c->text_frame_ids = gt_intern_new();
	c->series_ids = gt_intern_new();
	c->name_ids = gt_intern_new();
	c->frames = gt_intern_new();
	c->places = gt_intern_new();
	c->texts = gt_intern_new();
	c->part_ids = gt_intern_new();
	add_stack(c, 0);             /* number 0: no stack */
	gt_intern(c->places, "", 1); /* number 0: no place */
	return c;
}

void gt_catalog_free(struct gt_catalog *c)
{
	free(c->modules);
	free(c->text_frames);
	free(c->series);
	free(c->names);
	gt_intern_free(c->module_ids);
	gt_intern_free(c->text_frame_ids);
	gt_intern_free(c->series_ids);
	gt_intern_free(c->name_ids);
	gt_intern_free(c->frames);
	gt_stack_tree_fini(&c->tree);
	free(c->stacks);
	free(c->stack_of);
	gt_intern_free(c->part_ids);
	free(c->parts);
	free(c->part_of);
	free(c->packed);
	gt_intern_free(c->places);
	gt_intern_free(c->texts);
	free(c);
}

/* A part of a key. */
struct part {
	const void *bytes;
	size_t size;
};

/* Interns a key of several parts, separated by NUL bytes. */
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

static uint32_t module_number(struct gt_catalog *c, const struct gt_trace_module *m)
{
	const struct part parts[] = { text_part(m->path), { m->build_id, m->build_id_size } };
	uint32_t number = intern_parts(c->module_ids, parts, 2);

	if (number == c->module_count) {
		struct gt_recorded_module copy = { .path = gt_intern_string(c->texts, m->path),
						   .build_id_size = m->build_id_size,
						   .file_size = m->file_size,
						   .mtime_ns = m->mtime_ns };

		memcpy(copy.build_id, m->build_id, sizeof copy.build_id);
		GT_GROW(c->modules, c->module_count, c->module_room);
		c->modules[c->module_count++] = copy;
	}
	return number;
}

static uint32_t text_frame_number(struct gt_catalog *c, const struct gt_text_frame *frame)
{
	const struct part parts[] = { text_part(frame->function),
				      text_part(frame->file),
				      text_part(frame->module),
				      { &frame->line, sizeof frame->line } };
	uint32_t number = intern_parts(c->text_frame_ids, parts, 4);

	if (number == c->text_frame_count) {
		GT_GROW(c->text_frames, c->text_frame_count, c->text_frame_room);
		c->text_frames[c->text_frame_count++] =
			(struct gt_text_frame){ .function =
							gt_intern_string(c->texts, frame->function),
						.file = gt_intern_string(c->texts, frame->file),
						.module = gt_intern_string(c->texts, frame->module),
						.line = frame->line };
	}
	return number;
}

static uint16_t series_number(struct gt_catalog *c, const struct gt_series *s)
{
	const struct part parts[] = { text_part(s->name), text_part(s->unit),
				      text_part(s->subject) };
	uint32_t number = intern_parts(c->series_ids, parts, 3);

	if (number == c->series_count) {
		GT_GROW(c->series, c->series_count, c->series_room);
		c->series[c->series_count++] =
			(struct gt_series){ .name = gt_intern_string(c->texts, s->name),
					    .unit = gt_intern_string(c->texts, s->unit),
					    .subject = gt_intern_string(c->texts, s->subject) };
	}
	return (uint16_t)number;
}

/* The catalog's numbers of a trace's frames. */
static uint64_t *take_frames(struct gt_catalog *c, const struct gt_definitions *d)
{
	uint32_t *modules = gt_alloc(d->module_count * sizeof *modules);
	uint32_t *text_frames = gt_alloc(d->text_frame_count * sizeof *text_frames);
	size_t size, count = d->frames ? gt_intern_count(d->frames) : 0;
	uint64_t *numbers = gt_alloc(count * sizeof *numbers);

	for (size_t i = 0; i < d->module_count; i++)
		modules[i] = module_number(c, &d->modules[i]);
	for (size_t i = 0; i < d->text_frame_count; i++)
		text_frames[i] = text_frame_number(c, &d->text_frames[i]);
	for (size_t i = 0; i < count; i++) {
		struct gt_trace_frame frame;

		memcpy(&frame, gt_intern_get(d->frames, (uint32_t)i, &size), sizeof frame);
		if (frame.module == GT_TEXT_MODULE)
			frame.address = text_frames[frame.address - 1];
		else if (frame.module != GT_NO_MODULE)
			frame.module = modules[frame.module];
		numbers[i] = gt_trace_frame_intern(c->frames, &frame);
	}
	free(modules);
	free(text_frames);
	return numbers;
}

/* The first trace's numbers of frames mostly are ours: then we take its tree as it is. */
static bool adopt_tree(struct gt_catalog *c, const uint64_t *frames, struct gt_definitions *d)
{
	size_t count = gt_intern_count(c->frames);

	if (c->tree.count || !d->frames || gt_intern_count(d->frames) != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (frames[i] != i)
			return false;
	c->tree = d->tree;
	d->tree = (struct gt_stack_tree){ 0 };
	return true;
}

/*
 * The catalog's nodes of a trace's, NULL if they are the same: a caller's node comes before those
 * of its callees.
 */
static uint32_t *take_nodes(struct gt_catalog *c, struct gt_definitions *d)
{
	uint64_t *frames = take_frames(c, d);
	uint32_t *nodes = NULL;

	if (!adopt_tree(c, frames, d)) {
		nodes = gt_alloc((d->tree.count + 1) * sizeof *nodes);
		for (size_t i = 1; i < d->tree.count; i++)
			nodes[i] = gt_stack_tree_child(&c->tree, nodes[d->tree.nodes[i].parent],
						       frames[d->tree.nodes[i].frame]);
	}
	free(frames);
	return nodes;
}

static uint32_t *take_stacks(struct gt_catalog *c, struct gt_definitions *d)
{
	uint32_t *nodes = take_nodes(c, d);
	uint32_t *stacks = gt_alloc((d->stack_count + 1) * sizeof *stacks);

	for (size_t i = 0; i < d->stack_count; i++)
		stacks[i + 1] = add_stack(c, nodes ? nodes[d->stacks[i]] : d->stacks[i]);
	free(nodes);
	return stacks;
}

void gt_catalog_pack(struct gt_catalog *c)
{
	struct packed_node *packed;

	if (c->packed || !c->tree.count)
		return;
	/* in place: a packed node is no larger, and comes no later */
	packed = (struct packed_node *)c->tree.nodes;
	for (size_t i = 0; i < c->tree.count; i++) {
		struct gt_stack_node node = c->tree.nodes[i];
		struct packed_node one = { node.parent, (uint32_t)node.frame };

		memcpy(&packed[i], &one, sizeof one);
	}
	c->packed_count = c->tree.count;
	c->packed = gt_realloc(packed, c->packed_count * sizeof *packed);
	c->tree.nodes = NULL;
	gt_stack_tree_fini(&c->tree);
	free(c->stack_of);
	c->stack_of = NULL;
	c->node_count = 0;
}

/* The nodes get the numbers that they had, as they are added in the same order. */
static void unpack(struct gt_catalog *c)
{
	for (size_t i = 1; i < c->packed_count; i++)
		gt_stack_tree_child(&c->tree, c->packed[i].parent, c->packed[i].frame);
	if (c->packed)
		GT_REACH(c->stack_of, c->node_count, c->packed_count);
	for (size_t i = 0; c->packed && i < c->stack_count; i++)
		if (i >= c->part_of_size || !c->part_of[i])
			c->stack_of[c->stacks[i]] = (uint32_t)i;
	free(c->packed);
	c->packed = NULL;
	c->packed_count = 0;
}

/* If a number is defined twice, the last definition counts; 0 means no place. */
static void take_places(struct gt_catalog *c, struct gt_catalog_map *map,
			const struct gt_definitions *d)
{
	for (size_t i = 0; i < d->place_count; i++)
		if (d->places[i].number >= map->place_count)
			map->place_count = d->places[i].number + 1u;
	map->places = gt_alloc(map->place_count * sizeof *map->places);
	for (size_t i = 0; i < d->place_count; i++) {
		const char *name = d->places[i].name;
		uint32_t number =
			d->places[i].number ? gt_intern(c->places, name, strlen(name) + 1) : 0;

		map->places[d->places[i].number] = number <= UINT16_MAX ? (uint16_t)number : 0;
	}
}

/* The first name of a resource stays, also when the trace is read again. */
static void take_names(struct gt_catalog *c, uint32_t process, const struct gt_definitions *d)
{
	for (size_t i = 0; i < d->name_count; i++) {
		const struct gt_trace_name *n = &d->names[i];
		const struct name_key key = { process, n->handle, n->time_ns };

		if (gt_intern(c->name_ids, &key, sizeof key) != c->name_count)
			continue;
		GT_GROW(c->names, c->name_count, c->name_room);
		c->names[c->name_count++] = gt_intern_string(c->texts, n->name);
	}
}

void gt_catalog_take(struct gt_catalog *c, struct gt_catalog_map *map, uint32_t process,
		     struct gt_definitions *d)
{
	unpack(c);
	take_names(c, process, d);
	map->stacks = take_stacks(c, d);
	gt_definitions_forget_stacks(d);
	take_places(c, map, d);
	map->series = gt_alloc((d->series_count + 1) * sizeof *map->series);
	for (size_t i = 0; i < d->series_count; i++)
		map->series[i + 1] = series_number(c, &d->series[i]);
}

void gt_catalog_map_fini(struct gt_catalog_map *map)
{
	free(map->stacks);
	free(map->places);
	free(map->series);
	*map = (struct gt_catalog_map){ 0 };
}

uint32_t gt_catalog_part(struct gt_catalog *c, uint32_t stack, const struct gt_stack_part *part)
{
	const struct part_key key = { stack, *part };
	uint32_t index = gt_intern(c->part_ids, &key, sizeof key);

	if (index == c->part_count) {
		uint32_t number = (uint32_t)c->stack_count;

		GT_GROW(c->stacks, c->stack_count, c->stack_room);
		c->stacks[c->stack_count++] = c->stacks[stack];
		GT_GROW(c->parts, c->part_count, c->part_room);
		c->parts[c->part_count++] = number;
		GT_REACH(c->part_of, c->part_of_size, number);
		c->part_of[number] = index + 1;
	}
	return c->parts[index];
}

/* NULL for a stack that is whole. */
static const struct part_key *part_of(const struct gt_catalog *c, uint32_t stack)
{
	size_t size;

	return stack < c->part_of_size && c->part_of[stack] ?
		       gt_intern_get(c->part_ids, c->part_of[stack] - 1, &size) :
		       NULL;
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
