/* SPDX-License-Identifier: MIT */
/* test_gaps.c - a trace admits from when to when events are missing, and which threads remained. */
#include "test_reader.h"

#include "base/process.h"

/* Two lanes of several blocks each, whose events alternate; lane 1 has the last one. */
static struct image write_two(struct events *all)
{
	const char *path = fresh_path("two.trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lanes[2];
	struct image image;
	uint64_t seed = 11;

	*all = (struct events){ 0 };
	lanes[0] = gt_lane_acquire(w, 4242, "main");
	lanes[1] = gt_lane_acquire(w, 71, "worker");
	for (uint64_t i = 0; i < 6000; i++) {
		struct gt_event e = random_event(&seed, 1000 + i, 0);

		gt_lane_event(lanes[i % 2], &e);
		add_event(all, &e);
	}
	end_writer(w);
	image = load_image(path);
	return image;
}

static const char *saved(const struct image *image)
{
	const char *path = fresh_path("changed.trace");

	save_image(path, image);
	return path;
}

static void a_whole_trace_has_no_gap(void **state)
{
	struct events all;
	struct image image = write_two(&all);

	assert_int_equal(assert_gap_explains(saved(&image), &all), 0);
	free(image.data);
	free(all.list);
}

/* A block as a file system may leave it after a power cut: the lane goes on after it. */
static void a_missing_block_is_a_gap_up_to_the_next(void **state)
{
	struct events all, got;
	struct image image = write_two(&all);
	char damage[256];

	for (uint32_t lane = 1; lane <= 2; lane++)
		for (uint32_t n = 0; n < 3; n++) {
			struct gt_block_header *b = block_of(&image, lane, n), before = *b;
			uint64_t next_ns = block_of(&image, lane, n + 1)->time_ns;

			memset(b, 0, sizeof *b);
			assert_int_equal(assert_gap_explains(saved(&image), &all), next_ns);
			got = read_events(saved(&image), damage);
			assert_in_range(got.count, 3000, all.count - 1);
			assert_non_null(strstr(damage, "gone"));
			free(got.list);
			*b = before;
		}
	free(image.data);
	free(all.list);
}

/* Wherever space was reserved: a reader must know the size of a block that is missing. */
static void blocks_have_the_sizes_that_readers_expect(void **state)
{
	struct gt_writer_options options = { .pid = 1, .first_bytes = 100000 };
	const char *path = fresh_path("sizes.trace");
	struct gt_lane *lanes[3];
	struct gt_writer *w;
	struct image image;
	uint64_t seed = 12;

	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	for (uint32_t i = 0; i < 3; i++)
		lanes[i] = gt_lane_acquire(w, 10 + i, "thread");
	for (uint64_t i = 0; i < 90000; i++) {
		struct gt_event e = random_event(&seed, 1000 + i, 0);

		gt_lane_event(lanes[i % 7 % 3], &e);
	}
	end_writer(w);
	image = load_image(path);
	assert_true(image.size > 1 << 20);
	for (size_t at = GT_TRACE_HEADER; at < image.size;) {
		const struct gt_block_header *b = (const void *)(image.data + at);

		assert_int_equal(b->magic, GT_BLOCK_MAGIC);
		assert_int_equal(b->size, gt_block_size(b->sequence));
		at += b->size;
	}
	free(image.data);
}

/* No later block of its lane says when it ended. */
static void a_missing_last_block_is_a_gap_to_the_end(void **state)
{
	struct events all;
	struct image image = write_two(&all);
	uint32_t last = 0;

	for (size_t at = GT_TRACE_HEADER; at < image.size;) {
		const struct gt_block_header *b = (const void *)(image.data + at);

		if (b->lane == 1)
			last = b->sequence;
		at += b->size;
	}
	memset(block_of(&image, 1, last), 0, sizeof(struct gt_block_header));
	assert_int_equal(assert_gap_explains(saved(&image), &all), UINT64_MAX);
	free(image.data);
	free(all.list);
}

/* Any blocks at random: whatever is missing is explained. */
static void any_missing_blocks_are_explained(void **state)
{
	uint64_t seed = 3;
	struct events all;
	struct image image = write_two(&all);

	for (int i = 0; i < 300; i++) {
		struct image broken = { malloc(image.size), image.size };

		memcpy(broken.data, image.data, image.size);
		for (size_t at = GT_TRACE_HEADER; at < image.size;) {
			struct gt_block_header *b = (void *)(broken.data + at);

			at += b->size;
			if (!b->lane)
				continue;
			switch (random_word(&seed) % 12) {
			case 0: memset(b, 0, b->size); break;
			case 1: b->sequence ^= 1u << random_word(&seed) % 32; break;
			case 2: b->magic ^= 1; break;
			case 3:
				/* only full blocks have a hash by which that can be noticed */
				if (b->hash)
					((uint8_t *)(b + 1))[random_word(&seed) % 3000] ^= 0x40;
				break;
			}
		}
		assert_gap_explains(saved(&broken), &all);
		free(broken.data);
	}
	free(image.data);
	free(all.list);
}

static void events_of_unknown_functions_are_a_gap_at_their_times(void **state)
{
	const char *path = fresh_path("unknown.trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 1, "main");
	struct gt_event e = { .function = GT_FN_clCreateBuffer, .handle = 1 };
	static const char name[] = "clCreateBuffer";
	uint64_t first = 0, last = 0;
	struct gt_reader *r;
	struct image image;
	uint8_t *at;

	for (uint64_t t = 100; t < 105; t++) {
		e.function = t > 101 && t < 104 ? GT_FN_clCreateBuffer : GT_FN_clCreateUserEvent;
		e.time_ns = t;
		gt_lane_event(lane, &e);
	}
	end_writer(w);
	image = load_image(path);
	at = memmem(image.data, image.size, name, sizeof name - 1);
	assert_non_null(at);
	*at = 'x';
	r = open_reader(saved(&image));
	while (gt_reader_next(r, &e) > 0)
		assert_true(e.time_ns < 102 || e.time_ns > 103);
	assert_int_equal(gt_reader_unknown(r), 2);
	assert_true(gt_reader_gap(r, &first, &last));
	assert_int_equal(first, 102);
	assert_int_equal(last, 103);
	gt_reader_close(r);
	free(image.data);
}

static void lost_events_have_times(void **state)
{
	const char *path = fresh_path("lost.trace");
	struct gt_writer *w = open_writer(path);
	struct gt_trace_header h;
	struct gt_error error;
	uint64_t before;

	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	assert_int_equal(h.lost_first_ns, 0);
	gt_writer_lose_between(w, 2, 300, 400);
	gt_writer_lose_between(w, 1, 350, 350);
	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	assert_int_equal(h.lost, 3);
	assert_int_equal(h.lost_first_ns, 300);
	assert_int_equal(h.lost_last_ns, 400);
	gt_writer_lose_between(w, 1, 200, 250);
	before = gt_now_ns();
	gt_writer_lose(w, 1);
	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	assert_int_equal(h.lost, 5);
	assert_int_equal(h.lost_first_ns, 200);
	assert_in_range(h.lost_last_ns, before, gt_now_ns());
	end_writer(w);
}

/* An event after the writer has stopped is lost at its own time. */
static void events_after_the_stop_are_lost_at_their_times(void **state)
{
	const char *path = fresh_path("stopped.trace");
	struct gt_writer_options options = { .pid = 1, .start_ns = 50, .until_ns = 200 };
	struct gt_event e = { .function = GT_FN_clCreateBuffer };
	struct gt_trace_header h;
	struct gt_error error;
	struct gt_lane *lane;
	struct gt_writer *w;

	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	lane = gt_lane_acquire(w, 1, "main");
	for (e.time_ns = 100; e.time_ns <= 400; e.time_ns += 100)
		gt_lane_event(lane, &e);
	gt_writer_free(w);
	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	assert_int_equal(h.state, GT_TRACE_STOPPED);
	assert_int_equal(h.lost, 2);
	assert_int_equal(h.lost_first_ns, 300);
	assert_int_equal(h.lost_last_ns, 400);
}

static uint32_t threads_of(const char *path, bool *has_main)
{
	struct gt_reader *r = open_reader(path);
	struct gt_event e;
	uint32_t count;

	while (gt_reader_next(r, &e) > 0)
		continue;
	count = gt_reader_threads(r, has_main);
	gt_reader_close(r);
	return count;
}

static void threads_that_have_ended_are_not_counted(void **state)
{
	const char *path = fresh_path("threads.trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *main_lane = gt_lane_acquire(w, 4242, "main");
	struct gt_lane *worker = gt_lane_acquire(w, 71, "worker");
	struct gt_event e = { .time_ns = 100, .function = GT_FN_clCreateBuffer };
	bool has_main;

	assert_int_equal(threads_of(path, &has_main), 2);
	assert_true(has_main);
	gt_lane_event(worker, &e);
	gt_lane_release(worker);
	assert_int_equal(threads_of(path, &has_main), 1);
	assert_true(has_main);
	/* another thread gets the lane */
	assert_ptr_equal(gt_lane_acquire(w, 72, "worker"), worker);
	assert_int_equal(threads_of(path, &has_main), 2);
	gt_lane_release(main_lane);
	assert_int_equal(threads_of(path, &has_main), 1);
	assert_false(has_main);
	end_writer(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_trace_has_no_gap),
		cmocka_unit_test(a_missing_block_is_a_gap_up_to_the_next),
		cmocka_unit_test(blocks_have_the_sizes_that_readers_expect),
		cmocka_unit_test(a_missing_last_block_is_a_gap_to_the_end),
		cmocka_unit_test(any_missing_blocks_are_explained),
		cmocka_unit_test(events_of_unknown_functions_are_a_gap_at_their_times),
		cmocka_unit_test(lost_events_have_times),
		cmocka_unit_test(events_after_the_stop_are_lost_at_their_times),
		cmocka_unit_test(threads_that_have_ended_are_not_counted),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
