/* SPDX-License-Identifier: MIT */
/*
 * test_meter.c - readings, compared with /proc/self/status and /proc/self/fd.
 *
 * Reading status may itself touch a page or two, so resident sizes are compared with a tolerance of
 * a few pages; address space is compared exactly.
 */
#include "tracker/meter.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	ROOM_KB = 64,
	BIG_KB = 8192,
	LATER_NS = 2000 * 1000 * 1000, /* when the dear source is asked again */
	FIRST_HIGH_FD = 500,
	LAST_HIGH_FD = 600,
};

/* Read with system calls alone: stdio would change what is measured. */
static int64_t status_kb(const char *name)
{
	static char text[8192];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = read(fd, text, sizeof text - 1);
	const char *at;

	close(fd);
	assert_true(n > 0);
	text[n] = '\0';
	at = strstr(text, name);
	assert_non_null(at);
	return strtoll(at + strlen(name), NULL, 10);
}

static int64_t count_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int64_t count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 3; /* two dots, and the folder itself */
}

static void near(int64_t a, int64_t b)
{
	if (a - b > ROOM_KB || b - a > ROOM_KB)
		fail_msg("%lld KB is not about %lld KB", (long long)a, (long long)b);
}

/* A time at which the meter reads status again: each is later than the previous one. */
static uint64_t later(void)
{
	static uint64_t now = LATER_NS;

	return now += LATER_NS;
}

/*
 * Opens and touches everything the meter uses. One call may notice that its descriptor is gone,
 * and the next one open another.
 */
static void warm_up(void)
{
	struct gt_meter m;

	for (int i = 0; i < 2; i++) {
		gt_meter_read(&m);
		gt_meter_threads();
		gt_meter_open_files();
		status_kb("VmRSS:");
	}
}

static void check_all(void)
{
	struct gt_meter m;

	warm_up();
	gt_meter_read(&m);
	assert_int_equal(m.size_kb, status_kb("VmSize:"));
	near(m.rss_kb, status_kb("VmRSS:"));
	near(m.anon_kb, status_kb("RssAnon:"));
	assert_int_equal(m.data_kb, status_kb("VmData:"));
	assert_int_equal(gt_meter_peak_kb(&m, later()), status_kb("VmPeak:"));
	assert_int_equal(gt_meter_threads(), status_kb("Threads:"));
	assert_int_equal(gt_meter_open_files(), count_files());
}

static void readings_agree_with_proc_status(void **state)
{
	check_all();
}

static void *map(size_t kb)
{
	void *p = mmap(NULL, kb << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	madvise(p, kb << 10, MADV_NOHUGEPAGE);
	return p;
}

static void readings_follow_mapped_and_touched_memory(void **state)
{
	struct gt_meter before, mapped, touched, given_back, gone, d;
	char *p;

	gt_meter_read(&before);
	p = map(BIG_KB);
	gt_meter_read(&mapped);
	memset(p, 1, BIG_KB << 10);
	gt_meter_read(&touched);
	madvise(p, BIG_KB << 10, MADV_DONTNEED);
	gt_meter_read(&given_back);
	munmap(p, BIG_KB << 10);
	gt_meter_read(&gone);

	d = gt_meter_difference(&mapped, &before);
	assert_int_equal(d.size_kb, BIG_KB);
	assert_int_equal(d.data_kb, BIG_KB);
	near(d.rss_kb, 0);
	d = gt_meter_difference(&touched, &mapped);
	assert_int_equal(d.size_kb, 0);
	near(d.rss_kb, BIG_KB);
	near(d.anon_kb, BIG_KB);
	d = gt_meter_difference(&given_back, &touched);
	assert_int_equal(d.size_kb, 0);
	near(d.rss_kb, -BIG_KB);
	near(d.anon_kb, -BIG_KB);
	d = gt_meter_difference(&gone, &given_back);
	assert_int_equal(d.size_kb, -BIG_KB);
	assert_int_equal(d.data_kb, -BIG_KB);
	d = gt_meter_difference(&gone, &before);
	assert_int_equal(d.size_kb, 0);
	assert_int_equal(d.data_kb, 0);
	near(d.rss_kb, 0);
}

/* Untouched address space and file mappings count in the size and nowhere else. */
static void kinds_of_memory_are_distinguished(void **state)
{
	struct gt_meter before, after, d;
	char *p;
	int fd;

	gt_meter_read(&before);
	p = mmap(NULL, BIG_KB << 10, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	gt_meter_read(&after);
	d = gt_meter_difference(&after, &before);
	assert_int_equal(d.size_kb, BIG_KB);
	assert_int_equal(d.data_kb, 0);
	near(d.rss_kb, 0);
	munmap(p, BIG_KB << 10);

	fd = memfd_create("meter", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, BIG_KB << 10), 0);
	gt_meter_read(&before);
	p = mmap(NULL, BIG_KB << 10, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memset(p, 1, BIG_KB << 10);
	gt_meter_read(&after);
	d = gt_meter_difference(&after, &before);
	assert_int_equal(d.size_kb, BIG_KB);
	near(d.rss_kb, BIG_KB);
	near(d.anon_kb, 0);
	assert_int_equal(d.data_kb, 0);
	munmap(p, BIG_KB << 10);
	close(fd);
}

static void peak_never_falls(void **state)
{
	struct gt_meter m;
	uint64_t now = later();
	int64_t before, high;
	size_t kb;
	void *p;

	gt_meter_read(&m);
	before = gt_meter_peak_kb(&m, now);
	/* above whatever the other tests reached */
	kb = (size_t)(before - m.size_kb) + BIG_KB;
	p = map(kb);
	gt_meter_read(&m);
	high = gt_meter_peak_kb(&m, now);
	assert_int_equal(high, before + BIG_KB);
	assert_int_equal(high, status_kb("VmPeak:"));
	munmap(p, kb << 10);
	gt_meter_read(&m);
	assert_int_equal(gt_meter_peak_kb(&m, now), high);
}

/* A peak between two samples is missed until status is read again. */
static void peak_is_corrected_later(void **state)
{
	struct gt_meter m;
	uint64_t now = later();
	int64_t seen;
	size_t kb;

	gt_meter_read(&m);
	seen = gt_meter_peak_kb(&m, now);
	kb = (size_t)(seen - m.size_kb) + BIG_KB;
	munmap(map(kb), kb << 10);
	gt_meter_read(&m);
	assert_int_equal(gt_meter_peak_kb(&m, now), seen);
	assert_int_equal(gt_meter_peak_kb(&m, later()), seen + BIG_KB);
	assert_int_equal(gt_meter_peak_kb(&m, now), status_kb("VmPeak:"));
}

static int64_t __attribute__((noinline)) deep(int levels)
{
	volatile char frame[4096];

	frame[0] = (char)levels;
	return levels ? deep(levels - 1) + frame[0] : 0;
}

/* statm counts the stack as data; its size is subtracted, and refreshed after a while. */
static void stack_is_not_data(void **state)
{
	struct gt_meter m;

	gt_meter_read(&m);
	gt_meter_peak_kb(&m, later());
	deep(500);
	gt_meter_read(&m);
	gt_meter_peak_kb(&m, later());
	gt_meter_read(&m);
	assert_int_equal(m.data_kb, status_kb("VmData:"));
}

static pthread_barrier_t meeting;

static void *wait_twice(void *unused)
{
	pthread_barrier_wait(&meeting);
	pthread_barrier_wait(&meeting);
	return unused;
}

static void counts_threads(void **state)
{
	enum { THREADS = 7 };
	pthread_t threads[THREADS];
	int64_t before = gt_meter_threads();

	assert_int_equal(before, 1);
	pthread_barrier_init(&meeting, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_twice, NULL), 0);
	pthread_barrier_wait(&meeting);
	assert_int_equal(gt_meter_threads(), THREADS + 1);
	assert_int_equal(gt_meter_threads(), status_kb("Threads:"));
	pthread_barrier_wait(&meeting);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void counts_open_files(void **state)
{
	int64_t before;
	int fds[20];

	warm_up();
	before = gt_meter_open_files();
	assert_int_equal(before, count_files());
	for (size_t i = 0; i < 20; i++)
		fds[i] = open("/dev/null", O_RDONLY);
	assert_int_equal(gt_meter_open_files(), before + 20);
	for (size_t i = 0; i < 20; i++)
		close(fds[i]);
	assert_int_equal(gt_meter_open_files(), before);
}

static void close_high(void)
{
	for (int fd = FIRST_HIGH_FD; fd < LAST_HIGH_FD; fd++)
		close(fd);
}

/* A daemon closes all descriptors: the meter reopens what it needs. */
static void survives_closing(void **state)
{
	check_all();
	close_high();
	check_all();
}

/* … and no sample is lost on the way. */
static void first_sample_after_closing(void **state)
{
	struct gt_meter m;
	pthread_t thread;
	int64_t threads, files;

	warm_up();
	pthread_barrier_init(&meeting, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, wait_twice, NULL), 0);
	pthread_barrier_wait(&meeting);
	close_high();
	gt_meter_read(&m);
	threads = gt_meter_threads();
	files = gt_meter_open_files();
	pthread_barrier_wait(&meeting);
	pthread_join(thread, NULL);
	assert_true(m.size_kb > 0);
	assert_int_equal(threads, 2);
	assert_int_equal(files, count_files());
}

/*
 * The program's own files may have taken the meter's descriptor numbers: they are neither mistaken
 * for the meter's nor touched.
 */
static void survives_foreign_files(void **state)
{
	char path[] = "/tmp/gputrack-meter-XXXXXX", text[16] = "";
	int own = mkstemp(path);

	assert_true(own >= 0);
	assert_int_equal(write(own, "17 4 x", 6), 6);
	check_all();
	for (int fd = FIRST_HIGH_FD; fd < FIRST_HIGH_FD + 10; fd++)
		assert_int_equal(dup2(own, fd), fd);
	check_all();
	assert_int_equal(pread(FIRST_HIGH_FD, text, sizeof text, 0), 6);
	assert_string_equal(text, "17 4 x");
	close_high();
	close(own);
	unlink(path);
}

/* Runs `check` in a child; a failed assertion ends the child with another status. */
static void in_child(void (*check)(void))
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		check();
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A failed check ends the child with its line number: cmocka's jumps belong to the parent. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			dprintf(2, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                 \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void child_measures_itself(void)
{
	struct gt_meter m;
	void *p;

	gt_meter_restart();
	p = map(4 * BIG_KB);
	warm_up();
	gt_meter_read(&m);
	MUST(m.size_kb == status_kb("VmSize:"));
	MUST(m.data_kb == status_kb("VmData:"));
	MUST(m.rss_kb - status_kb("VmRSS:") <= ROOM_KB &&
	     status_kb("VmRSS:") - m.rss_kb <= ROOM_KB);
	MUST(gt_meter_peak_kb(&m, later()) == status_kb("VmPeak:"));
	MUST(gt_meter_threads() == 1);
	MUST(gt_meter_open_files() == count_files());
	munmap(p, (size_t)4 * BIG_KB << 10);
}

static void child_of_fork_measures_itself(void **state)
{
	check_all();
	in_child(child_measures_itself);
	/* and the parent goes on with its own */
	check_all();
}

static int64_t parents_files;

static void child_has_no_more_open(void)
{
	gt_meter_restart();
	warm_up();
	MUST(count_files() == parents_files);
}

static void child_of_fork_keeps_nothing_open(void **state)
{
	check_all();
	parents_files = count_files();
	in_child(child_has_no_more_open);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readings_agree_with_proc_status),
		cmocka_unit_test(readings_follow_mapped_and_touched_memory),
		cmocka_unit_test(kinds_of_memory_are_distinguished),
		cmocka_unit_test(peak_never_falls),
		cmocka_unit_test(peak_is_corrected_later),
		cmocka_unit_test(stack_is_not_data),
		cmocka_unit_test(counts_threads),
		cmocka_unit_test(counts_open_files),
		cmocka_unit_test(survives_closing),
		cmocka_unit_test(first_sample_after_closing),
		cmocka_unit_test(survives_foreign_files),
		cmocka_unit_test(child_of_fork_measures_itself),
		cmocka_unit_test(child_of_fork_keeps_nothing_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
