/* SPDX-License-Identifier: MIT */
/*
 * small_stack.h - how much of a stack a call takes, and calls where there is little of it.
 *
 * For one program for each API, which defines the three functions below, and calls small_main.
 *
 * Without options: prints, line by line, how many bytes of a painted stack calls touch: the first
 * of the process, the first of a thread, the same again, with another stack, after a library was
 * loaded, thousands of allocations, and in a child.
 *
 * --coroutine BYTES	makes calls on a stack of that size between two areas with a pattern, and
 *			prints how many bytes of the pattern were overwritten
 * --thread BYTES	makes calls in a thread with a stack of that size
 * --handler BYTES	makes calls in a signal handler on an alternate stack of that size, above a
 *			page that cannot be accessed
 */
#pragma once

#include "../../call_on.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AREA = 256 << 10, PAINT = 0xa5, PAGE = 4096, MANY = 6000 };

/* The API's: two calls, an allocation and its release; an allocation that stays, and its release.
 */
static void one(void);
static void *allocate(void);
static void release(void *block);

__attribute__((noinline)) static void other(void)
{
	one();
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void after_loading(void)
{
	one();
	__asm__ volatile("" ::: "memory");
}

static unsigned char area[AREA] __attribute__((aligned(64)));

/* How much of the area calls have touched since it was painted, from its end. */
static size_t touched(void)
{
	size_t at = 0;

	while (at < sizeof(area) && area[at] == PAINT)
		at++;
	return sizeof(area) - at;
}

static size_t bytes_of(void (*fn)(void))
{
	memset(area, PAINT, sizeof(area));
	call_on(fn, area + sizeof(area));
	return touched();
}

static void *blocks[MANY];
static size_t block_count;

static void keep_one(void)
{
	blocks[block_count++] = allocate();
}

static void drop_one(void)
{
	release(blocks[--block_count]);
}

/* The recorder's tables and files grow meanwhile. */
static size_t bytes_of_many(void)
{
	memset(area, PAINT, sizeof(area));
	while (block_count < MANY)
		call_on(keep_one, area + sizeof(area));
	while (block_count)
		call_on(drop_one, area + sizeof(area));
	return touched();
}

static void *in_thread(void *unused)
{
	printf("thread %zu\n", bytes_of(one));
	printf("again %zu\n", bytes_of(one));
	printf("other %zu\n", bytes_of(other));
	for (int i = 0; i < 8; i++)
		bytes_of(one);
	printf("known %zu\n", bytes_of(one));
	/* of glibc, and loaded by nobody */
	if (!dlopen("libBrokenLocale.so.1", RTLD_NOW))
		exit(2);
	printf("loaded %zu\n", bytes_of(after_loading));
	printf("many %zu\n", bytes_of_many());
	return unused;
}

static void in_child(void)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		printf("child %zu\n", bytes_of(one));
		printf("child-again %zu\n", bytes_of(one));
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* Calls between two areas with a pattern. */
static void coroutine(size_t size)
{
	size_t wrong = 0, calls = 20;
	unsigned char *low = malloc(AREA + size);

	if (!low)
		exit(2);
	memset(low, PAINT, AREA + size);
	while (calls--)
		call_on(one, (void *)((uintptr_t)(low + AREA + size) & ~(uintptr_t)63));
	for (size_t i = 0; i < AREA; i++)
		wrong += low[i] != PAINT;
	printf("overwritten %zu\n", wrong);
	free(low);
}

static void *make_calls(void *unused)
{
	for (int i = 0; i < 20; i++)
		one();
	return unused;
}

static void thread_with(size_t size)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, size) ||
	    pthread_create(&thread, &attr, make_calls, NULL))
		exit(2);
	pthread_join(thread, NULL);
	printf("joined\n");
}

static void handler(int signal)
{
	(void)signal;
	one();
}

static void handle(size_t size)
{
	unsigned char *low =
		mmap(NULL, PAGE + AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = low + PAGE, .ss_size = size };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	if (low == MAP_FAILED || mprotect(low, PAGE, PROT_NONE) || sigaltstack(&stack, NULL) ||
	    sigaction(SIGUSR1, &action, NULL))
		exit(2);
	for (int i = 0; i < 20; i++)
		raise(SIGUSR1);
	printf("handled\n");
}

static void measure_all(void)
{
	pthread_t thread;

	printf("first %zu\n", bytes_of(one));
	if (pthread_create(&thread, NULL, in_thread, NULL))
		exit(2);
	pthread_join(thread, NULL);
	in_child();
	fflush(stdout);
}

static inline int small_main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--coroutine")) {
		coroutine((size_t)atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "--handler")) {
		handle((size_t)atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "--thread")) {
		thread_with((size_t)atol(argv[2]));
	} else if (argc > 1) {
		fprintf(stderr,
			"usage: %s [--coroutine BYTES | --thread BYTES | --handler BYTES]\n",
			argv[0]);
		return 2;
	} else {
		measure_all();
	}
	return 0;
}
