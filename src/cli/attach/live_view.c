/* SPDX-License-Identifier: MIT */
/* live_view.c - the resources of attached processes, tracked while they run, shown on request. */
#include "cli/attach/live_view.h"

#include <stdlib.h>

#include "base/containers.h"
#include "base/format.h"
#include "base/process.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "replay/frames.h"
#include "replay/stack.h"
#include "screen/board_text.h"

enum { NAMED_MAX = 10000 };

/* What stands for all call sites beyond the limit of memory. */
static const struct gt_frame other = { .function = "other call sites" };

/* The frames of one stack. */
struct named {
	struct gt_frame *frames;
	size_t count, room;
	size_t addresses; /* of the stack that have been looked up */
	bool own;         /* no frame is the C++ library's; if false, all are */
};

struct gt_attach_names {
	struct gt_attach_live *live;
	struct gt_symbolizer *symbolizer;
	struct gt_map stacks; /* of process and stack: struct named */
};

static struct gt_attach_names *names_new(struct gt_attach_live *live)
{
	struct gt_attach_names *n = gt_alloc(sizeof *n);

	n->live = live;
	if (gt_symbolizer_new(&n->symbolizer, NULL))
		n->symbolizer = NULL;
	return n;
}

static void forget_names(struct gt_attach_names *n)
{
	for (size_t i = 0; i < n->stacks.count; i++) {
		free(((struct named *)n->stacks.values[i])->frames);
		free(n->stacks.values[i]);
	}
	gt_map_fini(&n->stacks);
}

void gt_attach_names_trim(struct gt_attach_names *n)
{
	if (n->stacks.count > NAMED_MAX)
		forget_names(n);
}

static void names_free(struct gt_attach_names *n)
{
	forget_names(n);
	if (n->symbolizer)
		gt_symbolizer_free(n->symbolizer);
	free(n);
}

/* The C++ library's frames represent the stack only until one of the program's own is found. */
static void add_frame(struct named *named, const struct gt_frame *frame)
{
	bool own = !gt_frame_is_library(frame);

	if (named->own && !own)
		return;
	if (own && !named->own)
		named->count = 0;
	named->own = own;
	GT_GROW(named->frames, named->count, named->room);
	named->frames[named->count++] = *frame;
}

/* One address: the function there and those it was inlined into. */
static void add_frames(struct gt_attach_names *n, struct named *named,
		       const struct gt_traced *process, const struct gt_traced_frame *at)
{
	const struct gt_frame *found;
	size_t count;
	int module;

	if (!at->image)
		return;
	module = gt_symbolizer_module(
		n->symbolizer,
		&(struct gt_symbol_module){ .path = gt_image_path(at->image, process->pid),
					    .build_id = at->image->build_id,
					    .build_id_size = at->image->build_id_size,
					    .size_bytes = at->image->file_size,
					    .mtime_ns = at->image->mtime_ns });
	/* a return address points behind the call */
	count = module < 0 ? 0 :
			     gt_symbolizer_resolve(n->symbolizer, module, at->address - 1, &found);
	for (size_t i = 0; i < count; i++)
		add_frame(named, &found[i]);
}

size_t gt_attach_names_get(struct gt_attach_names *n, uint16_t process, uint32_t stack, size_t most,
			   const struct gt_frame **frames)
{
	struct gt_traced_frame addresses[GT_PROBE_FRAMES];
	const struct gt_traced *traced;
	struct named *named;
	void **slot;
	size_t count;

	if (stack == GT_BOARD_OTHER) {
		*frames = &other;
		return 1;
	}
	if (!stack || process >= n->live->process_count || !n->symbolizer)
		return 0;
	slot = gt_map_at(&n->stacks, (uint64_t)process << 32 | stack);
	if (!*slot)
		*slot = gt_alloc(sizeof *named);
	named = *slot;
	traced = n->live->processes[process];
	count = traced ? gt_traced_stack(traced, stack, addresses, GT_PROBE_FRAMES) : 0;
	while (named->addresses < count && (!named->own || named->count < most))
		add_frames(n, named, traced, &addresses[named->addresses++]);
	*frames = named->frames;
	return named->count;
}

static void began(void *context, struct gt_traced *process)
{
	struct gt_attach_live *l = context;

	process->number = gt_board_add(l->board, process->pid, process->name, process->first_ns);
	if (process->number == GT_BOARD_ALL)
		return;
	GT_GROW(l->processes, l->process_count, l->process_room);
	l->processes[l->process_count++] = process;
}

static void event(void *context, struct gt_traced *process, const struct gt_event *e)
{
	struct gt_attach_live *l = context;
	struct gt_event changed = *e;

	if (process->other_stack && e->stack == process->other_stack)
		changed.stack = GT_BOARD_OTHER;
	if (process->number != GT_BOARD_ALL)
		gt_board_apply(l->board, &changed, process->number);
}

static void ended(void *context, struct gt_traced *process)
{
	struct gt_attach_live *l = context;

	if (process->number == GT_BOARD_ALL)
		return;
	gt_board_lose(l->board, process->number,
		      process->lost - gt_board_process(l->board, process->number)->lost);
	gt_board_end(l->board, process->number, gt_now_ns());
	l->processes[process->number] = NULL;
}

void gt_attach_live_init(struct gt_attach_live *l, const struct gt_attach_live_options *options)
{
	*l = (struct gt_attach_live){ .board = gt_board_new(), .since_ns = gt_now_ns() };
	l->names = names_new(l);
	l->listener = (struct gt_listener){
		.began = began, .event = event, .ended = ended, .context = l
	};
	if (options->charts_sites)
		gt_board_chart_sites(l->board);
	gt_board_limit_sites(l->board, options->max_site_bytes);
	gt_board_tick(l->board, l->since_ns);
}

void gt_attach_live_fini(struct gt_attach_live *l)
{
	names_free(l->names);
	free(l->processes);
	gt_board_free(l->board);
}

static void where(void *context, struct gt_printer *p, uint16_t process, uint32_t stack,
		  unsigned columns)
{
	const struct gt_attach_live *l = context;
	const struct gt_frame *frames, *shown[GT_WHERE_FRAMES];
	size_t count = gt_attach_names_get(l->names, process, stack, GT_WHERE_FRAMES, &frames);

	if (count > GT_WHERE_FRAMES)
		count = GT_WHERE_FRAMES;
	for (size_t i = 0; i < count; i++)
		shown[i] = &frames[i];
	if (count)
		gt_frames_where(p, shown, count, columns);
}

void gt_attach_live_tick(struct gt_attach_live *l)
{
	for (size_t i = 0; i < l->process_count; i++)
		if (l->processes[i])
			gt_board_lose(l->board, (uint16_t)i,
				      l->processes[i]->lost -
					      gt_board_process(l->board, (uint16_t)i)->lost);
	gt_board_tick(l->board, gt_now_ns());
}

bool gt_attach_live_tell_full(const struct gt_attach_live *l, const struct gt_tracer *tracer,
			      uint64_t limit)
{
	char text[GT_FORMAT_MAX];

	if (!gt_tracer_other_stacks(tracer) && !gt_board_others(l->board))
		return false;
	gt_tell("call stacks take all the memory they may, %s: further ones are counted together "
		"as \"other call sites\"; --max-memory sets the limit",
		gt_format_bytes(text, limit));
	return true;
}

void gt_attach_live_show(struct gt_attach_live *l, FILE *out, size_t top, uint64_t lost)
{
	struct gt_style style = gt_terminal_style(out, GT_COLOR_AUTO);
	struct gt_printer page;

	gt_attach_live_tick(l);
	gt_attach_names_trim(l->names);
	gt_print_init(&page, out, &style);
	gt_board_text(&page, l->board,
		      &(struct gt_board_view){ .top = top,
					       .now_ns = gt_now_ns(),
					       .since_ns = l->since_ns,
					       .lost = lost,
					       .where = where,
					       .context = l });
	fflush(out);
}
