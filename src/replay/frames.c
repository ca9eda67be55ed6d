/* SPDX-License-Identifier: MIT */
/* frames.c - the recording's stacks as functions and lines, without the plumbing around them. */
#include "replay/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"
#include "base/return_probe.h"
#include "base/text.h"
#include "replay/jit_names.h"
#include "replay/process_text.h"

/* Inlined frames at one address that are worth remembering. */
enum { NAMES_MOST = 64 };

/*
 * A stack's frames, made when they are asked for. As many stacks are kept as most recordings have;
 * one of more makes those again that are asked for again: names and lines are kept by address.
 */
struct stack {
	uint32_t number; /* of the recording; 0: free */
	struct gt_frame *frames;
	size_t count, room;
	size_t cut;                   /* after so many recorded ones; 0: it is whole */
	char *part;                   /* of an added one: what it is a part of; NULL: it is whole */
	struct gt_frame_facts *facts; /* of added stacks, when they have been asked for */
};

/* The facts of a recorded frame, and of those that were inlined into it. */
struct judged {
	uint32_t first, count; /* in gt_frames.known; 0: not asked for yet */
};

struct module {
	int number;   /* the symbolizer's; < 0: none */
	bool asked;   /* `number` has been looked for */
	bool shown;   /* a reader sees a frame of it */
	bool named;   /* the recording's own names were used */
	bool unnamed; /* … and did not have all that was asked for */
};

struct gt_frames {
	const struct gt_recording *recording;
	struct gt_frames_options options;
	struct gt_symbolizer *symbolizer;
	struct gt_known_names *known_names;
	struct gt_legend *names; /* the recording's own; NULL: not to be used */
	struct gt_jit_names *jit;
	struct stack kept[GT_FRAMES_KEPT];
	size_t next;      /* of `kept`: the oldest */
	uint32_t *places; /* by the recording's number: its place in `kept`, if it is there */
	size_t place_count;
	struct stack *added; /* without a recording: by number */
	size_t added_count, added_room;
	struct module *modules; /* by the recording's number */
	size_t module_count;
	struct gt_own *own;          /* NULL: nobody has asked */
	struct gt_place_memo *memos; /* by stack */
	size_t memo_count;
	struct judged *judged; /* by the recording's number of a frame */
	size_t judged_count;
	struct gt_frame_facts *known;
	size_t known_count, known_room;
	struct gt_frame_facts *facts; /* of the latest stack that was asked for */
	size_t fact_room;
	struct gt_frame_facts *plumbing; /* of the stack that is being made */
	size_t plumbing_room;
};

static struct gt_legend *read_names(const struct gt_recording *r)
{
	struct gt_legend *names;
	char *path;

	if (asprintf(&path, "%s/legend", gt_recording_path(r)) < 0)
		return NULL;
	names = gt_legend_read(path);
	free(path);
	return names;
}

int gt_frames_new(struct gt_frames **out, const struct gt_recording *r,
		  const struct gt_frames_options *options)
{
	struct gt_frames *f = gt_alloc(sizeof *f);
	int e = options->no_symbols ? 0 : gt_symbolizer_new(&f->symbolizer, &options->symbol);

	f->recording = r;
	f->options = *options;
	if (e) {
		free(f);
		return e;
	}
	f->known_names = gt_known_names_new(&options->known);
	f->names = options->no_symbols ? NULL : read_names(r);
	f->jit = options->no_symbols || !options->jit_maps ? NULL : gt_jit_names_read(r);
	*out = f;
	return 0;
}

struct gt_frames *gt_frames_new_empty(const struct gt_frames_options *options)
{
	struct gt_frames *f = gt_alloc(sizeof *f);

	f->options = *options;
	f->own = gt_own_new(&f->options.own);
	return f;
}

void gt_frames_free(struct gt_frames *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->added_count; i++) {
		free(f->added[i].frames);
		free(f->added[i].part);
		free(f->added[i].facts);
	}
	free(f->added);
	for (size_t i = 0; i < GT_FRAMES_KEPT; i++)
		free(f->kept[i].frames);
	gt_known_names_free(f->known_names);
	gt_symbolizer_free(f->symbolizer);
	gt_legend_free(f->names);
	gt_own_free(f->own);
	free(f->memos);
	gt_jit_names_free(f->jit);
	free(f->judged);
	free(f->known);
	free(f->facts);
	free(f->plumbing);
	free(f->places);
	free(f->modules);
	free(f);
}

/* Modules are added to a recording while it is read. */
static void reach(struct gt_frames *f)
{
	size_t modules = gt_recording_module_count(f->recording);

	if (modules > f->module_count) {
		f->modules = gt_realloc(f->modules, modules * sizeof *f->modules);
		memset(f->modules + f->module_count, 0,
		       (modules - f->module_count) * sizeof *f->modules);
		f->module_count = modules;
	}
}

static int symbolizer_module(struct gt_frames *f, uint32_t number)
{
	const struct gt_recorded_module *m = gt_recording_module(f->recording, number);
	struct module *module = &f->modules[number];

	if (!module->asked && f->symbolizer)
		module->number = gt_symbolizer_module(
			f->symbolizer,
			&(struct gt_symbol_module){ .path = m->path,
						    .build_id = m->build_id,
						    .build_id_size = m->build_id_size,
						    .size_bytes = m->file_size,
						    .mtime_ns = m->mtime_ns });
	module->asked = true;
	return f->symbolizer ? module->number : -1;
}

/* Of a module that the symbolizer knows. */
static size_t find_names(struct gt_frames *f, uint32_t module, uint64_t offset,
			 const struct gt_frame **frames)
{
	return gt_known_names_resolve(f->known_names, f->symbolizer, f->modules[module].number,
				      gt_recording_module(f->recording, module), offset, frames);
}

static void add_frame(struct stack *s, const struct gt_frame *frame)
{
	GT_GROW(s->frames, s->count, s->room);
	s->frames[s->count++] = *frame;
}

static const char *known(const char *text)
{
	return *text ? text : NULL;
}

/* True when the module's file can name its addresses itself. */
static bool has_own_names(struct gt_frames *f, int module)
{
	enum gt_symbol_state state =
		module < 0 ? GT_SYMBOL_MISSING : gt_symbolizer_state(f->symbolizer, module);

	return state == GT_SYMBOL_FULL || state == GT_SYMBOL_NAMES;
}

/* As it was called when the recording was made; false when that is not known. */
static bool resolve_by_names(struct gt_frames *f, struct stack *s, uint32_t number,
			     const struct gt_frame *plain)
{
	const struct gt_recorded_module *m = gt_recording_module(f->recording, number);
	const struct gt_legend_name *list;
	size_t count = gt_legend_get(f->names, m->path, m->build_id, m->build_id_size,
				     plain->offset, &list);

	for (size_t i = 0; i < count; i++) {
		struct gt_frame frame = *plain;

		frame.function = list[i].function;
		frame.file = list[i].file;
		frame.line = list[i].line;
		frame.inlined = list[i].inlined;
		add_frame(s, &frame);
	}
	f->modules[number].named |= count > 0;
	f->modules[number].unnamed |= count == 0;
	return count > 0;
}

/* A recorded address is where a call returns to, maybe another line: the call is before it. */
static void resolve(struct gt_frames *f, struct stack *s, const struct gt_trace_frame *frame)
{
	struct gt_frame plain = { .offset = frame->address - 1 };
	const struct gt_frame *found;
	size_t count;
	int module;

	if (frame->module == GT_NO_MODULE) {
		if (gt_is_return_probe(frame->address))
			plain.function = "[caller hidden by another tool's return probe]";
		else
			gt_jit_names_set(f->jit, f->names, &plain);
		add_frame(s, &plain);
		return;
	}
	if (frame->module == GT_TEXT_MODULE) {
		const struct gt_text_frame *text =
			gt_recording_text_frame(f->recording, frame->address);

		plain = (struct gt_frame){ .function = known(text->function),
					   .line = text->line,
					   .file = known(text->file),
					   .module = known(text->module) };
		add_frame(s, &plain);
		return;
	}
	plain.module = gt_recording_module(f->recording, frame->module)->path;
	module = symbolizer_module(f, frame->module);
	if (f->names && !has_own_names(f, module) && resolve_by_names(f, s, frame->module, &plain))
		return;
	count = module < 0 ? 0 : find_names(f, frame->module, plain.offset, &found);
	if (!count)
		add_frame(s, &plain);
	for (size_t i = 0; i < count; i++) {
		struct gt_frame copy = found[i];

		/* the recording's path, which outlives us and is the same for equal modules */
		copy.module = plain.module;
		add_frame(s, &copy);
	}
}

/* Takes the plumbing away. */
static void fold(struct gt_frames *f, struct stack *s, bool keep_call)
{
	struct gt_fold fold;

	if (!s->count)
		return;
	for (size_t i = 0; i < s->count; i++) {
		GT_REACH(f->plumbing, f->plumbing_room, i);
		f->plumbing[i].flags = gt_frame_plumbing(&s->frames[i]);
	}
	fold = gt_frame_fold(f->plumbing, s->count, keep_call);
	s->frames[fold.first] = s->frames[fold.call];
	memmove(s->frames, s->frames + fold.first, (fold.end - fold.first) * sizeof *s->frames);
	s->count = fold.end - fold.first;
}

void gt_frames_shown(struct gt_frames *f, const struct gt_frame *frame)
{
	for (size_t i = 0; frame->module && i < f->module_count; i++)
		if (gt_recording_module(f->recording, (uint32_t)i)->path == frame->module)
			f->modules[i].shown = true;
}

/* An import's call has no other name. */
static bool keeps_call(const struct gt_frames *f)
{
	return *gt_recording_info(f->recording, "imported");
}

static struct gt_stack_start start_of(const struct gt_frames *f, uint32_t stack,
				      const uint32_t *numbers, size_t count)
{
	return f->options.all_frames ? (struct gt_stack_start){ .first = count } :
				       gt_stack_start(f->recording, stack, numbers, count);
}

static bool is_main(const struct gt_frame *frames, size_t count)
{
	return count && gt_frame_plumbing(&frames[count - 1]) & GT_FRAME_MAIN;
}

/* Makes the stack's frames in place of the oldest that are kept. */
static struct stack *make(struct gt_frames *f, uint32_t stack)
{
	struct stack *s = &f->kept[f->next];
	uint32_t numbers[GT_STACK_FRAMES_MAX];
	size_t i, count = gt_recording_stack_numbers(f->recording, stack, numbers);
	struct gt_stack_start start = start_of(f, stack, numbers, count);

	f->places[stack] = (uint32_t)f->next;
	f->next = (f->next + 1) % GT_FRAMES_KEPT;
	s->number = stack;
	s->count = s->cut = 0;
	for (i = 0; i < count; i++) {
		if (i == start.first && (start.is_thread || is_main(s->frames, s->count)))
			break;
		resolve(f, s, gt_recording_frame(f->recording, numbers[i]));
	}
	if (i && i == count && !(gt_frame_plumbing(&s->frames[s->count - 1]) & GT_FRAME_OUTER))
		s->cut = gt_recording_stack_cut(f->recording, stack);
	if (!f->options.all_frames)
		fold(f, s, keeps_call(f));
	return s;
}

/* NULL for none. */
static const struct stack *get(struct gt_frames *f, uint32_t stack)
{
	const struct stack *s;

	if (!f->recording)
		return stack && stack < f->added_count ? &f->added[stack] : NULL;
	reach(f);
	if (!stack || stack >= gt_recording_stack_count(f->recording))
		return NULL;
	GT_REACH(f->places, f->place_count, stack);
	s = &f->kept[f->places[stack]];
	return s->number == stack ? s : make(f, stack);
}

uint32_t gt_frames_add(struct gt_frames *f, const struct gt_frame *frames, size_t count)
{
	struct stack s = { 0 };

	/* number 0 is no stack */
	for (size_t more = f->added_count ? 1 : 2; more; more--) {
		GT_GROW(f->added, f->added_count, f->added_room);
		f->added[f->added_count++] = (struct stack){ 0 };
	}
	for (size_t i = 0; i < count; i++)
		add_frame(&s, &frames[i]);
	if (!f->options.all_frames)
		fold(f, &s, false);
	f->added[f->added_count - 1] = s;
	return (uint32_t)f->added_count - 1;
}

void gt_frames_name_part(struct gt_frames *f, uint32_t stack, const char *words)
{
	free(f->added[stack].part);
	f->added[stack].part = gt_strdup(words);
}

char *gt_frames_part(const struct gt_frames *f, uint32_t stack)
{
	struct gt_stack_part part;

	if (!f->recording)
		return stack < f->added_count && f->added[stack].part ?
			       gt_strdup(f->added[stack].part) :
			       NULL;
	if (!gt_recording_stack_part(f->recording, stack, &part))
		return NULL;
	return gt_part_text(f->recording, gt_by_part(f->options.by), &part, f->options.compares);
}

uint64_t gt_frames_part_key(const struct gt_frames *f, uint32_t stack)
{
	struct gt_stack_part part;
	uint64_t key;
	char *text;

	if (f->recording && !f->options.compares)
		return gt_recording_stack_part(f->recording, stack, &part) ?
			       gt_hash_bytes(&part, sizeof part) | 1 :
			       0;
	text = gt_frames_part(f, stack);
	key = text ? gt_hash_bytes(text, strlen(text)) | 1 : 0;
	free(text);
	return key;
}

uint32_t gt_frames_whole(const struct gt_frames *f, uint32_t stack)
{
	return f->recording ? gt_recording_stack_whole(f->recording, stack) : stack;
}

size_t gt_frames_get(struct gt_frames *f, uint32_t stack, const struct gt_frame **frames)
{
	const struct stack *s = get(f, stack);

	*frames = s ? s->frames : NULL;
	return s ? s->count : 0;
}

size_t gt_frames_cut(struct gt_frames *f, uint32_t stack)
{
	const struct stack *s = get(f, stack);

	return s && s->count ? s->cut : 0;
}

struct gt_own *gt_frames_own(struct gt_frames *f)
{
	if (!f->own)
		f->own = gt_own_of_recording(&f->options.own, f->recording);
	return f->own;
}

bool gt_frames_meet(struct gt_frames *f, uint32_t process)
{
	const struct gt_process *p = gt_recording_process(f->recording, process);

	if (!gt_own_add_program(gt_frames_own(f), p->program, p->directory))
		return false;
	free(f->judged);
	f->judged = NULL;
	f->judged_count = f->known_count = 0;
	for (size_t i = 0; i < f->added_count; i++) {
		free(f->added[i].facts);
		f->added[i].facts = NULL;
	}
	free(f->memos);
	f->memos = NULL;
	f->memo_count = 0;
	return true;
}

bool gt_frames_are_all(const struct gt_frames *f)
{
	return f->options.all_frames;
}

enum gt_by gt_frames_by(const struct gt_frames *f)
{
	return f->options.by;
}

struct gt_place_memo *gt_frames_memo(struct gt_frames *f, uint32_t stack)
{
	GT_REACH(f->memos, f->memo_count, stack);
	return &f->memos[stack];
}

/* Of a recorded frame: found once. */
static const struct judged *judge(struct gt_frames *f, uint32_t number)
{
	struct stack s = { 0 };

	GT_REACH(f->judged, f->judged_count, number);
	if (f->judged[number].count)
		return &f->judged[number];
	resolve(f, &s, gt_recording_frame(f->recording, number));
	f->judged[number] = (struct judged){ (uint32_t)f->known_count, (uint32_t)s.count };
	for (size_t i = 0; i < s.count; i++) {
		GT_GROW(f->known, f->known_count, f->known_room);
		f->known[f->known_count++] = gt_frame_facts_of(gt_frames_own(f), &s.frames[i]);
	}
	free(s.frames);
	return &f->judged[number];
}

static size_t added_facts(struct gt_frames *f, uint32_t stack, const struct gt_frame_facts **facts)
{
	struct stack *s = &f->added[stack];

	if (!s->facts) {
		s->facts = gt_alloc(s->count * sizeof *s->facts);
		for (size_t i = 0; i < s->count; i++)
			s->facts[i] = gt_frame_facts_of(gt_frames_own(f), &s->frames[i]);
	}
	*facts = s->facts;
	return s->count;
}

size_t gt_frames_facts(struct gt_frames *f, uint32_t stack, const struct gt_frame_facts **facts)
{
	uint32_t numbers[GT_STACK_FRAMES_MAX];
	size_t count, used = 0;
	struct gt_stack_start start;
	struct gt_fold fold;

	*facts = NULL;
	if (!f->recording)
		return stack && stack < f->added_count ? added_facts(f, stack, facts) : 0;
	reach(f);
	if (!stack || stack >= gt_recording_stack_count(f->recording))
		return 0;
	count = gt_recording_stack_numbers(f->recording, stack, numbers);
	start = start_of(f, stack, numbers, count);
	for (size_t i = 0; i < count; i++) {
		const struct judged *one;

		if (i == start.first &&
		    (start.is_thread || (used && f->facts[used - 1].flags & GT_FRAME_MAIN)))
			break;
		one = judge(f, numbers[i]);
		GT_REACH(f->facts, f->fact_room, used + one->count);
		memcpy(f->facts + used, f->known + one->first, one->count * sizeof *f->facts);
		used += one->count;
	}
	*facts = f->facts;
	if (f->options.all_frames || !used)
		return used;
	fold = gt_frame_fold(f->facts, used, keeps_call(f));
	f->facts[fold.first] = f->facts[fold.call];
	*facts = f->facts + fold.first;
	return fold.end - fold.first;
}

void gt_frames_remember(struct gt_frames *f, uint32_t stack, struct gt_legend *names)
{
	uint32_t numbers[GT_STACK_FRAMES_MAX];
	size_t count = gt_recording_stack_numbers(f->recording, stack, numbers);
	struct gt_stack_start start = start_of(f, stack, numbers, count);
	bool in_main = false;

	reach(f);
	for (size_t i = 0; f->symbolizer && i < count; i++) {
		const struct gt_trace_frame *frame = gt_recording_frame(f->recording, numbers[i]);
		const struct gt_recorded_module *m;
		const struct gt_frame *found;
		struct gt_legend_name list[NAMES_MOST];
		size_t names_count, k = 0;
		int module;

		if (i == start.first && (start.is_thread || in_main))
			break;
		if (frame->module == GT_NO_MODULE &&
		    gt_jit_names_find(f->jit, frame->address - 1, list))
			gt_legend_add(names, GT_JIT_MODULE, NULL, 0, frame->address - 1, list, 1);
		if (frame->module == GT_NO_MODULE || frame->module == GT_TEXT_MODULE)
			continue;
		module = symbolizer_module(f, frame->module);
		if (!has_own_names(f, module))
			continue;
		m = gt_recording_module(f->recording, frame->module);
		names_count = find_names(f, frame->module, frame->address - 1, &found);
		in_main = is_main(found, names_count);
		for (; k < names_count && k < NAMES_MOST; k++)
			list[k] = (struct gt_legend_name){ found[k].function, found[k].file,
							   found[k].line, found[k].inlined };
		if (k && list[0].function)
			gt_legend_add(names, m->path, m->build_id, m->build_id_size,
				      frame->address - 1, list, k);
	}
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct gt_frames_trouble *)a)->path,
		      ((const struct gt_frames_trouble *)b)->path);
}

size_t gt_frames_troubles(struct gt_frames *f, struct gt_frames_trouble **list)
{
	size_t count = 0;

	*list = gt_alloc(f->module_count * sizeof **list);
	for (size_t i = 0; f->symbolizer && i < f->module_count; i++) {
		const char *path = gt_recording_module(f->recording, (uint32_t)i)->path;
		enum gt_symbol_state state;

		/* nobody can rebuild a vendor's library */
		if (!f->modules[i].shown || !f->modules[i].asked || f->modules[i].number < 0 ||
		    (f->modules[i].named && !f->modules[i].unnamed) ||
		    !gt_own_has_module(gt_frames_own(f), path))
			continue;
		state = gt_symbolizer_state(f->symbolizer, f->modules[i].number);
		if (state != GT_SYMBOL_FULL)
			(*list)[count++] =
				(struct gt_frames_trouble){ .path = path, .state = state };
	}
	qsort(*list, count, sizeof **list, by_path);
	return count;
}
