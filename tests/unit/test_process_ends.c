/* SPDX-License-Identifier: MIT */
/* test_process_ends.c - how each process of a recording ended, and where its record has gaps. */
#include <sys/utsname.h>

#include "test_recording.h"

#include "trace/writer_state.h"

static void write_text(const char *folder, const char *file, const char *text)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof path, "%s/%s", folder, file);
	out = fopen(path, "we");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void put_info(struct process *p, const char *key, const char *value)
{
	gt_writer_info(p->writer, key, value, strlen(value));
}

/* The only process of the recording, when all has been read. */
static struct gt_recording *read_all(const char *folder, const struct gt_process **process)
{
	struct gt_recording *r = open_recording(folder, 0);
	struct gt_event e;
	uint32_t number;

	while (gt_recording_next(r, &e, &number) > 0)
		continue;
	*process = gt_recording_process(r, 0);
	return r;
}

/* A trace of process 7 that says (`key`, `value`) of itself, and of which `ends` has these lines.
 */
struct ending {
	bool is_marked; /* as ended */
	const char *key, *value, *lines;
	enum gt_end end;
	int exit_status, signal;
};

static void what_the_trace_and_others_say_makes_the_end(void **state)
{
	static const struct ending endings[] = {
		{ .end = GT_END_UNKNOWN, .exit_status = -1 },
		{ .lines = "7.trace 90\n", .end = GT_END_UNKNOWN, .exit_status = -1 },
		{ true, .end = GT_END_EXIT, .exit_status = -1 },
		{ true, .lines = "7.trace exit 3\n", .end = GT_END_EXIT, .exit_status = 3 },
		{ false, .lines = "7.trace 90\n7.trace exit 0\n", .end = GT_END_QUICK },
		{ false, .lines = "7.trace signal 9\n7.trace 90\n", .end = GT_END_SIGNAL,
		  .exit_status = -1, .signal = 9 },
		{ false, .lines = "7.trace exec 0\n7.trace 90\n", .end = GT_END_EXEC,
		  .exit_status = -1 },
		/* killed while later exit handlers ran */
		{ true, .lines = "7.trace signal 15\n", .end = GT_END_SIGNAL, .exit_status = -1,
		  .signal = 15 },
		/* what is of another, or makes no sense */
		{ true, .lines = "17.trace signal 9\n7.trace signal 0\n7.trace exit 256\n",
		  .end = GT_END_EXIT, .exit_status = -1 },
		/* as attach writes it */
		{ true, "signal", "11", .end = GT_END_SIGNAL, .exit_status = -1, .signal = 11 },
		{ true, "exit_status", "0", .end = GT_END_EXIT },
		{ true, "exec", "1", .end = GT_END_EXEC, .exit_status = -1 },
		{ true, "went_on", "1", .end = GT_END_DETACHED, .exit_status = -1 },
	};

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		const struct ending *wanted = &endings[i];
		const char *folder = fresh_folder();
		const struct gt_process *got;
		struct gt_recording *r;
		struct process p;
		char lines[256];

		start_process(&p, folder, 7);
		add(&p, NULL, gt_now_ns(), 1);
		if (wanted->key)
			put_info(&p, wanted->key, wanted->value);
		if (wanted->is_marked)
			gt_writer_end(p.writer);
		gt_writer_free(p.writer);
		if (wanted->lines) {
			snprintf(lines, sizeof lines, "GTENDS\n%s", wanted->lines);
			write_text(folder, "ends", lines);
		}
		r = read_all(folder, &got);
		if (got->end != wanted->end || got->exit_status != wanted->exit_status ||
		    got->signal != wanted->signal)
			fail_msg("%zu: end %d, exit status %d, signal %d", i, got->end,
				 got->exit_status, got->signal);
		assert_int_equal(got->gap_first_ns, 0);
		assert_int_equal(got->gap_last_ns, 0);
		gt_recording_close(r);
	}
}

/* This very process, recorded on this host: running, unless the boot was another. */
static enum gt_end end_of_this(const char *boot, const char *host, bool attached)
{
	const char *folder = fresh_folder();
	const struct gt_process *got;
	struct gt_recording *r;
	struct process p;
	enum gt_end end;

	start_process(&p, folder, (uint32_t)getpid());
	put_info(&p, "host", host);
	if (boot)
		put_info(&p, "boot", boot);
	if (attached)
		put_info(&p, "capture", "attach");
	add(&p, NULL, gt_now_ns(), 1);
	r = read_all(folder, &got);
	end = got->end;
	/* nobody may be there to record what an attached process does next */
	assert_int_equal(got->gap_first_ns, attached ? got->last_ns : 0);
	assert_int_equal(got->gap_last_ns, attached ? UINT64_MAX : 0);
	gt_recording_close(r);
	gt_writer_free(p.writer);
	return end;
}

static void a_process_runs_on_its_host_until_that_is_booted(void **state)
{
	struct utsname system;

	assert_int_equal(uname(&system), 0);
	assert_true(*gt_boot_id());
	assert_int_equal(end_of_this(gt_boot_id(), system.nodename, false), GT_END_RUNNING);
	assert_int_equal(end_of_this(gt_boot_id(), system.nodename, true), GT_END_RUNNING);
	assert_int_equal(end_of_this(NULL, system.nodename, false), GT_END_RUNNING);
	assert_int_equal(end_of_this("another", system.nodename, false), GT_END_UNKNOWN);
	assert_int_equal(end_of_this(gt_boot_id(), "elsewhere", true), GT_END_UNKNOWN);
}

/* Changes the header of the only trace. */
static void set_losses(const char *folder, uint64_t lost, uint64_t first_ns, uint64_t last_ns)
{
	struct gt_trace_header h;
	char path[256];
	int fd;

	snprintf(path, sizeof path, "%s/7.trace", folder);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &h, sizeof h, 0), sizeof h);
	h.lost = lost;
	h.lost_first_ns = first_ns;
	h.lost_last_ns = last_ns;
	assert_int_equal(pwrite(fd, &h, sizeof h, 0), sizeof h);
	close(fd);
}

static void assert_gap(const char *folder, uint64_t first_ns, uint64_t last_ns)
{
	const struct gt_process *got;
	struct gt_recording *r = read_all(folder, &got);

	assert_int_equal(got->gap_first_ns, first_ns == 1 ? got->start_ns : first_ns);
	assert_int_equal(got->gap_last_ns, last_ns);
	gt_recording_close(r);
}

static void losses_make_a_gap(void **state)
{
	const char *folder = fresh_folder();
	struct process p;

	start_process(&p, folder, 7);
	add(&p, NULL, gt_now_ns(), 1);
	end_writer(p.writer);
	assert_gap(folder, 0, 0);
	set_losses(folder, 2, 300, 400);
	assert_gap(folder, 300, 400);
	/* of an older version: some time in its life */
	set_losses(folder, 2, 0, 0);
	assert_gap(folder, 1, UINT64_MAX);
	set_losses(folder, 2, 0, 400);
	assert_gap(folder, 1, UINT64_MAX);
}

/* Who replays the events judges each by the gaps before it. */
static void a_gap_is_known_when_the_first_event_after_its_begin_is_read(void **state)
{
	static const uint8_t zeroes[2 * GT_BLOCK_MIN];
	const char *folder = fresh_folder();
	const struct gt_process *got;
	struct gt_recording *r;
	struct gt_event e;
	struct process p;
	uint64_t now, offset;
	uint32_t number;
	char path[256];
	FILE *trace;

	start_process(&p, folder, 7);
	now = gt_now_ns();
	add(&p, NULL, now, 1);
	for (uint64_t i = 1; i < 4; i++) {
		assert_int_equal(gt_block_open(p.lane), 0);
		add(&p, NULL, now + i, 1);
	}
	/* the second block of the lane, of twice the size of the first */
	offset = p.writer->end - (8 + 4 + 2) * (uint64_t)GT_BLOCK_MIN;
	end_writer(p.writer);
	snprintf(path, sizeof path, "%s/7.trace", folder);
	trace = fopen(path, "r+e");
	assert_non_null(trace);
	assert_int_equal(fseek(trace, (long)offset, SEEK_SET), 0);
	assert_int_equal(fwrite(zeroes, sizeof zeroes, 1, trace), 1);
	fclose(trace);
	r = open_recording(folder, 0);
	got = gt_recording_process(r, 0);
	assert_int_equal(gt_recording_next(r, &e, &number), 1);
	assert_int_equal(gt_recording_next(r, &e, &number), 1);
	assert_int_equal(e.time_ns, now + 2);
	assert_int_equal(got->gap_first_ns, now);
	assert_int_equal(got->gap_last_ns, now + 1);
	gt_recording_close(r);
	/* losses are known from the start */
	set_losses(folder, 2, now + 1, now + 3);
	r = open_recording(folder, 0);
	got = gt_recording_process(r, 0);
	assert_int_equal(gt_recording_next(r, &e, &number), 1);
	assert_int_equal(got->gap_last_ns, now + 3);
	gt_recording_close(r);
}

static void losses_of_no_process_are_of_any(void **state)
{
	const char *folder = fresh_folder();
	struct process p;

	start_process(&p, folder, 7);
	add(&p, NULL, gt_now_ns(), 1);
	end_writer(p.writer);
	set_losses(folder, 5, 300, 400);
	write_text(folder, "info", "gputrack: 1\nlost: 5\nlost_first_ns: 100\nlost_last_ns: 900\n");
	assert_gap(folder, 300, 400);
	write_text(folder, "info", "gputrack: 1\nlost: 6\nlost_first_ns: 100\nlost_last_ns: 350\n");
	assert_gap(folder, 100, 400);
	write_text(folder, "info",
		   "gputrack: 1\nlost: 6\nlost_first_ns: 1\n"
		   "lost_last_ns: 18446744073709551615\n");
	set_losses(folder, 0, 0, 0);
	{
		const struct gt_process *got;
		struct gt_recording *r = read_all(folder, &got);

		assert_int_equal(got->gap_first_ns, 1);
		assert_int_equal(got->gap_last_ns, UINT64_MAX);
		gt_recording_close(r);
	}
}

static void a_recording_that_stopped_has_a_gap_from_then_on(void **state)
{
	const char *folder = fresh_folder();
	const struct gt_process *got;
	struct gt_recording *r;
	struct gt_writer_options options = { .pid = 7, .max_bytes = 256 << 10 };
	struct gt_event e = { .function = GT_FN_clCreateBuffer };
	struct gt_lane *lane;
	struct gt_writer *w;

	assert_int_equal(gt_writer_open_in(&w, folder, &options), 0);
	lane = gt_lane_acquire(w, 7, "main");
	for (e.handle = 1; e.handle < 100000; e.handle++) {
		e.time_ns = gt_now_ns();
		gt_lane_event(lane, &e);
	}
	gt_writer_end(w);
	gt_writer_free(w);
	r = read_all(folder, &got);
	assert_int_equal(got->end, GT_END_STOPPED);
	assert_true(got->lost > 0);
	assert_in_range(got->gap_first_ns, got->last_ns, got->end_ns);
	assert_int_equal(got->gap_last_ns, UINT64_MAX);
	gt_recording_close(r);
}

static void threads_that_remained_are_counted(void **state)
{
	const char *folder = fresh_folder();
	const struct gt_process *got;
	struct gt_recording *r;
	struct gt_lane *worker;
	struct process p;

	start_process(&p, folder, 7);
	add(&p, NULL, gt_now_ns(), 1);
	worker = gt_lane_acquire(p.writer, 8, "worker");
	r = read_all(folder, &got);
	assert_int_equal(got->threads_at_end, 2);
	assert_true(got->main_at_end);
	gt_recording_close(r);
	gt_lane_release(worker);
	end_writer(p.writer);
	r = read_all(folder, &got);
	assert_int_equal(got->threads_at_end, 1);
	assert_true(got->main_at_end);
	assert_false(got->is_late);
	gt_recording_close(r);
}

static void who_ran_before_is_late(void **state)
{
	const char *folder = fresh_folder();
	const struct gt_process *got;
	struct gt_recording *r;
	struct process p;

	start_process(&p, folder, 7);
	put_info(&p, "late", "1");
	end_writer(p.writer);
	r = read_all(folder, &got);
	assert_true(got->is_late);
	gt_recording_close(r);
}

static void a_trace_that_cannot_be_read_is_one_gap(void **state)
{
	const char *folder = fresh_folder();
	const struct gt_process *got;
	struct gt_recording *r;
	struct process p;

	start_process(&p, folder, 9);
	end_writer(p.writer);
	write_text(folder, "7.trace", "x");
	write_text(folder, "ends", "GTENDS\n7.trace signal 9\n");
	r = read_all(folder, &got);
	got = gt_recording_process(r, got->pid == 7 ? 0 : 1);
	assert_true(got->unread);
	assert_int_equal(got->end, GT_END_SIGNAL);
	assert_int_equal(got->signal, 9);
	assert_int_equal(got->exit_status, -1);
	assert_int_equal(got->gap_first_ns, 1);
	assert_int_equal(got->gap_last_ns, UINT64_MAX);
	gt_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_trace_and_others_say_makes_the_end),
		cmocka_unit_test(a_process_runs_on_its_host_until_that_is_booted),
		cmocka_unit_test(losses_make_a_gap),
		cmocka_unit_test(a_gap_is_known_when_the_first_event_after_its_begin_is_read),
		cmocka_unit_test(losses_of_no_process_are_of_any),
		cmocka_unit_test(a_recording_that_stopped_has_a_gap_from_then_on),
		cmocka_unit_test(threads_that_remained_are_counted),
		cmocka_unit_test(who_ran_before_is_late),
		cmocka_unit_test(a_trace_that_cannot_be_read_is_one_gap),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
