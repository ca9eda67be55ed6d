/* SPDX-License-Identifier: MIT */
/* test_guest_forks.c - the recorder library in children: each has a trace of its own. */
#include "test_guest.h"

static void a_child_has_a_trace_of_its_own(void **state)
{
	struct totals before = replay((uint32_t)getpid()), after;
	int status;
	pid_t child;

	(void)state;
	create(5);
	child = fork();
	if (!child) {
		create(6);
		create(7);
		call(GT_FN_clReleaseEvent, 6, 0);
		call(GT_FN_clReleaseEvent, 5, 0); /* the parent's: unknown here */
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	call(GT_FN_clReleaseEvent, 5, 0);
	after = replay((uint32_t)child);
	assert_int_equal(after.events, 4);
	assert_int_equal(after.live, 1);
	assert_int_equal(after.unknown, 1);
	assert_int_equal(replay((uint32_t)getpid()).events - before.events, 2);
}

/* As in a driver's callback: the call began in the parent and ends in the parent. */
/* In the child the call ends with `ret`. */
static void fork_inside_a_call(uint64_t ret)
{
	struct totals before = replay((uint32_t)getpid()), after;
	uint64_t argv[GT_ARGS_MAX] = { 8 };
	struct gt_guest_call g;
	int status, done[2], said[2];
	char trace[128];
	pid_t child;

	assert_int_equal(pipe(done), 0);
	assert_int_equal(pipe(said), 0);
	create(8);
	gt_guest_begin(&g, GT_FN_clReleaseEvent, argv, __builtin_return_address(0));
	child = fork();
	if (!child) {
		/* after the parent, and with another end: at the same place it would be seen */
		close(done[1]);
		(void)!read(done[0], trace, 1);
		dup2(said[1], STDERR_FILENO);
		usleep(2000); /* the recorder looks at its file once in a millisecond */
		argv[0] = 9;
		gt_guest_end(&g, ret, NULL);
		_exit(0);
	}
	gt_guest_end(&g, 0, NULL);
	close(done[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(done[0]);
	close(said[1]);
	assert_int_equal(read(said[0], trace, 1), 0); /* nor a word about the parent's trace */
	close(said[0]);
	snprintf(trace, sizeof trace, "%s/%d.trace", recording, (int)child);
	assert_int_not_equal(access(trace, F_OK), 0);
	after = replay((uint32_t)getpid());
	assert_int_equal(after.events - before.events, 2);
	assert_int_equal(after.failed, before.failed);
	assert_int_equal(after.live, before.live);
}

/* True if the trace of the process contains the text. */
static bool trace_has(pid_t pid, const char *text)
{
	char path[128], *bytes = malloc(1 << 24);
	size_t size;
	FILE *file;
	bool found;

	snprintf(path, sizeof path, "%s/%d.trace", recording, (int)pid);
	file = fopen(path, "r");
	size = file ? fread(bytes, 1, 1 << 24, file) : 0;
	if (file)
		fclose(file);
	found = memmem(bytes, size, text, strlen(text));
	free(bytes);
	return found;
}

static void a_child_forked_inside_a_call_does_not_record_that_call(void **state)
{
	(void)state;
	fork_inside_a_call(5); /* it fails: the long way */
	fork_inside_a_call(0);
}

/* As the live-object extension does: the first action of a child need not be a call. */
static void a_place_found_by_a_child_is_in_the_trace_of_the_child(void **state)
{
	static const char name[] = "a platform that the child alone has asked for";
	int status;
	pid_t child = fork();

	(void)state;
	if (!child) {
		gt_guest_place(GT_OPENCL, name);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_false(trace_has(getpid(), name));
	assert_true(trace_has(child, name));
}

static void a_place_found_by_the_parent_is_in_the_trace_of_the_child(void **state)
{
	static const char name[] = "a platform that the parent has asked for";
	int status;
	pid_t child;

	(void)state;
	gt_guest_place(GT_OPENCL, name);
	child = fork();
	if (!child) {
		create(9);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(trace_has(getpid(), name));
	assert_true(trace_has(child, name));
}

static pthread_key_t last_of_child;

static void end_child(void *value)
{
	(void)value;
	_exit(0);
}

/* The thread ends in a child that has made no call: its lane is still written by the parent. */
static void *fork_and_end(void *child)
{
	create(21);
	*(pid_t *)child = fork();
	if (!*(pid_t *)child) {
		pthread_setspecific(last_of_child, child);
		return NULL;
	}
	waitpid(*(pid_t *)child, NULL, 0);
	call(GT_FN_clReleaseEvent, 21, 0);
	return NULL;
}

static void a_thread_that_ends_in_a_child_leaves_the_parents_trace_alone(void **state)
{
	struct totals before = replay((uint32_t)getpid()), after;
	pthread_t thread;
	pid_t child;

	(void)state;
	/* keys end in their order: the recorder's is older */
	assert_int_equal(pthread_key_create(&last_of_child, end_child), 0);
	assert_int_equal(pthread_create(&thread, NULL, fork_and_end, &child), 0);
	pthread_join(thread, NULL);
	usleep(2000); /* the recorder looks at its file once in a millisecond */
	create(22);
	after = replay((uint32_t)getpid());
	assert_int_equal(after.events - before.events, 3);
	assert_int_equal(after.live, before.live + 1);
	assert_int_equal(after.lost, 0);
}

static _Atomic bool is_over;

static void *work_on(void *arg)
{
	uint64_t handle = (uint64_t)(uintptr_t)arg << 48, made = 0;

	while (!atomic_load(&is_over)) {
		create(handle + ++made);
		call(GT_FN_clReleaseEvent, handle + made, 0);
	}
	return (void *)(uintptr_t)made;
}

static void children_forked_while_threads_record_have_their_own_events(void **state)
{
	enum { WORKERS = 3, CHILDREN = 20 };
	struct totals before = replay((uint32_t)getpid()), after;
	pthread_t threads[WORKERS];
	uint64_t made = 0;

	(void)state;
	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, work_on, (void *)(i + 1));
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			for (uint64_t k = 1; k <= 3; k++)
				create(k);
			call(GT_FN_clReleaseEvent, 2, 0);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		after = replay((uint32_t)child);
		assert_int_equal(after.events, 4);
		assert_int_equal(after.live, 2);
	}
	atomic_store(&is_over, true);
	for (int i = 0; i < WORKERS; i++) {
		void *count;

		pthread_join(threads[i], &count);
		made += (uintptr_t)count;
	}
	after = replay((uint32_t)getpid());
	assert_int_equal(after.lost, before.lost);
	assert_int_equal(after.events - before.events, 2 * made);
	assert_int_equal(after.live, before.live);
}

static int finish(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command) ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_has_a_trace_of_its_own),
		cmocka_unit_test(a_child_forked_inside_a_call_does_not_record_that_call),
		cmocka_unit_test(a_place_found_by_a_child_is_in_the_trace_of_the_child),
		cmocka_unit_test(a_place_found_by_the_parent_is_in_the_trace_of_the_child),
		cmocka_unit_test(a_thread_that_ends_in_a_child_leaves_the_parents_trace_alone),
		cmocka_unit_test(children_forked_while_threads_record_have_their_own_events),
	};

	return cmocka_run_group_tests(tests, start_recording, finish);
}
