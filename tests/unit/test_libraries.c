/* SPDX-License-Identifier: MIT */
/* test_libraries.c - how many of the libraries that processes map are probed. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/identity.h"
#include "capture/ebpf/libraries.h"
#include "test_scratch.h"

enum { COPIES = 40 };

/* Maps so many files called libcuda.so.1, as code. */
static void map_copies(int from, int to)
{
	for (int i = from; i < to; i++) {
		char path[96];
		FILE *file;

		snprintf(path, sizeof path, "%s/%d", scratch, i);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(path, sizeof path, "%s/%d/libcuda.so.1", scratch, i);
		file = fopen(path, "w+");
		assert_non_null(file);
		fputs("no library", file);
		fflush(file);
		assert_ptr_not_equal(
			mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0),
			MAP_FAILED);
		fclose(file);
	}
}

static void a_process_has_a_limited_number_of_libraries_probed(void **state)
{
	struct gt_libraries l = { 0 };
	struct gt_error error;

	(void)state;
	map_copies(0, COPIES);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(gt_libraries_scan(&l, (uint32_t)getpid(), &error), COPIES);
		assert_int_equal(l.count, GT_LIBRARIES_OF_PROCESS);
		assert_int_equal(l.dropped_count, 1);
		assert_int_equal(l.dropped[0].pid, getpid());
		assert_int_equal(l.dropped[0].count, COPIES - GT_LIBRARIES_OF_PROCESS);
		assert_false(l.dropped[0].is_full);
	}
	/* the newest are dropped, and counted */
	map_copies(COPIES, COPIES + 3);
	gt_libraries_scan(&l, (uint32_t)getpid(), &error);
	assert_int_equal(l.count, GT_LIBRARIES_OF_PROCESS);
	assert_int_equal(l.dropped_count, 1);
	assert_int_equal(l.dropped[0].count, COPIES + 3 - GT_LIBRARIES_OF_PROCESS);
	/* calls into those are missing */
	assert_true(gt_libraries_was_early(&l, (uint32_t)getpid()));
	/* another program in its place has limits of its own */
	gt_libraries_forget(&l, (uint32_t)getpid());
	gt_libraries_scan(&l, (uint32_t)getpid(), &error);
	assert_int_equal(l.count, 2 * GT_LIBRARIES_OF_PROCESS);
	gt_libraries_fini(&l);
}

/* So many libraries of one user are known. */
static void fill(struct gt_libraries *l, size_t count, uint64_t owner)
{
	*l = (struct gt_libraries){ .count = count, .room = count };
	l->list = gt_alloc(count * sizeof *l->list);
	for (size_t i = 0; i < count; i++)
		l->list[i] = (struct gt_library){ .path = gt_strdup(""), .owner = owner };
}

static void all_processes_together_have_a_limited_number_of_libraries_probed(void **state)
{
	struct gt_libraries l;
	struct gt_error error;

	(void)state;
	fill(&l, GT_LIBRARIES_MAX - 5, 0);
	gt_libraries_scan(&l, (uint32_t)getpid(), &error);
	/* three, of which two are left for others */
	assert_int_equal(l.count, GT_LIBRARIES_MAX - 2);
	assert_int_equal(l.dropped_count, 1);
	assert_true(l.dropped[0].count >= COPIES - 3);
	assert_true(l.dropped[0].is_full && l.is_full);
	gt_libraries_fini(&l);
}

static void a_user_leaves_as_many_as_it_has_to_others(void **state)
{
	uint64_t own = gt_identity_owner((uint32_t)getpid());
	struct gt_libraries l;
	struct gt_error error;

	(void)state;
	/* however many processes these are of */
	fill(&l, GT_LIBRARIES_MAX / 2, own);
	gt_libraries_scan(&l, (uint32_t)getpid(), &error);
	assert_int_equal(l.count, GT_LIBRARIES_MAX / 2);
	assert_true(l.dropped_count == 1 && l.is_full);
	gt_libraries_fini(&l);
	fill(&l, GT_LIBRARIES_MAX / 2, own + 1);
	gt_libraries_scan(&l, (uint32_t)getpid(), &error);
	assert_int_equal(l.count, GT_LIBRARIES_MAX / 2 + GT_LIBRARIES_OF_PROCESS);
	assert_false(l.is_full);
	gt_libraries_fini(&l);
}

static void count_scans(void *context, uint32_t pid, size_t known)
{
	int *scans = context;

	(void)known;
	*scans += pid == (uint32_t)getpid();
}

static void a_queue_of_scans_is_worked_off_in_steps(void **state)
{
	struct gt_libraries l = { .is_settled = true };
	int scans = 0, steps = 0;
	size_t before;

	(void)state;
	gt_libraries_queue(&l, (uint32_t)getpid());
	gt_libraries_queue(&l, (uint32_t)getpid());
	gt_libraries_queue(&l, (uint32_t)getppid());
	assert_int_equal(l.queue_count, 2);
	do {
		before = l.count;
		gt_libraries_scan_queued(&l, count_scans, &scans);
		assert_true(l.count - before < GT_LIBRARIES_OF_PROCESS / 2);
	} while (l.queue_count && ++steps < 100);
	assert_true(steps > 1 && steps < 100);
	assert_true(scans > 1);
	assert_int_equal(l.count, GT_LIBRARIES_OF_PROCESS);
	assert_int_equal(l.dropped_count, 1);
	gt_libraries_fini(&l);
}

static void libraries_that_are_still_queued_at_the_end_are_counted_not_probed(void **state)
{
	struct gt_libraries l = { .is_settled = true };
	struct gt_error error;
	size_t probed;
	int scans = 0;

	(void)state;
	gt_libraries_scan(&l, (uint32_t)getpid(), &error);
	probed = l.dropped[0].count;
	map_copies(COPIES + 3, COPIES + 10);
	gt_libraries_queue(&l, (uint32_t)getpid());
	gt_libraries_end(&l, count_scans, &scans);
	assert_int_equal(scans, 1);
	assert_int_equal(l.queue_count, 0);
	assert_int_equal(l.count, GT_LIBRARIES_OF_PROCESS);
	assert_int_equal(l.dropped[0].count, probed + 7);
	assert_int_equal(*l.refusal.text, '\0');
	gt_libraries_fini(&l);

	/* of a process that could have had some probed, they are named */
	l = (struct gt_libraries){ .is_settled = true };
	gt_libraries_queue(&l, (uint32_t)getpid());
	gt_libraries_end(&l, count_scans, &scans);
	assert_int_equal(l.probed, 0);
	assert_int_equal(l.count, GT_LIBRARIES_OF_PROCESS);
	for (size_t i = 0; i < l.count; i++)
		assert_true(l.list[i].is_refused);
	assert_non_null(strstr(l.refusal.text, "/libcuda.so.1 was loaded as recording ended"));
	assert_true(gt_libraries_was_early(&l, (uint32_t)getpid()));
	gt_libraries_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_has_a_limited_number_of_libraries_probed),
		cmocka_unit_test(a_user_leaves_as_many_as_it_has_to_others),
		cmocka_unit_test(all_processes_together_have_a_limited_number_of_libraries_probed),
		cmocka_unit_test(a_queue_of_scans_is_worked_off_in_steps),
		cmocka_unit_test(libraries_that_are_still_queued_at_the_end_are_counted_not_probed),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
