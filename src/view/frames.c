/* frames.c - the recording's stacks as functions and lines, without the plumbing around them. */
#include "view/frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct stack {
	struct gt_frame *frames;
	size_t count;
	bool known;
};

struct module {
	int number;    /* the symbolizer's; < 0: none */
	bool asked;    /* `number` has been looked for */
	bool shown;    /* a reader sees a frame of it */
};

struct gt_frames {
	const struct gt_recording *recording;
	struct gt_frames_options options;
	struct gt_symbolizer *symbolizer;
	struct stack *stacks;     /* by the recording's number */
	size_t stack_count;
	struct module *modules;   /* likewise */
	size_t module_count;
};

int gt_frames_new(struct gt_frames **out, const struct gt_recording *r,
		  const struct gt_frames_options *options)
{
	struct gt_frames *f = gt_alloc(sizeof *f);
	int e = 0;

	f->recording = r;
	f->options = *options;
	if (!options->no_symbols)
		e = gt_symbolizer_new(&f->symbolizer, &options->symbol);
	if (e) {
		free(f);
		return e;
	}
	*out = f;
	return 0;
}

void gt_frames_free(struct gt_frames *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->stack_count; i++)
		free(f->stacks[i].frames);
	if (f->symbolizer)
		gt_symbolizer_free(f->symbolizer);
	free(f->stacks);
	free(f->modules);
	free(f);
}

/* Stacks and modules are added to a recording while it is read. */
static void reach(struct gt_frames *f)
{
	size_t stacks = gt_recording_stack_count(f->recording);
	size_t modules = gt_recording_module_count(f->recording);

	if (stacks > f->stack_count) {
		f->stacks = gt_realloc(f->stacks, stacks * sizeof *f->stacks);
		memset(f->stacks + f->stack_count, 0,
		       (stacks - f->stack_count) * sizeof *f->stacks);
		f->stack_count = stacks;
	}
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
		module->number = gt_symbolizer_module(f->symbolizer, &(struct gt_symbol_module){
			.path = m->path, .build_id = m->build_id, .build_id_size = m->build_id_size,
			.size_bytes = m->file_size, .mtime_ns = m->mtime_ns });
	module->asked = true;
	return f->symbolizer ? module->number : -1;
}

static void add_frame(struct stack *s, size_t *room, const struct gt_frame *frame)
{
	GT_GROW(s->frames, s->count, *room);
	s->frames[s->count++] = *frame;
}

static const char *known(const char *text)
{
	return *text ? text : NULL;
}

/* A recorded address is where a call returns to, maybe another line: the call is before it. */
static void resolve(struct gt_frames *f, struct stack *s, size_t *room,
		    const struct gt_trace_frame *frame)
{
	struct gt_frame plain = { .offset = frame->address - 1 };
	const struct gt_frame *found;
	size_t count;
	int module;

	if (frame->module == GT_NO_MODULE) {
		add_frame(s, room, &plain);
		return;
	}
	if (frame->module == GT_TEXT_MODULE) {
		const struct gt_text_frame *text =
			gt_recording_text_frame(f->recording, frame->address);

		plain = (struct gt_frame){ .function = known(text->function), .line = text->line,
					   .file = known(text->file), .module = known(text->module) };
		add_frame(s, room, &plain);
		return;
	}
	plain.module = gt_recording_module(f->recording, frame->module)->path;
	module = symbolizer_module(f, frame->module);
	count = module < 0 ? 0 : gt_symbolizer_resolve(f->symbolizer, module, plain.offset, &found);
	if (!count)
		add_frame(s, room, &plain);
	for (size_t i = 0; i < count; i++) {
		struct gt_frame copy = found[i];

		/* the recording's path, which outlives us and is the same for equal modules */
		copy.module = plain.module;
		add_frame(s, room, &copy);
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* CUDA's runtime inside a program that was linked with it: it has names, but no lines. */
static bool is_cuda_runtime(const struct gt_frame *frame)
{
	static const char *const names[] = { "libcudart_static_", "__cudart", "cudart::",
					     "__cuda", "_cuda" };

	if (!frame->function || frame->file)
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (begins(frame->function, names[i]))
			return true;
	return begins(frame->function, "cuda") && frame->function[4] >= 'A' &&
	       frame->function[4] <= 'Z';
}

/* Between the program's call and us: loaders, drivers' front ends, our own library. */
static bool is_inner_plumbing(const struct gt_frame *frame)
{
	static const char *const libraries[] = {
		"libOpenCL.so", "libze_loader.so", "libze_validation_layer.so", "libcuda.so",
		"libcupti", "libcudart", "libgputrack", "libffi.so", "_ctypes.",
	};

	if (!frame->module)
		return false;
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		if (begins(base_name(frame->module), libraries[i]))
			return true;
	return is_cuda_runtime(frame);
}

static bool is_libc(const struct gt_frame *frame)
{
	return frame->module && (begins(base_name(frame->module), "libc.so") ||
				 begins(base_name(frame->module), "libpthread.so") ||
				 begins(base_name(frame->module), "ld-linux"));
}

/* What starts a program or a thread. The C library's own frames have names only with symbols. */
static bool is_outer_plumbing(const struct gt_frame *frame)
{
	static const char *const functions[] = {
		"_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone",
		"clone3", "__clone", "__clone3", "_dl_start_user",
	};

	if (!frame->function)
		return is_libc(frame);
	if (begins(frame->function, "__libc_start_main"))
		return true;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (!strcmp(frame->function, functions[i]))
			return true;
	return false;
}

/* A stack of nothing but plumbing is shown as it is. */
static void fold(struct stack *s)
{
	size_t first = 0, end = s->count;

	while (first < end && is_inner_plumbing(&s->frames[first]))
		first++;
	/* the nameless caller of the C library's start is _start of a stripped program */
	if (end - first > 2 && !s->frames[end - 1].function && is_libc(&s->frames[end - 2]) &&
	    is_outer_plumbing(&s->frames[end - 2]))
		end--;
	while (end > first && is_outer_plumbing(&s->frames[end - 1]))
		end--;
	if (first == end)
		return;
	memmove(s->frames, s->frames + first, (end - first) * sizeof *s->frames);
	s->count = end - first;
}

void gt_frames_shown(struct gt_frames *f, const struct gt_frame *frame)
{
	for (size_t i = 0; frame->module && i < f->module_count; i++)
		if (gt_recording_module(f->recording, (uint32_t)i)->path == frame->module)
			f->modules[i].shown = true;
}

size_t gt_frames_get(struct gt_frames *f, uint32_t stack, const struct gt_frame **frames)
{
	const struct gt_trace_frame *recorded;
	size_t count, room = 0;
	struct stack *s;

	*frames = NULL;
	reach(f);
	if (!stack || stack >= f->stack_count)
		return 0;
	s = &f->stacks[stack];
	if (!s->known) {
		count = gt_recording_stack(f->recording, stack, &recorded);
		for (size_t i = 0; i < count; i++)
			resolve(f, s, &room, &recorded[i]);
		if (!f->options.all_frames)
			fold(s);
		s->known = true;
	}
	*frames = s->frames;
	return s->count;
}

static bool is_system(const char *path)
{
	return begins(path, "/usr/lib") || begins(path, "/lib") || begins(path, "[");
}

static int programs_first(const void *a, const void *b)
{
	const struct gt_frames_trouble *x = a, *y = b;

	if (is_system(x->path) != is_system(y->path))
		return is_system(x->path) ? 1 : -1;
	return strcmp(x->path, y->path);
}

size_t gt_frames_troubles(struct gt_frames *f, struct gt_frames_trouble **list)
{
	size_t count = 0;

	*list = gt_alloc(f->module_count * sizeof **list);
	for (size_t i = 0; f->symbolizer && i < f->module_count; i++) {
		enum gt_symbol_state state;

		if (!f->modules[i].shown || !f->modules[i].asked || f->modules[i].number < 0)
			continue;
		state = gt_symbolizer_state(f->symbolizer, f->modules[i].number);
		if (state != GT_SYMBOL_FULL)
			(*list)[count++] = (struct gt_frames_trouble){
				.path = gt_recording_module(f->recording, (uint32_t)i)->path,
				.state = state };
	}
	qsort(*list, count, sizeof **list, programs_first);
	return count;
}
