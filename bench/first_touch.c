/* SPDX-License-Identifier: MIT */
/*
 * first_touch.c - how long the kernel takes to give a process memory that it touches for the first
 * time: as much as the ledger of 10 million resources has.
 *
 * A virtual machine may hand free memory back to its host, a few seconds after it was released. To
 * touch it then takes the host's time as well, which counts as the processor time of the program.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MEGABYTES = 640, ROUNDS = 3, ROUNDS_QUICK = 1, PAGE = 4096, REST_S = 6 };

static const size_t bytes = (size_t)MEGABYTES << 20;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Of a new mapping, which is released again. */
static double touch_ms(int advice)
{
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double begun, took;

	if (memory == MAP_FAILED) {
		perror("first_touch: mmap");
		exit(1);
	}
	/* a kernel without large pages refuses the advice, and has small ones anyway */
	madvise(memory, bytes, advice);
	begun = now_ms();
	for (size_t at = 0; at < bytes; at += PAGE)
		*(volatile char *)(memory + at) = 1;
	took = now_ms() - begun;
	munmap(memory, bytes);
	return took;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_row(const char *name, int advice, int rounds)
{
	double rested[ROUNDS], again[ROUNDS];

	for (int i = 0; i < rounds; i++) {
		sleep(REST_S);
		rested[i] = touch_ms(advice);
		again[i] = touch_ms(advice);
	}
	qsort(rested, (size_t)rounds, sizeof *rested, by_value);
	qsort(again, (size_t)rounds, sizeof *again, by_value);
	printf("| %s | %.0f | %.0f | %.0f | %.0f |\n", name, rested[0], rested[rounds / 2],
	       again[0], again[rounds / 2]);
	fflush(stdout);
}

int main(void)
{
	int rounds = getenv("BENCH_QUICK") ? ROUNDS_QUICK : ROUNDS;

	printf("| touching %d MB, ms | first, after %d s: min | median "
	       "| again, right after its release: min | median |\n|---|--:|--:|--:|--:|\n",
	       MEGABYTES, REST_S);
	print_row("small pages", MADV_NOHUGEPAGE, rounds);
	print_row("large pages", MADV_HUGEPAGE, rounds);
	return 0;
}
