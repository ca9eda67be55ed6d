/* SPDX-License-Identifier: MIT */
/* snapshot.c - reads a memory snapshot of PyTorch into a trace: what its dictionaries mean. */
#include "capture/snapshot/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "capture/snapshot/pickle.h"
#include "capture/snapshot/snapshot_trace.h"

/* The texts that mean something. A dictionary is known by its keys, wherever it is. */
#define KEYS(K)                                                                                    \
	K(ACTION, "action")                                                                        \
	K(ADDR, "addr")                                                                            \
	K(SIZE, "size")                                                                            \
	K(TIME_US, "time_us")                                                                      \
	K(FRAMES, "frames")                                                                        \
	K(ADDRESS, "address")                                                                      \
	K(TOTAL_SIZE, "total_size")                                                                \
	K(DEVICE, "device")                                                                        \
	K(BLOCKS, "blocks")                                                                        \
	K(STATE, "state")                                                                          \
	K(REQUESTED_SIZE, "requested_size")                                                        \
	K(HISTORY, "history")                                                                      \
	K(REAL_SIZE, "real_size")                                                                  \
	K(FILENAME, "filename")                                                                    \
	K(LINE, "line")                                                                            \
	K(NAME, "name")                                                                            \
	K(SEGMENTS, "segments")                                                                    \
	K(DEVICE_TRACES, "device_traces")                                                          \
	K(ALLOCATED, "active_allocated")                                                           \
	K(MODULE, "module")                                                                        \
	K(PROGRAM, "program")                                                                      \
	K(COMMAND, "command")                                                                      \
	K(DIRECTORY, "directory")

enum key {
#define K(id, text) KEY_##id,
	KEYS(K)
#undef K
		KEY_ACTIONS, /* enum gt_snapshot_action follows */
};

static const char *const known[] = {
#define K(id, text) text,
	KEYS(K)
#undef K
		[KEY_ACTIONS + GT_ACTION_ALLOC] = "alloc",
	[KEY_ACTIONS + GT_ACTION_FREE_REQUESTED] = "free_requested",
	[KEY_ACTIONS + GT_ACTION_FREE_COMPLETED] = "free_completed",
	[KEY_ACTIONS + GT_ACTION_SEGMENT_ALLOC] = "segment_alloc",
	[KEY_ACTIONS + GT_ACTION_SEGMENT_FREE] = "segment_free",
	[KEY_ACTIONS + GT_ACTION_SEGMENT_MAP] = "segment_map",
	[KEY_ACTIONS + GT_ACTION_SEGMENT_UNMAP] = "segment_unmap",
	[KEY_ACTIONS + GT_ACTION_OOM] = "oom",
	[KEY_ACTIONS + GT_ACTION_SNAPSHOT] = "snapshot",
	[KEY_ACTIONS + GT_ACTION_COUNT] = NULL,
};

_Static_assert((int)KEY_ACTIONS <= (int)GT_PICKLE_KEYS, "a dictionary has no room for these keys");

/* What stands for a dictionary or a list that was read. */
enum made {
	MADE_FRAME, /* shared: many stacks have it */
	MADE_STACK, /* shared; number: of the stack, 0: an empty list */
	MADE_ENTRY = GT_MADE_SHARED,
	MADE_ENTRIES, /* number: of the history */
	MADE_TRACES,
	MADE_BLOCK,
	MADE_BLOCKS,     /* number: of the first, extra: how many */
	MADE_ALLOCATION, /* of an old block's history. number: bytes, extra: stack */
	MADE_SEGMENT,
	MADE_SEGMENTS,
	MADE_SNAPSHOT,
};

/* Kinds of lists: 1 + what their elements are. */
enum { LIST_EMPTY, LIST_OTHER = 100 };

struct block {
	uint64_t address, size, requested;
	uint32_t stack;
	bool is_allocated;
};

struct segment {
	struct gt_snapshot_segment s;
	size_t first_block, block_count;
};

struct reading {
	struct gt_snapshot_import *import;
	struct gt_snapshot_trace *trace;
	struct gt_writer *writer;
	struct block *blocks; /* of a segment whose end is not read yet: all; of others: in use */
	size_t block_count, block_room;
	struct segment *segments;
	size_t segment_count, segment_room;
	uint64_t trace_lists; /* lists of histories: a snapshot has one */
	bool has_state;
};

static bool has(const struct gt_dict *d, enum key key)
{
	return d->present >> key & 1;
}

/* A number that cannot be negative; 0 if it is something else. */
static uint64_t number_of(const struct gt_dict *d, enum key key)
{
	const struct gt_value *v = &d->values[key];

	return has(d, key) && v->type == GT_VALUE_NUMBER && v->number <= INT64_MAX ? v->number : 0;
}

static bool is_made(const struct gt_value *v, enum made kind)
{
	return v->type == GT_VALUE_MADE && v->kind == kind;
}

static uint32_t stack_of(const struct gt_dict *d)
{
	const struct gt_value *v = &d->values[KEY_FRAMES];

	return has(d, KEY_FRAMES) && is_made(v, MADE_STACK) ? (uint32_t)v->number : 0;
}

static const char *text_of(struct gt_pickle *p, const struct gt_dict *d, enum key key)
{
	const struct gt_value *v = &d->values[key];

	return has(d, key) && v->type == GT_VALUE_TEXT ? gt_pickle_text(p, v->number) : "";
}

static bool ends_in(const char *text, const char *end)
{
	size_t size = strlen(text), tail = strlen(end);

	return size >= tail && !strcmp(text + size - tail, end);
}

/* "<string>", "<frozen runpy>", a notebook's cell: Python's, without a file. */
static bool is_python(const char *file)
{
	return ends_in(file, ".py") || *file == '<';
}

static int make_frame(struct gt_pickle *p, const struct gt_dict *d, struct gt_value *made)
{
	struct reading *r = gt_pickle_context(p);
	const char *file = text_of(p, d, KEY_FILENAME), *module = text_of(p, d, KEY_MODULE);
	struct gt_text_frame frame = { .function = text_of(p, d, KEY_NAME),
				       .module = *module         ? module :
						 is_python(file) ? GT_PYTHON :
								   "[unknown]" };
	uint64_t line = number_of(d, KEY_LINE), number;

	/* what native frames without debug information have, and profiles, and our own exports */
	if (strcmp(file, "??") && strcmp(file, "none") && strcmp(file, module)) {
		frame.file = file;
		frame.line = line <= UINT32_MAX ? (uint32_t)line : 0;
	}
	/* our own exports have nothing else for a function without a name */
	if (*module && gt_text_begins(frame.function, "0x"))
		frame.function = NULL;
	number = gt_writer_text_frame(r->writer, &frame);
	*made = (struct gt_value){ .type = GT_VALUE_MADE,
				   .kind = MADE_FRAME,
				   .number = number ? number - GT_TEXT_FRAMES : 0 };
	return 0;
}

static int read_entry(struct gt_pickle *p, const struct gt_dict *d, struct gt_list *list)
{
	struct reading *r = gt_pickle_context(p);
	const struct gt_value *action = &d->values[KEY_ACTION];
	struct gt_snapshot_entry entry = { .action = GT_ACTION_COUNT,
					   .address = number_of(d, KEY_ADDR),
					   .size = number_of(d, KEY_SIZE),
					   .time_us = number_of(d, KEY_TIME_US),
					   .stack = stack_of(d) };

	if (!list)
		return gt_pickle_refuse(p, "an entry of a history outside of one");
	if (list->kind == LIST_EMPTY && !list->count) {
		int number = gt_snapshot_trace_history(r->trace);

		if (number < 0)
			return gt_pickle_refuse(p, "too many devices: this is no memory snapshot");
		list->number = (uint64_t)number;
	} else if (list->kind != 1 + MADE_ENTRY) {
		return gt_pickle_refuse(p, "a history with something else in it");
	}
	if (action->type == GT_VALUE_TEXT && action->number >= KEY_ACTIONS &&
	    action->number < KEY_ACTIONS + GT_ACTION_COUNT)
		entry.action = (enum gt_snapshot_action)(action->number - KEY_ACTIONS);
	gt_snapshot_trace_entry(r->trace, (uint32_t)list->number, &entry);
	return 0;
}

static int read_block(struct gt_pickle *p, const struct gt_dict *d, const struct gt_list *list,
		      struct gt_value *made)
{
	struct reading *r = gt_pickle_context(p);
	const struct gt_value *state = &d->values[KEY_STATE], *history = &d->values[KEY_HISTORY];
	struct block block = { .address = number_of(d, KEY_ADDRESS),
			       .size = number_of(d, KEY_SIZE),
			       .requested = number_of(d, KEY_REQUESTED_SIZE),
			       .stack = stack_of(d) };

	if (!list)
		return gt_pickle_refuse(p, "a block outside of a segment");
	block.is_allocated = state->type == GT_VALUE_TEXT && state->number == KEY_ALLOCATED;
	if (has(d, KEY_HISTORY) && is_made(history, MADE_ALLOCATION)) {
		block.requested = history->number;
		block.stack = history->extra;
	}
	if (!block.requested)
		block.requested = block.size;
	made->number = r->block_count;
	GT_GROW(r->blocks, r->block_count, r->block_room);
	r->blocks[r->block_count++] = block;
	return 0;
}

/* Older versions give blocks no addresses: they follow each other. Only those in use are kept. */
static void settle_blocks(struct reading *r, struct segment *s)
{
	uint64_t at = s->s.address;
	size_t kept = s->first_block;

	for (size_t i = s->first_block; i < s->first_block + s->block_count; i++) {
		struct block *block = &r->blocks[i];

		if (!block->address)
			block->address = at;
		at = block->address + block->size;
		if (block->is_allocated)
			r->blocks[kept++] = *block;
	}
	s->block_count = kept - s->first_block;
	r->block_count = kept;
}

static int read_segment(struct gt_pickle *p, const struct gt_dict *d)
{
	struct reading *r = gt_pickle_context(p);
	const struct gt_value *blocks = &d->values[KEY_BLOCKS];
	uint64_t device = number_of(d, KEY_DEVICE);
	struct segment s = { .s = { .address = number_of(d, KEY_ADDRESS),
				    .size = number_of(d, KEY_TOTAL_SIZE),
				    .stack = stack_of(d),
				    .device = device < UINT16_MAX ? (uint32_t)device : UINT16_MAX },
			     .first_block = r->block_count };

	if (is_made(blocks, MADE_BLOCKS)) {
		s.first_block = blocks->number;
		s.block_count = blocks->extra;
		if (s.first_block + s.block_count != r->block_count)
			return gt_pickle_refuse(p, "the blocks of a segment are those of another");
		settle_blocks(r, &s);
	}
	GT_GROW(r->segments, r->segment_count, r->segment_room);
	r->segments[r->segment_count++] = s;
	return 0;
}

/* What `gputrack export` adds, so that the same code is the user's own again. */
static void read_program(struct gt_pickle *p, const struct gt_dict *d)
{
	struct reading *r = gt_pickle_context(p);

	for (int key = KEY_PROGRAM; key <= KEY_DIRECTORY; key++) {
		const char *text = text_of(p, d, (enum key)key);

		gt_writer_info(r->writer, known[key], text, strlen(text));
	}
}

static bool is_list_of(const struct gt_dict *d, enum key key, enum made kind)
{
	return has(d, key) && is_made(&d->values[key], kind);
}

static bool is_empty(const struct gt_dict *d, enum key key)
{
	const struct gt_value *v = &d->values[key];

	return !has(d, key) || v->type == GT_VALUE_NONE || (is_made(v, MADE_STACK) && !v->number);
}

static int read_snapshot(struct gt_pickle *p, const struct gt_dict *d)
{
	struct reading *r = gt_pickle_context(p);

	if (!is_list_of(d, KEY_SEGMENTS, MADE_SEGMENTS) && !is_empty(d, KEY_SEGMENTS))
		return gt_pickle_refuse(p, "\"segments\" is no list of segments");
	if (!is_list_of(d, KEY_DEVICE_TRACES, MADE_TRACES) && !is_empty(d, KEY_DEVICE_TRACES))
		return gt_pickle_refuse(p, "\"device_traces\" is no list of histories");
	r->has_state = has(d, KEY_SEGMENTS);
	return 0;
}

/* The rules of pickle.h. */

static int dict_rule(struct gt_pickle *p, const struct gt_dict *d, struct gt_list *list,
		     struct gt_value *made)
{
	made->type = GT_VALUE_MADE;
	if (has(d, KEY_ACTION)) {
		made->kind = MADE_ENTRY;
		return read_entry(p, d, list);
	}
	if (has(d, KEY_FILENAME) && has(d, KEY_NAME))
		return make_frame(p, d, made);
	if (has(d, KEY_STATE) && has(d, KEY_SIZE)) {
		made->kind = MADE_BLOCK;
		return read_block(p, d, list, made);
	}
	if (has(d, KEY_BLOCKS) && has(d, KEY_TOTAL_SIZE)) {
		made->kind = MADE_SEGMENT;
		return read_segment(p, d);
	}
	if (has(d, KEY_REAL_SIZE)) {
		made->kind = MADE_ALLOCATION;
		made->number = number_of(d, KEY_REAL_SIZE);
		made->extra = stack_of(d);
		return 0;
	}
	if (has(d, KEY_SEGMENTS) || has(d, KEY_DEVICE_TRACES)) {
		made->kind = MADE_SNAPSHOT;
		return read_snapshot(p, d);
	}
	made->type = GT_VALUE_OTHER;
	if (has(d, KEY_PROGRAM))
		read_program(p, d);
	return 0;
}

/* The first element says what a list is of. */
static uint32_t list_kind(const struct gt_value *element)
{
	if (element->type != GT_VALUE_MADE)
		return LIST_OTHER;
	/* an empty list may be a history, too */
	return element->kind == MADE_STACK ? 1 + MADE_ENTRIES : 1 + (uint32_t)element->kind;
}

static int append_rule(struct gt_pickle *p, struct gt_list *list, const struct gt_value *element)
{
	struct reading *r = gt_pickle_context(p);
	uint32_t kind = list_kind(element);

	if (list->kind == LIST_EMPTY) {
		list->kind = kind;
		if (kind == 1 + MADE_BLOCK || kind == 1 + MADE_ALLOCATION) {
			list->number = element->number;
			list->extra = element->extra;
		}
	} else if (list->kind != kind) {
		return gt_pickle_refuse(p,
					"a list of different things: this is no memory snapshot");
	}
	if (kind == 1 + MADE_FRAME && list->item_count < GT_LIST_ITEMS && element->number)
		list->items[list->item_count++] = GT_TEXT_FRAMES + element->number;
	if (kind == 1 + MADE_BLOCK && list->number + list->count != element->number)
		return gt_pickle_refuse(p, "the blocks of a segment are those of another");
	if (is_made(element, MADE_ENTRIES)) {
		gt_snapshot_trace_set_device(r->trace, (uint32_t)element->number, list->count);
		list->extra = 1; /* it is one of "device_traces" */
	}
	return 0;
}

static int list_rule(struct gt_pickle *p, const struct gt_list *list, struct gt_value *made)
{
	struct reading *r = gt_pickle_context(p);

	made->type = GT_VALUE_MADE;
	made->number = list->number;
	switch (list->kind) {
	case LIST_EMPTY: made->kind = MADE_STACK; break;
	case 1 + MADE_FRAME:
		made->kind = MADE_STACK;
		made->number = gt_writer_stack(r->writer, list->items, list->item_count);
		break;
	case 1 + MADE_ENTRY: made->kind = MADE_ENTRIES; break;
	case 1 + MADE_ENTRIES:
		made->kind = MADE_TRACES;
		r->trace_lists += list->extra;
		break;
	case 1 + MADE_BLOCK:
		made->kind = MADE_BLOCKS;
		made->extra = list->count;
		break;
	case 1 + MADE_ALLOCATION:
		made->kind = MADE_ALLOCATION;
		made->extra = (uint32_t)list->extra;
		break;
	case 1 + MADE_SEGMENT: made->kind = MADE_SEGMENTS; break;
	default: made->type = GT_VALUE_OTHER;
	}
	return 0;
}

static const struct gt_pickle_rules rules = { dict_rule, append_rule, list_rule };

/* The whole. */

static int check_whole(struct reading *r, const struct gt_value *whole, struct gt_error *error)
{
	const char *file = r->import->file;

	if (is_made(whole, MADE_SEGMENTS)) /* as torch.cuda.memory_snapshot() has it */
		r->has_state = true;
	else if (!is_made(whole, MADE_SNAPSHOT) && !is_made(whole, MADE_STACK))
		return gt_error_set(error, -EINVAL,
				    "cannot import %s: it is a pickle, but no memory snapshot of "
				    "PyTorch: it has neither segments nor device_traces",
				    file);
	if (!gt_snapshot_trace_has_devices(r->trace) || r->trace_lists > 1)
		return gt_error_set(error, -EINVAL,
				    "cannot import %s: entries of a history are not in "
				    "\"device_traces\"",
				    file);
	if (!r->segment_count && !r->import->has_history)
		return gt_error_set(error, -ENODATA,
				    "%s: no memory recorded: PyTorch had no GPU memory; if it had, "
				    "call torch.cuda.memory._record_memory_history() before the "
				    "part to look at",
				    file);
	return 0;
}

static void write_state(struct reading *r)
{
	for (size_t i = 0; i < r->segment_count; i++)
		gt_snapshot_trace_segment(r->trace, &r->segments[i].s);
	for (size_t i = 0; i < r->segment_count; i++) {
		const struct segment *s = &r->segments[i];

		for (size_t k = s->first_block; k < s->first_block + s->block_count; k++)
			gt_snapshot_trace_block(r->trace, &(struct gt_snapshot_segment){
								  .address = r->blocks[k].address,
								  .size = r->blocks[k].requested,
								  .stack = r->blocks[k].stack,
								  .device = s->s.device });
	}
}

bool gt_snapshot_is(const char *file)
{
	static const char *const ends[] = { ".pickle", ".pkl", ".pickle.gz", ".pkl.gz" };
	unsigned char start[2] = { 0 };
	int fd;
	ssize_t n;

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (ends_in(file, ends[i]))
			return true;
	/* a pipe without a writer must not keep us waiting */
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	n = fd < 0 ? 0 : read(fd, start, sizeof start);
	if (fd >= 0)
		close(fd);
	return n == sizeof start && (start[0] == 0x80 || (start[0] == 0x1f && start[1] == 0x8b));
}

int gt_snapshot_run(struct gt_snapshot_import *import, struct gt_error *error)
{
	struct reading r = { .import = import };
	struct gt_pickle_options options = { .path = import->file,
					     .known = known,
					     .rules = &rules,
					     .context = &r,
					     .stop = import->stop };
	struct gt_value whole;
	int e = gt_snapshot_trace_open(&r.trace, import, error);

	if (e)
		return e;
	r.writer = gt_snapshot_trace_writer(r.trace);
	e = gt_pickle_read(&options, &whole, error);
	if (!e)
		e = check_whole(&r, &whole, error);
	if (!e) {
		write_state(&r);
		e = gt_snapshot_trace_end(r.trace, r.has_state, error);
	}
	gt_snapshot_trace_free(r.trace);
	free(r.blocks);
	free(r.segments);
	return e;
}
