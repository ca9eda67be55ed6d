/* SPDX-License-Identifier: MIT */
/* test_reader.c - events round trip in order, also while the trace is written. */
#include <pthread.h>
#include <stdatomic.h>

#include "test_writer.h"

static void random_events_round_trip(void **state)
{
	/* up to the largest blocks, and over many of them */
	enum { COUNT = 60000 };
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 31, "main");
	struct events all = { 0 };
	uint64_t seed = 1, time_ns = 0;

	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t frames[] = { i % 100, i % 7 };
		struct gt_event e = random_event(&seed, time_ns += random_word(&seed) % 5000, 31);

		e.stack = i % 3 ? gt_writer_stack(w, frames, 2) : 0;
		gt_lane_event(lane, &e);
		add_event(&all, &e);
	}
	end_writer(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

static void every_function_round_trips(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 31, "main");
	struct events all = { 0 };

	for (uint16_t row = GT_FN_COUNT - 1; row; row--) {
		struct gt_event e = {
			.time_ns = 10000 - row, .function = row, .handle = row, .tid = 31
		};

		gt_lane_event(lane, &e);
		add_event(&all, &e);
	}
	end_writer(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

static void the_largest_events_cross_block_boundaries_intact(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane =
		gt_lane_acquire(w, UINT32_MAX, "a name of more than sixteen letters");
	struct events all = { 0 };
	uint64_t frames[] = { UINT64_MAX };

	for (uint64_t i = 0; i < 6000; i++) {
		struct gt_event e = { .time_ns = 1000 + i,
				      .handle = i % 2 ? UINT64_MAX / 2 : 0,
				      .size = UINT64_MAX,
				      .owner = i % 2 ? UINT64_MAX / 2 : 0,
				      .stack = gt_writer_stack(w, frames, 1),
				      .tid = UINT32_MAX,
				      .function = GT_FN_clCreateBuffer,
				      .place = (uint16_t)(UINT16_MAX - i % 2),
				      .result = INT32_MIN,
				      .failed = 1 };

		gt_lane_event(lane, &e);
		add_event(&all, &e);
	}
	end_writer(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

static void lanes_are_merged_by_time(void **state)
{
	enum { LANES = 300 };
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lanes[LANES];
	struct events all = { 0 };
	uint64_t seed = 2;

	for (uint32_t i = 0; i < LANES; i++)
		lanes[i] = gt_lane_acquire(w, 1000 + i, "worker");
	for (uint64_t i = 0; i < 30000; i++) {
		uint32_t lane = (uint32_t)(random_word(&seed) % LANES);
		struct gt_event e = random_event(&seed, 5000 + i, 1000 + lane);

		gt_lane_event(lanes[lane], &e);
		add_event(&all, &e);
	}
	end_writer(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

/* Written by A (tid 1) and B (tid 2); B's creation ended while A's destroy was still running. */
static void a_destroy_sorts_before_the_create_that_reuses_its_handle(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *a = gt_lane_acquire(w, 1, "a"), *b = gt_lane_acquire(w, 2, "b");
	struct gt_event create = {
		.time_ns = 200, .handle = 7, .tid = 2, .function = GT_FN_clCreateBuffer
	};
	struct gt_event destroy = {
		.time_ns = 100, .handle = 7, .tid = 1, .function = GT_FN_clReleaseMemObject
	};
	struct events got;

	gt_lane_event(b, &create);
	gt_lane_event(a, &destroy);
	end_writer(w);
	got = read_events(path, NULL);
	assert_int_equal(got.count, 2);
	assert_same_event(&got.list[0], &destroy);
	assert_same_event(&got.list[1], &create);
	free(got.list);
}

/* A release calls back, and the callback releases too: the inner one is written first. */
static void nested_calls_are_ordered_by_return(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 1, "main"),
		       *other = gt_lane_acquire(w, 2, "other");
	struct gt_event events[] = {
		{ .time_ns = 150, .handle = 1, .tid = 1, .function = GT_FN_clReleaseEvent },
		{ .time_ns = 100, .handle = 2, .tid = 1, .function = GT_FN_clReleaseMemObject },
		{ .time_ns = 160, .handle = 3, .tid = 1, .function = GT_FN_clReleaseEvent },
	};
	struct gt_event between = {
		.time_ns = 155, .handle = 4, .tid = 2, .function = GT_FN_clReleaseEvent
	};
	struct events got;

	for (size_t i = 0; i < 3; i++)
		gt_lane_event(lane, &events[i]);
	gt_lane_event(other, &between);
	end_writer(w);
	got = read_events(path, NULL);
	assert_int_equal(got.count, 4);
	assert_same_event(&got.list[0], &events[0]);
	assert_same_event(&got.list[1], &events[1]);
	assert_same_event(&got.list[2], &between);
	assert_same_event(&got.list[3], &events[2]);
	free(got.list);
}

static void a_reused_lane_names_the_thread_of_its_calls(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct events all = { 0 };
	uint64_t seed = 3;

	for (uint32_t thread = 1; thread <= 200; thread++) {
		struct gt_lane *lane = gt_lane_acquire(w, thread, "short-lived");

		for (int i = 0; i < 20; i++) {
			struct gt_event e = random_event(&seed, 1000 + all.count, thread);

			gt_lane_event(lane, &e);
			add_event(&all, &e);
		}
		gt_lane_release(lane);
	}
	end_writer(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

static void a_growing_trace_can_be_read_up_to_now(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 5, "main");
	struct events all = { 0 };
	uint64_t seed = 4;

	assert_trace_holds(path, &all);
	for (uint64_t i = 0; i < 2000; i++) {
		struct gt_event e = random_event(&seed, 1000 + i, 5);

		gt_lane_event(lane, &e);
		add_event(&all, &e);
		if (i % 97 == 0)
			assert_trace_holds(path, &all);
	}
	gt_writer_free(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

/* An event with a new stack. */
static struct gt_event fresh_event(struct gt_writer *w, uint64_t number)
{
	uint64_t frames[] = { 0x1000 + number, 0x500 };

	return (struct gt_event){ .time_ns = 1000 + number,
				  .handle = 8 * number,
				  .tid = 5,
				  .function = GT_FN_clCreateBuffer,
				  .stack = gt_writer_stack(w, frames, 2) };
}

static void events_written_after_opening_are_left_to_the_next_reader(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 5, "main");
	enum { BEFORE = 2000, AFTER = 9000 }; /* several blocks before; after, more of the last */
	struct gt_error error;
	struct gt_reader *r;
	struct gt_event e;
	uint64_t count = 0;

	for (uint64_t i = 0; i < BEFORE; i++) {
		e = fresh_event(w, i);
		gt_lane_event(lane, &e);
	}
	assert_int_equal(gt_reader_open(&r, path, &error), 0);
	while (gt_reader_next(r, &e) > 0) {
		struct gt_event more = fresh_event(w, BEFORE + count * (AFTER / BEFORE));

		assert_int_equal(e.handle, 8 * count);
		gt_lane_event(lane, &more);
		count++;
	}
	assert_null(gt_reader_damage(r));
	assert_int_equal(count, BEFORE);
	gt_reader_close(r);
	gt_writer_free(w);
}

/* Copies the first `size` bytes, or the whole file if it is shorter. */
static void copy_trace(const char *to, const char *from, size_t size)
{
	static uint8_t bytes[1 << 20];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT, 0600);
	ssize_t n = read(in, bytes, size < sizeof bytes ? size : sizeof bytes);

	assert_true(n > 0);
	assert_int_equal(write(out, bytes, (size_t)n), n);
	close(in);
	close(out);
}

/* Where the last block begins, and how much of it is used. */
static off_t last_block(const char *path, uint32_t *used)
{
	off_t offset = GT_TRACE_HEADER, last = 0;
	struct gt_block_header h;
	int fd = open(path, O_RDONLY);

	for (; pread(fd, &h, sizeof h, offset) == sizeof h && h.magic; offset += h.size) {
		last = offset;
		*used = h.used;
	}
	close(fd);
	return last;
}

static void write_next(struct gt_lane *lane, uint64_t *count)
{
	struct gt_event e = { .function = GT_FN_clCreateUserEvent,
			      .handle = 8 * *count,
			      .time_ns = 1000 + *count };

	gt_lane_event(lane, &e);
	++*count;
}

/* The file is extended in the middle of a block whose header a reader has seen. */
static void a_block_that_grows_with_its_file_is_not_truncated(void **state)
{
	const char *path = fresh_path("trace"), *seen = fresh_path("seen");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 5, "main");
	uint64_t written = 0, before, count = 0, none = 0;
	struct gt_error error;
	struct gt_reader *r;
	struct gt_event e;
	uint32_t used = 0;
	off_t first, last;
	int fd;

	(void)state;
	write_next(lane, &written);
	/* a lane's first block is read when the trace is opened */
	first = last_block(path, &used);
	while ((last = last_block(path, &used)) == first)
		write_next(lane, &written);
	copy_trace(seen, path, (size_t)last + sizeof(struct gt_block_header) + used);
	fd = open(seen, O_WRONLY);
	assert_int_equal(
		pwrite(fd, &none, sizeof none, offsetof(struct gt_trace_header, blocks_end)),
		sizeof none);
	close(fd);
	assert_int_equal(gt_reader_open(&r, seen, &error), 0);
	before = written;
	while (written < before + 10)
		write_next(lane, &written);
	copy_trace(seen, path, SIZE_MAX);
	while (gt_reader_next(r, &e) > 0)
		assert_int_equal(e.handle, 8 * count++);
	if (gt_reader_damage(r))
		fail_msg("%s", gt_reader_damage(r));
	assert_int_equal(count, before);
	gt_reader_close(r);
	gt_writer_free(w);
}

struct busy {
	struct gt_writer *writer;
	_Atomic uint64_t written;
};

enum { BUSY_EVENTS = 100000 };

static void *keep_writing(void *context)
{
	struct busy *busy = context;
	struct gt_lane *lane = gt_lane_acquire(busy->writer, 5, "main");

	for (uint64_t i = 0; i < BUSY_EVENTS; i++) {
		struct gt_event e = fresh_event(busy->writer, i);

		gt_lane_event(lane, &e);
		busy->written = i + 1;
	}
	return NULL;
}

static void a_growing_trace_is_never_reported_as_damaged(void **state)
{
	const char *path = fresh_path("trace");
	struct busy busy = { .writer = open_writer(path) };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, keep_writing, &busy), 0);
	for (uint64_t written = 0; written < BUSY_EVENTS;) {
		uint64_t count = 0;
		struct gt_error error;
		struct gt_reader *r;
		struct gt_event e;

		written = busy.written;
		assert_int_equal(gt_reader_open(&r, path, &error), 0);
		while (gt_reader_next(r, &e) > 0)
			assert_int_equal(e.handle, 8 * count++);
		if (gt_reader_damage(r))
			fail_msg("%s", gt_reader_damage(r));
		assert_true(count >= written);
		gt_reader_close(r);
	}
	pthread_join(thread, NULL);
	gt_writer_free(busy.writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_events_round_trip),
		cmocka_unit_test(every_function_round_trips),
		cmocka_unit_test(the_largest_events_cross_block_boundaries_intact),
		cmocka_unit_test(lanes_are_merged_by_time),
		cmocka_unit_test(a_destroy_sorts_before_the_create_that_reuses_its_handle),
		cmocka_unit_test(nested_calls_are_ordered_by_return),
		cmocka_unit_test(a_reused_lane_names_the_thread_of_its_calls),
		cmocka_unit_test(a_growing_trace_can_be_read_up_to_now),
		cmocka_unit_test(events_written_after_opening_are_left_to_the_next_reader),
		cmocka_unit_test(a_block_that_grows_with_its_file_is_not_truncated),
		cmocka_unit_test(a_growing_trace_is_never_reported_as_damaged),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
