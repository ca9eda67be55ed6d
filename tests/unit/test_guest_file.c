/* SPDX-License-Identifier: MIT */
/* test_guest_file.c - appending to a file in a process that closes unknown descriptors. */
#include "base/guest_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "test_scratch.h"

enum { THREADS = 4, LINES = 20000, CLOSINGS = 200 };

static const char *path_of(const char *name)
{
	static char paths[2][128];
	static int next;

	next = !next;
	snprintf(paths[next], sizeof paths[next], "%s/%s", scratch, name);
	return paths[next];
}

/* The number of descriptors that refer to the file; `*last` is one of them. */
static int count_descriptors(const char *path, int *last)
{
	DIR *fds = opendir("/proc/self/fd");
	char link[PATH_MAX], target[PATH_MAX];
	const struct dirent *entry;
	int count = 0;

	while ((entry = readdir(fds))) {
		ssize_t n;

		snprintf(link, sizeof link, "/proc/self/fd/%s", entry->d_name);
		n = readlink(link, target, sizeof target - 1);
		target[n > 0 ? n : 0] = '\0';
		if (strcmp(target, path))
			continue;
		*last = atoi(entry->d_name);
		count++;
	}
	closedir(fds);
	return count;
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : st.st_size;
}

static void opening_a_fifo_without_a_reader_does_not_block(void **state)
{
	struct gt_append_file k = GT_APPEND_NONE;
	const char *path = path_of("pipe");
	int reader;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(gt_append_file_open(&k, path, O_CREAT | O_TRUNC, GT_APPEND_FILE), -ENXIO);
	assert_int_equal(gt_append_file_open(&k, path, O_CREAT, GT_APPEND_STREAM), -ENXIO);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_int_equal(gt_append_file_open(&k, path, O_CREAT | O_TRUNC, GT_APPEND_FILE), -ENODEV);
	assert_int_equal(gt_append_file_open(&k, path, O_CREAT, GT_APPEND_STREAM), 0);
	assert_false(fcntl(k.fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(gt_append_file_write(&k, "line\n", 5, 0), 5);
	gt_append_file_close(&k);
	close(reader);
}

static void reopening_does_not_block_on_a_fifo(void **state)
{
	struct gt_append_file k = GT_APPEND_NONE;
	const char *path = path_of("replaced");

	(void)state;
	assert_int_equal(gt_append_file_open(&k, path, O_CREAT, GT_APPEND_FILE), 0);
	close(k.fd);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(gt_append_file_write(&k, "line\n", 5, GT_FD_CHECK_NS + 1), -1);
}

/* The program closed our descriptor and reused its number; our file cannot be reopened. */
static void files_of_the_program_are_never_written_to(void **state)
{
	const char *path = path_of("gone"), *foreign = path_of("foreign");
	struct gt_append_file k = GT_APPEND_NONE;
	int fd, number;

	(void)state;
	assert_int_equal(gt_append_file_open(&k, path, O_CREAT, GT_APPEND_FILE), 0);
	unlink(path);
	fd = open(foreign, O_WRONLY | O_CREAT, 0600);
	number = k.fd;
	assert_int_equal(dup2(fd, number), number);
	for (uint64_t i = 1; i < 10; i++)
		assert_int_equal(gt_append_file_write(&k, "line\n", 5, GT_FD_CHECK_NS + i), -1);
	assert_int_equal(size_of(foreign), 0);
	gt_append_file_close(&k);
	/* it is theirs, and stays */
	assert_int_equal(fcntl(number, F_GETFD), 0);
	close(number);
	close(fd);
}

/* A write that falls short at the limit has no error; the next one has. */
static void a_limit_on_the_size_is_not_taken_for_a_full_disk(void **state)
{
	struct gt_append_file k = GT_APPEND_NONE;
	const char *path = path_of("short");
	struct rlimit before, limit;

	(void)state;
	assert_int_equal(gt_append_file_open(&k, path, O_CREAT, GT_APPEND_FILE), 0);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 7;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(gt_append_file_write(&k, "line\n", 5, 0), 5);
	errno = 0;
	assert_int_equal(gt_append_file_write(&k, "line\n", 5, 0), -1);
	assert_int_equal(errno, EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_non_null(strstr(gt_error_text(EFBIG), "ulimit -f"));
	assert_int_equal(size_of(path), 7);
	gt_append_file_close(&k);
}

static void *write_lines(void *kept)
{
	for (uint64_t i = 0; i < LINES; i++)
		if (gt_append_file_write(kept, "line\n", 5, i * 1000) != 5)
			return kept;
	return NULL;
}

static void threads_reopening_a_closed_file_share_one_descriptor(void **state)
{
	struct gt_append_file k = GT_APPEND_NONE;
	const char *path = path_of("shared");
	pthread_t threads[THREADS];
	int last = -1;
	void *failed;

	(void)state;
	assert_int_equal(gt_append_file_open(&k, path, O_CREAT, GT_APPEND_FILE), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, write_lines, &k);
	for (int i = 0; i < CLOSINGS; i++) {
		close(atomic_load(&k.fd));
		sched_yield();
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &failed);
		(void)failed; /* closed between two attempts: that line is lost */
	}
	assert_int_equal(gt_append_file_write(&k, "line\n", 5, UINT64_MAX / 2), 5);
	assert_int_equal(count_descriptors(path, &last), 1);
	assert_int_equal(last, k.fd);
	gt_append_file_close(&k);
	assert_int_equal(count_descriptors(path, &last), 0);
}

static void our_descriptors_have_high_numbers_whatever_the_limit(void **state)
{
	static const rlim_t limits[] = { 64, 16, 256, 500, 501, 1024 };
	struct rlimit before, now;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		int fd, high;

		now = (struct rlimit){ .rlim_cur = limits[i], .rlim_max = before.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		errno = EDOM;
		high = gt_fd_move_high(fd);
		assert_int_equal(errno, EDOM);
		assert_true(high >= (int)(limits[i] > 500 ? 500 : limits[i] - limits[i] / 4));
		assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), fd);
		close(fd);
		close(high);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void more_descriptors_than_the_last_quarter_has_are_still_high(void **state)
{
	struct rlimit before, now;
	int ours[7], fd = -1;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	now = (struct rlimit){ .rlim_cur = 16, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	for (int i = 0; i < 7; i++) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		ours[i] = gt_fd_move_high(fd);
		assert_true(ours[i] >= 8);
	}
	assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), fd);
	close(fd);
	for (int i = 0; i < 7; i++)
		close(ours[i]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static void a_limit_that_the_program_sets_later_raises_no_signal(void **state)
{
	struct gt_append_file f = GT_APPEND_NONE;
	struct rlimit before, now;

	(void)state;
	assert_int_equal(gt_append_file_open(&f, path_of("limited"), O_CREAT, GT_APPEND_FILE), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	now = (struct rlimit){ .rlim_cur = 8, .rlim_max = before.rlim_max };
	assert_int_equal(gt_append_file_write(&f, "12345678", 8, 0), 8);
	signal(SIGXFSZ, count_signal);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	assert_int_equal(gt_append_file_write(&f, "9", 1, 0), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(signals, 0);
	gt_append_file_close(&f);
}

static void paths_are_resolved_as_by_realpath(void **state)
{
	static const char *const names[] = {
		"",      "/file",   "/folder/../file", "/link",
		"/far",  "/chain",  "/./folder//file", "/up",
		"/none", "/circle", "/broken",         "/folder/up/../link",
	};
	static struct gt_real_path work;
	char name[256], *expected, here[PATH_MAX];

	(void)state;
	close(open(path_of("file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(mkdir(path_of("folder"), 0700), 0);
	close(open(path_of("folder/file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(symlink("folder/file", path_of("link")), 0);
	assert_int_equal(symlink(path_of("folder"), path_of("far")), 0);
	assert_int_equal(symlink("far/../link", path_of("chain")), 0);
	assert_int_equal(symlink("../..", path_of("folder/up")), 0);
	assert_int_equal(symlink("folder/up/", path_of("up")), 0);
	assert_int_equal(symlink("circle", path_of("circle")), 0);
	assert_int_equal(symlink("none", path_of("broken")), 0);
	/* twice: the second time, many folders are those of the name before */
	for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
		snprintf(name, sizeof name, "%s%s", scratch, names[i / 2]);
		expected = realpath(name, NULL);
		assert_int_equal(gt_real_path_find(&work, name), expected != NULL);
		if (expected)
			assert_string_equal(work.path, expected);
		free(expected);
	}
	/* a link that leads elsewhere by now */
	snprintf(name, sizeof name, "%s/far/file", scratch);
	assert_true(gt_real_path_find(&work, name));
	assert_string_equal(work.path, path_of("folder/file"));
	assert_int_equal(unlink(path_of("far")), 0);
	assert_int_equal(symlink(".", path_of("far")), 0);
	work.folder[0] = '\0';
	assert_true(gt_real_path_find(&work, name));
	assert_string_equal(work.path, path_of("file"));
	assert_non_null(getcwd(here, sizeof here));
	assert_int_equal(chdir(scratch), 0);
	expected = realpath("./link", NULL);
	assert_true(gt_real_path_find(&work, "./link"));
	assert_string_equal(work.path, expected);
	free(expected);
	assert_true(gt_real_path_find(&work, "/.."));
	assert_string_equal(work.path, "/");
	assert_int_equal(chdir(here), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_descriptors_have_high_numbers_whatever_the_limit),
		cmocka_unit_test(more_descriptors_than_the_last_quarter_has_are_still_high),
		cmocka_unit_test(a_limit_that_the_program_sets_later_raises_no_signal),
		cmocka_unit_test(paths_are_resolved_as_by_realpath),
		cmocka_unit_test(opening_a_fifo_without_a_reader_does_not_block),
		cmocka_unit_test(reopening_does_not_block_on_a_fifo),
		cmocka_unit_test(files_of_the_program_are_never_written_to),
		cmocka_unit_test(a_limit_on_the_size_is_not_taken_for_a_full_disk),
		cmocka_unit_test(threads_reopening_a_closed_file_share_one_descriptor),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
