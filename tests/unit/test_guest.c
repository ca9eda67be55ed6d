/* SPDX-License-Identifier: MIT */
/* test_guest.c - the recorder library with a minimal driver: threads, failures, signals. */
#include "test_guest.h"

enum { THREADS = 8, ROUNDS = 2000 };

static void *work(void *arg)
{
	uint64_t base = (uint64_t)(uintptr_t)arg << 32;

	for (uint64_t i = 1; i <= ROUNDS; i++) {
		create(base + i);
		call(GT_FN_clRetainEvent, base + i, 0);
		call(GT_FN_clReleaseEvent, base + i, 0);
		call(GT_FN_clReleaseEvent, base + i, 0xffffffff); /* fails: changes nothing */
		call(GT_FN_clReleaseEvent, base + i, 0);
	}
	return NULL;
}

static void threads_lose_no_events(void **state)
{
	struct totals before = replay((uint32_t)getpid()), after;
	pthread_t threads[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	after = replay((uint32_t)getpid());
	assert_int_equal(after.events - before.events, THREADS * ROUNDS * 5);
	assert_int_equal(after.failed - before.failed, THREADS * ROUNDS);
	assert_int_equal(after.live, before.live);
	assert_int_equal(after.lost, 0);
}

/* In place of the C library's: this thread gets no memory from the kernel. */
static __thread bool has_no_memory;

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t from)
{
	if (has_no_memory) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, from);
}

static void *call_once(void *without_memory)
{
	has_no_memory = without_memory;
	create(0x9001);
	call(GT_FN_clReleaseEvent, 0x9001, 0);
	has_no_memory = false;
	return NULL;
}

static void a_stack_without_memory_is_counted(void **state)
{
	struct totals before, after;
	pthread_t thread;

	(void)state;
	if (!gt_settings_get()->stack_depth)
		skip(); /* with the thread sanitizer: start_recording */
	/* its lane, which needs memory too, serves the next thread */
	assert_int_equal(pthread_create(&thread, NULL, call_once, NULL), 0);
	pthread_join(thread, NULL);
	before = replay((uint32_t)getpid());
	assert_int_equal(before.lost_stacks, 0);
	assert_int_equal(pthread_create(&thread, NULL, call_once, &after), 0);
	pthread_join(thread, NULL);
	after = replay((uint32_t)getpid());
	assert_int_equal(after.events - before.events, 2);
	assert_int_equal(after.lost, before.lost);
	assert_int_equal(after.lost_stacks, 2);
}

static bool any(void *context, const struct gt_entry *entry)
{
	(void)context;
	return entry->handle == 77;
}

static void a_failed_release_is_undone(void **state)
{
	struct gt_entry *entries;
	size_t count;

	(void)state;
	create(77);
	call(GT_FN_clReleaseEvent, 77, 1);
	entries = gt_live_table_snapshot(&count, any, NULL);
	assert_int_equal(count, 1);
	assert_int_equal(entries[0].refs, 1);
	gt_table_free(entries);
	call(GT_FN_clReleaseEvent, 77, 0);
	entries = gt_live_table_snapshot(&count, any, NULL);
	assert_int_equal(count, 0);
	gt_table_free(entries);
}

static bool is_mapping(void *context, const struct gt_entry *entry)
{
	(void)context;
	return entry->function == GT_FN_cuMemMap;
}

static size_t mappings(void)
{
	size_t count;

	gt_table_free(gt_live_table_snapshot(&count, is_mapping, NULL));
	return count;
}

static void one_call_ends_everything_in_its_range_or_fails(void **state)
{
	uint64_t range[GT_ARGS_MAX] = { 0x10000, 3 * 4096 };

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		call_with(GT_FN_cuMemMap, (uint64_t[GT_ARGS_MAX]){ 0x10000 + i * 4096, 4096 }, 0);
	call_with(GT_FN_cuMemUnmap, range, 1);
	assert_int_equal(mappings(), 4);
	call_with(GT_FN_cuMemUnmap, range, 0);
	assert_int_equal(mappings(), 1);
	/* more than there is */
	range[0] += 3 * 4096;
	call_with(GT_FN_cuMemUnmap, range, 0);
	assert_int_equal(mappings(), 0);
}

/* Frees this many SVM blocks by one call, during which the program unmaps their array. */
static void free_by_an_array_that_goes(uint32_t count)
{
	struct totals before = replay((uint32_t)getpid()), after;
	uint64_t *blocks = malloc(count * sizeof *blocks), argv[GT_ARGS_MAX] = { 0 };
	struct gt_guest_call g;

	for (uint32_t i = 0; i < count; i++) {
		blocks[i] = 0x70000000 + 64 * i;
		call_with(GT_FN_clSVMAlloc, (uint64_t[GT_ARGS_MAX]){ 1, 0, 64 }, blocks[i]);
	}
	argv[clEnqueueSVMFree__num_svm_pointers] = count;
	argv[clEnqueueSVMFree__svm_pointers] = (uintptr_t)blocks;
	gt_guest_begin(&g, GT_FN_clEnqueueSVMFree, argv, __builtin_return_address(0));
	memset(blocks, 0x5a, count * sizeof *blocks);
	free(blocks);
	gt_guest_end(&g, 0, NULL);
	after = replay((uint32_t)getpid());
	assert_int_equal(after.events - before.events, 2 * count);
	assert_int_equal(after.live, before.live);
	assert_int_equal(after.unknown, before.unknown);
}

static void an_argument_array_may_vanish_during_the_driver_call(void **state)
{
	(void)state;
	free_by_an_array_that_goes(1);
	free_by_an_array_that_goes(1000);
}

/* The CUDA door keeps its calls outside the stack. */
static struct gt_guest_call calls_of_door[2];

static __attribute__((noinline)) void release_within(uint64_t handle)
{
	uint64_t argv[GT_ARGS_MAX] = { handle };

	gt_guest_begin(&calls_of_door[1], GT_FN_clReleaseEvent, argv, __builtin_return_address(0));
	gt_guest_end(&calls_of_door[1], 0, NULL);
}

/* The number of calls a process was in when it died, and the handle of the last. */
static int unfinished_of(pid_t pid, uint64_t *handle)
{
	struct gt_recording_options options = { .pid = (uint32_t)pid };
	struct gt_recording *r;
	struct gt_error error;
	struct gt_event event;
	uint32_t process;
	int count = 0;

	if (gt_recording_open(&r, recording, &options, &error))
		fail_msg("%s", error.text);
	while (gt_recording_next(r, &event, &process) > 0)
		if (event.unfinished) {
			*handle = event.handle;
			count++;
		}
	gt_recording_close(r);
	return count;
}

static void a_nested_call_leaves_the_outer_call_unfinished(void **state)
{
	uint64_t argv[GT_ARGS_MAX] = { 8 }, handle = 0;
	int status;
	pid_t child = fork();

	(void)state;
	if (!child) {
		create(8);
		create(9);
		gt_guest_begin(&calls_of_door[0], GT_FN_clReleaseEvent, argv,
			       __builtin_return_address(0));
		release_within(9);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(unfinished_of(child, &handle), 1);
	assert_int_equal(handle, 8);
}

/* Makes one call in a child, which is killed in it. Returns the child's pid. */
static pid_t die_in(enum gt_function_id function, const uint64_t *argv, bool has_called)
{
	struct gt_guest_call call;
	pid_t child = fork();
	int status;

	if (!child) {
		if (has_called)
			create(8);
		gt_guest_begin(&call, function, argv, __builtin_return_address(0));
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	return child;
}

/* Also the first one of a process, and one that creates and ends nothing. */
static void the_call_a_process_dies_in_is_known(void **state)
{
	static const struct {
		enum gt_function_id function;
		uint64_t argv[GT_ARGS_MAX], handle;
	} calls[] = {
		{ GT_FN_clCreateBuffer, { 0xc0, 1, 4096, 0, 0 }, 0 },
		{ GT_FN_clRetainEvent, { 8 }, 8 },
		{ GT_FN_clReleaseEvent, { 8 }, 8 },
		{ GT_FN_clReleaseEvent, { 0 }, 0 },
		{ GT_FN_clEnqueueMarkerWithWaitList, { 0x99, 0, 0, 0 }, 0 },
		{ GT_FN_zeCommandListAppendBarrier, { 0x77, 1, 2, 3 }, 0x77 },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof calls / sizeof *calls; i++) {
		enum gt_function_id function = calls[i / 2].function;
		const uint64_t *argv = calls[i / 2].argv, *words;
		struct gt_recording_options options = { .pid = (uint32_t)die_in(function, argv,
										i % 2) };
		const struct gt_trace_frame *frames;
		struct gt_recording *r;
		struct gt_error error;
		struct gt_event e;
		uint32_t process;

		if (gt_recording_open(&r, recording, &options, &error))
			fail_msg("%s", error.text);
		for (size_t k = 0; k <= i % 2; k++)
			assert_int_equal(gt_recording_next(r, &e, &process), 1);
		assert_true(e.unfinished);
		assert_int_equal(e.function, function);
		assert_int_equal(e.handle, calls[i / 2].handle);
		/* under the thread sanitizer there are none: start() */
		if (!gt_recording_stack(r, e.stack, &frames) && gt_settings_get()->stack_depth)
			fail_msg("call %zu has no stack", i);
		assert_int_equal(gt_recording_arguments(r, process, &e, &words),
				 gt_functions[function].argc);
		assert_memory_equal(words, argv, gt_functions[function].argc * sizeof *words);
		assert_int_equal(gt_recording_next(r, &e, &process), 0);
		assert_int_equal(gt_recording_process(r, process)->calls_in_flight, 1);
		gt_recording_close(r);
	}
}

static uint64_t ticks;

static void tick(int signal)
{
	int saved = errno;

	(void)signal;
	call(GT_FN_clCreateUserEvent, 1, ((uint64_t)1 << 40) + ++ticks);
	call(GT_FN_clReleaseEvent, ((uint64_t)1 << 40) + ticks, 0);
	errno = saved;
}

/* A signal handler that makes calls does no harm, whatever it interrupts. */
static void calls_from_a_signal_handler_do_no_harm(void **state)
{
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	struct totals before = replay((uint32_t)getpid()), after;
	uint64_t calls = 0;

	(void)state;
	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &often, NULL);
	while (ticks < 200) {
		create(900);
		call(GT_FN_clReleaseEvent, 900, 0);
		calls += 2;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	after = replay((uint32_t)getpid());
	/* none is forgotten: recorded, or counted as lost */
	assert_int_equal(after.events - before.events + after.lost - before.lost,
			 calls + 2 * ticks);
}

/* Checks that every row of the CSV is complete and in order, then removes all files. */
static int finish(void **state)
{
	char path[128], line[1024];
	unsigned long number, rows = 0;
	FILE *file;
	int bad = 0;

	(void)state;
	snprintf(path, sizeof path, "%s/a_pid%d.csv", folder, (int)getpid());
	file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file)) {
		int commas = 0;

		for (char *at = line; *at; at++)
			commas += *at == ',';
		bad |= commas != 21 || !strchr(line, '\n');
		if (rows++)
			bad |= sscanf(line, "%lu,", &number) != 1 || number != rows - 1;
	}
	bad |= rows < THREADS * ROUNDS;
	if (file)
		fclose(file);
	snprintf(path, sizeof path, "rm -rf %s", folder);
	return system(path) || bad ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_lose_no_events),
		cmocka_unit_test(a_stack_without_memory_is_counted),
		cmocka_unit_test(a_failed_release_is_undone),
		cmocka_unit_test(one_call_ends_everything_in_its_range_or_fails),
		cmocka_unit_test(an_argument_array_may_vanish_during_the_driver_call),
		cmocka_unit_test(a_nested_call_leaves_the_outer_call_unfinished),
		cmocka_unit_test(the_call_a_process_dies_in_is_known),
		cmocka_unit_test(calls_from_a_signal_handler_do_no_harm),
	};

	return cmocka_run_group_tests(tests, start_recording, finish);
}
