/* SPDX-License-Identifier: MIT */
/*
 * catalog.c - what the traces of a recording define: modules, stacks, places, text frames, series
 * and the names of resources.
 */
#include "trace/catalog_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"

enum { ALIKE_MOST = 128 }; /* ranges that differ only in numbers and stay apart */

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
	c->phase_ids = gt_intern_new();
	c->frames = gt_intern_new();
	c->places = gt_intern_new();
	c->texts = gt_intern_new();
	c->part_ids = gt_intern_new();
	add_stack(c, 0);             /* number 0: no stack */
	gt_intern(c->places, "", 1); /* number 0: no place */
	GT_GROW(c->phases, c->phase_count, c->phase_room);
	c->phases[c->phase_count++] = (struct phase){ .name = "" };
	gt_intern(c->phase_ids, "", 1);
	return c;
}

void gt_catalog_free(struct gt_catalog *c)
{
	free(c->modules);
	free(c->text_frames);
	free(c->series);
	free(c->names);
	free(c->phases);
	gt_intern_free(c->phase_ids);
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

/* "NCCL:ncclAllReduce [category]"; the caller frees it. */
static char *range_text(const struct gt_trace_phase *p)
{
	char *text;

	if (asprintf(&text, "%s%s%s%s%s%s", p->domain, *p->domain ? ":" : "",
		     *p->name ? p->name : "(unnamed)", *p->category ? " [" : "", p->category,
		     *p->category ? "]" : "") < 0)
		text = gt_strdup(p->name);
	return text;
}

static uint32_t phase_number(struct gt_catalog *c, uint32_t parent, const char *name)
{
	const struct part parts[] = { { &parent, sizeof parent }, text_part(name) };
	uint32_t number = intern_parts(c->phase_ids, parts, 2);

	if (number == c->phase_count) {
		const struct gt_text_frame text = { .function = name,
						    .file = "",
						    .module = GT_PHASE_FRAME };
		const struct gt_trace_frame frame = { GT_TEXT_MODULE, text_frame_number(c, &text) };

		GT_GROW(c->phases, c->phase_count, c->phase_room);
		c->phases[c->phase_count++] =
			(struct phase){ .name = gt_intern_string(c->texts, name),
					.parent = parent,
					.frame = gt_trace_frame_intern(c->frames, &frame) };
	}
	return number;
}

/* "step 17" -> "step *", in place. */
static void fold_numbers(char *name)
{
	char *to = name;

	for (const char *from = name; *from; from++) {
		bool is_digit = *from >= '0' && *from <= '9';

		if (!is_digit)
			*to++ = *from;
		else if (to == name || to[-1] != '*')
			*to++ = '*';
	}
	*to = '\0';
}

/* Groups of ranges within one that differ only in numbers, and how many names each has. */
struct alike {
	uint32_t *of; /* by phase of the trace: its group */
	uint32_t *counts;
	size_t count;
};

static struct alike find_alike(const struct gt_definitions *d)
{
	struct gt_intern *groups = gt_intern_new(), *names = gt_intern_new();
	struct alike a = { .of = gt_alloc((d->phase_count + 1) * sizeof *a.of) };

	for (size_t i = 0; i < d->phase_count; i++) {
		char *name = range_text(&d->phases[i]), *folded = gt_strdup(name);
		uint32_t around = d->phases[i].parent ? a.of[d->phases[i].parent] + 1 : 0;
		uint32_t *group = &a.of[i + 1], known = (uint32_t)gt_intern_count(names);

		fold_numbers(folded);
		*group = intern_parts(
			groups, (struct part[]){ { &around, sizeof around }, text_part(folded) },
			2);
		GT_REACH(a.counts, a.count, *group);
		a.counts[*group] +=
			intern_parts(names,
				     (struct part[]){ { group, sizeof *group }, text_part(name) },
				     2) == known;
		free(name);
		free(folded);
	}
	gt_intern_free(groups);
	gt_intern_free(names);
	return a;
}

/*
 * A loop that numbers its ranges would make every step a phase of its own: very many that differ
 * only in numbers are one.
 */
static uint32_t *take_phases(struct gt_catalog *c, const struct gt_definitions *d)
{
	uint32_t *phases = gt_alloc((d->phase_count + 1) * sizeof *phases);
	struct alike alike = find_alike(d);

	for (size_t i = 0; i < d->phase_count; i++) {
		char *name = range_text(&d->phases[i]);

		if (alike.counts[alike.of[i + 1]] > ALIKE_MOST)
			fold_numbers(name);
		phases[i + 1] = phase_number(c, phases[d->phases[i].parent], name);
		free(name);
	}
	free(alike.of);
	free(alike.counts);
	return phases;
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
	/* after the stacks, whose frames then mostly have the numbers that the trace gave them */
	map->phases = take_phases(c, d);
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
	free(map->phases);
	*map = (struct gt_catalog_map){ 0 };
}

static uint32_t number_part(struct gt_catalog *c, const struct part_key *key)
{
	uint32_t index = gt_intern(c->part_ids, key, sizeof *key);

	if (index == c->part_count) {
		uint32_t number = (uint32_t)c->stack_count;

		GT_GROW(c->stacks, c->stack_count, c->stack_room);
		c->stacks[c->stack_count++] = c->stacks[key->stack];
		GT_GROW(c->parts, c->part_count, c->part_room);
		c->parts[c->part_count++] = number;
		GT_REACH(c->part_of, c->part_of_size, number);
		c->part_of[number] = index + 1;
	}
	return c->parts[index];
}

uint32_t gt_catalog_part(struct gt_catalog *c, uint32_t stack, const struct gt_stack_part *part)
{
	return number_part(c, &(struct part_key){ .stack = stack, .part = *part });
}

uint32_t gt_catalog_phase_stack(struct gt_catalog *c, uint32_t stack, uint32_t phase)
{
	return number_part(c, &(struct part_key){ .stack = stack, .ranges = phase });
}
