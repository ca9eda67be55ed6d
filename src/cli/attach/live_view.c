/* SPDX-License-Identifier: MIT */
/* live_view.c - the resources of attached processes, tracked while they run, shown on request. */
#include "cli/attach/live_view.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/containers.h"
#include "base/format.h"
#include "base/process.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "replay/frames.h"
#include "screen/board_text.h"

enum { NAMED_MAX = 10000 };

/* What stands for all call sites beyond the limit of memory. */
static const struct gt_frame other = { .function = "other call sites" };

/* A process, its program and its folder: whose code is whose. */
struct process {
	char *program, *folder; /* "": unknown */
	struct gt_frames *frames;
};

struct gt_attach_names {
	struct gt_attach_live *live;
	struct gt_frames_options options;
	struct gt_symbolizer *symbolizer;
	struct gt_intern *paths;   /* of modules */
	struct process *processes; /* by the board's number */
	size_t process_count;
	struct gt_map stacks; /* of process and stack: its number in the process's frames */
};

static struct gt_attach_names *names_new(struct gt_attach_live *live,
					 const struct gt_attach_live_options *options)
{
	struct gt_attach_names *n = gt_alloc(sizeof *n);

	n->live = live;
	n->options = (struct gt_frames_options){ .own = options->own, .by = options->by };
	n->paths = gt_intern_new();
	if (gt_symbolizer_new(&n->symbolizer, NULL))
		n->symbolizer = NULL;
	return n;
}

static void forget_names(struct gt_attach_names *n)
{
	for (size_t i = 0; i < n->process_count; i++) {
		gt_frames_free(n->processes[i].frames);
		n->processes[i].frames = NULL;
	}
	gt_map_fini(&n->stacks);
	n->stacks = (struct gt_map){ 0 };
}

void gt_attach_names_trim(struct gt_attach_names *n)
{
	if (n->stacks.count > NAMED_MAX)
		forget_names(n);
}

static void names_free(struct gt_attach_names *n)
{
	forget_names(n);
	for (size_t i = 0; i < n->process_count; i++) {
		free(n->processes[i].program);
		free(n->processes[i].folder);
	}
	free(n->processes);
	gt_intern_free(n->paths);
	if (n->symbolizer)
		gt_symbolizer_free(n->symbolizer);
	free(n);
}

/* "" if it cannot be read; the caller frees it. */
static char *read_link(uint32_t pid, const char *what)
{
	char link[64], path[PATH_MAX];
	ssize_t size;

	snprintf(link, sizeof link, "/proc/%u/%s", pid, what);
	size = readlink(link, path, sizeof path - 1);
	return gt_strndup(path, size > 0 ? (size_t)size : 0);
}

/* While it runs: later nobody knows them. */
static void add_process(struct gt_attach_names *n, uint16_t number, uint32_t pid)
{
	GT_REACH(n->processes, n->process_count, number);
	n->processes[number].program = read_link(pid, "exe");
	n->processes[number].folder = read_link(pid, "cwd");
}

static struct gt_frames *frames_of(struct gt_attach_names *n, uint16_t process)
{
	struct process *p = &n->processes[process];

	if (!p->frames) {
		p->frames = gt_frames_new_empty(&n->options);
		gt_own_add_program(gt_frames_own(p->frames), p->program, p->folder);
	}
	return p->frames;
}

/* Frames that are being collected. */
struct found {
	struct gt_frame *list;
	size_t count, room;
};

/* One address: the function there and those it was inlined into. */
static void add_frames(struct gt_attach_names *n, struct found *frames,
		       const struct gt_traced *process, const struct gt_traced_frame *at)
{
	/* a return address points behind the call */
	struct gt_frame plain = { .offset = at->address - 1 };
	const struct gt_frame *names;
	size_t count, size;
	int module;

	if (!at->image)
		return;
	/* as the process knows it, in a container too */
	plain.module = gt_intern_get(
		n->paths, gt_intern(n->paths, at->image->name, strlen(at->image->name) + 1), &size);
	module = gt_symbolizer_module(
		n->symbolizer,
		&(struct gt_symbol_module){ .path = gt_image_path(at->image, process->pid),
					    .build_id = at->image->build_id,
					    .build_id_size = at->image->build_id_size,
					    .size_bytes = at->image->file_size,
					    .mtime_ns = at->image->mtime_ns });
	count = module < 0 ? 0 : gt_symbolizer_resolve(n->symbolizer, module, plain.offset, &names);
	for (size_t i = 0; i < count || !i; i++) {
		GT_GROW(frames->list, frames->count, frames->room);
		frames->list[frames->count] = count ? names[i] : plain;
		frames->list[frames->count++].module = plain.module;
	}
}

/* Names a stack; 0 if it has no frames. */
static uint32_t add_stack(struct gt_attach_names *n, uint16_t process, uint32_t stack)
{
	struct gt_traced_frame addresses[GT_PROBE_FRAMES];
	const struct gt_traced *traced = n->live->processes[process];
	size_t count = gt_traced_stack(traced, stack, addresses, GT_PROBE_FRAMES);
	struct found found = { 0 };
	uint32_t number = 0;

	for (size_t i = 0; i < count; i++)
		add_frames(n, &found, traced, &addresses[i]);
	if (found.count)
		number = gt_frames_add(frames_of(n, process), found.list, found.count);
	free(found.list);
	return number;
}

struct gt_frames *gt_attach_names_find(void *names, uint16_t process, uint32_t stack,
				       uint32_t *number)
{
	struct gt_attach_names *n = names;
	uintptr_t *known;

	if (!stack || process >= n->live->process_count || !n->symbolizer)
		return NULL;
	known = (uintptr_t *)gt_map_at(&n->stacks, (uint64_t)process << 32 | stack);
	if (!*known && stack == GT_BOARD_OTHER)
		*known = gt_frames_add(frames_of(n, process), &other, 1);
	else if (!*known && n->live->processes[process])
		*known = add_stack(n, process, stack);
	*number = (uint32_t)*known;
	return *known ? n->processes[process].frames : NULL;
}

static void began(void *context, struct gt_traced *process)
{
	struct gt_attach_live *l = context;

	process->number = gt_board_add(l->board, process->pid, process->name, process->first_ns);
	if (process->number == GT_BOARD_ALL)
		return;
	add_process(l->names, process->number, process->pid);
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
	l->names = names_new(l, options);
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
					       .names = { gt_attach_names_find, l->names } });
	fflush(out);
}
