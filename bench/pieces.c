/* SPDX-License-Identifier: MIT */
/*
 * pieces.c - what each step of a recorded call costs on this machine; bench/pieces.sh runs it.
 *
 * A line each: "piece", its name, ns: the least and the median of all rounds. The steps are those
 * of guest/guest.c, called as it calls them, from a stack of 16 frames. GPUTRACK_RECORDING names a
 * folder for the trace.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "calls.h"
#include "guest/guest.h"
#include "guest/own_stack.h"
#include "trace/window.h"

enum {
	ROUNDS = 25,
	BLOCK = 64 << 10,
	BLOCKS = 64, /* of the file whose pages are used for the first time */
	CODE_JUMPS = 2048,
	DATA = 512 << 10,
	LINE = 64,
};

static int (*get_current)(void **), (*set_current)(void *);
static void *context, *sink;
static char *window, *data;
static uint64_t handle = 0x7f0000001000;

static void nothing(void)
{
	__asm__ volatile("" : : : "memory");
}

static void tsc(void)
{
	sink = (void *)(uintptr_t)__builtin_ia32_rdtsc();
}

static void clock_monotonic(void)
{
	sink = (void *)(uintptr_t)gt_now_ns();
}

static void clock_coarse(void)
{
	sink = (void *)(uintptr_t)gt_now_roughly_ns();
}

static void clock_by_kernel(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
}

static void cancel_state(void)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_setcancelstate(old, NULL);
}

static __thread uint64_t own __attribute__((tls_model("initial-exec")));

static void thread_local(void)
{
	own++;
	__asm__ volatile("" : : : "memory");
}

static void locked_word(void)
{
	static uint64_t word;

	__atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
}

static void current_context(void)
{
	get_current(&sink);
}

static void stack_known(void)
{
	uint64_t *frames;

	gt_unwind(&frames, 64, __builtin_return_address(0));
	sink = frames;
}

static void stack_new(void)
{
	gt_unwind_flush();
	stack_known();
}

static void stack_number(void)
{
	static const uint64_t frames[16] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
	};

	sink = (void *)(uintptr_t)gt_recorder_stack(frames, 16);
}

static void announce(void)
{
	struct gt_event e = { .function = GT_FN_cuEventCreate, .stack = 1 };
	uint64_t argv[2] = { 0 };

	gt_recorder_enter(&e, argv, __builtin_frame_address(0));
	gt_recorder_leave(__builtin_frame_address(0));
}

static void write_event(void)
{
	static uint64_t time_ns;
	struct gt_event e = { .function = GT_FN_cuEventDestroy_v2,
			      .stack = 1,
			      .handle = 0x7f0000001000,
			      .time_ns = time_ns += 300 };

	gt_recorder_event(&e);
}

static int next_block;

static void block_populate(void)
{
	gt_window_populate(window + (size_t)(next_block++ % BLOCKS) * BLOCK, BLOCK);
}

static void block_touch(void)
{
	char *block = window + (size_t)(next_block++ % BLOCKS) * BLOCK;

	for (int i = 0; i < BLOCK; i += 4096)
		block[i] = 1;
}

static void block_flush(void)
{
	gt_window_flush(window + (size_t)(next_block++ % BLOCKS) * BLOCK, BLOCK);
}

static uint64_t owner_of(const struct gt_call *call, enum gt_function_id row, uint64_t of)
{
	if (get_current)
		get_current(&sink);
	return (uint64_t)(uintptr_t)sink;
}

static uint16_t place_of(const struct gt_call *call, enum gt_function_id row, uint64_t of)
{
	if (get_current)
		get_current(&sink);
	return 1;
}

static const struct gt_call_door door = { .owner = owner_of, .place = place_of };

static __attribute__((noinline)) void create(void)
{
	uint64_t argv[] = { (uint64_t)(uintptr_t)&handle, 0 };
	struct gt_guest_call g;

	gt_guest_begin(&g, GT_FN_cuEventCreate, argv, __builtin_return_address(0));
	gt_guest_end(&g, 0, &door);
}

static __attribute__((noinline)) void destroy(void)
{
	uint64_t argv[] = { handle };
	struct gt_guest_call g;

	gt_guest_begin(&g, GT_FN_cuEventDestroy_v2, argv, __builtin_return_address(0));
	gt_guest_end(&g, 0, &door);
}

static __attribute__((noinline)) void pair(void)
{
	create();
	__asm__ volatile("" : : : "memory");
	destroy();
	__asm__ volatile("" : : : "memory");
}

/* 64 KiB of code and 2,048 jumps: what a driver's call may leave of the caches for code. */
static __attribute__((noinline)) void other_code(void)
{
	__asm__ volatile(".rept %c0\n"
			 "jmp 1f\n"
			 ".skip 30, 0x90\n"
			 "1:\n"
			 ".endr\n"
			 :
			 : "i"(CODE_JUMPS)
			 : "memory");
}

static void other_data(void)
{
	for (int i = 0; i < DATA; i += LINE)
		data[i]++;
}

static void pair_after_code(void)
{
	other_code();
	create();
	other_code();
	destroy();
}

static void code_twice(void)
{
	other_code();
	other_code();
}

static void pair_after_data(void)
{
	other_data();
	create();
	other_data();
	destroy();
}

static void data_twice(void)
{
	other_data();
	other_data();
}

struct piece {
	const char *name;
	void (*run)(void);
	long repeats;         /* in a round */
	void (*less)(void);   /* measured likewise, and subtracted; NULL: none */
	void (*before)(void); /* each round */
	unsigned calls;       /* of the API: the result is divided by it; 0: 1 */
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double time_of(void (*run)(void), long repeats)
{
	uint64_t begun = gt_now_ns();

	for (long i = 0; i < repeats; i++) {
		run();
		__asm__ volatile("" : : : "memory");
	}
	return (double)(gt_now_ns() - begun) / (double)repeats;
}

static void time_piece(void *self, long unused)
{
	const struct piece *p = self;
	double each[ROUNDS];

	(void)unused;
	if (set_current)
		set_current(context);
	time_of(p->run, p->before ? 1 : p->repeats / 4 + 1);
	for (int i = 0; i < ROUNDS; i++) {
		if (p->before)
			p->before();
		each[i] = time_of(p->run, p->repeats);
		if (p->less)
			each[i] -= time_of(p->less, p->repeats);
		if (p->calls)
			each[i] /= p->calls;
	}
	qsort(each, ROUNDS, sizeof *each, compare);
	printf("piece\t%s\t%.1f\t%.1f\n", p->name, each[0], each[ROUNDS / 2]);
	fflush(stdout);
}

/* A file like a trace, none of whose pages has been used. */
static void new_window(void)
{
	static char path[4096];
	int fd;

	if (window)
		munmap(window, (size_t)BLOCKS * BLOCK);
	snprintf(path, sizeof path, "%s/pieces", getenv("GPUTRACK_RECORDING"));
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || fallocate(fd, 0, 0, (off_t)BLOCKS * BLOCK)) {
		perror(path);
		exit(1);
	}
	window = mmap(NULL, (size_t)BLOCKS * BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	unlink(path);
	close(fd);
	if (window == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	next_block = 0;
}

static void used_window(void)
{
	new_window();
	for (int i = 0; i < BLOCKS; i++)
		block_touch();
}

/* The driver, with a current context; without one, that piece is left out. */
static void load_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned) = driver ? dlsym(driver, "cuInit") : NULL;
	int (*retain)(void **, int) = driver ? dlsym(driver, "cuDevicePrimaryCtxRetain") : NULL;

	if (!init || !retain || init(0) || retain(&context, 0))
		return;
	get_current = dlsym(driver, "cuCtxGetCurrent");
	set_current = dlsym(driver, "cuCtxSetCurrent");
}

static const struct piece pieces[] = {
	{ .name = "an empty round", .run = nothing, .repeats = 100000 },
	{ .name = "the time stamp counter", .run = tsc, .repeats = 100000 },
	{ .name = "CLOCK_MONOTONIC", .run = clock_monotonic, .repeats = 50000 },
	{ .name = "CLOCK_MONOTONIC_COARSE", .run = clock_coarse, .repeats = 50000 },
	{ .name = "CLOCK_MONOTONIC by a system call", .run = clock_by_kernel, .repeats = 10000 },
	{ .name = "a variable of the thread", .run = thread_local, .repeats = 100000 },
	{ .name = "cancellation off and on", .run = cancel_state, .repeats = 100000 },
	{ .name = "a locked instruction", .run = locked_word, .repeats = 100000 },
	{ .name = "the stack, known", .run = stack_known, .repeats = 20000 },
	{ .name = "the stack, walked", .run = stack_new, .repeats = 500 },
	{ .name = "the number of a stack", .run = stack_number, .repeats = 50000 },
	{ .name = "announced and withdrawn", .run = announce, .repeats = 50000 },
	{ .name = "an event written", .run = write_event, .repeats = 50000 },
	{ .name = "a block of 64 KiB, populated",
	  .run = block_populate,
	  .repeats = BLOCKS,
	  .before = new_window },
	{ .name = "a block of 64 KiB, touched page by page",
	  .run = block_touch,
	  .repeats = BLOCKS,
	  .before = new_window },
	{ .name = "a block of 64 KiB, given back",
	  .run = block_flush,
	  .repeats = BLOCKS,
	  .before = used_window },
	{ .name = "create", .run = create, .repeats = 20000 },
	{ .name = "destroy", .run = destroy, .repeats = 20000 },
	{ .name = "create + destroy, a call", .run = pair, .repeats = 20000, .calls = 2 },
	{ .name = "… after 64 KiB of other code",
	  .run = pair_after_code,
	  .repeats = 2000,
	  .less = code_twice,
	  .calls = 2 },
	{ .name = "… after 512 KiB of other data",
	  .run = pair_after_data,
	  .repeats = 500,
	  .less = data_twice,
	  .calls = 2 },
};

int main(void)
{
	static const struct piece asked = { .name = "cuCtxGetCurrent",
					    .run = current_context,
					    .repeats = 50000 };

	if (!getenv("GPUTRACK_RECORDING")) {
		fprintf(stderr, "usage: GPUTRACK_RECORDING=FOLDER %s\n", program_invocation_name);
		return 2;
	}
	data = calloc(1, DATA);
	gt_guest_start();
	gt_guest_place(GT_CUDA, "GPU 0");
	load_driver();
	if (get_current)
		bench_once(time_piece, (void *)&asked);
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
		bench_once(time_piece, (void *)&pieces[i]);
	return 0;
}
