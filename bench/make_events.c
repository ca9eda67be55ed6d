/* SPDX-License-Identifier: MIT */
/*
 * make_events.c - writes a recording of any number of events through the real writer.
 *
 *	make_events FOLDER EVENTS balanced|alive|reused|distinct|processes
 *
 * Four threads, each with a lane of its own, whose events alternate in time; a thousand distinct
 * stacks of 16 frames, some far busier than others; three quarters buffers of all sizes, one
 * quarter events. `balanced` holds about 10,000 alive at a time and ends with none, `alive` ends
 * nothing, `reused` has one alive per thread, which the driver gives the same handle every time: a
 * loop that creates and releases looks like that. `distinct` ends nothing either, and each of its
 * events has a stack of its own: one thread recurses 20 deep and takes one of two ways at each
 * level. `processes` is `reused` with 10,000 processes, 20 stacks each. The addresses in the stacks
 * are this program's own, so that a report finds symbols.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/process.h"
#include "trace/writer.h"

enum {
	THREADS = 4,
	STACKS = 1000,
	STACKS_OF_MANY = 20, /* of each of many processes */
	FRAMES = 16,
	LEVELS = 20,         /* of the recursion that makes distinct stacks */
	STEP_NS = 1000,      /* between two events of a thread, on average */
	HANDLE_STEP = 0x140, /* as malloc would lay out a driver's objects */
};

/* Defined by the linker: the start of this program and the end of its code. */
extern const char __executable_start[], etext[];

static const struct shape {
	const char *name;
	uint32_t alive; /* of a thread at a time; 0: all that it creates */
	bool is_distinct;
	uint32_t processes; /* 0: one */
} shapes[] = {
	{ .name = "balanced", .alive = 10000 / THREADS },
	{ .name = "alive" },
	{ .name = "reused", .alive = 1 },
	{ .name = "distinct", .is_distinct = true },
	{ .name = "processes", .alive = 1, .processes = 10000 },
};

struct resource {
	uint64_t handle; /* 0: not alive */
	bool is_event;
};

struct thread {
	struct gt_writer *writer;
	struct gt_lane *lane;
	const uint32_t *stacks;
	uint32_t stack_count, tid;
	uint64_t events, time_ns, random, next_handle, owner;
	struct resource *slots;
	uint32_t slot_count;
	pthread_t thread;
};

static void __attribute__((noreturn)) fail(const char *what, int error)
{
	fprintf(stderr, "make_events: %s: %s\n", what, strerror(error));
	exit(1);
}

static uint64_t next_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	return gt_mix64(*state);
}

/* The smaller of two random numbers: a few call sites do most of the work. */
static uint32_t pick_stack(struct thread *t)
{
	uint64_t r = next_random(&t->random);
	uint32_t a = (uint32_t)r % t->stack_count, b = (uint32_t)(r >> 32) % t->stack_count;

	return t->stacks[a < b ? a : b];
}

static void emit(struct thread *t, struct gt_event *e)
{
	t->time_ns += STEP_NS / 2 + next_random(&t->random) % STEP_NS;
	e->time_ns = t->time_ns;
	e->stack = pick_stack(t);
	e->tid = t->tid;
	gt_lane_event(t->lane, e);
	t->events--;
}

static void create(struct thread *t, struct resource *r)
{
	uint64_t random = next_random(&t->random);
	struct gt_event e = { .place = 1, .owner = t->owner };

	/* handle values come back, as a driver's do */
	if (!r->handle) {
		r->handle = t->next_handle;
		t->next_handle += HANDLE_STEP;
	}
	r->is_event = random % 4 == 0;
	e.function = r->is_event ? GT_FN_clCreateUserEvent : GT_FN_clCreateBuffer;
	e.size = r->is_event ? 0 : 64u << random / 4 % 20;
	e.handle = r->handle;
	emit(t, &e);
}

static void end(struct thread *t, const struct resource *r)
{
	struct gt_event e = { .handle = r->handle };

	e.function = r->is_event ? GT_FN_clReleaseEvent : GT_FN_clReleaseMemObject;
	emit(t, &e);
}

static void *write_alive(void *arg)
{
	struct thread *t = arg;

	while (t->events)
		create(t, &(struct resource){ 0 });
	return NULL;
}

static void *write_balanced(void *arg)
{
	struct thread *t = arg;

	for (uint32_t i = 0; i < t->slot_count; i++)
		create(t, &t->slots[i]);
	while (t->events > t->slot_count + 1) {
		struct resource *r = &t->slots[next_random(&t->random) % t->slot_count];

		end(t, r);
		create(t, r);
	}
	for (uint32_t i = 0; i < t->slot_count; i++)
		end(t, &t->slots[i]);
	return NULL;
}

static void define_module(struct gt_writer *w, void *defined)
{
	char path[PATH_MAX] = "";
	struct stat st;
	ssize_t n;

	if (*(bool *)defined)
		return;
	*(bool *)defined = true;
	n = readlink("/proc/self/exe", path, sizeof path - 1);
	if (n < 0 || stat(path, &st))
		fail("/proc/self/exe", errno);
	gt_writer_module(w, 0,
			 &(struct gt_module){
				 .start = (uintptr_t)__executable_start,
				 .size = (uintptr_t)etext - (uintptr_t)__executable_start,
				 .bias = (uintptr_t)__executable_start,
				 .path = path,
				 .file_size = (uint64_t)st.st_size,
				 .mtime_ns = st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec });
}

static void define_stacks(struct gt_writer *w, uint32_t *stacks, uint32_t count)
{
	/* code begins some way into the file; which function an address falls into is no matter */
	uintptr_t from = (uintptr_t)define_stacks & ~(uintptr_t)4095;
	uintptr_t size = (uintptr_t)etext - from;
	uint64_t random = 1, frames[FRAMES];

	for (uint32_t i = 0; i < count; i++) {
		for (int f = 0; f < FRAMES; f++)
			/* the outer half is common to many, as main and its like are */
			frames[f] = from + (f < FRAMES / 2 ? next_random(&random) % size :
							     64u * (unsigned int)f);
		stacks[i] = gt_writer_stack(w, frames, FRAMES);
		if (!stacks[i])
			fail("cannot write a stack", ENOSPC);
	}
}

/* The way taken at each level is a bit of the event's number, the highest outermost. */
static void write_distinct(struct gt_writer *w, uint64_t events)
{
	uintptr_t from = (uintptr_t)define_stacks & ~(uintptr_t)4095;
	struct thread t = { .writer = w, .tid = 1000, .events = events, .time_ns = gt_now_ns() };
	/* far enough apart to be of different functions, most of them */
	uintptr_t apart = ((uintptr_t)etext - from) / (2 * LEVELS + 2);
	uint64_t frames[LEVELS + 2];
	uint32_t stack;

	if (events > 1u << LEVELS)
		fail("distinct stacks", ERANGE);
	t.next_handle = UINT64_C(0x7f0000000000);
	t.lane = gt_lane_acquire(w, t.tid, "worker");
	t.stacks = &stack;
	t.stack_count = 1;
	if (!t.lane)
		fail("cannot start a thread", ENOMEM);
	frames[0] = from + apart * 2 * LEVELS;
	frames[LEVELS + 1] = from + apart * (2 * LEVELS + 1);
	while (t.events) {
		for (unsigned int i = 0; i < LEVELS; i++)
			frames[1 + i] = from + apart * (2 * i + ((t.events - 1) >> i & 1));
		stack = gt_writer_stack(w, frames, LEVELS + 2);
		if (!stack)
			fail("cannot write a stack", ENOSPC);
		create(&t, &(struct resource){ 0 });
	}
}

static void write_threads(struct gt_writer *w, uint64_t events, const struct shape *shape)
{
	static uint32_t stacks[STACKS];
	struct thread threads[THREADS] = { 0 };
	uint32_t stack_count = shape->processes ? STACKS_OF_MANY : STACKS;
	uint64_t now = gt_now_ns();

	define_stacks(w, stacks, stack_count);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct thread *t = &threads[i];
		char name[16];

		*t = (struct thread){ .writer = w,
				      .stacks = stacks,
				      .stack_count = stack_count,
				      .tid = 1000 + i,
				      .events = events / THREADS,
				      .time_ns = now,
				      .random = i,
				      .next_handle = (0x7f00u + i) * (UINT64_C(1) << 32),
				      .owner = 0x55aa00001000 + i * HANDLE_STEP,
				      .slot_count = shape->alive };
		/* a short recording holds less, so that it can be balanced too */
		if (t->slot_count > t->events / 2)
			t->slot_count = (uint32_t)(t->events / 2);
		t->slots = calloc(t->slot_count + 1, sizeof *t->slots);
		snprintf(name, sizeof name, "worker %u", i);
		t->lane = gt_lane_acquire(w, t->tid, name);
		if (!t->slots || !t->lane)
			fail("cannot start a thread", ENOMEM);
		if (pthread_create(&t->thread, NULL, shape->alive ? write_balanced : write_alive,
				   t))
			fail("cannot start a thread", EAGAIN);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i].thread, NULL);
		free(threads[i].slots);
	}
}

static const struct shape *find_shape(const char *name)
{
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (!strcmp(shapes[i].name, name))
			return &shapes[i];
	return NULL;
}

/* One process of the recording. */
static void write_trace(const char *folder, uint32_t pid, uint64_t events,
			const struct shape *shape)
{
	bool defined = false;
	struct gt_writer_options options = { .pid = pid,
					     .ppid = (uint32_t)getppid(),
					     .modules = define_module,
					     .context = &defined };
	struct gt_writer *w;
	char path[PATH_MAX];
	int e;

	snprintf(path, sizeof path, "%s/%u.trace", folder, pid);
	e = gt_writer_open(&w, path, &options);
	if (e)
		fail(path, -e);
	gt_writer_place(w, 1, GT_OPENCL, "synthetic");
	if (shape->is_distinct)
		write_distinct(w, events);
	else
		write_threads(w, events, shape);
	gt_writer_end(w);
	gt_writer_free(w);
}

int main(int argc, char **argv)
{
	const struct shape *shape = argc == 4 ? find_shape(argv[3]) : NULL;
	uint32_t processes = shape && shape->processes ? shape->processes : 1;
	uint64_t events = argc == 4 ? strtoull(argv[2], NULL, 10) / processes : 0;

	if (events < 2 * THREADS || !shape) {
		fprintf(stderr,
			"usage: %s FOLDER EVENTS balanced|alive|reused|distinct|processes\n",
			argv[0]);
		return 2;
	}
	if (mkdir(argv[1], 0700))
		fail(argv[1], errno);
	for (uint32_t i = 0; i < processes; i++)
		write_trace(argv[1], (uint32_t)getpid() + i, events, shape);
	return 0;
}
