/* SPDX-License-Identifier: MIT */
/* test_read_ahead.c - events come out the same one by one, in runs, and by another thread. */
#include "test_recording.h"

enum { EVENTS = 60000, PROCESSES = 3, LANES = 4 };

/* What somebody who reads a recording sees. */
struct seen {
	struct gt_event event;
	uint32_t process;
	uint64_t gap_first_ns, gap_last_ns, ends;
};

struct reading {
	struct seen *list;
	size_t count, room;
	uint64_t ends; /* processes that have ended so far, each with its time */
};

static void process_ended(void *context, uint32_t process, uint64_t time_ns)
{
	struct reading *reading = context;

	reading->ends = (reading->ends ^ process ^ time_ns) * 31;
}

static void see(struct reading *reading, const struct gt_recording *r, const struct gt_event *e,
		uint32_t process)
{
	const struct gt_process *p = gt_recording_process(r, process);

	GT_GROW(reading->list, reading->count, reading->room);
	reading->list[reading->count++] =
		(struct seen){ *e, process, p->gap_first_ns, p->gap_last_ns, reading->ends };
}

static struct reading read_one_by_one(struct gt_recording *r)
{
	struct reading reading = { 0 };
	struct gt_event e;
	uint32_t process;

	gt_recording_on_end(r, process_ended, &reading);
	gt_recording_rewind(r);
	while (gt_recording_next(r, &e, &process))
		see(&reading, r, &e, process);
	return reading;
}

/* At most so many events. */
static struct reading read_runs(struct gt_recording *r, bool ahead, size_t most)
{
	struct reading reading = { 0 };
	const struct gt_event *events;
	const uint32_t *processes;
	size_t count;

	gt_recording_on_end(r, process_ended, &reading);
	gt_recording_rewind(r);
	if (ahead)
		gt_recording_read_ahead(r);
	while (reading.count < most && (count = gt_recording_read(r, &events, &processes)))
		for (size_t i = 0; i < count && reading.count < most; i++)
			see(&reading, r, &events[i], processes[i]);
	gt_recording_stop(r);
	return reading;
}

static void assert_same(const struct reading *a, const struct reading *b, size_t count)
{
	assert_int_equal(a->count, count);
	for (size_t i = 0; i < count; i++) {
		const struct seen *x = &a->list[i], *y = &b->list[i];

		assert_same_event(&x->event, &y->event);
		assert_int_equal(x->event.phase, y->event.phase);
		assert_int_equal(x->process, y->process);
		assert_int_equal(x->gap_first_ns, y->gap_first_ns);
		assert_int_equal(x->gap_last_ns, y->gap_last_ns);
		assert_int_equal(x->ends, y->ends);
	}
}

/* Events of every kind by several threads of several processes, whose times overlap. */
static const char *write_overlapping(void)
{
	const char *folder = fresh_folder();
	struct process p[PROCESSES];
	struct gt_lane *lanes[PROCESSES][LANES];
	uint64_t state = 5, now;

	for (uint32_t i = 0; i < PROCESSES; i++) {
		start_process(&p[i], folder, 11 + i);
		for (uint32_t k = 0; k < LANES; k++)
			lanes[i][k] = gt_lane_acquire(p[i].writer, 100 * i + k, "worker");
	}
	now = gt_now_ns();
	for (uint64_t i = 0; i < EVENTS; i++) {
		/* the first one has ended by then, and the last one has begun */
		uint32_t who =
			i < EVENTS / 3 ? random_word(&state) % 2 : 1 + random_word(&state) % 2;
		struct gt_event e =
			random_event(&state, now + i * 10 - random_word(&state) % 30, 100 * who);

		e.stack = stack_of(&p[who], 1 + random_word(&state) % 200);
		gt_lane_event(lanes[who][random_word(&state) % LANES], &e);
		if (i == EVENTS / 3)
			end_writer(p[0].writer);
	}
	end_writer(p[1].writer);
	end_writer(p[2].writer);
	return folder;
}

/* Changes a byte in the middle of a process's trace. */
static void damage(const char *folder, uint32_t pid)
{
	char path[256], byte;
	struct stat st;
	int fd;

	snprintf(path, sizeof path, "%s/%u.trace", folder, pid);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0 && !fstat(fd, &st));
	assert_int_equal(pread(fd, &byte, 1, st.st_size / 2), 1);
	byte ^= 0x55;
	assert_int_equal(pwrite(fd, &byte, 1, st.st_size / 2), 1);
	close(fd);
}

static void check_all_ways(const char *folder, size_t least)
{
	struct gt_recording *r = open_recording(folder, 0);
	struct reading expected = read_one_by_one(r);

	assert_true(expected.count >= least && expected.count <= EVENTS);
	for (int ahead = 0; ahead < 2; ahead++) {
		size_t stops[] = { EVENTS, 30000, 20, 45000 };

		for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
			struct reading reading = read_runs(r, ahead, stops[i]);

			assert_same(&reading, &expected,
				    stops[i] < expected.count ? stops[i] : expected.count);
			free(reading.list);
		}
	}
	free(expected.list);
	gt_recording_close(r);
}

static void runs_and_another_thread_return_the_same_events(void **state)
{
	check_all_ways(write_overlapping(), EVENTS);
}

static void gaps_are_known_before_the_same_events(void **state)
{
	const char *folder = write_overlapping();

	damage(folder, 12);
	damage(folder, 13);
	check_all_ways(folder, EVENTS / 3);
}

static void a_recording_may_be_closed_while_it_is_read_ahead(void **state)
{
	struct gt_recording *r = open_recording(write_overlapping(), 0);
	const struct gt_event *events;
	const uint32_t *processes;
	size_t count = 0;

	gt_recording_read_ahead(r);
	while (count < EVENTS / 2)
		count += gt_recording_read(r, &events, &processes);
	gt_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_and_another_thread_return_the_same_events),
		cmocka_unit_test(gaps_are_known_before_the_same_events),
		cmocka_unit_test(a_recording_may_be_closed_while_it_is_read_ahead),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
