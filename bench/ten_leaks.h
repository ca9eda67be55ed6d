/* SPDX-License-Identifier: MIT */
/*
 * ten_leaks.h - ten resources that are never released, and ten of the same kinds that are: what
 * bench/peers.py asks each tool about. A tool has found a leak if it names its function, leak_….
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

/* Needs make_NAME(), which returns the resource, and release_NAME(it). */
#define TEN_LEAKS_KIND(name)                                                                       \
	static __attribute__((noinline)) void leak_##name(void)                                    \
	{                                                                                          \
		make_##name();                                                                     \
		__asm__ volatile("" : : : "memory"); /* no tail call */                            \
	}                                                                                          \
	static __attribute__((noinline)) void tidy_##name(void)                                    \
	{                                                                                          \
		release_##name(make_##name());                                                     \
		__asm__ volatile("" : : : "memory");                                               \
	}

#define TEN_LEAKS_ROW(name) { leak_##name, tidy_##name },

struct ten_leaks_row {
	void (*leak)(void), (*tidy)(void);
};

static inline void must(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "ten_leaks: error %d from %s\n", error, what);
	exit(1);
}

static inline void run_rows(const struct ten_leaks_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		rows[i].tidy();
		rows[i].leak();
	}
}
