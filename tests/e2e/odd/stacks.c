/* SPDX-License-Identifier: MIT */
/* stacks.c - calls where there is little stack, a strange one, or a very deep one. */
#include "odd.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

enum { SMALL = 8192, AREA = 64 << 10, PAINT = 0xa5, PAGE = 4096, CALLS = 20, DEEP = 10000 };

static void some_calls(void)
{
	calls(CALLS);
}

static void on_signal(int number)
{
	(void)number;
	calls(1);
}

/* A handler's stack of SIGSTKSZ bytes above a page that cannot be accessed. */
static int in_handler(void)
{
	unsigned char *low = mmap(NULL, PAGE + SMALL, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = low + PAGE, .ss_size = SMALL };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	if (low == MAP_FAILED || mprotect(low, PAGE, PROT_NONE) || sigaltstack(&stack, NULL) ||
	    sigaction(SIGUSR1, &action, NULL))
		fail("no signal stack: %m");
	for (int i = 0; i < CALLS; i++)
		raise(SIGUSR1);
	return 0;
}

static void *in_thread(void *unused)
{
	calls(CALLS);
	return unused;
}

static int smallest_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	for (int i = 0; i < 3; i++) {
		if (pthread_attr_init(&attr) ||
		    pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN)) ||
		    pthread_create(&thread, &attr, in_thread, NULL))
			fail("no thread with a small stack");
		pthread_join(thread, NULL);
	}
	return 0;
}

/* Calls `fn` on a small stack between two areas with a pattern, as a coroutine on the heap. */
static void between_data(void (*fn)(void))
{
	unsigned char *low = malloc(AREA + SMALL + AREA);
	long wrong = 0;

	if (!low)
		fail("no memory");
	memset(low, PAINT, AREA + SMALL + AREA);
	call_on(fn, (void *)((uintptr_t)(low + AREA + SMALL) & ~(uintptr_t)63));
	for (size_t i = 0; i < AREA; i++)
		wrong += low[i] != PAINT || (i >= 64 && low[AREA + SMALL + i] != PAINT);
	say("overwritten %ld", wrong);
	free(low);
}

static int coroutine(void)
{
	between_data(some_calls);
	return 0;
}

static pid_t child;

static void fork_here(void)
{
	child = fork();
	if (!child) {
		calls(CALLS);
		_exit(5);
	}
}

/* The child's first call starts a trace, on the coroutine's stack. */
static int fork_on_a_small_stack(void)
{
	between_data(fork_here);
	say_end("child", child);
	return 0;
}

static ucontext_t outside, inside;

static void turns(void)
{
	for (int i = 0; i < CALLS; i++) {
		void *object = door_create();

		swapcontext(&inside, &outside);
		door_release(object);
	}
}

/* Objects are created on one stack and released on it after others have run. */
static int contexts(void)
{
	static char stack[2 * SMALL];

	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	inside.uc_link = &outside;
	makecontext(&inside, turns, 0);
	for (int i = 0; i <= CALLS; i++) {
		swapcontext(&outside, &inside);
		calls(1);
	}
	say("back from %d turns", CALLS);
	return 0;
}

__attribute__((noinline)) static int descend(int depth)
{
	int below = 0;

	if (depth % 1000 == 0)
		calls(1);
	if (depth)
		below = descend(depth - 1);
	__asm__ volatile("" ::: "memory"); /* no tail call */
	return below + 1;
}

static int deep(void)
{
	say("%d frames", descend(DEEP));
	return 0;
}

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret: code without unwind tables. */
static int generated_code(void)
{
#if defined(__aarch64__)
	/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
	static const unsigned code[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd,
					 0xd65f03c0 };
#else
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
#endif
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*made)(void (*)(void));

	if (page == MAP_FAILED)
		fail("no memory: %m");
	memcpy(page, code, sizeof(code));
	__builtin___clear_cache(page, (char *)page + sizeof code);
	if (mprotect(page, PAGE, PROT_READ | PROT_EXEC))
		skip("no executable memory: %m");
	memcpy(&made, &page, sizeof(made));
	made(some_calls);
	munmap(page, PAGE);
	calls(1);
	return 0;
}

const struct mode stack_modes[] = {
	{ .name = "signal-stack", .run = in_handler },
	{ .name = "smallest-thread", .run = smallest_thread },
	{ .name = "coroutine", .run = coroutine },
	{ .name = "fork-on-small-stack", .run = fork_on_a_small_stack },
	{ .name = "contexts", .run = contexts },
	{ .name = "deep", .run = deep },
	{ .name = "generated-code", .run = generated_code },
	{ .name = NULL },
};
