/* SPDX-License-Identifier: MIT */
/* test_python_frames.c - frames of a fake Python in memory, read by threads and children. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "guest/fork_guard.h"
#include "guest/own_stack.h"
#include "guest/python.h"

/* The symbols the reader looks up, as in Python 3.12. */
#define EXPORT __attribute__((visibility("default")))
EXPORT void *PyGILState_GetThisThreadState(void);
EXPORT const char *Py_GetVersion(void);
EXPORT uint64_t PyCode_Type[4];

uint64_t PyCode_Type[4];

enum { CODES = 8, DEPTH = 5, THREADS = 4, ROUNDS = 3000 };

/* Words at the offsets of 3.12's layout. */
struct text {
	uint64_t head[2], length, hash;
	uint64_t state;
	char characters[24];
};

struct code {
	uint64_t words[32];
};

struct frame {
	uint64_t words[12];
};

static struct text file = { .length = 7,
			    .state = (1u | 1u << 3 | 1u << 4) << 2,
			    .characters = "file.py" };
static struct text names[CODES];
static uint64_t no_lines[5];
static struct code codes[CODES];

static __thread struct {
	uint64_t state[16], holder[2];
	struct frame frames[DEPTH];
} self;

void *PyGILState_GetThisThreadState(void)
{
	return self.state;
}

const char *Py_GetVersion(void)
{
	return "3.12.1 (made of bytes)";
}

static uint64_t address(const void *of)
{
	return (uint64_t)(uintptr_t)of;
}

static void make_codes(void)
{
	for (int i = 0; i < CODES; i++) {
		names[i] = file;
		names[i].length = (uint64_t)snprintf(names[i].characters,
						     sizeof names[i].characters, "f%d", i);
		codes[i].words[1] = address(PyCode_Type);
		codes[i].words[112 / 8] = address(&file);
		codes[i].words[128 / 8] = address(&names[i]);
		codes[i].words[136 / 8] = address(no_lines);
	}
}

/* An instruction for which the cache has the same slot, whatever the code is. */
static bool has_one_slot;

static uint64_t in_one_slot(const struct code *code)
{
	enum { SLOTS = 1024 };

	return 8 * SLOTS + 2 * ((0 - (address(code) >> 4) * 31) % SLOTS);
}

/* The calling thread is in functions `first`, `first` + 1, …, the innermost first. */
static void enter_functions(unsigned first)
{
	self.state[56 / 8] = address(self.holder);
	self.holder[0] = address(&self.frames[0]);
	for (int i = 0; i < DEPTH; i++) {
		struct code *code = &codes[(first + (unsigned)i) % CODES];

		self.frames[i].words[0] = address(code);
		self.frames[i].words[1] = i + 1 < DEPTH ? address(&self.frames[i + 1]) : 0;
		self.frames[i].words[56 / 8] =
			has_one_slot ? in_one_slot(code) : address(&code->words[192 / 8]);
	}
}

/* The number of a frame identifies its function. */
static uint64_t number_of(const struct gt_text_frame *frame)
{
	return strcmp(frame->file, "file.py") ? 0 : 1000 + (uint64_t)(frame->function[1] - '0');
}

static bool are_right(unsigned first)
{
	uint64_t frames[64] = { address((void *)are_right) };
	size_t count;

	enter_functions(first);
	count = gt_python_merge(frames, 1, 64, number_of, UINT64_C(10000000000));
	/* what is native is the interpreter itself here: all is Python's */
	if (count != DEPTH)
		return false;
	for (unsigned i = 0; i < DEPTH; i++)
		if (frames[i] != 1000 + (first + i) % CODES)
			return false;
	return true;
}

static void *wander(void *failures)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		if (!are_right(i * 7))
			atomic_fetch_add((_Atomic int *)failures, 1);
	return NULL;
}

/* With memory of its own, a thread reads known frames without the lock. */
static void *wander_warm(void *failures)
{
	gt_unwind_warm();
	return wander(failures);
}

static void threads_read_their_own_frames(void **state)
{
	_Atomic int failures = 0;
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, i % 4 ? wander_warm : wander, (void *)&failures);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(failures, 0);
}

static void threads_whose_places_replace_each_other_read_their_own(void **state)
{
	has_one_slot = true;
	threads_read_their_own_frames(state);
	has_one_slot = false;
}

static int read_as_child(unsigned first)
{
#ifdef __SANITIZE_THREAD__
	/* for the thread sanitizer the parent's threads go on here: only the parent is looked at */
	(void)first;
	return 0;
#else
	gt_fork_guard_restart();
	gt_python_restart();
	return are_right(first) ? 0 : 1;
#endif
}

static void forked_children_read_their_own_frames(void **state)
{
	_Atomic int failures = 0;
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, wander, (void *)&failures);
	for (unsigned i = 0; i < 20; i++) {
		pid_t child = fork();
		int status;

		if (!child)
			_exit(read_as_child(i));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(failures, 0);
}

/* A frame being torn down, code of another type, a name that is not text: no frames. */
static void read_implausible_frames(void)
{
	uint64_t frames[64] = { 4711 }, kept;

	assert_true(are_right(1));
	kept = self.frames[0].words[0];
	self.frames[0].words[0] = 3;
	assert_int_equal(gt_python_merge(frames, 1, 64, number_of, 0), 1);
	self.frames[0].words[0] = kept;
	codes[1].words[1] = address(no_lines);
	assert_int_equal(gt_python_merge(frames, 1, 64, number_of, 0), 1);
	codes[1].words[1] = address(PyCode_Type);
	self.state[56 / 8] = 0;
	assert_int_equal(gt_python_merge(frames, 1, 64, number_of, 0), 1);
	assert_int_equal(frames[0], 4711);
	/* a circle ends */
	enter_functions(0);
	self.frames[DEPTH - 1].words[1] = address(&self.frames[0]);
	assert_int_equal(gt_python_merge(frames, 1, 8, number_of, 0), 8);
}

static void implausible_frames_are_left_out(void **state)
{
	size_t room;

	(void)state;
	assert_null(gt_unwind_spare(&room));
	read_implausible_frames();
	gt_unwind_warm();
	assert_non_null(gt_unwind_spare(&room));
	read_implausible_frames();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_read_their_own_frames),
		cmocka_unit_test(threads_whose_places_replace_each_other_read_their_own),
		cmocka_unit_test(forked_children_read_their_own_frames),
		cmocka_unit_test(implausible_frames_are_left_out),
	};

	make_codes();
	gt_fork_guard_start();
	gt_unwind_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
