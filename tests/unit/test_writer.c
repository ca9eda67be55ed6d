/* SPDX-License-Identifier: MIT */
/* test_writer.c - nothing written by threads, children or killed processes is lost. */
#include "test_writer.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static struct gt_event event_at(uint64_t time_ns, uint16_t function, uint64_t handle, uint32_t tid)
{
	return (struct gt_event){
		.time_ns = time_ns, .function = function, .handle = handle, .tid = tid
	};
}

static void an_existing_file_is_not_overwritten(void **state)
{
	struct gt_writer_options options = { .pid = 1 };
	const char *path = fresh_path("trace");
	struct image image = { (uint8_t *)"precious", 8 };
	struct gt_writer *w;

	save_image(path, &image);
	assert_int_equal(gt_writer_open(&w, path, &options), -EEXIST);
	image = load_image(path);
	assert_int_equal(image.size, 8);
	assert_memory_equal(image.data, "precious", 8);
	free(image.data);
}

static void a_file_that_cannot_be_created_is_an_error(void **state)
{
	struct gt_writer_options options = { .pid = 1 };
	struct gt_writer *w;
	char path[128];

	snprintf(path, sizeof path, "%s/none/trace", scratch);
	assert_int_equal(gt_writer_open(&w, path, &options), -ENOENT);
}

static void a_trace_is_private_to_its_user(void **state)
{
	const char *path = fresh_path("trace");
	struct stat st;

	end_writer(open_writer(path));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void the_header_holds_process_and_state(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_trace_header h;
	struct gt_error error;

	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	assert_int_equal(h.state, GT_TRACE_RUNNING);
	assert_int_equal(h.pid, 4242);
	assert_int_equal(h.ppid, 1);
	assert_true(h.start_ns && h.start_real_ns && !h.end_ns);
	gt_writer_lose(w, 3);
	end_writer(w);
	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	assert_int_equal(h.state, GT_TRACE_ENDED);
	assert_true(h.end_ns >= h.start_ns);
	assert_int_equal(h.lost, 3);
}

static void an_ended_trace_has_no_unused_space(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 1, "main");
	struct gt_event e = event_at(1, GT_FN_clCreateUserEvent, 5, 1);
	struct gt_trace_header h;
	struct gt_error error;
	struct stat st;

	gt_lane_event(lane, &e);
	end_writer(w);
	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, h.blocks_end);
}

static void events_written_after_the_end_are_kept(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 7, "main");
	struct events all = { 0 };
	uint64_t seed = 5;

	for (uint64_t i = 0; i < 5000; i++) {
		struct gt_event e = random_event(&seed, 1000 + i, 7);

		if (i == 100)
			gt_writer_end(w);
		gt_lane_event(lane, &e);
		add_event(&all, &e);
	}
	gt_writer_free(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

static void equal_stacks_share_one_id(void **state)
{
	struct gt_writer *w = open_writer(fresh_path("trace"));
	uint64_t a[] = { 1, 2, 3 }, b[] = { 1, 2, 4 };
	uint32_t first = gt_writer_stack(w, a, 3);

	assert_int_equal(first, 1);
	assert_int_equal(gt_writer_stack(w, b, 3), 2);
	assert_int_equal(gt_writer_stack(w, a, 2), 3);
	assert_int_equal(gt_writer_stack(w, a, 3), first);
	assert_int_equal(gt_writer_stack(w, a, 0), 0);
	/* forgotten stacks are told again, under new numbers */
	gt_writer_forget_stacks(w);
	assert_int_equal(gt_writer_stack(w, a, 3), 4);
	assert_int_equal(gt_writer_stack(w, a, 3), 4);
	end_writer(w);
}

/* Each thread writes its own events and stacks. Times are unique, so the order is known. */
enum { THREADS = 8, EACH = 4000, STACKS = 50 };

struct job {
	struct gt_writer *writer;
	pthread_barrier_t *start;
	uint32_t tid;
	struct gt_event *events;
	bool got_lane;
};

static _Atomic uint64_t now_ns;

static void *work(void *context)
{
	struct job *job = context;
	struct gt_lane *lane;
	uint64_t seed = job->tid;

	pthread_barrier_wait(job->start);
	lane = gt_lane_acquire(job->writer, job->tid, "worker");
	job->got_lane = lane != NULL;
	if (!lane)
		return NULL;
	for (uint64_t i = 0; i < EACH; i++) {
		/* half of the stacks are everybody's */
		uint64_t frames[] = { i % 2 ? job->tid : 0, 0x400000 + i % STACKS, 0x401000 };
		struct gt_event *e = &job->events[i];

		*e = random_event(&seed, 0, job->tid);
		e->stack = gt_writer_stack(job->writer, frames, 3);
		e->time_ns = atomic_fetch_add(&now_ns, 1);
		gt_lane_event(lane, e);
		if (i % 100 == 0) {
			gt_lane_enter(lane, e, NULL, 0, NULL);
			gt_lane_leave(lane, NULL);
		}
	}
	gt_lane_release(lane);
	return NULL;
}

static void run_threads(struct gt_writer *w, struct job *jobs)
{
	pthread_t threads[THREADS];
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){ .writer = w,
					.start = &start,
					.tid = 100 + i,
					.events = calloc(EACH, sizeof(struct gt_event)) };
		assert_int_equal(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);
}

/* The stack that an event should have: see work(). */
static void check_stack(const struct gt_definitions *d, const struct gt_event *e, uint64_t i)
{
	struct gt_trace_frame frames[GT_STACK_FRAMES_MAX];

	assert_int_equal(gt_definitions_stack(d, e->stack, frames), 3);
	assert_int_equal(frames[0].address, i % 2 ? e->tid : 0);
	assert_int_equal(frames[1].address, 0x400000 + i % STACKS);
}

static void threads_write_concurrently_and_nothing_is_lost(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct job jobs[THREADS];
	uint64_t next[THREADS] = { 0 }, count = 0;
	struct gt_reader *r;
	struct gt_error error;
	struct gt_event e;

	atomic_store(&now_ns, 1000);
	run_threads(w, jobs);
	end_writer(w);
	assert_int_equal(gt_reader_open(&r, path, &error), 0);
	for (; gt_reader_next(r, &e) > 0; count++) {
		uint32_t thread = e.tid - 100;

		assert_true(thread < THREADS && next[thread] < EACH);
		assert_true(e.time_ns == 1000 + count);
		assert_same_event(&e, &jobs[thread].events[next[thread]]);
		check_stack(gt_reader_definitions(r), &e, next[thread]);
		next[thread]++;
	}
	if (gt_reader_damage(r))
		fail_msg("%s", gt_reader_damage(r));
	assert_int_equal(count, THREADS * EACH);
	/* interned: by all threads together, not by each */
	assert_int_equal(gt_reader_definitions(r)->stack_count, STACKS / 2 + THREADS * STACKS / 2);
	gt_reader_close(r);
	for (uint32_t i = 0; i < THREADS; i++)
		free(jobs[i].events);
}

/* A lane gets its number before its first block, so blocks may be in another order. */
static void lanes_may_open_their_first_blocks_in_any_order(void **state)
{
	enum { LANES = 6 };
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lanes[LANES];
	struct events all = { 0 };
	struct gt_block_header *first, *last;
	struct image image;
	uint8_t block[GT_BLOCK_MIN];

	for (uint32_t i = 0; i < LANES; i++)
		lanes[i] = gt_lane_acquire(w, i, "worker");
	for (uint32_t i = 0; i < LANES * 3; i++) {
		struct gt_event e = event_at(1000 + i, GT_FN_clCreateUserEvent, i + 1, i % LANES);

		gt_lane_event(lanes[i % LANES], &e);
		add_event(&all, &e);
	}
	end_writer(w);
	image = load_image(path);
	first = block_of(&image, 1, 0);
	last = block_of(&image, LANES, 0);
	memcpy(block, first, sizeof block);
	memcpy(first, last, sizeof block);
	memcpy(last, block, sizeof block);
	path = fresh_path("trace");
	save_image(path, &image);
	assert_trace_holds(path, &all);
	free(image.data);
	free(all.list);
}

static void a_child_that_detaches_leaves_the_trace_of_its_parent_alone(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 9, "main");
	struct events all = { 0 };
	uint64_t seed = 7, frames[] = { 1, 2, 3 };
	struct image before, after;
	int status;
	pid_t child;

	write_many(lane, &all, &seed, 3000);
	gt_writer_stack(w, frames, 3);
	before = load_image(path);
	child = fork();
	if (!child) {
		gt_writer_abandon(w);
		_exit(find_descriptor(path) < 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	after = load_image(path);
	assert_int_equal(before.size, after.size);
	assert_memory_equal(before.data, after.data, before.size);
	write_many(lane, &all, &seed, 3000);
	end_writer(w);
	assert_trace_holds(path, &all);
	free(before.data);
	free(after.data);
	free(all.list);
}

static void a_killed_process_keeps_everything_it_had_written(void **state)
{
	enum { COUNT = 20000 };
	const char *path = fresh_path("trace");
	struct events all = { 0 };
	uint64_t seed = 11;
	int status;
	pid_t child;

	for (uint64_t i = 0; i < COUNT; i++) {
		struct gt_event e = random_event(&seed, 1000 + i, 9);

		add_event(&all, &e);
	}
	child = fork();
	if (!child) {
		struct gt_writer_options options = { .pid = 1 };
		struct gt_writer *w;
		struct gt_lane *lane;

		if (gt_writer_open(&w, path, &options) || !(lane = gt_lane_acquire(w, 9, "main")))
			_exit(1);
		for (uint64_t i = 0; i < COUNT; i++)
			gt_lane_event(lane, &all.list[i]);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_trace_holds(path, &all);
	free(all.list);
}

static void events_take_few_bytes(void **state)
{
	enum { COUNT = 100000 };
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 9, "main");
	struct stat st;
	uint64_t time_ns = 5000000000;

	/* as programs do it: a buffer made and released every few microseconds, from 100 sites */
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t frames[] = { 0x400000 + i / 2 % 100, 0x400100, 0x400200, 0x7f0000001000 };
		struct gt_event e = { .time_ns = time_ns += 3000 + i % 977,
				      .tid = 9,
				      .handle = 0x555500000000 + i / 2 % 64 * 192,
				      .stack = gt_writer_stack(w, frames, 4),
				      .function = i % 2 ? GT_FN_clReleaseMemObject :
							  GT_FN_clCreateBuffer };

		if (i % 2 == 0) {
			e.size = 1 << 20;
			e.owner = 0x555500100000;
			e.place = 1;
		}
		gt_lane_event(lane, &e);
	}
	end_writer(w);
	assert_int_equal(stat(path, &st), 0);
	assert_in_range(st.st_size, COUNT, 16 * COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_existing_file_is_not_overwritten),
		cmocka_unit_test(a_file_that_cannot_be_created_is_an_error),
		cmocka_unit_test(a_trace_is_private_to_its_user),
		cmocka_unit_test(the_header_holds_process_and_state),
		cmocka_unit_test(an_ended_trace_has_no_unused_space),
		cmocka_unit_test(events_written_after_the_end_are_kept),
		cmocka_unit_test(equal_stacks_share_one_id),
		cmocka_unit_test(threads_write_concurrently_and_nothing_is_lost),
		cmocka_unit_test(lanes_may_open_their_first_blocks_in_any_order),
		cmocka_unit_test(a_child_that_detaches_leaves_the_trace_of_its_parent_alone),
		cmocka_unit_test(a_killed_process_keeps_everything_it_had_written),
		cmocka_unit_test(events_take_few_bytes),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
