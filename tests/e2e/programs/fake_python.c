/* SPDX-License-Identifier: MIT */
/*
 * fake_python.c - has the memory of a Python 3.14 in three threads, and allocates in each:
 *
 *	fake_python libcuda.so.1
 *
 * No such interpreter is installed here. It publishes its offsets as the real one does; they differ
 * from the real ones, so that they must be read. The main thread is in two functions with a frame
 * of the interpreter's own between them, the second in one, the third in none. It allocates 1000,
 * 2000 and 3000 bytes for each line of its input.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct frame {
	uint64_t unused, executable, previous, instruction;
	char more[3], owner;
};

struct thread_state {
	uint64_t previous, next, interpreter, unused[3], frame, thread, status;
};

struct interpreter {
	uint64_t unused[1000], next, threads;
};

struct text {
	uint64_t head[2], length, hash;
	uint32_t state;
	char unused[4];
	char characters[32];
};

struct bytes {
	uint64_t head[2], length, hash;
	uint8_t bytes[8];
};

struct code {
	uint64_t count, type, unused[9];
	int32_t first_line, more;
	uint64_t file, name, lines, again[4];
	uint8_t bytecode[64];
};

enum { INTERPRETER = 6, THREAD = INTERPRETER + 16, FRAME = THREAD + 9, CODE = FRAME + 8 };

/* clang-format off */
EXPORT struct {
	uint64_t published[100];
	uint64_t interpreters;
} _PyRuntime = { .published = {
	[1] = 0x030e00f0, [5] = 800,
	[INTERPRETER + 2] = offsetof(struct interpreter, next),
	[INTERPRETER + 3] = offsetof(struct interpreter, threads),
	[THREAD + 1] = offsetof(struct thread_state, previous),
	[THREAD + 2] = offsetof(struct thread_state, next),
	[THREAD + 3] = offsetof(struct thread_state, interpreter),
	[THREAD + 4] = offsetof(struct thread_state, frame),
	[THREAD + 5] = offsetof(struct thread_state, thread),
	[THREAD + 8] = offsetof(struct thread_state, status),
	[FRAME + 1] = offsetof(struct frame, previous),
	[FRAME + 2] = offsetof(struct frame, executable),
	[FRAME + 3] = offsetof(struct frame, instruction),
	[FRAME + 5] = offsetof(struct frame, owner),
	[CODE + 1] = offsetof(struct code, file),
	[CODE + 3] = offsetof(struct code, name),
	[CODE + 4] = offsetof(struct code, lines),
	[CODE + 5] = offsetof(struct code, first_line),
	[CODE + 9] = offsetof(struct code, bytecode),
	[0] = 0x7970677562656478, /* "xdebugpy" */
} };
/* clang-format on */
EXPORT const unsigned long Py_Version = 0x030e00f0;
EXPORT uint64_t PyCode_Type[4];

static struct interpreter other, only = { .next = 0 };
static struct text file = { .length = 7, .state = 0x190000u | 1u << 20, .characters = "fake.py" };
static struct bytes lines = { .length = 2, .bytes = { 0xef, 4 } }; /* eight units, line + 2 */
static struct text names[2];
static struct code codes[2];
static struct frame frames[4];
static struct thread_state states[4];
static int (*allocate)(uint64_t *, size_t);
static __thread struct thread_state *own;

EXPORT void *PyGILState_GetThisThreadState(void);
EXPORT const char *Py_GetVersion(void);

void *PyGILState_GetThisThreadState(void)
{
	return own;
}

const char *Py_GetVersion(void)
{
	return "3.14.0 (made of bytes)";
}

static uint64_t address(const void *of)
{
	return (uint64_t)(uintptr_t)of;
}

static void make_codes(void)
{
	names[0] = names[1] = file;
	names[0].length = (uint64_t)snprintf(names[0].characters, 32, "<module>");
	/* Latin-1, beyond ASCII: its characters begin elsewhere */
	names[1].state = (1u | 1u << 3) << 16;
	names[1].length = 5;
	memcpy((char *)&names[1] + 56,
	       "gr\xf6\xdf"
	       "e",
	       6);
	for (int i = 0; i < 2; i++) {
		codes[i].type = address(PyCode_Type);
		codes[i].first_line = 10 * (i + 1);
		codes[i].file = address(&file);
		codes[i].name = address(&names[i]);
		codes[i].lines = address(&lines);
	}
}

static void make_frame(int at, int code, const struct frame *previous, char owner)
{
	frames[at].executable = code < 0 ? 1 : address(&codes[code]) | 1; /* a tag */
	frames[at].previous = address(previous);
	frames[at].instruction = code < 0 ? 0 : address(codes[code].bytecode) + 4;
	frames[at].owner = owner;
}

/* The list is in the second interpreter; the thread has another state in it, which is not in use.
 */
static void enter(int at, const struct frame *frame)
{
	uint64_t before = only.threads;

	own = &states[at];
	*own = (struct thread_state){ .next = before,
				      .interpreter = address(&only),
				      .frame = address(frame),
				      .thread = address((void *)pthread_self()),
				      .status = 8 | 1 };
	if (before)
		((struct thread_state *)(uintptr_t)before)->previous = address(own);
	only.threads = address(own);
}

static void *work(void *number)
{
	uint64_t handle;
	int at = (int)(intptr_t)number;

	if (at == 1)
		enter(1, &frames[3]);
	allocate(&handle, (size_t)(1000 * (at + 1)));
	return NULL;
}

static void run_thread(int number)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, (void *)(intptr_t)number);
	pthread_join(thread, NULL);
	/* it ends with its state */
	if (number == 1) {
		only.threads = address(&states[0]);
		states[0].previous = 0;
	}
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *context;
	int (*init)(unsigned), (*create)(void **, unsigned, int);
	char line[16];

	if (!library)
		return 77;
	init = (int (*)(unsigned))dlsym(library, "cuInit");
	create = (int (*)(void **, unsigned, int))dlsym(library, "cuCtxCreate_v2");
	allocate = (int (*)(uint64_t *, size_t))dlsym(library, "cuMemAlloc_v2");
	if (!init || !create || !allocate || init(0) || create(&context, 0, 0))
		return 1;
	make_codes();
	make_frame(0, 1, &frames[1], 0);
	make_frame(1, -1, &frames[2], 3);
	make_frame(2, 0, NULL, 0);
	make_frame(3, 1, NULL, 0);
	other.next = address(&only);
	states[3] = (struct thread_state){ .thread = address((void *)pthread_self()) };
	other.threads = address(&states[3]);
	_PyRuntime.interpreters = address(&other);
	enter(0, &frames[0]);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		work(NULL);
		run_thread(1);
		run_thread(2);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
