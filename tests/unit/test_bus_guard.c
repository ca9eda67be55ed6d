/* SPDX-License-Identifier: MIT */
/* test_bus_guard.c - a store to a trace that fails is survived; any other SIGBUS is the program's.
 */
#include "test_writer.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "guest/bus_guard.h"
#include "trace/trace_file.h"
#include "trace/window.h"
#include "trace/writer_state.h"

static int stop_error;

static void note_stop(struct gt_writer *w, void *context, int error)
{
	stop_error = error;
}

static struct gt_writer *open_guarded(const char *path, struct gt_lane **lane)
{
	struct gt_writer_options options = { .pid = 1,
					     .is_guarded = gt_bus_guard_is_on,
					     .stopped = note_stop };
	struct gt_writer *w;

	/* sanitizers have a handler of their own */
	signal(SIGBUS, SIG_DFL);
	gt_bus_guard_start();
	assert_true(gt_bus_guard_is_on());
	stop_error = 0;
	atomic_store(&gt_windows_failed, false);
	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	*lane = gt_lane_acquire(w, 9, "main");
	return w;
}

static void write_some(struct gt_lane *lane, int count)
{
	uint64_t seed = 3;

	for (int i = 0; i < count; i++) {
		struct gt_event e = random_event(&seed, 1000, 9);

		gt_lane_enter(lane, &e, (uint64_t[16]){ 0 }, 4, &e);
		gt_lane_event(lane, &e);
		gt_lane_leave(lane, &e);
	}
}

static void stores_to_a_shortened_trace_are_survived(void **state)
{
	for (off_t size = 0; size <= 16384; size += 4096) {
		const char *path = fresh_path("shortened");
		struct gt_lane *lane;
		struct gt_writer *w = open_guarded(path, &lane);

		write_some(lane, 300);
		assert_int_equal(truncate(path, size), 0);
		/* no check in between: many blocks, and the header when nothing can be written */
		write_some(lane, 3000);
		assert_false(gt_writer_check(w, lane));
		assert_int_equal(stop_error, -ESTALE);
		write_some(lane, 300);
		gt_writer_end(w);
		gt_writer_free(w);
	}
}

static void the_end_of_a_process_notices_that_its_trace_was_shortened(void **state)
{
	const char *path = fresh_path("shortened");
	struct gt_lane *lane;
	struct gt_writer *w = open_guarded(path, &lane);

	assert_int_equal(truncate(path, 0), 0);
	gt_writer_end(w);
	assert_int_equal(stop_error, -ESTALE);
	gt_writer_free(w);
}

static void a_store_that_the_disk_refuses_is_an_error_and_a_loss(void **state)
{
	const char *path = fresh_path("refused");
	struct gt_trace_header h;
	struct gt_error error;
	struct gt_lane *lane;
	struct gt_writer *w = open_guarded(path, &lane);
	int outside;

	write_some(lane, 10);
	assert_true(gt_writer_check(w, lane));
	assert_false(gt_window_recover(&outside));
	assert_true(gt_writer_check(w, lane));
	/* as the handler does it, for the next record */
	assert_true(gt_window_recover(lane->at));
	assert_false(gt_writer_check(w, lane));
	assert_int_equal(stop_error, -EIO);
	write_some(lane, 10);
	gt_writer_free(w);
	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	assert_int_equal(h.state, GT_TRACE_STOPPED);
	assert_int_equal(h.error, EIO);
	assert_int_equal(h.lost, 11);
}

static void only_the_default_action_is_replaced(void **state)
{
	signal(SIGBUS, SIG_IGN);
	gt_bus_guard_start();
	assert_false(gt_bus_guard_is_on());
	assert_ptr_equal(signal(SIGBUS, SIG_DFL), SIG_IGN);
	gt_bus_guard_start();
	assert_true(gt_bus_guard_is_on());
	signal(SIGBUS, SIG_DFL);
	assert_false(gt_bus_guard_is_on());
}

static void a_thread_may_block_it(void **state)
{
	sigset_t bus, before;

	assert_false(gt_bus_guard_is_blocked());
	sigemptyset(&bus);
	sigaddset(&bus, SIGBUS);
	pthread_sigmask(SIG_BLOCK, &bus, &before);
	assert_true(gt_bus_guard_is_blocked());
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

enum cause { BY_FAULT, BY_KILL, BY_QUEUE };

static void cause_it(enum cause cause)
{
	volatile char *page;

	switch (cause) {
	case BY_FAULT:
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			    memfd_create("empty", MFD_CLOEXEC), 0);
		*page = 1;
		break;
	case BY_KILL: kill(getpid(), SIGBUS); break;
	case BY_QUEUE: sigqueue(getpid(), SIGBUS, (union sigval){ .sival_int = 77 }); break;
	}
}

/* The last SIGBUS that a child gets before it ends of it, as a debugger or a core file shows it. */
static siginfo_t last_of_child(enum cause cause, bool is_guarded)
{
	struct rlimit no_core = { 0, 0 };
	siginfo_t info = { 0 };
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGBUS, SIG_DFL);
		if (is_guarded)
			gt_bus_guard_start();
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		cause_it(cause);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (WSTOPSIG(status) == SIGBUS)
			ptrace(PTRACE_GETSIGINFO, pid, NULL, &info);
		ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)WSTOPSIG(status));
	}
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
	/* who sent it, where it is not the kernel */
	if (cause != BY_FAULT) {
		assert_int_equal(info.si_pid, pid);
		info.si_pid = 0;
	}
	return info;
}

static void any_other_one_ends_the_program_as_if_we_were_not_there(void **state)
{
	for (enum cause cause = BY_FAULT; cause <= BY_QUEUE; cause++) {
		siginfo_t bare = last_of_child(cause, false), ours = last_of_child(cause, true);

		assert_int_equal(ours.si_signo, SIGBUS);
		assert_int_equal(ours.si_code, bare.si_code);
		if (cause == BY_FAULT)
			assert_ptr_equal(ours.si_addr, bare.si_addr);
		if (cause == BY_QUEUE)
			assert_int_equal(ours.si_value.sival_int, 77);
	}
}

static off_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void the_reserved_tail_is_cut_off_when_nobody_writes(void **state)
{
	struct gt_writer_options options = { .pid = 1, .read_only = true, .leaves_tail = true };
	const char *path = fresh_path("tail");
	struct gt_lane *lane;
	struct gt_writer *w;
	struct events got;
	off_t size;

	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	lane = gt_lane_acquire(w, 9, "main");
	write_some(lane, 300);
	gt_writer_end(w);
	size = size_of(path);
	gt_trace_file_finish(AT_FDCWD, path);
	assert_int_equal(size_of(path), size);
	close(find_descriptor(path));
	gt_trace_file_finish(AT_FDCWD, path);
	assert_int_equal(size_of(path), size);
	gt_writer_free(w);
	gt_trace_file_finish(AT_FDCWD, path);
	assert_in_range(size_of(path), 3 * GT_BLOCK_MIN, size / 2);
	assert_int_equal(size_of(path) % GT_BLOCK_MIN, 0);
	got = read_events(path, NULL);
	assert_int_equal(got.count, 300);
	free(got.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_default_action_is_replaced),
		cmocka_unit_test(a_thread_may_block_it),
		cmocka_unit_test(any_other_one_ends_the_program_as_if_we_were_not_there),
		cmocka_unit_test(stores_to_a_shortened_trace_are_survived),
		cmocka_unit_test(the_end_of_a_process_notices_that_its_trace_was_shortened),
		cmocka_unit_test(a_store_that_the_disk_refuses_is_an_error_and_a_loss),
		cmocka_unit_test(the_reserved_tail_is_cut_off_when_nobody_writes),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
