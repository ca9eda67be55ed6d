/* SPDX-License-Identifier: MIT */
/* test_replay.c - replaying a recording: ended and running processes. */
#include <sys/utsname.h>

#include "test_recording.h"

#include "ledger/growing_sites.h"
#include "trace/info.h"
#include "trace/writer_state.h"
#include "replay/replay.h"

static void put(struct process *p, uint16_t function, uint64_t time_ns, uint64_t handle,
		uint64_t size)
{
	gt_lane_event(p->lane, &(struct gt_event){ .time_ns = time_ns,
						   .handle = handle,
						   .size = size,
						   .function = function,
						   .stack = stack_of(p, 1) });
}

static void end_at(struct process *p, uint64_t end_ns)
{
	gt_writer_end_at(p->writer, end_ns);
	gt_writer_free(p->writer);
}

/* Two processes; the first holds 100 bytes since the returned time. */
static uint64_t start_two(struct process p[2], const char *folder)
{
	uint64_t now;

	start_process(&p[0], folder, 11);
	start_process(&p[1], folder, 12);
	now = gt_now_ns();
	put(&p[0], GT_FN_clCreateBuffer, now, 1, 100);
	return now;
}

struct moments {
	uint64_t bytes[8], times[8], ended;
	size_t count;
};

static void note(struct moments *m, const struct gt_ledger *l, uint64_t time_ns)
{
	assert_in_range(m->count, 0, 7);
	m->bytes[m->count] = l->device_bytes;
	m->times[m->count++] = time_ns;
}

static void note_event(void *context, const struct gt_ledger *l, const struct gt_event *event,
		       uint32_t process)
{
	note(context, l, event->time_ns);
}

static void note_end(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	((struct moments *)context)->ended++;
	note(context, l, time_ns);
}

static void the_end_of_a_process_is_a_separate_point_in_time(void **state)
{
	const char *folder = fresh_folder();
	struct moments m = { 0 };
	struct process p[2];
	struct gt_recording *r;
	struct gt_ledger *l;
	uint64_t now;

	now = start_two(p, folder);
	put(&p[1], GT_FN_clCreateBuffer, now + 10, 1, 7);
	end_at(&p[0], now + 20);
	put(&p[1], GT_FN_clReleaseMemObject, now + 1000, 1, 0);
	end_at(&p[1], now + 2000);
	r = open_recording(folder, 0);
	l = gt_replay_run(
		r, &(struct gt_replay){ .each = note_event, .ended = note_end, .context = &m });
	assert_int_equal(m.count, 4);
	assert_int_equal(m.ended, 1);
	assert_int_equal(m.bytes[1], 107);
	assert_int_equal(m.bytes[2], 7);
	assert_int_equal(m.times[2], now + 20);
	assert_int_equal(m.bytes[3], 0);
	gt_ledger_free(l);
	gt_recording_close(r);
}

/* Three readers: of both processes, of the second one, and of a single event. */
static void one_pass_fills_several_ledgers(void **state)
{
	const char *folder = fresh_folder();
	struct moments all = { 0 }, second = { 0 };
	const struct gt_replay replays[] = {
		{ .each = note_event, .ended = note_end, .context = &all },
		{ .pid = 12, .each = note_event, .ended = note_end, .context = &second },
		{ .until = 1 },
	};
	struct gt_ledger *ledgers[3];
	struct process p[2];
	struct gt_recording *r;
	uint64_t now;

	now = start_two(p, folder);
	put(&p[1], GT_FN_clCreateBuffer, now + 10, 1, 7);
	end_at(&p[0], now + 20);
	put(&p[1], GT_FN_clReleaseMemObject, now + 1000, 1, 0);
	end_at(&p[1], now + 2000);
	r = open_recording(folder, 0);
	gt_replay_run_all(r, replays, 3, ledgers);
	assert_int_equal(all.count, 4);
	assert_int_equal(ledgers[0]->events, 3);
	assert_int_equal(ledgers[0]->peak_bytes, 107);
	assert_int_equal(second.count, 2);
	assert_int_equal(second.ended, 0);
	assert_int_equal(second.bytes[0], 7);
	assert_int_equal(ledgers[1]->events, 2);
	assert_int_equal(ledgers[2]->events, 1);
	assert_int_equal(ledgers[2]->device_bytes, 100);
	assert_int_equal(ledgers[2]->gone, 0);
	for (int i = 0; i < 3; i++)
		gt_ledger_free(ledgers[i]);
	gt_recording_close(r);
}

/* Consecutive workers, each with more memory than the last: no process grows. */
static void memory_of_ended_processes_is_not_growing(void **state)
{
	enum { WORKERS = 40 };
	const char *folder = fresh_folder();
	struct gt_recording *r;
	struct gt_rise *rises;
	struct gt_ledger *l;
	struct process p;
	uint64_t now = gt_now_ns();
	size_t count;

	for (uint32_t i = 0; i < WORKERS; i++) {
		start_process(&p, folder, 100 + i);
		put(&p, GT_FN_clCreateBuffer, now + i * 1000000, 1, (i + 1) << 20);
		end_at(&p, now + i * 1000000 + 500000);
	}
	r = open_recording(folder, 0);
	l = gt_replay_run(r, &(struct gt_replay){ .growth = true });
	assert_int_equal(l->site_count, 1);
	rises = gt_growth_find(l->growth, l, &count);
	assert_int_equal(count, 0);
	free(rises);
	gt_ledger_free(l);
	gt_recording_close(r);
}

/* A process whose recording stopped is alive, with all its resources. */
static void stopping_a_recording_does_not_end_its_processes(void **state)
{
	const char *folder = fresh_folder();
	struct process p[2];
	struct gt_recording *r;
	struct gt_ledger *l;
	uint64_t now;

	now = start_two(p, folder);
	p[0].writer->header->state = GT_TRACE_STOPPED;
	p[0].writer->header->end_ns = now + 10;
	gt_writer_free(p[0].writer);
	put(&p[1], GT_FN_clCreateBuffer, now + 1000, 1, 7);
	end_at(&p[1], now + 2000);
	r = open_recording(folder, 0);
	l = gt_replay_run(r, &(struct gt_replay){ 0 });
	assert_int_equal(l->peak_bytes, 107);
	assert_int_equal(l->gone, 0);
	gt_ledger_free(l);
	gt_recording_close(r);
}

/* Samples taken after the last process has ended do not mean that a process still ran. */
static void samples_after_the_end_do_not_end_a_process(void **state)
{
	const char *folder = fresh_folder();
	struct gt_writer *beside;
	struct gt_recording *r;
	struct gt_lane *lane;
	struct gt_ledger *l;
	struct process p;
	uint64_t now;
	char path[256];

	start_process(&p, folder, 11);
	now = gt_now_ns();
	put(&p, GT_FN_clCreateBuffer, now, 1, 100);
	end_at(&p, now + 10);
	snprintf(path, sizeof path, "%s/" GT_SYSTEM_TRACE, folder);
	assert_int_equal(
		gt_writer_open(&beside, path, &(struct gt_writer_options){ .start_ns = now }), 0);
	lane = gt_lane_acquire(beside, 0, "");
	gt_lane_sample(lane, gt_writer_series(beside, &(struct gt_series){ .name = "used" }),
		       now + 500, 1);
	end_writer(beside);
	r = open_recording(folder, 0);
	l = gt_replay_run(r, &(struct gt_replay){ .samples = true });
	assert_int_equal(l->samples.series[0].last, 1);
	assert_int_equal(l->device_bytes, 100);
	assert_int_equal(l->gone, 0);
	gt_ledger_free(l);
	gt_recording_close(r);
}

/* A process inside a redundant release, whose pid is running or free. */
static struct gt_ledger *replay_release(uint32_t pid)
{
	const char *folder = fresh_folder();
	struct gt_event again;
	struct utsname system;
	struct gt_recording *r;
	struct gt_ledger *l;
	struct process p;
	uint64_t now;

	assert_int_equal(uname(&system), 0);
	start_process(&p, folder, pid);
	gt_writer_info(p.writer, "host", system.nodename, strlen(system.nodename));
	now = gt_now_ns();
	put(&p, GT_FN_clCreateBuffer, now, 1, 100);
	put(&p, GT_FN_clReleaseMemObject, now + 1, 1, 0);
	again = (struct gt_event){ .time_ns = now + 2,
				   .handle = 1,
				   .function = GT_FN_clReleaseMemObject };
	gt_lane_enter(p.lane, &again, NULL, 0, NULL);
	gt_writer_free(p.writer);
	r = open_recording(folder, 0);
	l = gt_replay_run(r, &(struct gt_replay){ 0 });
	gt_recording_close(r);
	return l;
}

static void a_running_process_has_not_died_in_a_call(void **state)
{
	struct gt_ledger *l = replay_release((uint32_t)getpid());

	assert_int_equal(l->last_call_count, 0);
	assert_int_equal(l->redundant_count, 0);
	gt_ledger_free(l);
	l = replay_release(UINT32_MAX - 1); /* no kernel has so many */
	assert_int_equal(l->last_call_count, 1);
	assert_int_equal(l->redundant_count, 1);
	assert_true(l->redundant[0].fatal);
	gt_ledger_free(l);
}

/* Its pid is still running, but as the program it called exec for. */
static void a_process_that_called_exec_is_no_longer_running(void **state)
{
	for (int is_told = 0; is_told < 2; is_told++) {
		const char *folder = fresh_folder();
		struct gt_recording *r;
		struct utsname system;
		struct gt_event e;
		struct process p;
		uint32_t process;
		char path[256];
		FILE *ends;

		assert_int_equal(uname(&system), 0);
		start_process(&p, folder, (uint32_t)getpid());
		gt_writer_info(p.writer, "host", system.nodename, strlen(system.nodename));
		put(&p, GT_FN_clCreateBuffer, gt_now_ns(), 1, 100);
		gt_writer_free(p.writer);
		snprintf(path, sizeof path, "%s/" GT_ENDS_FILE, folder);
		ends = is_told ? fopen(path, "we") : NULL;
		if (ends) {
			fprintf(ends, GT_ENDS_MAGIC "%d.trace %" PRIu64 "\n", (int)getpid(),
				gt_now_ns());
			fclose(ends);
		}
		r = open_recording(folder, 0);
		assert_int_equal(gt_recording_next(r, &e, &process), 1);
		while (gt_recording_next(r, &e, &process) > 0)
			;
		assert_int_equal(gt_recording_process(r, 0)->end,
				 is_told ? GT_END_UNKNOWN : GT_END_RUNNING);
		gt_recording_close(r);
	}
}

static void processes_beyond_the_limit_are_left_out_and_reported(void **state)
{
	struct gt_recording_options options = { .most = 2 };
	struct events all;
	const char *folder = write_three(&all);
	struct gt_recording *r;
	struct gt_error error;
	struct gt_event e;
	uint32_t process;

	assert_int_equal(gt_recording_open(&r, folder, &options, &error), 0);
	for (int round = 0; round < 2; round++) {
		size_t count = 0;

		for (; gt_recording_next(r, &e, &process) > 0; count++)
			assert_in_range(process, 0, 1);
		assert_int_equal(count, 166);
		assert_null(gt_recording_process(r, 1)->damage);
		assert_true(gt_recording_process(r, 2)->unread);
		assert_non_null(strstr(gt_recording_process(r, 2)->damage, "first 2 processes"));
		gt_recording_rewind(r);
	}
	gt_recording_close(r);
	free(all.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_a_process_is_a_separate_point_in_time),
		cmocka_unit_test(one_pass_fills_several_ledgers),
		cmocka_unit_test(memory_of_ended_processes_is_not_growing),
		cmocka_unit_test(stopping_a_recording_does_not_end_its_processes),
		cmocka_unit_test(samples_after_the_end_do_not_end_a_process),
		cmocka_unit_test(a_running_process_has_not_died_in_a_call),
		cmocka_unit_test(a_process_that_called_exec_is_no_longer_running),
		cmocka_unit_test(processes_beyond_the_limit_are_left_out_and_reported),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
