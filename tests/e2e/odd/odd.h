/* SPDX-License-Identifier: MIT */
/*
 * odd.h - what the odd programs share: counted calls of a GPU API, and the state they print.
 *
 * The same sources are linked with one door_*.c each: odd_opencl, odd_levelzero, odd_cuda.
 */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SKIPPED = 77 };

/* door_*.c: the API. Each counts its calls by COUNTED. */
void door_open(void);
void door_close(void);
void *door_create(void);
void door_release(void *object);
/* A call in which the driver crashes. */
void door_crash(void);
/* A call that calls `called` back before it returns; false: the API has no such call. */
bool door_call_back(void (*called)(void));
extern const char *const door_library;

/* calls.c: the counts lie in the file that ODD_COUNTS names, and survive whatever happens here. */
void count_begin(void);
void count_end(void);
void counts_open(void);

#define COUNTED(call)                                                                              \
	do {                                                                                       \
		count_begin();                                                                     \
		call;                                                                              \
		count_end();                                                                       \
	} while (0)

/* Creates and releases `n` objects. */
void calls(int n);
/* The same on a stack of `bytes` in which the calls start at the top. */
void call_on(void (*fn)(void), void *top);

/* Prints a line, unbuffered. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
extern int say_to;
/* Prints what a recorder must leave alone, under a name. */
void state(const char *where);
/* Prints how a child ended. */
void say_end(const char *who, pid_t child);
/* Ends the program when something does not work that has to. */
__attribute__((format(printf, 1, 2), noreturn)) void fail(const char *format, ...);
/* Ends the program when something is not to be had here. */
__attribute__((format(printf, 1, 2), noreturn)) void skip(const char *format, ...);

/* What main() was called with, without the mode. */
extern char **arguments;
extern const char *program;

struct mode {
	const char *name;
	int (*run)(void);  /* its value is the exit status */
	bool opens_itself; /* the door is opened by the mode, or never */
};

extern const struct mode stack_modes[], jump_modes[], thread_modes[], end_modes[], signal_modes[],
	limit_modes[], descriptor_modes[], privilege_modes[], process_modes[], loading_modes[];

/* jumps_throw.cpp */
int throw_around_calls(void);
int throw_through_callback(void);

#ifdef __cplusplus
}
#endif
