/* SPDX-License-Identifier: MIT */
/*
 * killed: makes and releases objects in a fixed pattern, and ends with some of them alive.
 *
 * After --calls N calls (default 1000, the context's own not counted) it ends as --how says:
 * kill9, term, abort, segv, _exit, exit, quick_exit or return; with stay it runs until it is
 * killed. --log FILE has a line for every call that returned, written before the next call.
 */
#include "cl_kinds.h"

#include <signal.h>

#define SLOTS 128

struct slot {
	enum cl_kind kind;
	void *handle;
	int references; /* 0: the slot is free */
};

static struct slot slots[SLOTS];
static cl_context context;

static void die_by_kill(void)
{
	kill(getpid(), SIGKILL);
}

static void die_by_term(void)
{
	kill(getpid(), SIGTERM);
}

static void die_by_segv(void)
{
	*(volatile int *)NULL = 0;
}

static void end_by__exit(void)
{
	_exit(STATUS_OK);
}

static void end_by_exit(void)
{
	exit(STATUS_OK);
}

static void end_by_quick_exit(void)
{
	quick_exit(STATUS_OK);
}

static void end_by_return(void)
{
}

static void stay(void)
{
	for (;;)
		pause();
}

static const struct ending {
	const char *name;
	void (*end)(void);
} endings[] = {
	{ .name = "kill9", .end = die_by_kill },
	{ .name = "term", .end = die_by_term },
	{ .name = "abort", .end = abort },
	{ .name = "segv", .end = die_by_segv },
	{ .name = "_exit", .end = end_by__exit },
	{ .name = "exit", .end = end_by_exit },
	{ .name = "quick_exit", .end = end_by_quick_exit },
	{ .name = "return", .end = end_by_return },
	{ .name = "stay", .end = stay },
};

static const struct ending *ending_find(const char *name)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (!strcmp(name, endings[i].name))
			return &endings[i];
	}
	quit(STATUS_FAILED, "unknown way to end '%s'", name);
}

/* Not rand(): the pattern must be the same with every C library. */
static unsigned int next_random(void)
{
	static unsigned int state = 1;

	state = state * 1664525u + 1013904223u;
	return state >> 16;
}

static void slot_fill(struct slot *s)
{
	static const enum cl_kind kinds[] = { KIND_BUFFER, KIND_EVENT, KIND_SAMPLER };
	size_t size = 0;
	cl_int err = CL_SUCCESS;
	int line = 0;

	s->kind = kinds[next_random() % 3];
	s->references = 1;
	switch (s->kind) {
	case KIND_BUFFER:
		size = 16 + next_random() % 8192;
		line = __LINE__ + 1;
		s->handle = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
		break;
	case KIND_EVENT:
		line = __LINE__ + 1;
		s->handle = clCreateUserEvent(context, &err);
		break;
	default:
		line = __LINE__ + 1;
		s->handle = clCreateSampler(context, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST,
					    &err);
		break;
	}
	MUST(err);
	log_create(s->kind, s->handle, size, line, __FILE_NAME__);
}

static void slot_retain(struct slot *s)
{
	MUST(kind_retain(s->kind, s->handle));
	log_retain(s->kind, s->handle);
	s->references++;
}

static void slot_release(struct slot *s)
{
	MUST(kind_release(s->kind, s->handle));
	log_release(s->kind, s->handle);
	s->references--;
}

/* Makes one call. */
static void step(void)
{
	struct slot *s = &slots[next_random() % SLOTS];

	if (!s->references)
		slot_fill(s);
	else if (s->references < 3 && next_random() % 4 == 0)
		slot_retain(s);
	else
		slot_release(s);
}

int main(int argc, char **argv)
{
	const char *platform = arg_take(&argc, argv, "--platform");
	const char *log = arg_take(&argc, argv, "--log");
	const char *how = arg_take(&argc, argv, "--how");
	const struct ending *ending = ending_find(how ? how : "kill9");
	struct cl_choice choice;
	int alive = 0, line;
	long calls;
	cl_int err;

	calls = arg_number(&argc, argv, "--calls", 1000);
	arg_none_left(argc, argv);
	log_open(log);
	choice = cl_pick(platform);
	line = __LINE__ + 1;
	context = clCreateContext(NULL, 1, &choice.device, NULL, NULL, &err);
	MUST(err);
	log_create(KIND_CONTEXT, context, 0, line, __FILE_NAME__);

	for (long i = 0; i < calls; i++)
		step();
	for (int i = 0; i < SLOTS; i++)
		alive += slots[i].references > 0;
	/* write(2): stdio would lose it in most of the endings */
	dprintf(STDOUT_FILENO, "%d objects and a context alive, ending by %s\n", alive,
		ending->name);
	ending->end();
	return STATUS_OK;
}
