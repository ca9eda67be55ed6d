/* SPDX-License-Identifier: MIT */
/* test_recording.c - the traces of a folder, merged into one stream in any state. */
#include "test_recording.h"

#include <sys/resource.h>
#include <sys/wait.h>

static void refuse(const char *path, uint32_t pid, int code, const char *reason)
{
	struct gt_recording_options options = { .pid = pid };
	struct gt_recording *r;
	struct gt_error error = { "" };
	int e = gt_recording_open(&r, path, &options, &error);

	if (!e)
		gt_recording_close(r);
	assert_int_equal(e, code);
	assert_non_null(strstr(error.text, reason));
	assert_non_null(strstr(error.text, path));
}

static void processes_are_merged_by_time(void **state)
{
	struct events all;
	const char *folder = write_three(&all);
	struct gt_recording *r = open_recording(folder, 0);
	struct gt_event e;
	uint32_t process;
	size_t count = 0;

	assert_int_equal(gt_recording_process_count(r), 3);
	assert_string_equal(gt_recording_path(r), folder);
	for (; gt_recording_next(r, &e, &process) > 0; count++) {
		assert_true(count < all.count);
		assert_int_equal(e.time_ns, all.list[count].time_ns);
		assert_int_equal(e.handle, all.list[count].handle);
		assert_int_equal(gt_recording_process(r, process)->pid, all.list[count].tid);
	}
	assert_int_equal(count, all.count);
	assert_int_equal(gt_recording_next(r, &e, &process), 0);
	assert_int_equal(gt_recording_start_ns(r), gt_recording_process(r, 0)->start_ns);
	gt_recording_close(r);
	free(all.list);
}

static void rewinding_returns_the_same_events(void **state)
{
	struct events all, first = { 0 };
	struct gt_recording *r = open_recording(write_three(&all), 0);
	struct gt_event e;
	uint32_t process;

	while (gt_recording_next(r, &e, &process) > 0)
		add_event(&first, &e);
	/* after the end, and then in the middle */
	for (int round = 0; round < 3; round++) {
		size_t stop = round == 1 ? 50 : first.count, count = 0;

		gt_recording_rewind(r);
		for (; count < stop && gt_recording_next(r, &e, &process) > 0; count++)
			assert_same_event(&e, &first.list[count]);
		assert_int_equal(count, stop);
	}
	assert_int_equal(gt_recording_next(r, &e, &process), 0);
	gt_recording_close(r);
	free(first.list);
	free(all.list);
}

/* All stacks of the recording; the caller frees them. */
static struct gt_trace_frame *copy_stacks(struct gt_recording *r, size_t *count)
{
	struct gt_trace_frame *all = NULL;
	const struct gt_trace_frame *frames;
	size_t room = 0;

	*count = 0;
	for (uint32_t i = 0; i < gt_recording_stack_count(r); i++) {
		size_t depth = gt_recording_stack(r, i, &frames);

		assert_int_equal(gt_recording_stack_depth(r, i, GT_STACK_FRAMES_MAX), depth);
		for (size_t k = 0; k < depth; k++) {
			GT_GROW(all, *count, room);
			all[(*count)++] = frames[k];
		}
	}
	return all;
}

/* When a recording has been read, its stacks are packed; another reading unpacks them. */
static void stacks_keep_their_numbers_when_a_recording_is_read_again(void **state)
{
	enum { STACKS = 300 };
	const char *folder = fresh_folder();
	struct gt_trace_frame *before, *after;
	struct gt_recording *r;
	struct process p[2];
	struct gt_event e;
	size_t count, again;
	uint32_t process;

	for (uint32_t i = 0; i < 2; i++) {
		start_process(&p[i], folder, 11 + i);
		for (uint64_t depth = 1; depth <= STACKS; depth++)
			gt_lane_event(p[i].lane,
				      &(struct gt_event){ .time_ns = gt_now_ns(),
							  .handle = depth,
							  .tid = 11 + i,
							  .stack = stack_of(&p[i], depth),
							  .function = GT_FN_clCreateUserEvent });
		end_writer(p[i].writer);
	}
	r = open_recording(folder, 0);
	while (gt_recording_next(r, &e, &process) > 0)
		assert_int_equal(e.stack, e.handle);
	before = copy_stacks(r, &count);
	assert_int_equal(count, 3 * STACKS);
	for (int round = 0; round < 2; round++) {
		gt_recording_rewind(r);
		while (gt_recording_next(r, &e, &process) > 0)
			assert_int_equal(e.stack, e.handle);
		after = copy_stacks(r, &again);
		assert_int_equal(again, count);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(after[i].module, before[i].module);
			assert_int_equal(after[i].address, before[i].address);
		}
		free(after);
	}
	free(before);
	gt_recording_close(r);
}

/* Returns how many events can be read in order, with few descriptors allowed. */
static int read_with_few_descriptors(const char *folder, const struct events *all)
{
	struct gt_recording *r;
	struct gt_event e;
	uint32_t process;
	size_t count = 0;

	if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 16, 16 }) ||
	    gt_recording_open(&r, folder, NULL, NULL))
		return -1;
	while (gt_recording_next(r, &e, &process) > 0 && count < all->count &&
	       e.handle == all->list[count].handle)
		count++;
	gt_recording_close(r);
	return (int)count;
}

static void more_processes_than_descriptors_are_read_at_once(void **state)
{
	enum { PROCESSES = 40, EACH = 1000 };
	const char *folder = fresh_folder();
	struct process p[PROCESSES];
	struct events all = { 0 };
	uint64_t now;
	pid_t child;
	int status;

	for (uint32_t i = 0; i < PROCESSES; i++)
		start_process(&p[i], folder, 11 + i);
	now = gt_now_ns();
	for (uint64_t i = 0; i < PROCESSES * EACH; i++)
		add(&p[i % PROCESSES], &all, now + i, i);
	for (size_t i = 0; i < PROCESSES; i++)
		end_writer(p[i].writer);
	child = fork();
	if (!child)
		_exit(read_with_few_descriptors(folder, &all) == PROCESSES * EACH ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	free(all.list);
}

static void only_the_requested_process_is_read(void **state)
{
	struct events all;
	const char *folder = write_three(&all);
	struct gt_recording *r = open_recording(folder, 12);
	struct gt_event e;
	uint32_t process;
	size_t count = 0;

	assert_int_equal(gt_recording_process_count(r), 1);
	for (; gt_recording_next(r, &e, &process) > 0; count++)
		assert_int_equal(e.tid, 12);
	assert_int_equal(count, 83);
	gt_recording_close(r);
	refuse(folder, 99, -ESRCH, "no process 99");
	free(all.list);
}

static void a_folder_without_traces_is_not_a_recording(void **state)
{
	const char *folder = fresh_folder();
	struct image text = { (uint8_t *)"gputrack: 1.0\n", 14 };
	struct gt_recording *r;
	struct gt_event e;
	uint32_t process;
	char path[256];

	refuse(folder, 0, -EINVAL, "has no traces");
	/* unless it says that it is one, in which nothing was tracked */
	snprintf(path, sizeof path, "%s/info", folder);
	save_image(path, &text);
	r = open_recording(folder, 0);
	assert_string_equal(gt_recording_info(r, "gputrack"), "1.0");
	assert_string_equal(gt_recording_info(r, "none"), "");
	assert_int_equal(gt_recording_process_count(r), 0);
	assert_int_equal(gt_recording_next(r, &e, &process), 0);
	assert_int_equal(gt_recording_start_ns(r), 0);
	gt_recording_close(r);
}

static void missing_files_and_other_files_are_refused(void **state)
{
	struct image text = { (uint8_t *)"hello", 5 };
	const char *path = fresh_path("none");

	refuse(path, 0, -ENOENT, "cannot open");
	save_image(path, &text);
	refuse(path, 0, -EINVAL, "too short");
}

static void a_single_trace_is_a_recording_too(void **state)
{
	const char *folder = fresh_folder();
	struct process p;
	struct gt_recording *r;
	struct gt_event e;
	uint32_t process;
	char path[256];

	start_process(&p, folder, 31);
	add(&p, NULL, gt_now_ns(), 5);
	end_writer(p.writer);
	snprintf(path, sizeof path, "%s/31.trace", folder);
	r = open_recording(path, 0);
	assert_int_equal(gt_recording_process_count(r), 1);
	assert_int_equal(gt_recording_next(r, &e, &process), 1);
	assert_int_equal(e.handle, 5);
	gt_recording_close(r);
	gt_recording_close(open_recording(path, 31));
	refuse(path, 99, -ESRCH, "no process 99");
}

static void processes_have_their_recorded_properties(void **state)
{
	const char *folder = fresh_folder();
	struct process p;
	struct gt_recording *r;
	const struct gt_process *got;
	struct gt_event e;
	uint32_t process;

	start_process(&p, folder, 41);
	gt_writer_info(p.writer, "program", "/bin/p", 6);
	gt_writer_info(p.writer, "command", "p\0-x\0a b\0", 9);
	gt_writer_info(p.writer, "csv", "/tmp/t_pid41.csv", 16);
	gt_writer_lose(p.writer, 6);
	add(&p, NULL, gt_now_ns(), 5);
	end_writer(p.writer);
	r = open_recording(folder, 0);
	while (gt_recording_next(r, &e, &process) > 0)
		continue;
	got = gt_recording_process(r, 0);
	assert_int_equal(got->pid, 41);
	assert_int_equal(got->ppid, 1);
	assert_string_equal(got->file, "41.trace");
	assert_string_equal(got->program, "/bin/p");
	assert_string_equal(got->command, "p -x a b");
	assert_string_equal(got->csv, "/tmp/t_pid41.csv");
	assert_string_equal(got->rank, "");
	assert_int_equal(got->state, GT_TRACE_ENDED);
	assert_int_equal(got->lost, 6);
	assert_int_equal(got->last_ns, e.time_ns);
	assert_null(got->damage);
	gt_recording_close(r);
}

struct ends {
	unsigned count;
	uint32_t process;
	uint64_t time_ns;
};

static void note_end(void *context, uint32_t process, uint64_t time_ns)
{
	*(struct ends *)context =
		(struct ends){ ((struct ends *)context)->count + 1, process, time_ns };
}

static void the_end_of_a_process_comes_before_later_events_of_others(void **state)
{
	const char *folder = fresh_folder();
	struct process p[2];
	struct gt_recording *r;
	struct ends ends = { 0 };
	struct gt_event e;
	uint32_t process;

	start_process(&p[0], folder, 61);
	start_process(&p[1], folder, 62);
	add(&p[0], NULL, gt_now_ns(), 1);
	add(&p[1], NULL, gt_now_ns(), 2);
	end_writer(p[0].writer);
	add(&p[1], NULL, gt_now_ns() + 1, 3);
	end_writer(p[1].writer);
	r = open_recording(folder, 0);
	gt_recording_on_end(r, note_end, &ends);
	for (int round = 0; round < 2; round++) {
		ends.count = 0;
		while (gt_recording_next(r, &e, &process) > 0)
			assert_int_equal(ends.count, e.handle == 3);
		/* the last one's end is everybody's end */
		assert_int_equal(ends.count, 1);
		assert_int_equal(gt_recording_process(r, ends.process)->pid, 61);
		assert_int_equal(ends.time_ns, gt_recording_process(r, ends.process)->end_ns);
		gt_recording_rewind(r);
	}
	gt_recording_close(r);
}

static void a_damaged_trace_does_not_hide_the_others(void **state)
{
	struct events all;
	const char *folder = write_three(&all);
	struct image junk = { (uint8_t *)"junk", 4 };
	struct gt_recording *r;
	struct gt_event e;
	uint32_t process;
	char path[256];
	size_t count = 0;

	snprintf(path, sizeof path, "%s/77.trace", folder);
	save_image(path, &junk);
	snprintf(path, sizeof path, "%s/12.trace", folder);
	assert_int_equal(truncate(path, 4096), 0);
	r = open_recording(folder, 0);
	assert_int_equal(gt_recording_process_count(r), 4);
	for (; gt_recording_next(r, &e, &process) > 0; count++)
		assert_int_not_equal(e.tid, 12);
	assert_int_equal(count, all.count - 83);
	for (size_t i = 0; i < 4; i++) {
		const struct gt_process *p = gt_recording_process(r, i);

		assert_true((p->pid == 12 || p->pid == 77) == !!p->damage);
	}
	gt_recording_close(r);
	free(all.list);
}

/* Its file exists before its first word is written: not damage, and nothing lost. */
static void a_process_that_is_just_starting_is_not_damage(void **state)
{
	const char *folder = fresh_folder();
	struct image nothing = { NULL, 0 };
	struct gt_recording *r;
	struct gt_event e;
	uint32_t process;
	char path[256];

	snprintf(path, sizeof path, "%s/77.trace", folder);
	save_image(path, &nothing);
	r = open_recording(folder, 0);
	assert_int_equal(gt_recording_next(r, &e, &process), 0);
	assert_non_null(strstr(gt_recording_process(r, 0)->damage, "nothing has been recorded"));
	gt_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_are_merged_by_time),
		cmocka_unit_test(rewinding_returns_the_same_events),
		cmocka_unit_test(stacks_keep_their_numbers_when_a_recording_is_read_again),
		cmocka_unit_test(more_processes_than_descriptors_are_read_at_once),
		cmocka_unit_test(only_the_requested_process_is_read),
		cmocka_unit_test(a_folder_without_traces_is_not_a_recording),
		cmocka_unit_test(missing_files_and_other_files_are_refused),
		cmocka_unit_test(a_single_trace_is_a_recording_too),
		cmocka_unit_test(processes_have_their_recorded_properties),
		cmocka_unit_test(the_end_of_a_process_comes_before_later_events_of_others),
		cmocka_unit_test(a_damaged_trace_does_not_hide_the_others),
		cmocka_unit_test(a_process_that_is_just_starting_is_not_damage),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
