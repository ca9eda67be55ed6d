/* SPDX-License-Identifier: MIT */
/* test_writer_limits.c - recording stops at limits of space and time; the program continues. */
#include "test_writer.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "trace/writer_state.h"

/* The message of a writer that had to stop. */
struct stopping {
	unsigned count;
	int error;
};

static void note_stop(struct gt_writer *w, void *context, int error)
{
	struct stopping *s = context;

	s->count++;
	s->error = error;
}

/* Writes until it has to stop, and further. `all` is what the file should contain. */
static struct gt_writer *write_until_full(const char *path, struct stopping *s, struct events *all)
{
	struct gt_writer_options options = { .pid = 1, .stopped = note_stop, .context = s };
	struct gt_writer *w;
	struct gt_lane *lanes[2];
	uint64_t frames[] = { 1, 2 }, seed = 8;

	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	lanes[0] = gt_lane_acquire(w, 9, "main");
	lanes[1] = gt_lane_acquire(w, 10, "other");
	for (uint64_t i = 0; i < 100000 && !s->count; i++) {
		struct gt_event e = random_event(&seed, 1000 + i, 9 + i % 2);

		gt_lane_event(lanes[i % 2], &e);
		if (!s->count)
			add_event(all, &e);
	}
	assert_int_equal(s->count, 1);
	for (uint64_t i = 0; i < 99; i++) {
		struct gt_event e = random_event(&seed, 200000 + i, 9 + i % 2);

		gt_lane_event(lanes[i % 2], &e);
	}
	/* whatever else is asked of it, nothing complains again */
	gt_writer_info(w, "key", "value", 5);
	gt_writer_place(w, 1, GT_OPENCL, "place");
	gt_writer_stack(w, frames, 2);
	assert_null(gt_lane_acquire(w, 11, "late"));
	gt_lane_enter(lanes[0], &all->list[0], NULL, 0, NULL);
	gt_lane_leave(lanes[0], NULL);
	gt_lane_release(lanes[1]);
	assert_int_equal(s->count, 1);
	return w;
}

static void check_stopped(const char *path, const struct stopping *s, const struct events *all)
{
	struct gt_trace_header h;
	struct gt_error error;

	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	assert_int_equal(h.state, GT_TRACE_STOPPED);
	assert_int_equal(h.error, -s->error);
	assert_int_equal(h.lost, 100);
	assert_true(all->count > 1000);
	assert_trace_holds(path, all);
}

static void a_file_size_limit_stops_recording_once(void **state)
{
	const char *path = fresh_path("trace");
	struct events all = { 0 };
	struct stopping s = { 0 };
	struct rlimit before, small;
	struct gt_writer *w;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ .rlim_cur = 300 << 10, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	w = write_until_full(path, &s, &all);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	end_writer(w);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(s.error, -EFBIG);
	check_stopped(path, &s, &all);
	free(all.list);
}

static void no_space_for_the_first_page_is_an_error_and_leaves_no_file(void **state)
{
	struct gt_writer_options options = { .pid = 1 };
	const char *path = fresh_path("trace");
	struct rlimit before, small;
	struct gt_writer *w;
	int e;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ .rlim_cur = 4096, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	e = gt_writer_open(&w, path, &options);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(e, -EFBIG);
	assert_int_equal(access(path, F_OK), -1);
}

/* The guest rule: the program wrote nothing, so it must not get SIGXFSZ. */
static void a_file_size_limit_does_not_kill_the_program(void **state)
{
	const char *path = fresh_path("trace");
	int status;
	pid_t child = fork();

	if (!child) {
		struct gt_writer_options options = { .pid = 1 };
		struct rlimit small = { .rlim_cur = 300 << 10, .rlim_max = RLIM_INFINITY };
		struct rlimit no_core = { 0, 0 };
		struct gt_writer *w;
		struct gt_lane *lane;
		uint64_t seed = 1;

		setrlimit(RLIMIT_CORE, &no_core);
		setrlimit(RLIMIT_FSIZE, &small);
		if (gt_writer_open(&w, path, &options) || !(lane = gt_lane_acquire(w, 1, "main")))
			_exit(1);
		for (uint64_t i = 0; i < 100000; i++) {
			struct gt_event e = random_event(&seed, i, 1);

			gt_lane_event(lane, &e);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_full_disk_stops_recording_once(void **state)
{
	char folder[64], path[80];
	struct events all = { 0 };
	struct stopping s = { 0 };

	snprintf(folder, sizeof folder, "%s/disk", scratch);
	snprintf(path, sizeof path, "%s/trace", folder);
	mkdir(folder, 0700);
	if (mount("tmpfs", folder, "tmpfs", 0, "size=256k"))
		skip();
	end_writer(write_until_full(path, &s, &all));
	assert_int_equal(s.error, -ENOSPC);
	check_stopped(path, &s, &all);
	umount2(folder, MNT_DETACH);
	free(all.list);
}

static void a_removed_trace_stops_when_it_cannot_be_reopened(void **state)
{
	const char *path = fresh_path("trace");
	struct stopping s = { 0 };
	struct gt_writer_options options = { .pid = 1, .stopped = note_stop, .context = &s };
	struct gt_writer *w;
	struct gt_lane *lane;
	struct events all = { 0 };
	struct image image = { (uint8_t *)"other", 5 };
	uint64_t seed = 6;

	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	lane = gt_lane_acquire(w, 9, "main");
	close(find_descriptor(path));
	unlink(path);
	/* another file under its name is not ours */
	save_image(path, &image);
	write_many(lane, &all, &seed, 300000);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.error, -ENOENT);
	end_writer(w);
	image = load_image(path);
	assert_int_equal(image.size, 5);
	free(image.data);
	free(all.list);
}

/* Writes until nothing more is written; returns the number of events. */
static uint64_t write_up_to_limit(const struct gt_writer_options *options, const char *path)
{
	struct gt_writer *w;
	struct gt_lane *lane;
	struct events got;
	uint64_t count;

	assert_int_equal(gt_writer_open(&w, path, options), 0);
	lane = gt_lane_acquire(w, 1, "main");
	for (uint64_t i = 0; lane && i < 100000; i++)
		gt_lane_event(lane, &(struct gt_event){ .function = GT_FN_clCreateUserEvent,
							.handle = i * 4096,
							.tid = 1,
							.time_ns = 1000 + i * 1000 });
	end_writer(w);
	got = read_events(path, NULL);
	count = got.count;
	free(got.list);
	return count;
}

static void a_trace_takes_no_more_space_than_allowed(void **state)
{
	_Atomic uint64_t taken = 0;
	struct gt_writer_options options = {
		.pid = 1, .start_ns = 1, .max_bytes = 200000, .taken = &taken
	};
	const char *path = fresh_path("limited"), *second = fresh_path("limited");
	uint64_t first_events = write_up_to_limit(&options, path);
	struct gt_trace_header h;
	struct gt_error error;
	struct stat st;

	assert_in_range(first_events, 1000, 90000);
	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	assert_int_equal(h.state, GT_TRACE_STOPPED);
	assert_int_equal(h.error, EFBIG);
	assert_int_equal(h.lost, 100000 - first_events);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size <= 200000 && taken <= 200000);
	/* another process finds what is left */
	options.max_bytes = 300000;
	assert_in_range(write_up_to_limit(&options, second), 1000, first_events);
	assert_true(taken <= 300000);
}

/* Short processes reserve more than they need: the rest is for later ones. */
static void unused_space_is_given_back(void **state)
{
	_Atomic uint64_t taken = 0;
	struct gt_writer_options options = { .pid = 1, .max_bytes = 1 << 20, .taken = &taken };
	struct rlimit before, small;
	uint64_t sizes = 0;
	struct gt_writer *w;

	for (int i = 0; i < 20; i++) {
		const char *path = fresh_path("short");
		struct stat st;

		assert_int_equal(gt_writer_open(&w, path, &options), 0);
		assert_non_null(gt_lane_acquire(w, 1, "main"));
		end_writer(w);
		assert_int_equal(stat(path, &st), 0);
		sizes += (uint64_t)st.st_size;
		assert_int_equal(taken, sizes);
	}
	/* nor does a trace count that could not be begun */
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ .rlim_cur = 4096, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(gt_writer_open(&w, fresh_path("short"), &options), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(taken, sizes);
}

static void nothing_is_written_after_the_deadline(void **state)
{
	struct gt_writer_options options = { .pid = 1,
					     .start_ns = 1,
					     .until_ns = 1000 + 499 * 1000 };
	const char *path = fresh_path("until");
	struct gt_trace_header h;
	struct gt_error error;

	assert_int_equal(write_up_to_limit(&options, path), 500);
	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	assert_int_equal(h.state, GT_TRACE_STOPPED);
	assert_int_equal(h.error, ETIME);
}

/* A store beyond the end of the file would end this test by SIGBUS. */
static void a_shortened_trace_is_not_touched_again(void **state)
{
	struct stopping s = { 0 };
	struct gt_writer_options options = { .pid = 1, .stopped = note_stop, .context = &s };
	const char *path = fresh_path("shortened");
	const uint64_t frames[] = { 1, 2 }, arguments[16] = { 0 };
	uint64_t seed = 3;
	struct gt_event e = random_event(&seed, 1000, 9);
	struct gt_lane *lanes[2];
	struct gt_writer *w;
	struct stat st;

	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	lanes[0] = gt_lane_acquire(w, 9, "main");
	lanes[1] = gt_lane_acquire(w, 10, "other");
	for (int i = 0; i < 100; i++)
		gt_lane_event(lanes[i % 2], &e);
	gt_lane_enter(lanes[0], &e, arguments, 4, &st);
	assert_true(gt_writer_check(w, lanes[0]));
	assert_int_equal(truncate(path, 0), 0);
	assert_false(gt_writer_check(w, lanes[0]));
	assert_int_equal(s.count, 1);
	assert_int_equal(s.error, -ESTALE);
	for (int i = 0; i < 10000; i++) {
		gt_lane_event(lanes[i % 2], &e);
		gt_lane_enter(lanes[i % 2], &e, arguments, 4, &st);
		gt_lane_learn(lanes[i % 2], e.function, &seed);
		gt_lane_announce(lanes[i % 2], e.function, arguments, &seed, &st);
		gt_lane_leave(lanes[i % 2], &st);
	}
	assert_int_equal(gt_writer_stack(w, frames, 2), 0);
	gt_writer_info(w, "key", "value", 5);
	gt_lane_release(lanes[1]);
	assert_null(gt_lane_acquire(w, 11, "late"));
	end_writer(w);
	assert_int_equal(s.count, 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
}

static bool always(void)
{
	return true;
}

/* It would be of its full length again, and a store that fails would be the disk's fault. */
static void a_shortened_trace_does_not_grow(void **state)
{
	int lanes = 0, most = 1000;

	/* first: how many blocks are there before more space is reserved? */
	for (int is_cut = 0; is_cut < 2; is_cut++) {
		struct stopping s = { 0 };
		struct gt_writer_options options = {
			.pid = 1, .stopped = note_stop, .context = &s, .is_guarded = always
		};
		const char *path = fresh_path("cut");
		struct gt_writer *w;
		struct stat before, after;

		assert_int_equal(gt_writer_open(&w, path, &options), 0);
		assert_int_equal(stat(path, &before), 0);
		for (int i = 0; i < most; i++) {
			assert_non_null(gt_lane_acquire(w, 9 + (uint32_t)i, "thread"));
			assert_int_equal(stat(path, &after), 0);
			if (after.st_size != before.st_size)
				break;
			lanes += !is_cut;
		}
		if (!is_cut) {
			most = lanes;
		} else {
			assert_int_equal(truncate(path, 4096), 0);
			gt_lane_acquire(w, 8, "last");
			assert_int_equal(s.error, -ESTALE);
			assert_int_equal(stat(path, &after), 0);
			assert_int_equal(after.st_size, 4096);
		}
		end_writer(w);
	}
}

static void a_copy_put_over_a_trace_stops_recording(void **state)
{
	struct stopping s = { 0 };
	struct gt_writer_options options = { .pid = 1, .stopped = note_stop, .context = &s };
	const char *path = fresh_path("copied");
	uint64_t seed = 4;
	struct gt_event e = random_event(&seed, 1000, 9);
	static char copy[1 << 20];
	struct gt_writer *w;
	struct gt_lane *lane;
	size_t size;
	FILE *f;

	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	lane = gt_lane_acquire(w, 9, "main");
	f = fopen(path, "r");
	assert_non_null(f);
	size = fread(copy, 1, sizeof copy, f);
	fclose(f);
	gt_lane_event(lane, &e);
	assert_true(gt_writer_check(w, lane));
	/* as `cp` writes it */
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(copy, 1, size, f), size);
	fclose(f);
	assert_false(gt_writer_check(w, lane));
	assert_int_equal(s.error, -ESTALE);
	gt_lane_event(lane, &e);
	end_writer(w);
	assert_int_equal(s.count, 1);
}

static unsigned int mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 0777;
}

static void a_trace_is_read_only_if_asked_for(void **state)
{
	struct gt_writer_options options = { .pid = 1, .read_only = true };
	const char *path = fresh_path("mode");
	uint64_t seed = 5;
	struct gt_event e = random_event(&seed, 1000, 9);
	struct gt_writer *w;
	struct gt_lane *lane;

	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	lane = gt_lane_acquire(w, 9, "main");
	assert_int_equal(mode_of(path), 0400);
	/* also when it had to be opened again */
	assert_int_equal(close(find_descriptor(path)), 0);
	for (int i = 0; i < 100000; i++)
		gt_lane_event(lane, &e);
	assert_non_null(gt_lane_acquire(w, 10, "not stopped"));
	assert_int_equal(mode_of(path), 0400);
	end_writer(w);
	assert_int_equal(mode_of(path), 0400);
	options.read_only = false;
	path = fresh_path("mode");
	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	assert_int_equal(mode_of(path), 0600);
	end_writer(w);
}

static void number_of_stack(struct gt_writer *w, uint32_t from, uint32_t to, bool is_known)
{
	for (uint32_t i = from; i < to; i++) {
		const uint64_t frames[] = { 0x400000 + i, 0x500000 };

		assert_int_equal(gt_writer_stack(w, frames, 2), is_known ? i + 1 : 0);
	}
}

static void a_program_pays_for_a_limited_number_of_stacks(void **state)
{
	struct gt_writer_options options = { .pid = 1 };
	struct gt_writer *w;

	(void)state;
	assert_int_equal(gt_writer_open(&w, fresh_path("stacks"), &options), 0);
	number_of_stack(w, 0, GT_STACKS_MAX, true);
	number_of_stack(w, GT_STACKS_MAX, GT_STACKS_MAX + 1000, false);
	assert_int_equal(w->header->lost_stacks, 1000);
	/* none of them was written, and the known ones are still found */
	assert_int_equal(w->stacks_defined, GT_STACKS_MAX);
	number_of_stack(w, GT_STACKS_MAX - 10, GT_STACKS_MAX, true);
	assert_int_equal(atomic_load(&w->stacks.table)->mask + 1, GT_STACK_SLOTS_MAX);
	/* after an unload there is room again */
	gt_writer_forget_stacks(w);
	number_of_stack(w, GT_STACKS_MAX, GT_STACKS_MAX + 10, true);
	gt_writer_end(w);
	gt_writer_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_pays_for_a_limited_number_of_stacks),
		cmocka_unit_test(a_trace_takes_no_more_space_than_allowed),
		cmocka_unit_test(unused_space_is_given_back),
		cmocka_unit_test(nothing_is_written_after_the_deadline),
		cmocka_unit_test(a_shortened_trace_is_not_touched_again),
		cmocka_unit_test(a_shortened_trace_does_not_grow),
		cmocka_unit_test(a_copy_put_over_a_trace_stops_recording),
		cmocka_unit_test(a_trace_is_read_only_if_asked_for),
		cmocka_unit_test(a_file_size_limit_stops_recording_once),
		cmocka_unit_test(no_space_for_the_first_page_is_an_error_and_leaves_no_file),
		cmocka_unit_test(a_file_size_limit_does_not_kill_the_program),
		cmocka_unit_test(a_full_disk_stops_recording_once),
		cmocka_unit_test(a_removed_trace_stops_when_it_cannot_be_reopened),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
