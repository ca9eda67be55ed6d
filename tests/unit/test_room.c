/* SPDX-License-Identifier: MIT */
/* test_room.c - processes count their space together, whatever happens to the file between them. */
#include "test_writer.h"

#include <sys/wait.h>

#include "trace/room.h"

static void all_count_together_up_to_the_limit(void **state)
{
	const char *path = fresh_path("room");
	struct gt_room a, b;

	assert_int_equal(gt_room_open(&a, path), 0);
	assert_int_equal(gt_room_open(&b, path), 0);
	assert_true(gt_room_take(&a, 60, 100));
	assert_false(gt_room_take(&b, 41, 100));
	/* what was refused does not count */
	assert_true(gt_room_take(&a, 40, 100));
	gt_room_give(&a, 40);
	assert_true(gt_room_take(&b, 40, 100));
	assert_false(gt_room_take(&a, 1, 100));
	gt_room_give(&b, 30);
	assert_false(gt_room_take(&a, 31, 100));
	assert_true(gt_room_take(&a, 30, 100));
	/* what a process that ended has written stays there */
	gt_room_close(&a);
	assert_false(gt_room_take(&b, 1, 100));
	assert_false(gt_room_take(&b, UINT64_MAX, 100));
	gt_room_close(&b);
}

static void a_file_that_is_shortened_or_overwritten_raises_nothing(void **state)
{
	const char *path = fresh_path("room"), *other = fresh_path("other");
	char garbage[1001];
	struct gt_room a, b, c;
	FILE *f;

	assert_int_equal(gt_room_open(&a, path), 0);
	assert_int_equal(gt_room_open(&b, path), 0);
	assert_true(gt_room_take(&a, 60, 100));
	assert_true(gt_room_take(&b, 10, 100));
	assert_int_equal(truncate(path, 0), 0);
	/* the others are unknown until they count again */
	assert_false(gt_room_take(&b, 91, 100));
	assert_true(gt_room_take(&b, 1, 100));
	assert_true(gt_room_take(&a, 1, 100));
	assert_false(gt_room_take(&b, 29, 100));
	memset(garbage, 0xa5, sizeof garbage);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(garbage, 1, sizeof garbage, f), sizeof garbage);
	fclose(f);
	assert_true(gt_room_take(&b, 1, 100));
	assert_true(gt_room_take(&a, 1, 100));
	assert_false(gt_room_take(&b, 27, 100));
	/* one that comes now finds a place beside them */
	assert_int_equal(gt_room_open(&c, path), 0);
	assert_false(gt_room_take(&c, 27, 100));
	assert_true(gt_room_take(&c, 26, 100));
	assert_false(gt_room_take(&a, 1, 100));
	/* moved away and closed by the program: what was last known still counts */
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(close(a.fd), 0);
	assert_false(gt_room_take(&a, 1, 100));
	gt_room_close(&a);
	gt_room_close(&b);
	gt_room_close(&c);
}

static void processes_never_exceed_it_together(void **state)
{
	enum { PROCESSES = 6, TRIES = 2000, LIMIT = 5000 };
	const char *path = fresh_path("room");
	struct gt_room all;
	uint64_t taken = 0;

	for (int i = 0; i < PROCESSES; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child) {
			struct gt_room room;

			if (gt_room_open(&room, path))
				_exit(1);
			for (int k = 0; k < TRIES; k++)
				gt_room_take(&room, 1, LIMIT);
			_exit(room.mine > LIMIT);
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(gt_room_open(&all, path), 0);
	assert_true(gt_room_take(&all, 0, UINT64_MAX));
	taken = all.others;
	assert_in_range(taken, LIMIT - PROCESSES, LIMIT);
	gt_room_close(&all);
}

static void what_is_no_file_of_ours_is_left_alone(void **state)
{
	const char *path = fresh_path("room"), *link_path = fresh_path("link");
	struct gt_room room;
	struct stat st;
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs("mine\n", f);
	fclose(f);
	assert_int_equal(symlink(path, link_path), 0);
	assert_int_equal(gt_room_open(&room, link_path), -ELOOP);
	assert_int_equal(unlink(link_path), 0);
	assert_int_equal(link(path, link_path), 0);
	assert_int_equal(gt_room_open(&room, link_path), -EPERM);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_count_together_up_to_the_limit),
		cmocka_unit_test(a_file_that_is_shortened_or_overwritten_raises_nothing),
		cmocka_unit_test(processes_never_exceed_it_together),
		cmocka_unit_test(what_is_no_file_of_ours_is_left_alone),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
