/* SPDX-License-Identifier: MIT */
/* agent_recording.c - recordings of running processes, begun and ended by the agent at any time. */
#include "cli/agent/agent_recording.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/process.h"
#include "capture/ebpf/traced.h"
#include "cli/agent/restore.h"
#include "cli/folder.h"

enum {
	LANES = 64, /* threads with a lane of their own */
	RETAINS = 64,
	IMAGE_BITS = 40, /* addresses are made up: an image has this many of its own */
};

struct lane {
	uint32_t tid;
	struct gt_lane *lane;
};

/* A process's trace. */
struct trace {
	struct gt_agent_recording *recording;
	struct gt_traced *process;
	struct gt_writer *writer;
	struct lane lanes[LANES];
	size_t lane_count;
	uint32_t *stacks; /* by the process's number of a stack: the trace's */
	size_t stack_count;
	uint32_t other_stack;
	bool *defined; /* by number of an image */
	size_t defined_count;
	uint32_t modules;
	uint64_t places;                        /* a bit for each that is defined */
	const struct gt_traced_frame *defining; /* frames of a stack that is being defined */
	size_t defining_count;
};

struct gt_agent_recording {
	struct gt_agent_recorded what;
	char folder[PATH_MAX];
	struct gt_info *info;
	uint64_t begun_ns;
	_Atomic uint64_t taken;
	struct trace **traces; /* by the board's number; NULL: none */
	size_t trace_count, opened;
	bool has_ended; /* the process, if it is of one */
	bool has_failed;
};

static uint64_t base_of(const struct gt_image *image)
{
	return (uint64_t)image->number << IMAGE_BITS;
}

/* For the writer: the images that the next stack leads through. */
static void define_modules(struct gt_writer *w, void *context)
{
	struct trace *t = context;

	for (size_t i = 0; i < t->defining_count; i++) {
		struct gt_image *image = t->defining[i].image;

		if (!image)
			continue;
		GT_REACH(t->defined, t->defined_count, image->number);
		if (t->defined[image->number])
			continue;
		t->defined[image->number] = true;
		gt_writer_module(w, t->modules++,
				 &(struct gt_module){ .start = base_of(image),
						      .size = image->high - image->low,
						      .bias = base_of(image) - image->low,
						      .path = gt_image_path(image, t->process->pid),
						      .build_id = image->build_id,
						      .build_id_size = image->build_id_size,
						      .file_size = image->file_size,
						      .mtime_ns = image->mtime_ns });
	}
}

static uint32_t define_stack(struct trace *t, uint32_t stack)
{
	struct gt_traced_frame frames[GT_PROBE_FRAMES];
	uint64_t addresses[GT_PROBE_FRAMES];
	size_t count = gt_traced_stack(t->process, stack, frames, GT_PROBE_FRAMES), used = 0;

	for (size_t i = 0; i < count; i++) {
		if (frames[i].text)
			addresses[used++] = gt_writer_text_frame(t->writer, frames[i].text);
		else if (frames[i].image)
			addresses[used++] =
				frames[i].address - frames[i].image->low + base_of(frames[i].image);
	}
	t->defining = frames;
	t->defining_count = count;
	return used ? gt_writer_stack(t->writer, addresses, used) : 0;
}

/* By its words: it is a stack of another recording. */
static uint32_t restored_stack(struct trace *t, uint32_t stack)
{
	const struct gt_agent_recorded *what = &t->recording->what;
	const struct gt_agent_stack *words =
		what->restored(what->context, t->process->number, stack);
	uint64_t frames[GT_PROBE_FRAMES];
	size_t count = 0;

	for (size_t i = 0; words && i < words->count && count < GT_PROBE_FRAMES; i++) {
		const struct gt_frame *f = &words->frames[i];

		if (!*f->function)
			continue;
		frames[count++] = gt_writer_text_frame(
			t->writer, &(struct gt_text_frame){ .function = f->function,
							    .file = f->file,
							    .module = f->module,
							    .line = f->line });
	}
	t->defining_count = 0;
	return count ? gt_writer_stack(t->writer, frames, count) : 0;
}

static uint32_t stack_of(struct trace *t, uint32_t stack)
{
	if (stack == GT_BOARD_OTHER) {
		uint64_t frame = gt_writer_text_frame(
			t->writer, &(struct gt_text_frame){ .function = "other call sites" });

		if (!t->other_stack && frame)
			t->other_stack = gt_writer_stack(t->writer, &frame, 1);
		return t->other_stack;
	}
	if (gt_stack_is_restored(stack))
		return restored_stack(t, stack);
	if (!stack)
		return 0;
	GT_REACH(t->stacks, t->stack_count, stack);
	if (!t->stacks[stack])
		t->stacks[stack] = define_stack(t, stack);
	return t->stacks[stack];
}

static struct gt_lane *lane_of(struct trace *t, uint32_t tid)
{
	for (size_t i = 0; i < t->lane_count; i++)
		if (t->lanes[i].tid == tid)
			return t->lanes[i].lane;
	if (t->lane_count == LANES)
		return t->lanes[0].lane;
	t->lanes[t->lane_count] = (struct lane){ tid, gt_lane_acquire(t->writer, tid, "") };
	return t->lanes[t->lane_count++].lane;
}

static void write_event(struct trace *t, const struct gt_event *event)
{
	struct gt_event changed = *event;
	struct gt_lane *lane = lane_of(t, event->tid);
	const struct gt_place_entry *place = gt_places_get(t->process->places, event->place);

	changed.stack =
		stack_of(t, t->process->other_stack && event->stack == t->process->other_stack ?
				    GT_BOARD_OTHER :
				    event->stack);
	if (place && event->place < 64 && !(t->places >> event->place & 1)) {
		t->places |= UINT64_C(1) << event->place;
		gt_writer_place(t->writer, event->place, place->api, place->name);
	}
	if (lane)
		gt_lane_event(lane, &changed);
}

/* Living entries of a process, in order of time. */
struct living {
	struct gt_entry *list;
	size_t count, room;
};

static void add_entry(void *context, const struct gt_entry *entry)
{
	struct living *l = context;

	GT_GROW(l->list, l->count, l->room);
	l->list[l->count++] = *entry;
}

static int by_time(const void *a, const void *b)
{
	const struct gt_entry *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* The function that adds a reference to such a resource; GT_FN_NONE. */
static uint16_t retain_of(const struct gt_entry *e)
{
	for (uint16_t i = 1; i < GT_FN_COUNT; i++)
		if (gt_functions[i].effect == GT_RETAIN &&
		    gt_functions[i].api == gt_functions[e->function].api &&
		    gt_kinds[gt_functions[i].kind].family == gt_kinds[gt_entry_kind(e)].family)
			return i;
	return GT_FN_NONE;
}

/* What was alive when the recording began. */
static void write_living(struct trace *t)
{
	struct living l = { 0 };

	gt_board_each_entry(t->recording->what.board, t->process->number, add_entry, &l);
	if (l.count)
		qsort(l.list, l.count, sizeof *l.list, by_time);
	for (size_t i = 0; i < l.count; i++) {
		const struct gt_entry *e = &l.list[i];
		struct gt_event event = { .time_ns = e->time_ns,
					  .handle = e->handle,
					  .size = e->size,
					  .owner = e->owner,
					  .stack = e->stack,
					  .tid = e->tid,
					  .function = e->function,
					  .place = e->place };

		write_event(t, &event);
		event.function = e->refs > 1 ? retain_of(e) : GT_FN_NONE;
		event.size = event.owner = 0;
		for (uint32_t k = 1; event.function && k < e->refs && k < RETAINS; k++)
			write_event(t, &event);
	}
	free(l.list);
}

static struct trace *open_trace(struct gt_agent_recording *r, struct gt_traced *process)
{
	uint64_t now = gt_now_ns(), real = gt_clock_ns(CLOCK_REALTIME);
	struct gt_writer_options options = { .pid = process->pid,
					     .ppid = process->parent,
					     .start_ns = process->first_ns,
					     .start_real_ns = real - (now - process->first_ns),
					     .max_bytes = r->what.max_bytes,
					     .taken = &r->taken,
					     .modules = define_modules };
	struct trace *t = r->traces[process->number] = gt_alloc(sizeof *t);

	t->recording = r;
	t->process = process;
	options.context = t;
	if (gt_writer_open_in(&t->writer, r->folder, &options)) {
		r->has_failed = true;
		t->writer = NULL;
		return t;
	}
	r->opened++;
	gt_traced_describe(process, t->writer, GT_PROBES_DEPTH);
	write_living(t);
	return t;
}

static void close_trace(struct trace *t)
{
	if (!t)
		return;
	if (t->writer) {
		gt_writer_end(t->writer);
		gt_writer_free(t->writer);
	}
	free(t->stacks);
	free(t->defined);
	free(t);
}

static bool wants(const struct gt_agent_recording *r, const struct gt_traced *process)
{
	return process->number != GT_BOARD_ALL && (!r->what.pid || r->what.pid == process->pid);
}

/* The trace of a process, which is opened when it is first needed. */
static struct trace *trace_of(struct gt_agent_recording *r, struct gt_traced *process)
{
	GT_REACH(r->traces, r->trace_count, process->number);
	return r->traces[process->number] ? r->traces[process->number] : open_trace(r, process);
}

int gt_agent_recording_new(struct gt_agent_recording **out, const struct gt_agent_recorded *what,
			   struct gt_error *error)
{
	static char *const command[] = { "gputrack", "agent", NULL };
	struct gt_agent_recording *r;
	int e;

	if (mkdir(what->folder, 0700))
		return gt_error_set(error, -errno, "cannot make the folder %s: %s", what->folder,
				    strerror(errno));
	r = gt_alloc(sizeof *r);
	r->what = *what;
	snprintf(r->folder, sizeof r->folder, "%s", what->folder);
	r->begun_ns = gt_now_ns();
	r->info = gt_run_info_begin(command);
	gt_info_set(r->info, "capture", "attach");
	e = gt_run_info_write(r->info, r->folder, error);
	if (e) {
		gt_info_free(r->info);
		free(r);
		return e;
	}
	for (size_t i = 0; i < what->process_count; i++)
		if (what->processes[i] && wants(r, what->processes[i]))
			trace_of(r, what->processes[i]);
	*out = r;
	return 0;
}

void gt_agent_recording_event(struct gt_agent_recording *r, struct gt_traced *process,
			      const struct gt_event *event)
{
	struct trace *t = wants(r, process) ? trace_of(r, process) : NULL;

	if (t && t->writer)
		write_event(t, event);
}

void gt_agent_recording_ended(struct gt_agent_recording *r, const struct gt_traced *process)
{
	struct trace *t = process->number < r->trace_count ? r->traces[process->number] : NULL;

	if (!t)
		return;
	r->has_ended = true;
	if (t->writer)
		gt_traced_describe_end(process, t->writer);
	r->traces[process->number] = NULL;
	close_trace(t);
}

void gt_agent_recording_free(struct gt_agent_recording *r, uint64_t lost)
{
	uint64_t now = gt_now_ns();
	struct gt_error unused;
	size_t running = 0;

	for (size_t i = 0; i < r->trace_count; i++) {
		if (r->traces[i] && r->traces[i]->writer) {
			gt_writer_info(r->traces[i]->writer, "went_on", "1", 1);
			running++;
		}
		close_trace(r->traces[i]);
	}
	gt_run_info_end(r->info, now - r->begun_ns);
	/* a process's times count from its first call, which may have been long before */
	gt_info_setf(r->info, "ended_ns", "%llu", (unsigned long long)now);
	gt_info_setf(r->info, "running", "%zu", running);
	gt_info_setf(r->info, "lost", "%llu", (unsigned long long)lost);
	/* the traces can be read without it */
	(void)!gt_run_info_write(r->info, r->folder, &unused);
	gt_info_free(r->info);
	free(r->traces);
	free(r);
}

const char *gt_agent_recording_folder(const struct gt_agent_recording *r)
{
	return r->folder;
}

uint64_t gt_agent_recording_bytes(const struct gt_agent_recording *r, size_t *traces)
{
	*traces = r->opened;
	return r->taken;
}

bool gt_agent_recording_is_over(const struct gt_agent_recording *r)
{
	return r->has_failed || (r->what.pid && r->has_ended);
}
