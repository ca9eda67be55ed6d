/* SPDX-License-Identifier: MIT */
/* definitions.c - decodes lane 0 of a trace: modules, stacks, names. */
#include "trace/reader.h"

#include <stdlib.h>

#include "base/mem.h"

/* A copy that lives as long as the definitions; NULL when it is incomplete. */
static const char *get_text(struct gt_definitions *d, struct gt_bytes *b, size_t *size)
{
	const uint8_t *text = gt_get_blob(b, size);

	return text ? memcpy(gt_arena_alloc(&d->strings, *size + 1), text, *size) : NULL;
}

static bool text_equals(const uint8_t *text, size_t size, const char *word)
{
	return text && size == strlen(word) && !memcmp(text, word, size);
}

static bool add_info(struct gt_definitions *d, struct gt_bytes *b)
{
	struct gt_trace_text text = { 0 };
	size_t size;

	text.key = get_text(d, b, &size);
	text.value = get_text(d, b, &text.size);
	if (b->bad)
		return false;
	GT_GROW(d->texts, d->text_count, d->text_room);
	d->texts[d->text_count++] = text;
	return true;
}

static bool add_module(struct gt_definitions *d, struct gt_bytes *b)
{
	struct gt_trace_module m = { 0 };
	uint64_t number = gt_get_varint(b);
	const uint8_t *id;
	size_t size;

	m.start = gt_get_varint(b);
	m.size = gt_get_varint(b);
	m.bias = gt_get_varint(b);
	m.path = get_text(d, b, &size);
	id = gt_get_blob(b, &m.build_id_size);
	m.file_size = gt_get_varint(b);
	m.mtime_ns = gt_unzigzag(gt_get_varint(b));
	if (b->bad || number != d->module_count || m.build_id_size > sizeof m.build_id)
		return false;
	if (m.build_id_size)
		memcpy(m.build_id, id, m.build_id_size);
	gt_ranges_put(&d->mapped, m.start, m.size, (uint32_t)number);
	GT_GROW(d->modules, d->module_count, d->module_room);
	d->modules[d->module_count++] = m;
	return true;
}

static bool unload(struct gt_definitions *d, struct gt_bytes *b)
{
	uint64_t number = gt_get_varint(b);

	if (b->bad || number >= d->module_count)
		return false;
	d->modules[number].unloaded = true;
	return true;
}

static enum gt_api get_api(struct gt_bytes *b)
{
	size_t size;
	const uint8_t *text = gt_get_blob(b, &size);
	int api = 0;

	while (api < GT_API_COUNT && !text_equals(text, size, gt_api_keys[api]))
		api++;
	return (enum gt_api)api;
}

/* Our row for a function of the trace: one with the same name and the same meaning. */
static uint16_t find_row(enum gt_api api, uint8_t effect, const uint8_t *kind, size_t kind_size,
			 const uint8_t *name, size_t name_size)
{
	for (uint16_t row = 1; row < GT_FN_COUNT; row++)
		if (gt_functions[row].api == api && gt_functions[row].effect == effect &&
		    text_equals(kind, kind_size, gt_kinds[gt_functions[row].kind].name) &&
		    text_equals(name, name_size, gt_function_names[row]))
			return row;
	return GT_FN_NONE;
}

static bool add_function(struct gt_definitions *d, struct gt_bytes *b)
{
	uint64_t number = gt_get_varint(b);
	uint64_t effect = gt_get_varint(b);
	enum gt_api api = get_api(b);
	size_t kind_size, name_size;
	const uint8_t *kind = gt_get_blob(b, &kind_size), *name = gt_get_blob(b, &name_size);

	/* numbers count from 1 */
	if (b->bad || number != d->function_count + 1 || effect >= GT_EFFECT_COUNT)
		return false;
	if (d->function_count == d->function_room) {
		d->function_room = d->function_room ? d->function_room * 2 : 64;
		d->functions = gt_realloc(d->functions, d->function_room * sizeof *d->functions);
		d->effects = gt_realloc(d->effects, d->function_room * sizeof *d->effects);
	}
	d->functions[d->function_count] =
		find_row(api, (uint8_t)effect, kind, kind_size, name, name_size);
	d->effects[d->function_count++] = (uint8_t)effect;
	return true;
}

static bool add_place(struct gt_definitions *d, struct gt_bytes *b)
{
	struct gt_trace_place place = { 0 };
	uint64_t number = gt_get_varint(b);
	size_t size;

	place.api = get_api(b);
	place.name = get_text(d, b, &size);
	if (b->bad || number > UINT16_MAX)
		return false;
	place.number = (uint16_t)number;
	GT_GROW(d->places, d->place_count, d->place_room);
	d->places[d->place_count++] = place;
	return true;
}

/* For definitions numbered from 1: true when this is the next one. */
static bool is_next(struct gt_bytes *b, size_t count)
{
	return gt_get_varint(b) == count + 1 && !b->bad;
}

static bool add_text_frame(struct gt_definitions *d, struct gt_bytes *b)
{
	struct gt_text_frame frame = { 0 };
	uint64_t line;
	size_t size;

	if (!is_next(b, d->text_frame_count))
		return false;
	frame.function = get_text(d, b, &size);
	frame.file = get_text(d, b, &size);
	line = gt_get_varint(b);
	frame.line = line > UINT32_MAX ? 0 : (uint32_t)line;
	frame.module = get_text(d, b, &size);
	if (b->bad)
		return false;
	GT_GROW(d->text_frames, d->text_frame_count, d->text_frame_room);
	d->text_frames[d->text_frame_count++] = frame;
	return true;
}

static bool add_series(struct gt_definitions *d, struct gt_bytes *b)
{
	struct gt_series series = { 0 };
	size_t size;

	if (!is_next(b, d->series_count))
		return false;
	series.name = get_text(d, b, &size);
	series.unit = get_text(d, b, &size);
	series.subject = get_text(d, b, &size);
	if (b->bad)
		return false;
	GT_GROW(d->series, d->series_count, d->series_room);
	d->series[d->series_count++] = series;
	return true;
}

static bool add_phase(struct gt_definitions *d, struct gt_bytes *b)
{
	struct gt_trace_phase phase = { 0 };
	uint64_t parent;
	size_t size;

	if (!is_next(b, d->phase_count))
		return false;
	parent = gt_get_varint(b);
	phase.name = get_text(d, b, &size);
	phase.domain = get_text(d, b, &size);
	phase.category = get_text(d, b, &size);
	if (b->bad || parent > d->phase_count)
		return false;
	phase.parent = (uint32_t)parent;
	GT_GROW(d->phases, d->phase_count, d->phase_room);
	d->phases[d->phase_count++] = phase;
	return true;
}

uint32_t gt_trace_frame_intern(struct gt_intern *frames, const struct gt_trace_frame *frame)
{
	struct gt_trace_frame key;

	/* the padding is part of its bytes */
	memset(&key, 0, sizeof key);
	key.module = frame->module;
	key.address = frame->address;
	return gt_intern(frames, &key, sizeof key);
}

/* An address belongs to the module last mapped there, until that is unloaded. */
static struct gt_trace_frame place_frame(const struct gt_definitions *d, uint64_t address)
{
	uint32_t module;

	if (address - GT_TEXT_FRAMES - 1 < d->text_frame_count)
		return (struct gt_trace_frame){ GT_TEXT_MODULE, address - GT_TEXT_FRAMES };
	if (gt_ranges_find(&d->mapped, address, &module) && !d->modules[module].unloaded)
		return (struct gt_trace_frame){ module, address - d->modules[module].bias };
	return (struct gt_trace_frame){ GT_NO_MODULE, address };
}

/* How many of the outermost frames the latest stack has, too. */
static size_t in_common(const struct gt_latest_stack *latest, const uint64_t *frames, size_t count)
{
	size_t same = 0;

	while (same < count && same < latest->count &&
	       frames[count - 1 - same] == latest->frames[latest->count - 1 - same])
		same++;
	return same;
}

/* Stacks that follow each other mostly have the same callers: these are not looked up again. */
static bool add_stack(struct gt_definitions *d, struct gt_bytes *b)
{
	struct gt_latest_stack *latest = &d->latest;
	uint64_t address = 0, frames[GT_STACK_FRAMES_MAX];
	uint32_t node = 0;
	size_t count = 0, same;

	if (!d->frames)
		d->frames = gt_intern_new();
	while (gt_bytes_left(b)) {
		address = gt_advance(address, gt_get_varint(b));
		if (b->bad || count == GT_STACK_FRAMES_MAX)
			return false;
		frames[count++] = address;
	}
	same = in_common(latest, frames, count);
	if (same)
		node = latest->nodes[same - 1];
	for (size_t i = same; i < count; i++) {
		struct gt_trace_frame frame = place_frame(d, frames[count - 1 - i]);

		node = gt_stack_tree_child(&d->tree, node,
					   gt_trace_frame_intern(d->frames, &frame));
		latest->nodes[i] = node;
	}
	latest->count = count;
	memcpy(latest->frames, frames, count * sizeof *frames);
	GT_GROW(d->stacks, d->stack_count, d->stack_room);
	d->stacks[d->stack_count++] = node;
	return true;
}

size_t gt_definitions_stack(const struct gt_definitions *d, uint32_t stack,
			    struct gt_trace_frame frames[GT_STACK_FRAMES_MAX])
{
	uint64_t numbers[GT_STACK_FRAMES_MAX];
	size_t size, count = gt_stack_tree_get(&d->tree, d->stacks[stack - 1], numbers,
					       GT_STACK_FRAMES_MAX);

	for (size_t i = 0; i < count; i++)
		memcpy(&frames[i], gt_intern_get(d->frames, (uint32_t)numbers[i], &size),
		       sizeof *frames);
	return count;
}

static bool add_name(struct gt_definitions *d, struct gt_bytes *b)
{
	struct gt_trace_name name = { .time_ns = gt_get_varint(b) };
	size_t size;

	name.handle = gt_get_varint(b);
	name.name = get_text(d, b, &size);
	if (!name.name)
		return false;
	GT_GROW(d->names, d->name_count, d->name_room);
	d->names[d->name_count++] = name;
	return true;
}

static bool add_work(struct gt_definitions *d, struct gt_bytes *b)
{
	struct gt_work work = { 0 };
	uint64_t kind;
	size_t size;

	if (!is_next(b, d->work_count))
		return false;
	kind = gt_get_varint(b);
	/* a kind that we do not know may touch anything */
	work.is_blind = (gt_get_varint(b) & 1) || kind >= GT_WORK_KIND_COUNT;
	work.kind = kind < GT_WORK_KIND_COUNT ? (enum gt_work_kind)kind : GT_WORK_GRAPH;
	work.function = get_text(d, b, &size);
	work.name = get_text(d, b, &size);
	if (b->bad)
		return false;
	GT_GROW(d->works, d->work_count, d->work_room);
	d->works[d->work_count++] = work;
	return true;
}

typedef bool add_fn(struct gt_definitions *d, struct gt_bytes *record);

/* clang-format off */
static add_fn *const adders[] = {
	[GT_DEF_INFO] = add_info,         [GT_DEF_MODULE] = add_module, [GT_DEF_UNLOAD] = unload,
	[GT_DEF_FUNCTION] = add_function, [GT_DEF_PLACE] = add_place,   [GT_DEF_STACK] = add_stack,
	[GT_DEF_TEXT_FRAME] = add_text_frame, [GT_DEF_SERIES] = add_series,
	[GT_DEF_NAME] = add_name,         [GT_DEF_PHASE] = add_phase,   [GT_DEF_WORK] = add_work,
};
/* clang-format on */

bool gt_definitions_add(struct gt_definitions *d, const uint8_t *records, size_t size)
{
	struct gt_bytes b = { .at = records, .end = records + size };

	while (gt_bytes_left(&b)) {
		uint64_t tag = gt_get_varint(&b);
		size_t length;
		const uint8_t *payload = gt_get_blob(&b, &length);
		struct gt_bytes record = { .at = payload };

		if (!payload || tag == GT_DEF_END)
			return false;
		record.end = payload + length;
		/* anything else may change what an address means */
		if (tag != GT_DEF_STACK)
			d->latest.count = 0;
		if (tag < sizeof adders / sizeof *adders && adders[tag] && !adders[tag](d, &record))
			return false;
	}
	return true;
}

void gt_definitions_forget_stacks(struct gt_definitions *d)
{
	gt_stack_tree_fini(&d->tree);
	gt_intern_free(d->frames);
	free(d->stacks);
	d->frames = NULL;
	d->stacks = NULL;
	d->latest.count = 0;
}

void gt_definitions_free(struct gt_definitions *d)
{
	gt_arena_fini(&d->strings);
	free(d->text_frames);
	free(d->series);
	free(d->phases);
	free(d->works);
	gt_ranges_fini(&d->mapped);
	free(d->modules);
	free(d->places);
	free(d->names);
	free(d->texts);
	gt_definitions_forget_stacks(d);
	free(d->functions);
	free(d->effects);
	*d = (struct gt_definitions){ 0 };
}

const struct gt_trace_text *gt_reader_text(struct gt_reader *r, const char *key)
{
	const struct gt_definitions *d = gt_reader_definitions(r);

	for (size_t i = 0; i < d->text_count; i++)
		if (!strcmp(d->texts[i].key, key))
			return &d->texts[i];
	return NULL;
}
