/* SPDX-License-Identifier: MIT */
/* test_in_flight.c - calls that had not returned when their process ended. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "test_writer.h"

#include "trace/writer_state.h"

/* Killed in a call, or between its record and the mark that it has returned. */
static void a_call_is_finished_or_open_but_never_both(void **state)
{
	const struct gt_event release = {
		.time_ns = 5, .handle = 7, .tid = 1, .function = GT_FN_clReleaseMemObject
	};

	for (int is_recorded = 0; is_recorded < 2; is_recorded++) {
		const char *path = fresh_path("open.trace");
		struct gt_writer *w = open_writer(path);
		struct gt_lane *lane = gt_lane_acquire(w, 1, "");
		struct gt_error error;
		struct gt_reader *r;
		struct gt_event e;

		gt_lane_event(lane, &(struct gt_event){ .time_ns = 4,
							.handle = 7,
							.function = GT_FN_clCreateBuffer });
		gt_lane_enter(lane, &release, NULL, 0, &release);
		if (is_recorded)
			gt_lane_event(lane, &release);
		assert_int_equal(gt_reader_open(&r, path, &error), 0);
		assert_int_equal(gt_reader_next(r, &e), 1);
		assert_int_equal(gt_reader_next(r, &e), 1);
		assert_int_equal(e.function, GT_FN_clReleaseMemObject);
		assert_int_equal(e.unfinished, !is_recorded);
		assert_int_equal(gt_reader_next(r, &e), 0);
		gt_reader_close(r);
		gt_writer_free(w);
	}
}

/* Writes a creation, then enters a release; `leave` and `end` happen before the file is closed. */
static struct events write_inflight(bool leave, bool end, struct gt_event *inside)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 3, "main"),
		       *other = gt_lane_acquire(w, 4, "other");
	struct gt_event e = {
		.time_ns = 500, .handle = 9, .tid = 3, .function = GT_FN_clCreateContext
	};
	uint64_t frames[] = { 1, 2, 3 };

	*inside = (struct gt_event){ .time_ns = 400,
				     .handle = 9,
				     .tid = 3,
				     .unfinished = 1,
				     .function = GT_FN_clReleaseContext,
				     .stack = gt_writer_stack(w, frames, 3) };
	gt_lane_event(lane, &e);
	gt_lane_enter(lane, inside, NULL, 0, NULL);
	e.time_ns = 600;
	e.tid = 4;
	gt_lane_event(other, &e);
	if (leave)
		gt_lane_leave(lane, NULL);
	if (end)
		gt_writer_end(w);
	gt_writer_free(w);
	return read_events(path, NULL);
}

static void the_call_a_killed_process_was_in_comes_last(void **state)
{
	struct gt_event inside;
	struct events got = write_inflight(false, false, &inside);

	assert_int_equal(got.count, 3);
	assert_same_event(&got.list[2], &inside);
	free(got.list);
}

static void a_call_that_returned_is_not_unfinished(void **state)
{
	struct gt_event inside;
	struct events got = write_inflight(true, false, &inside);

	assert_int_equal(got.count, 2);
	free(got.list);
}

/* The program, or its driver, called exit inside the call. */
static void the_call_a_process_exited_in_comes_last(void **state)
{
	struct gt_event inside;
	struct events got = write_inflight(false, true, &inside);

	assert_int_equal(got.count, 3);
	assert_same_event(&got.list[2], &inside);
	free(got.list);
}

static void an_open_call_may_outlast_its_first_block(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 3, "main");
	struct gt_event inside = { .time_ns = 5000,
				   .handle = 9,
				   .tid = 3,
				   .unfinished = 1,
				   .function = GT_FN_clReleaseContext };
	struct events got;
	uint64_t seed = 9;

	for (uint64_t i = 0; i < 5000; i++) {
		struct gt_event e = random_event(&seed, i, 3);

		gt_lane_event(lane, &e);
		gt_lane_enter(lane, &inside, NULL, 0, NULL);
		gt_lane_leave(lane, NULL);
	}
	gt_lane_enter(lane, &inside, NULL, 0, NULL);
	gt_writer_free(w);
	got = read_events(path, NULL);
	assert_int_equal(got.count, 5001);
	assert_same_event(&got.list[5000], &inside);
	free(got.list);
}

static void a_call_stays_open_during_nested_calls(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 3, "main");
	struct gt_event outer = { .time_ns = 10,
				  .handle = 9,
				  .tid = 3,
				  .unfinished = 1,
				  .function = GT_FN_clReleaseContext };
	struct gt_event inner = {
		.time_ns = 20, .handle = 8, .tid = 3, .function = GT_FN_clReleaseEvent
	};
	char stack[8]; /* of the program: it grows down */
	struct events got;

	gt_lane_event(lane, &inner);
	gt_lane_enter(lane, &outer, NULL, 0, &stack[7]);
	for (int i = 0; i < 5000; i++) { /* more than a block holds */
		gt_lane_enter(lane, &inner, NULL, 0, &stack[3]);
		if (i % 3)
			gt_lane_enter(lane, &inner, NULL, 0, &stack[2]);
		gt_lane_event(lane, &inner);
		gt_lane_leave(lane, &stack[3]);
	}
	gt_writer_free(w);
	got = read_events(path, NULL);
	assert_int_equal(got.count, 5002);
	assert_same_event(&got.list[5001], &outer);
	free(got.list);
}

/* By longjmp: the call never returns, and is not the one the process died in. */
static void a_call_left_by_longjmp_is_over(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 3, "main");
	struct gt_event e = {
		.time_ns = 10, .handle = 9, .tid = 3, .function = GT_FN_clReleaseContext
	};
	char stack[8];
	struct events got;

	gt_lane_event(lane, &e);
	for (int i = 0; i < 100; i++)
		gt_lane_enter(lane, &e, NULL, 0, &stack[1]);
	gt_lane_enter(lane, &e, NULL, 0, &stack[5]);
	gt_lane_leave(lane, &stack[5]);
	gt_writer_free(w);
	got = read_events(path, NULL);
	assert_int_equal(got.count, 1);
	free(got.list);
}

enum { ARGUMENTS = 5 }; /* of clCreateBuffer */

static const uint64_t words[ARGUMENTS] = { 0xc0, 1, 4096, 0, 0x7ffe };
static const struct gt_event creation = {
	.time_ns = 50, .tid = 3, .unfinished = 1, .function = GT_FN_clCreateBuffer
};

/* Reads to the end; the last event is `creation`, unfinished, with these arguments. */
static void assert_ends_in_creation(const char *path, size_t events, const uint64_t *wanted)
{
	const uint64_t *got;
	struct gt_reader *r;
	struct gt_error error;
	struct gt_event e;
	size_t count = 0;

	assert_int_equal(gt_reader_open(&r, path, &error), 0);
	while (gt_reader_next(r, &e) > 0)
		count++;
	assert_null(gt_reader_damage(r));
	assert_int_equal(count, events);
	assert_same_event(&e, &creation);
	assert_int_equal(gt_reader_arguments(r, &got), wanted ? ARGUMENTS : 0);
	if (wanted)
		assert_memory_equal(got, wanted, ARGUMENTS * sizeof *got);
	gt_reader_close(r);
}

static void the_first_call_of_a_process_has_its_arguments(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);

	gt_lane_enter(gt_lane_acquire(w, 3, "main"), &creation, words, ARGUMENTS, NULL);
	gt_writer_free(w);
	assert_ends_in_creation(path, 1, words);
}

/* Nested calls overwrite the arguments in the block, and so does the next block. */
static void arguments_survive_nested_calls_and_full_blocks(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 3, "main");
	struct gt_event inner = { .time_ns = 20, .handle = 8, .function = GT_FN_clReleaseEvent };
	const uint64_t others[] = { 8 };
	char stack[8];

	gt_lane_enter(lane, &creation, words, ARGUMENTS, &stack[7]);
	for (int i = 0; i < 5000; i++) {
		gt_lane_enter(lane, &inner, others, 1, &stack[3]);
		if (i % 3) /* left by longjmp */
			gt_lane_enter(lane, &inner, others, 1, &stack[2]);
		gt_lane_event(lane, &inner);
		if (i % 2)
			gt_lane_leave(lane, &stack[3]);
	}
	gt_lane_leave(lane, &stack[3]);
	gt_writer_free(w);
	assert_ends_in_creation(path, 5001, words);
}

/* At exit, calls below the frame of the exit handler are over: this one is above it. */
static void leaving_a_call_that_was_not_entered_changes_nothing(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 3, "main");
	char stack[8];

	gt_lane_enter(lane, &creation, words, ARGUMENTS, &stack[7]);
	gt_lane_leave(lane, &stack[3]);
	end_writer(w);
	assert_ends_in_creation(path, 1, words);
}

/* A creation's event has another time and handle than its call had when it began. */
static void a_recorded_creation_is_not_unfinished(void **state)
{
	for (int is_recorded = 0; is_recorded < 2; is_recorded++) {
		const char *path = fresh_path("open.trace");
		struct gt_writer *w = open_writer(path);
		struct gt_lane *lane = gt_lane_acquire(w, 3, "main");
		struct gt_event done = creation;
		struct events got;

		done.handle = 0x1000;
		done.time_ns = 60;
		done.unfinished = 0;
		gt_lane_event(lane, &done);
		gt_lane_enter(lane, &creation, words, ARGUMENTS, NULL);
		if (is_recorded)
			gt_lane_event(lane, &done);
		gt_writer_free(w);
		got = read_events(path, NULL);
		assert_int_equal(got.count, 2);
		assert_same_event(&got.list[1], is_recorded ? &done : &creation);
		free(got.list);
	}
}

static void a_trace_without_room_for_arguments_is_read(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	const uint32_t none = 0;
	int fd;

	gt_lane_enter(gt_lane_acquire(w, 3, "main"), &creation, words, ARGUMENTS, NULL);
	gt_writer_free(w);
	fd = open(path, O_WRONLY);
	assert_int_equal(
		pwrite(fd, &none, sizeof none, offsetof(struct gt_trace_header, arguments_size)),
		sizeof none);
	close(fd);
	assert_ends_in_creation(path, 1, NULL);
}

/* An append has no event: its stack is its caller, and only the first one takes a lock. */
static void an_announced_call_has_its_caller_as_stack(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 3, "main");
	const uint64_t argv[GT_ARGS_MAX] = { 0x77 };
	const void *caller = (const void *)0x1234, *other = (const void *)0x5678;
	uint16_t append = GT_FN_zeCommandListAppendBarrier;
	struct events got;
	char stack;

	assert_false(gt_lane_announce(lane, append, argv, caller, &stack));
	gt_lane_learn(lane, append, caller);
	assert_true(gt_lane_announce(lane, append, argv, caller, &stack));
	gt_lane_leave(lane, &stack);
	assert_false(gt_lane_announce(lane, append, argv, other, &stack));
	gt_writer_forget_stacks(w); /* other code may lie there now */
	assert_false(gt_lane_announce(lane, append, argv, caller, &stack));
	gt_lane_learn(lane, append, caller);
	assert_true(gt_lane_announce(lane, append, argv, caller, &stack));
	gt_writer_free(w);
	got = read_events(path, NULL);
	assert_int_equal(got.count, 1);
	assert_int_equal(got.list[0].function, append);
	assert_int_equal(got.list[0].handle, 0x77);
	assert_int_equal(got.list[0].stack, 2);
	free(got.list);
}

/* pthread_exit in a callback: the process goes on. */
static void a_thread_that_ends_inside_a_call_ends_the_call(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 3, "main");
	struct events got;

	gt_lane_enter(lane, &creation, words, ARGUMENTS, NULL);
	gt_lane_release(lane);
	end_writer(w);
	got = read_events(path, NULL);
	assert_int_equal(got.count, 0);
	free(got.list);
}

/* Two threads, of which one is in a call; a block of the other is missing. */
static void an_open_call_is_known_although_other_blocks_are_missing(void **state)
{
	static const uint8_t zeroes[GT_BLOCK_MIN];
	const struct gt_event release = {
		.time_ns = 600, .handle = 7, .tid = 1, .function = GT_FN_clReleaseContext
	};
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 1, ""), *other = gt_lane_acquire(w, 2, "");
	struct gt_event e = { .time_ns = 500, .handle = 7, .function = GT_FN_clCreateContext };
	struct gt_reader *r;
	struct gt_error error;
	struct events got;
	char damage[256];
	bool has_main;
	int fd;

	gt_lane_event(other, &e);
	assert_int_equal(gt_block_open(other), 0);
	gt_lane_event(other, &e);
	gt_lane_enter(lane, &release, NULL, 0, &release);
	gt_writer_free(w);
	/* after the header and the first lane's block */
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, zeroes, sizeof zeroes, 2 * GT_BLOCK_MIN), sizeof zeroes);
	close(fd);
	got = read_events(path, damage);
	assert_string_not_equal(damage, "");
	assert_int_equal(got.count, 2);
	assert_int_equal(got.list[0].tid, 2);
	assert_true(got.list[1].unfinished);
	assert_int_equal(got.list[1].handle, 7);
	free(got.list);
	/* and both threads remained, although the second one's first record is gone */
	assert_int_equal(gt_reader_open(&r, path, &error), 0);
	while (gt_reader_next(r, &e) > 0)
		continue;
	assert_int_equal(gt_reader_threads(r, &has_main), 2);
	gt_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_is_finished_or_open_but_never_both),
		cmocka_unit_test(the_call_a_killed_process_was_in_comes_last),
		cmocka_unit_test(a_call_that_returned_is_not_unfinished),
		cmocka_unit_test(the_call_a_process_exited_in_comes_last),
		cmocka_unit_test(an_open_call_may_outlast_its_first_block),
		cmocka_unit_test(a_call_stays_open_during_nested_calls),
		cmocka_unit_test(a_call_left_by_longjmp_is_over),
		cmocka_unit_test(the_first_call_of_a_process_has_its_arguments),
		cmocka_unit_test(arguments_survive_nested_calls_and_full_blocks),
		cmocka_unit_test(leaving_a_call_that_was_not_entered_changes_nothing),
		cmocka_unit_test(a_recorded_creation_is_not_unfinished),
		cmocka_unit_test(a_trace_without_room_for_arguments_is_read),
		cmocka_unit_test(an_announced_call_has_its_caller_as_stack),
		cmocka_unit_test(a_thread_that_ends_inside_a_call_ends_the_call),
		cmocka_unit_test(an_open_call_is_known_although_other_blocks_are_missing),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
