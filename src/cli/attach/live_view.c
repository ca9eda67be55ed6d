/* SPDX-License-Identifier: MIT */
/* live_view.c - the resources of attached processes, tracked while they run, shown on request. */
#include "cli/attach/live_view.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/containers.h"
#include "base/format.h"
#include "base/process.h"
#include "base/mem.h"
#include "cli/attach/gpu_use.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "replay/frames.h"
#include "replay/process_text.h"
#include "screen/board_text.h"

enum { NAMED_MAX = 10000 };

/* What stands for all call sites beyond the limit of memory. */
static const struct gt_frame other = { .function = "other call sites" };

/* A part of a stack: what a thread or a device has of it. No padding, as its bytes are interned. */
struct part {
	uint32_t process, stack;
	uint32_t which; /* tid, or place */
};

enum { PART_BYTES = 64 }; /* that one takes, about */

/* A process, its program and its folder: whose code is whose. */
struct process {
	char *program, *folder; /* "": unknown */
	struct gt_live_who who; /* its texts are its own */
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
	struct gt_intern
		*parts; /* by thread or device: the board's stacks are their numbers, + 1 */
	size_t most_parts;
};

static struct gt_attach_names *names_new(struct gt_attach_live *live,
					 const struct gt_attach_live_options *options)
{
	struct gt_attach_names *n = gt_alloc(sizeof *n);

	n->live = live;
	n->options = (struct gt_frames_options){ .own = options->own, .by = options->by };
	n->paths = gt_intern_new();
	n->parts = gt_intern_new();
	n->most_parts = options->max_site_bytes / PART_BYTES;
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

static void process_fini(struct process *p)
{
	gt_frames_free(p->frames);
	free(p->program);
	free(p->folder);
	free((char *)(uintptr_t)p->who.user);
	free((char *)(uintptr_t)p->who.container);
	free((char *)(uintptr_t)p->who.command);
	*p = (struct process){ 0 };
}

static void names_free(struct gt_attach_names *n)
{
	forget_names(n);
	for (size_t i = 0; i < n->process_count; i++)
		process_fini(&n->processes[i]);
	free(n->processes);
	gt_intern_free(n->paths);
	gt_intern_free(n->parts);
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

/* "python3 train.py --rank 3", without the program's folder; the caller frees it. */
static char *read_command(uint32_t pid)
{
	char path[64], text[1024];
	ssize_t size, first = 0, from = 0;
	int fd;

	snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof text);
	if (fd >= 0)
		close(fd);
	while (size > 0 && !text[size - 1])
		size--;
	for (ssize_t i = 0; i < size; i++)
		if (!text[i])
			text[i] = ' ';
	while (first < size && text[first] != ' ')
		if (text[first++] == '/')
			from = first;
	return gt_strndup(text + from, size > from ? (size_t)(size - from) : 0);
}

/* While it runs: later nobody knows them. */
static void add_process(struct gt_attach_names *n, const struct gt_traced *traced)
{
	struct process *p;
	char text[100], *name;

	GT_REACH(n->processes, n->process_count, traced->number);
	p = &n->processes[traced->number];
	p->program = read_link(traced->pid, "exe");
	p->folder = read_link(traced->pid, "cwd");
	p->who.uid = traced->who.uid;
	p->who.user = gt_strdup(traced->who.user);
	p->who.container = gt_strdup(gt_identity_container_text(&traced->who, text, sizeof text));
	p->who.command = read_command(traced->pid);
	if (!*p->program)
		return;
	/* with the script that an interpreter runs */
	name = gt_process_name(&(struct gt_process){
		.program = p->program, .command = (char *)(uintptr_t)p->who.command });
	gt_board_rename(n->live->board, traced->number, name);
	free(name);
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

/* A line of Python. */
static void add_text(struct found *frames, const struct gt_text_frame *text)
{
	GT_GROW(frames->list, frames->count, frames->room);
	frames->list[frames->count++] = (struct gt_frame){ .function = text->function,
							   .file = text->file,
							   .module = text->module,
							   .line = text->line };
}

/* One address: the function there and those it was inlined into. */
static void add_frames(struct gt_attach_names *n, struct found *frames,
		       const struct gt_traced *process, const struct gt_traced_frame *at)
{
	/* a return address points behind the call */
	struct gt_frame plain = { .offset = at->address - 1 };
	const struct gt_frame *names;
	const char *path;
	size_t count, size;
	char kept[64];
	int module;

	if (at->text)
		add_text(frames, at->text);
	if (!at->image)
		return;
	/* as the process knows it, in a container too */
	plain.module = gt_intern_get(
		n->paths, gt_intern(n->paths, at->image->name, strlen(at->image->name) + 1), &size);
	path = gt_image_path(at->image, process->pid);
	if (at->image->fd >= 0 && !gt_image_is_reachable(at->image)) {
		snprintf(kept, sizeof kept, "/proc/self/fd/%d", at->image->fd);
		path = kept;
	}
	module = gt_symbolizer_module(
		n->symbolizer,
		&(struct gt_symbol_module){ .path = path,
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

static enum gt_part_by parted_by(const struct gt_attach_names *n)
{
	return gt_by_part(n->options.by);
}

static bool has_parts(const struct gt_attach_names *n)
{
	return parted_by(n) == GT_PART_THREAD || parted_by(n) == GT_PART_DEVICE;
}

static const char *find_place(void *names, uint16_t place)
{
	const struct gt_attach_live *l = ((struct gt_attach_names *)names)->live;
	const struct gt_place_entry *entry =
		l->tracer ? gt_places_get(gt_tracer_places(l->tracer), place) : NULL;

	return entry ? entry->name : "";
}

/* What the process, its thread or its device is called. */
static void name_part(struct gt_attach_names *n, const struct part *part, uint32_t number)
{
	const struct gt_board_process *p =
		gt_board_process(n->live->board, (uint16_t)part->process);
	char text[160];

	if (parted_by(n) == GT_PART_DEVICE)
		snprintf(text, sizeof text, "%s",
			 part->which ? find_place(n, (uint16_t)part->which) : "(no device)");
	else if (parted_by(n) == GT_PART_THREAD)
		snprintf(text, sizeof text, "thread %u of %s, pid %u", part->which, p->name,
			 p->pid);
	else
		snprintf(text, sizeof text, "%s, pid %u", p->name, p->pid);
	gt_frames_name_part(n->processes[part->process].frames, number, text);
}

/* Names a stack; 0 if it has no frames and is no part. */
static uint32_t add_stack(struct gt_attach_names *n, const struct part *part)
{
	struct gt_traced_frame addresses[GT_PROBE_FRAMES];
	const struct gt_traced *traced = n->live->processes[part->process];
	size_t count =
		part->stack ? gt_traced_stack(traced, part->stack, addresses, GT_PROBE_FRAMES) : 0;
	struct found found = { 0 };
	uint32_t number = 0;

	for (size_t i = 0; i < count; i++)
		add_frames(n, &found, traced, &addresses[i]);
	if (found.count || parted_by(n))
		number = gt_frames_add(frames_of(n, (uint16_t)part->process), found.list,
				       found.count);
	if (parted_by(n))
		name_part(n, part, number);
	free(found.list);
	return number;
}

static struct part part_of(const struct gt_attach_names *n, uint16_t process, uint32_t stack)
{
	struct part part = { .process = process, .stack = stack };
	size_t size;

	if (has_parts(n) && stack && stack != GT_BOARD_OTHER)
		memcpy(&part, gt_intern_get(n->parts, stack - 1, &size), sizeof part);
	return part;
}

/* As struct gt_live_names has it. */
static struct gt_frames *find_stack(void *names, uint16_t process, uint32_t stack, uint32_t *number)
{
	struct gt_attach_names *n = names;
	struct part part;
	uintptr_t *known;

	if ((!stack && parted_by(n) != GT_PART_PROCESS) || process >= n->live->process_count ||
	    !n->symbolizer)
		return NULL;
	part = part_of(n, process, stack);
	known = (uintptr_t *)gt_map_at(&n->stacks, (uint64_t)process << 32 | stack);
	if (!*known && stack == GT_BOARD_OTHER)
		*known = gt_frames_add(frames_of(n, process), &other, 1);
	else if (!*known && n->live->processes[process])
		*known = add_stack(n, &part);
	*number = (uint32_t)*known;
	return *known ? n->processes[process].frames : NULL;
}

/* The number of what a thread or device has of a stack; beyond the limit they are one. */
static uint32_t part_stack(struct gt_attach_names *n, const struct gt_event *e, uint16_t process)
{
	const struct part part = { process, e->stack,
				   parted_by(n) == GT_PART_DEVICE ? e->place : e->tid };
	uint32_t number = gt_intern_find(n->parts, &part, sizeof part);

	if (number != GT_NOT_INTERNED)
		return number + 1;
	if (gt_intern_count(n->parts) >= n->most_parts)
		return GT_BOARD_OTHER;
	return gt_intern(n->parts, &part, sizeof part) + 1;
}

static void began(void *context, struct gt_traced *process)
{
	struct gt_attach_live *l = context;

	process->number = gt_board_add(l->board, process->pid, process->name, process->first_ns);
	if (process->number == GT_BOARD_ALL)
		return;
	add_process(l->names, process);
	GT_REACH(l->processes, l->process_count, process->number);
	l->processes[process->number] = process;
}

static bool may_create(const struct gt_event *e)
{
	int effect = gt_functions[e->function].effect;

	return effect == GT_CREATE || effect == GT_RETAIN;
}

static void event(void *context, struct gt_traced *process, const struct gt_event *e)
{
	struct gt_attach_live *l = context;
	struct gt_event changed = *e;

	if (process->other_stack && e->stack == process->other_stack)
		changed.stack = GT_BOARD_OTHER;
	else if (has_parts(l->names) && may_create(e))
		changed.stack = part_stack(l->names, e, process->number);
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
	if (options->splits_places)
		gt_board_split_places(l->board);
	gt_board_limit_sites(l->board, options->max_site_bytes);
	gt_board_tick(l->board, l->since_ns);
}

void gt_attach_live_fini(struct gt_attach_live *l)
{
	names_free(l->names);
	free(l->processes);
	gt_board_free(l->board);
}

void gt_attach_live_forget(struct gt_attach_live *l)
{
	struct gt_attach_names *n = l->names;

	gt_board_forget_ended(l->board);
	for (size_t i = 0; i < n->process_count; i++)
		if (n->processes[i].program && (i >= l->process_count || !l->processes[i])) {
			/* names go by numbers, which will be others' */
			forget_names(n);
			process_fini(&n->processes[i]);
		}
}

void gt_attach_live_tick(struct gt_attach_live *l)
{
	for (size_t i = 0; i < l->process_count; i++)
		if (l->processes[i])
			gt_board_lose(l->board, (uint16_t)i,
				      l->processes[i]->lost -
					      gt_board_process(l->board, (uint16_t)i)->lost);
	gt_board_tick(l->board, gt_now_ns());
	if (l->gpus)
		gt_gpu_use_read(l->gpus);
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

static const struct gt_live_who *find_who(void *names, uint16_t process)
{
	struct gt_attach_names *n = names;

	return process < n->process_count ? &n->processes[process].who : NULL;
}

static const struct gt_live_gpu *find_gpus(void *names, size_t *count)
{
	const struct gt_gpu_use *u = ((struct gt_attach_names *)names)->live->gpus;

	*count = u ? u->count : 0;
	return u ? u->gpus : NULL;
}

static bool find_gpu_use(void *names, uint32_t pid, struct gt_live_gpu_use *use)
{
	const struct gt_gpu_use *u = ((struct gt_attach_names *)names)->live->gpus;

	return u && gt_gpu_use_of(u, pid, use);
}

struct gt_live_names gt_attach_live_names(struct gt_attach_live *l)
{
	return (struct gt_live_names){
		.find = find_stack,
		.context = l->names,
		.who = find_who,
		.place = find_place,
		.gpus = find_gpus,
		.gpu_use = find_gpu_use,
	};
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
					       .names = gt_attach_live_names(l) });
	fflush(out);
}
