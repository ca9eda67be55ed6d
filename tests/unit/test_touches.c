/* SPDX-License-Identifier: MIT */
/* test_touches.c - GPU work and the memory it names, written and read back. */
#include "test_reader.h"

#include "trace/recording.h"

static struct gt_lane *open_lane(struct gt_writer **w, const char *path)
{
	*w = open_with_modules(path);
	return gt_lane_acquire(*w, 7, "main");
}

static void close_writer(struct gt_writer *w)
{
	gt_writer_end_at(w, 1 << 30);
	gt_writer_free(w);
}

static const struct gt_work launch = { .kind = GT_WORK_LAUNCH,
				       .function = "cuLaunchKernel",
				       .name = "add" };
static const struct gt_work copy = { .kind = GT_WORK_COPY, .function = "cuMemcpyAsync" };

/* Through many blocks: addresses that come again, and such that never do. */
static void ranges_come_back_as_they_were(void **state)
{
	enum { RECORDS = 20000 };
	static const uint64_t ends[] = { 1, UINT64_MAX, 0x7f0000000000, 127 };
	const char *path = fresh_path("touches.trace");
	uint64_t seed = 11, time = 1000, expected = 11;
	struct gt_writer *w;
	struct gt_lane *lane = open_lane(&w, path);
	uint32_t numbers[2] = { gt_writer_work(w, &launch), gt_writer_work(w, &copy) };
	struct gt_reader *r;
	struct gt_event e;

	assert_int_equal(numbers[0], 1);
	assert_int_equal(numbers[1], 2);
	assert_int_equal(gt_writer_work(w, &launch), 1);
	for (int i = 0; i < RECORDS; i++) {
		uint64_t dice = random_word(&seed);
		struct gt_touched ranges[GT_TOUCHED_MAX];
		size_t count = dice % (GT_TOUCHED_MAX + 1);

		for (size_t k = 0; k < count; k++)
			ranges[k] = (struct gt_touched){
				.address = dice >> k & 1 ?
						   0x7f1200000000 + (dice >> 8 & 63) * 512 + k :
						   ends[k % 4] ^ (uint64_t)i << k,
				.size = (dice >> 20) * k,
				.access = (uint8_t)(1 + (dice + k) % 3)
			};
		gt_lane_touch(lane, numbers[dice >> 60 & 1],
			      dice >> 60 & 1 ? GT_WORK_COPY : GT_WORK_LAUNCH, time += dice % 5000,
			      &(struct gt_naming){ ranges, count, dice >> 50 & 1 });
	}
	close_writer(w);
	r = open_reader(path);
	time = 1000;
	for (int i = 0; i < RECORDS; i++) {
		uint64_t dice = random_word(&expected);
		size_t count = dice % (GT_TOUCHED_MAX + 1);

		time += dice % 5000;
		for (size_t k = 0; k < (count ? count : 1); k++) {
			assert_int_equal(gt_reader_next(r, &e), 1);
			assert_true(gt_event_is_touch(&e));
			assert_int_equal(e.time_ns, time);
			assert_int_equal(e.tid, 7);
			assert_int_equal(e.owner, numbers[dice >> 60 & 1]);
			assert_int_equal(e.failed, k ? 1 : dice >> 50 & 1);
			if (!count) {
				assert_int_equal(e.result, GT_TOUCH_MARK);
				break;
			}
			assert_int_equal(e.handle,
					 dice >> k & 1 ?
						 0x7f1200000000 + (dice >> 8 & 63) * 512 + k :
						 ends[k % 4] ^ (uint64_t)i << k);
			assert_int_equal(e.size, dice >> 60 & 1 ? (dice >> 20) * k : 0);
			assert_int_equal(e.result, GT_TOUCH_MARK | (1 + (dice + k) % 3));
		}
	}
	assert_int_equal(gt_reader_next(r, &e), 0);
	assert_null(gt_reader_damage(r));
	assert_int_equal(gt_reader_definitions(r)->work_count, 2);
	assert_string_equal(gt_reader_definitions(r)->works[0].name, "add");
	assert_string_equal(gt_reader_definitions(r)->works[1].function, "cuMemcpyAsync");
	gt_reader_close(r);
}

static void an_address_that_comes_again_takes_a_byte(void **state)
{
	const char *path = fresh_path("small.trace");
	struct gt_touched three[] = { { .address = 0x7f1234560000, .access = 3 },
				      { .address = 0x7f1200000400, .access = 3 },
				      { .address = 0x7f1299900000, .access = 3 } };
	struct gt_naming named = { three, 3, false };
	struct gt_writer *w;
	struct gt_lane *lane = open_lane(&w, path);
	uint32_t work = gt_writer_work(w, &launch);
	struct stat st;

	for (int i = 0; i < 100000; i++)
		gt_lane_touch(lane, work, GT_WORK_LAUNCH, 1000 + (uint64_t)i * 100, &named);
	close_writer(w);
	stat(path, &st);
	/* tag, length, two of time, work, three addresses */
	assert_in_range(st.st_size, 100000 * 8, 100000 * 9);
}

/* What cannot be written is no lost event, which would put leaks in doubt. */
static void lost_touches_are_told_by_the_next_one(void **state)
{
	const char *path = fresh_path("lost.trace");
	struct gt_touched one = { .address = 64, .access = GT_WRITES };
	struct gt_naming named = { &one, 1, false };
	struct gt_writer *w;
	struct gt_lane *lane = open_lane(&w, path);
	uint32_t work = gt_writer_work(w, &launch);
	struct gt_reader *r;
	struct gt_event e;
	uint64_t first, last;

	gt_writer_lose_touch(w);
	gt_writer_lose_touch(w);
	gt_lane_touch(lane, work, GT_WORK_LAUNCH, 2000, &named);
	gt_writer_lose_touch(w);
	gt_lane_end_touches(lane);
	close_writer(w);
	r = open_reader(path);
	assert_int_equal(gt_reader_next(r, &e), 1);
	assert_int_equal(e.owner, GT_WORK_LOST);
	assert_int_equal(e.size, 2);
	assert_int_equal(gt_reader_next(r, &e), 1);
	assert_int_equal(e.owner, work);
	assert_int_equal(e.handle, 64);
	assert_int_equal(gt_reader_next(r, &e), 1);
	assert_int_equal(e.owner, GT_WORK_LOST);
	assert_int_equal(e.size, 1);
	assert_int_equal(gt_reader_next(r, &e), 0);
	assert_false(gt_reader_gap(r, &first, &last));
	gt_reader_close(r);
}

struct taken {
	uint64_t count, firsts;
	char names[64];
};

static void take(void *context, uint32_t process, const struct gt_touch *touch)
{
	struct taken *t = context;

	assert_int_equal(process, 0);
	t->count++;
	t->firsts += touch->is_first;
	strncat(t->names, touch->work->name, sizeof t->names - strlen(t->names) - 1);
	strncat(t->names, touch->range.access == GT_READS ? "r" : "w",
		sizeof t->names - strlen(t->names) - 1);
}

/* The last record too: its work is a definition of a trace that is closed next. */
static void a_recording_reports_touches_among_its_events(void **state)
{
	static const struct gt_work second = { .kind = GT_WORK_SET,
					       .function = "cuMemsetD8_v2",
					       .name = "" };
	struct gt_touched two[] = { { .address = 4096, .access = GT_READS },
				    { .address = 8192, .access = GT_WRITES } };
	char path[256];
	struct gt_writer *w;
	struct gt_lane *lane;
	struct gt_recording *r;
	struct gt_error error;
	struct taken taken = { 0 };
	struct gt_event e;
	uint32_t process;

	snprintf(path, sizeof path, "%s/touched.gt", scratch);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/touched.gt/7.trace", scratch);
	unlink(path);
	lane = open_lane(&w, path);
	gt_lane_event(lane, &(struct gt_event){ .function = GT_FN_cuMemAlloc_v2,
						.time_ns = 1000,
						.handle = 4096,
						.size = 100 });
	gt_lane_touch(lane, gt_writer_work(w, &launch), GT_WORK_LAUNCH, 2000,
		      &(struct gt_naming){ two, 2, false });
	gt_lane_touch(lane, gt_writer_work(w, &second), GT_WORK_SET, 3000,
		      &(struct gt_naming){ two + 1, 1, false });
	close_writer(w);
	snprintf(path, sizeof path, "%s/touched.gt", scratch);
	assert_int_equal(gt_recording_open(&r, path, &(struct gt_recording_options){ 0 }, &error),
			 0);
	gt_recording_on_touch(r, take, &taken);
	assert_int_equal(gt_recording_next(r, &e, &process), 1);
	assert_int_equal(e.function, GT_FN_cuMemAlloc_v2);
	assert_int_equal(taken.count, 0);
	assert_int_equal(gt_recording_next(r, &e, &process), 0);
	assert_int_equal(taken.count, 3);
	assert_int_equal(taken.firsts, 2);
	assert_string_equal(taken.names, "addraddww");
	gt_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_come_back_as_they_were),
		cmocka_unit_test(an_address_that_comes_again_takes_a_byte),
		cmocka_unit_test(lost_touches_are_told_by_the_next_one),
		cmocka_unit_test(a_recording_reports_touches_among_its_events),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
