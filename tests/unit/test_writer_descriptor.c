/* SPDX-License-Identifier: MIT */
/* test_writer_descriptor.c - programs that close or take our descriptor. */
#include "test_writer.h"

static void the_descriptor_number_is_high(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	int fd = find_descriptor(path);

	assert_true(fd >= 500);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	end_writer(w);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void a_program_that_closes_our_descriptor_loses_nothing(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 9, "main");
	struct events all = { 0 };
	uint64_t seed = 3;

	write_many(lane, &all, &seed, 100);
	close(find_descriptor(path));
	write_many(lane, &all, &seed, 300000);
	assert_true(find_descriptor(path) >= 0);
	close(find_descriptor(path));
	end_writer(w);
	assert_int_equal(find_descriptor(path), -1);
	assert_trace_holds(path, &all);
	free(all.list);
}

static void a_reopened_descriptor_number_is_high_too(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 9, "main");
	struct events all = { 0 };
	uint64_t seed = 3;

	close(find_descriptor(path));
	write_many(lane, &all, &seed, 300000);
	/* a daemon closes all and counts on getting 0, 1 and 2 */
	assert_true(find_descriptor(path) >= 500);
	assert_true(fcntl(find_descriptor(path), F_GETFD) & FD_CLOEXEC);
	end_writer(w);
	free(all.list);
}

static void a_program_that_takes_our_descriptor_keeps_its_file(void **state)
{
	const char *path = fresh_path("trace"), *foreign = fresh_path("foreign");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 9, "main");
	struct events all = { 0 };
	struct image image = { (uint8_t *)"mine", 4 };
	uint64_t seed = 4;
	int fd, ours = find_descriptor(path);

	write_many(lane, &all, &seed, 100);
	save_image(foreign, &image);
	fd = open(foreign, O_RDWR | O_CLOEXEC);
	assert_int_equal(dup2(fd, ours), ours);
	write_many(lane, &all, &seed, 300000);
	end_writer(w);
	/* the file is as it was, and still open where the program put it */
	assert_int_equal(lseek(ours, 0, SEEK_END), 4);
	image = load_image(foreign);
	assert_int_equal(image.size, 4);
	assert_memory_equal(image.data, "mine", 4);
	assert_trace_holds(path, &all);
	close(fd);
	close(ours);
	free(image.data);
	free(all.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_descriptor_number_is_high),
		cmocka_unit_test(a_program_that_closes_our_descriptor_loses_nothing),
		cmocka_unit_test(a_reopened_descriptor_number_is_high_too),
		cmocka_unit_test(a_program_that_takes_our_descriptor_keeps_its_file),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
