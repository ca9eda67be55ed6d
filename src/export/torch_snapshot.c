/* SPDX-License-Identifier: MIT */
/* torch_snapshot.c - a recording as PyTorch's memory snapshot, for its memory_viz. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "export/export.h"
#include "export/pickle_writer.h"
#include "export/pool_history.h"

/* PyTorch rounds blocks up to multiples of this. */
enum { BLOCK_UNIT = 512, LARGE = 1 << 20 };

struct snapshot {
	struct gt_pickle_writer pickle;
	struct gt_pool_history history;
	struct gt_frames *frames;
	uint32_t *stacks; /* by stack: number of its list + 1; 0: not written */
	size_t stack_room;
	struct gt_intern *frame_texts; /* frames that have been written … */
	uint32_t *frame_numbers;       /* … their numbers */
	size_t frame_room;
	uint64_t start_ns, start_us;
	bool is_old; /* blocks have a history, as in PyTorch 1.13 */
};

/* Frames and stacks, each once. */

/* A frame as PyTorch has it. `module`: not one of its keys, for `gputrack import`; "": unknown. */
struct torch_frame {
	const char *name, *file, *module;
	char offset[32];
};

static void name_frame(struct torch_frame *f, const struct gt_frame *frame)
{
	bool has_module = frame->module && *frame->module != '[';

	f->module = has_module ? frame->module : "";
	/* viewers show no modules: the file is where one can be seen */
	f->file = frame->file ? frame->file : has_module ? frame->module : "??";
	snprintf(f->offset, sizeof f->offset, "0x%" PRIx64, frame->offset);
	f->name = frame->function ? frame->function : f->offset;
}

/* The number of equal frames; *is_new: there was none. */
static uint32_t intern_frame(struct snapshot *s, const struct torch_frame *f, uint32_t line,
			     bool *is_new)
{
	size_t size, known = gt_intern_count(s->frame_texts);
	char *key = NULL;
	FILE *out = gt_memstream(&key, &size);
	uint32_t number;

	fprintf(out, "%s%c%s%c%u%c%s", f->name, 0, f->file, 0, line, 0, f->module);
	gt_memstream_close(out);
	number = gt_intern(s->frame_texts, key, size);
	free(key);
	*is_new = number == known;
	return number;
}

static void put_frame(struct snapshot *s, const struct gt_frame *frame)
{
	struct gt_pickle_writer *w = &s->pickle;
	struct torch_frame f;
	uint32_t number;
	bool is_new;

	name_frame(&f, frame);
	number = intern_frame(s, &f, frame->line, &is_new);
	if (!is_new) {
		gt_pickle_put_again(w, NULL, s->frame_numbers[number]);
		return;
	}
	gt_pickle_put_dict(w, NULL);
	gt_pickle_put_text(w, "name", f.name);
	gt_pickle_put_text(w, "filename", f.file);
	gt_pickle_put_int(w, "line", frame->line);
	if (*f.module)
		gt_pickle_put_text(w, "module", f.module);
	gt_pickle_close(w);
	GT_REACH(s->frame_numbers, s->frame_room, number);
	s->frame_numbers[number] = gt_pickle_number(w);
}

static void put_stack(struct snapshot *s, uint32_t stack)
{
	const struct gt_frame *frames;
	size_t count;

	GT_REACH(s->stacks, s->stack_room, stack);
	if (s->stacks[stack]) {
		gt_pickle_put_again(&s->pickle, "frames", s->stacks[stack] - 1);
		return;
	}
	count = gt_frames_get(s->frames, stack, &frames);
	gt_pickle_put_list(&s->pickle, "frames");
	for (size_t i = 0; i < count; i++)
		put_frame(s, &frames[i]);
	gt_pickle_close(&s->pickle);
	s->stacks[stack] = gt_pickle_number(&s->pickle) + 1;
}

/* Segments, with blocks from their first to their last byte. */

struct block {
	uint64_t address, size, requested;
	uint32_t stack;
	bool is_used;
};

static void put_block(struct snapshot *s, const struct block *b)
{
	struct gt_pickle_writer *w = &s->pickle;

	gt_pickle_put_dict(w, NULL);
	gt_pickle_put_int(w, "address", (int64_t)b->address);
	gt_pickle_put_int(w, "size", (int64_t)b->size);
	gt_pickle_put_int(w, "requested_size", (int64_t)b->requested);
	gt_pickle_put_word(w, "state", b->is_used ? "active_allocated" : "inactive");
	put_stack(s, b->stack);
	if (s->is_old && b->is_used) {
		gt_pickle_put_list(w, "history");
		gt_pickle_put_dict(w, NULL);
		gt_pickle_put_int(w, "addr", (int64_t)b->address);
		gt_pickle_put_int(w, "real_size", (int64_t)b->requested);
		put_stack(s, b->stack);
		gt_pickle_close(w);
		gt_pickle_close(w);
	}
	gt_pickle_close(w);
}

static void put_gap(struct snapshot *s, uint64_t from, uint64_t to)
{
	if (to > from)
		put_block(s, &(struct block){ .address = from, .size = to - from });
}

/* A segment of the rest: it and the parts after it that belong to it. */
struct extent {
	const struct gt_pool_rest *first;
	size_t count; /* with the first */
	uint64_t end;
	uint64_t used;
	bool is_grown; /* of several segments without a gap */
};

/* Segments that a block bridges are one: parts of an expandable segment. */
static struct extent extent_at(const struct gt_pool_history *h, size_t at)
{
	const struct gt_pool_rest *rest = &h->rest[at];
	struct extent x = { .first = rest, .count = 1, .end = rest->address + rest->size };
	uint64_t blocks_end = 0;

	x.used = rest->role == GT_POOL_SEGMENT ? 0 : rest->size;
	for (size_t i = at + 1; rest->role == GT_POOL_SEGMENT && i < h->rest_count; i++) {
		const struct gt_pool_rest *next = &h->rest[i];
		bool bridges = next->role == GT_POOL_SEGMENT && next->address == x.end &&
			       blocks_end > x.end;

		if (next->device != rest->device || next->address > x.end ||
		    (next->role == GT_POOL_BLOCK ? next->address == x.end : !bridges))
			break;
		if (bridges) {
			x.end = next->address + next->size;
			x.is_grown = true;
		} else {
			x.used += next->size;
			blocks_end = next->address + next->size;
		}
		x.count++;
	}
	return x;
}

/* A block's own size reaches to the next unit, where nothing else is. */
static uint64_t rounded(uint64_t address, uint64_t size, uint64_t limit)
{
	uint64_t whole = (size + BLOCK_UNIT - 1) / BLOCK_UNIT * BLOCK_UNIT;

	return whole <= limit - address ? whole : limit - address;
}

static void put_blocks(struct snapshot *s, const struct extent *x)
{
	uint64_t at = x->first->address;

	for (size_t i = 0; i < x->count; i++) {
		const struct gt_pool_rest *b = &x->first[i];
		uint64_t limit = x->end;
		struct block block = { .address = b->address, .stack = b->stack, .is_used = true };

		if (b->role == GT_POOL_SEGMENT || b->address < at || b->address >= x->end)
			continue;
		for (size_t k = i + 1; k < x->count; k++)
			if (x->first[k].role == GT_POOL_BLOCK) {
				limit = x->first[k].address;
				break;
			}
		put_gap(s, at, b->address);
		block.size = limit > b->address ? rounded(b->address, b->size, limit) : b->size;
		block.requested = b->size < block.size ? b->size : block.size;
		if (block.size)
			put_block(s, &block);
		at = b->address + block.size;
	}
	put_gap(s, at, x->end);
}

static void put_segment(struct snapshot *s, const struct extent *x)
{
	struct gt_pickle_writer *w = &s->pickle;
	const struct gt_pool_rest *first = x->first;

	gt_pickle_put_dict(w, NULL);
	gt_pickle_put_int(w, "device", s->history.devices[first->device].number);
	gt_pickle_put_int(w, "address", (int64_t)first->address);
	gt_pickle_put_int(w, "total_size", (int64_t)(x->end - first->address));
	gt_pickle_put_int(w, "allocated_size", (int64_t)x->used);
	gt_pickle_put_int(w, "active_size", (int64_t)x->used);
	gt_pickle_put_int(w, "requested_size", (int64_t)x->used);
	gt_pickle_put_int(w, "stream", 0);
	gt_pickle_put_text(w, "segment_type", x->end - first->address > LARGE ? "large" : "small");
	gt_pickle_put_pair(w, "segment_pool_id", 0, 0);
	gt_pickle_put_bool(w, "is_expandable", x->is_grown);
	put_stack(s, first->stack);
	gt_pickle_put_list(w, "blocks");
	put_blocks(s, x);
	gt_pickle_close(w);
	gt_pickle_close(w);
}

static void put_segments(struct snapshot *s)
{
	for (size_t i = 0; i < s->history.rest_count && !ferror(s->pickle.sink.out);) {
		struct extent x = extent_at(&s->history, i);

		put_segment(s, &x);
		i += x.count;
	}
}

/* Histories. */

static void put_entry(struct snapshot *s, const char *action, const struct gt_pool_event *e,
		      uint32_t stack)
{
	struct gt_pickle_writer *w = &s->pickle;
	uint64_t ns = e->time_ns > s->start_ns ? e->time_ns - s->start_ns : 0;

	gt_pickle_put_dict(w, NULL);
	gt_pickle_put_word(w, "action", action);
	gt_pickle_put_int(w, e->type == GT_POOL_SHORTAGE ? "device_free" : "addr",
			  (int64_t)e->address);
	gt_pickle_put_int(w, "size", (int64_t)e->size);
	gt_pickle_put_int(w, "stream", 0);
	gt_pickle_put_int(w, "time_us", (int64_t)(s->start_us + ns / 1000));
	put_stack(s, stack);
	gt_pickle_close(w);
}

static void put_event(void *context, const struct gt_pool_event *e)
{
	struct snapshot *s = context;
	bool is_segment = e->role == GT_POOL_SEGMENT || e->role == GT_POOL_PLAIN;
	bool is_block = e->role != GT_POOL_SEGMENT;

	if (e->type == GT_POOL_SHORTAGE) {
		put_entry(s, "oom", e, e->stack);
		return;
	}
	if (e->type == GT_POOL_BORN && is_segment)
		put_entry(s, "segment_alloc", e, e->stack);
	if (e->type == GT_POOL_BORN && is_block)
		put_entry(s, "alloc", e, e->stack);
	/* who freed it is not known here */
	if (e->type == GT_POOL_ENDED && is_block) {
		put_entry(s, "free_requested", e, 0);
		put_entry(s, "free_completed", e, 0);
	}
	if (e->type == GT_POOL_ENDED && is_segment)
		put_entry(s, "segment_free", e, 0);
}

static void put_histories(struct snapshot *s)
{
	struct gt_pool_history *h = &s->history;
	uint32_t most = 0;

	for (size_t i = 0; i < h->device_count; i++)
		most = h->devices[i].number > most ? h->devices[i].number : most;
	for (uint32_t number = 0; number <= most; number++) {
		gt_pickle_put_list(&s->pickle, NULL);
		for (size_t i = 0; i < h->device_count; i++)
			if (h->devices[i].number == number)
				gt_pool_history_each(h, i, put_event, s);
		gt_pickle_close(&s->pickle);
	}
}

/* What a viewer may ask for. */
static void put_settings(struct gt_pickle_writer *w)
{
	gt_pickle_put_dict(w, "allocator_settings");
	gt_pickle_put_text(w, "PYTORCH_CUDA_ALLOC_CONF", "");
	gt_pickle_put_int(w, "max_split_size", -1);
	gt_pickle_put_real(w, "garbage_collection_threshold", 0);
	gt_pickle_put_bool(w, "expandable_segments", false);
	gt_pickle_close(w);
	gt_pickle_put_list(w, "external_annotations");
	gt_pickle_close(w);
}

/* For `gputrack import`: whose code is the user's own depends on these. */
static void put_program(struct snapshot *s)
{
	const struct gt_recording *r = s->history.export->recording;
	const char *folder = gt_recording_info(r, "directory");
	const struct gt_process *p;

	if (!gt_recording_process_count(r))
		return;
	p = gt_recording_process(r, 0);
	gt_pickle_put_dict(&s->pickle, "gputrack");
	gt_pickle_put_text(&s->pickle, "program", p->program);
	gt_pickle_put_text(&s->pickle, "command", p->command);
	gt_pickle_put_text(&s->pickle, "directory", *p->directory ? p->directory : folder);
	gt_pickle_close(&s->pickle);
}

static void init(struct snapshot *s, const struct gt_export *e)
{
	uint64_t real_ns = gt_recording_start_real_ns(e->recording);

	s->frames = e->frames;
	s->frame_texts = gt_intern_new();
	gt_pool_history_init(&s->history, e);
	s->start_ns = gt_recording_start_ns(e->recording);
	s->start_us = real_ns >= 1000 ? real_ns / 1000 : 1;
	gt_pickle_begin(&s->pickle, e->out);
}

static void fini(struct snapshot *s)
{
	gt_pickle_end(&s->pickle);
	gt_pool_history_fini(&s->history);
	gt_intern_free(s->frame_texts);
	free(s->frame_numbers);
	free(s->stacks);
}

void gt_export_torch_snapshot(const struct gt_export *e)
{
	struct snapshot s = { 0 };

	init(&s, e);
	gt_pickle_put_dict(&s.pickle, NULL);
	gt_pickle_put_list(&s.pickle, "segments");
	put_segments(&s);
	gt_pickle_close(&s.pickle);
	gt_pickle_put_list(&s.pickle, "device_traces");
	put_histories(&s);
	gt_pickle_close(&s.pickle);
	put_settings(&s.pickle);
	put_program(&s);
	gt_pickle_close(&s.pickle);
	fini(&s);
}

void gt_export_torch_segments(const struct gt_export *e)
{
	struct snapshot s = { .is_old = true };

	init(&s, e);
	gt_pickle_put_list(&s.pickle, NULL);
	put_segments(&s);
	gt_pickle_close(&s.pickle);
	fini(&s);
}
