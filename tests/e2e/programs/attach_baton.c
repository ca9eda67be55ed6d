/* SPDX-License-Identifier: MIT */
/*
 * attach_baton.c - threads that hand one block of memory on, each from another processor:
 *
 *	attach_baton libcuda.so.1 TURNS
 *
 * After a line of input, each in its turn unregisters the block, moves to the next processor, and
 * registers it: the same handle each time. "done" says that it is over; ends after another line.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3, BYTES = 4096 };

static int (*attach)(void *, size_t, unsigned);
static int (*detach)(void *);
static int (*set_current)(void *);
static void *context;
static char block[BYTES] __attribute__((aligned(BYTES)));
static _Atomic unsigned turn;
static unsigned turns, failures;
static cpu_set_t processors;

static void move_to_next(void)
{
	static int at;
	cpu_set_t one;

	do
		at = (at + 1) % CPU_SETSIZE;
	while (!CPU_ISSET(at, &processors));
	CPU_ZERO(&one);
	CPU_SET(at, &one);
	sched_setaffinity(0, sizeof one, &one);
}

static void *hand_on(void *number)
{
	const unsigned own = (unsigned)(uintptr_t)number;

	if (set_current(context))
		failures++;
	for (unsigned mine = own; mine < turns; mine += THREADS) {
		while (atomic_load_explicit(&turn, memory_order_acquire) != mine)
			sched_yield();
		failures += !!detach(block);
		move_to_next();
		failures += !!attach(block, sizeof block, 0);
		atomic_store_explicit(&turn, mine + 1, memory_order_release);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	void *library = dlopen(argc > 2 ? argv[1] : "", RTLD_NOW);
	pthread_t threads[THREADS];
	int (*init)(unsigned), (*create)(void **, unsigned, int);
	char line[16];

	if (!library)
		return 1;
	turns = (unsigned)atoi(argv[2]);
	init = (int (*)(unsigned))dlsym(library, "cuInit");
	create = (int (*)(void **, unsigned, int))dlsym(library, "cuCtxCreate_v2");
	set_current = (int (*)(void *))dlsym(library, "cuCtxSetCurrent");
	attach = (int (*)(void *, size_t, unsigned))dlsym(library, "cuMemHostRegister_v2");
	detach = (int (*)(void *))dlsym(library, "cuMemHostUnregister");
	sched_getaffinity(0, sizeof processors, &processors);
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin) || init(0) || create(&context, 0, 0) ||
	    attach(block, sizeof block, 0))
		return 1;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, hand_on, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	fflush(stdout);
	(void)!fgets(line, sizeof line, stdin);
	return failures ? 1 : 0;
}
