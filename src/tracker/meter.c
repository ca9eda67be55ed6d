/* SPDX-License-Identifier: MIT */
/* meter.c - the size of this process, read as cheaply as the kernel allows. */
#include "tracker/meter.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guest_file.h"

enum {
	DEVICE_EVERY_NS = 10 * 1000 * 1000,   /* how often the driver is asked */
	STATUS_EVERY_NS = 1000 * 1000 * 1000, /* how often /proc/self/status corrects the peak */
};

/* An open file of /proc, and its identity when it was opened. */
struct proc_file {
	_Atomic int fd;
	struct gt_file_id id;
};

/* The kernel lets one thread at a time read an open file, so threads share several. */
enum { STATMS = 8 };

static struct proc_file statms[STATMS] = { [0 ... STATMS - 1] = { .fd = -1 } };
static struct proc_file tasks = { .fd = -1 }, files = { .fd = -1 };
static _Atomic unsigned threads_seen;
static __thread unsigned own_statm __attribute__((tls_model("initial-exec"))); /* + 1 */
static _Atomic int64_t peak_kb, stack_kb, own_kb;
static _Atomic uint64_t status_read_ns;
static pthread_mutex_t status_lock = PTHREAD_MUTEX_INITIALIZER;

/* The thread's last reading: at most calls nothing has changed since. */
static __thread struct {
	char text[100];
	ssize_t size;
	int64_t pages[7];
	bool is_valid;
} reading __attribute__((tls_model("initial-exec")));

/* Closes it, unless the program has put another file in its place. */
static void close_proc(struct proc_file *file)
{
	gt_fd_close(atomic_exchange(&file->fd, -1), &file->id);
}

void gt_meter_restart(void)
{
	for (int i = 0; i < STATMS; i++)
		close_proc(&statms[i]);
	close_proc(&tasks);
	close_proc(&files);
	pthread_mutex_init(&status_lock, NULL);
	atomic_store(&peak_kb, 0);
	atomic_store(&status_read_ns, 0);
	reading.is_valid = false;
}

/* Opens it under a high number; if two threads do so at once, one of the two is closed. */
static int open_proc(struct proc_file *file, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), none = -1;

	if (fd < 0)
		return -1;
	fd = gt_fd_move_high(fd);
	gt_file_id_of(&file->id, fd);
	if (atomic_compare_exchange_strong(&file->fd, &none, fd))
		return fd;
	close(fd);
	return none;
}

/* Seven numbers and a newline: anything else is a file of the program's, not statm. */
static bool parse_statm(const char *text, ssize_t size)
{
	const char *at = text, *end = text + size;
	int64_t pages[7];

	if (size == reading.size && !memcmp(text, reading.text, (size_t)size))
		return true;
	for (int i = 0; i < 7; i++) {
		const char *first = at;

		for (pages[i] = 0; at < end && *at >= '0' && *at <= '9'; at++)
			pages[i] = pages[i] * 10 + (*at - '0');
		if (at == first || at == end || *at++ != (i < 6 ? ' ' : '\n'))
			return false;
	}
	memcpy(reading.text, text, (size_t)size);
	memcpy(reading.pages, pages, sizeof pages);
	reading.size = size;
	return true;
}

/* Into `reading`. */
static bool read_statm(void)
{
	char text[sizeof reading.text];
	struct proc_file *statm;

	if (!own_statm)
		own_statm = 1 + atomic_fetch_add(&threads_seen, 1) % STATMS;
	statm = &statms[own_statm - 1];
	for (int attempt = 0; attempt < 2; attempt++) {
		int fd = atomic_load_explicit(&statm->fd, memory_order_relaxed);
		ssize_t n;

		if (fd < 0)
			fd = open_proc(statm, "/proc/self/statm");
		n = fd < 0 ? -1 : pread(fd, text, sizeof text, 0);
		if (n > 0 && parse_statm(text, n))
			return true;
		close_proc(statm);
	}
	return false;
}

static int64_t field(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

/* Raises the peak to at least `kb`, and returns it. */
static int64_t raise_peak(int64_t kb)
{
	int64_t peak = atomic_load_explicit(&peak_kb, memory_order_relaxed);

	while (kb > peak && !atomic_compare_exchange_weak(&peak_kb, &peak, kb))
		;
	return kb > peak ? kb : peak;
}

static void read_status(void)
{
	static char text[4096]; /* guarded by the lock */
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	pthread_mutex_lock(&status_lock);
	n = read(fd, text, sizeof text - 1);
	if (n > 0) {
		text[n] = '\0';
		raise_peak(field(text, "VmPeak:") - atomic_load(&own_kb));
		atomic_store(&stack_kb, field(text, "VmStk:"));
	}
	pthread_mutex_unlock(&status_lock);
	close(fd);
}

static int64_t page_kb(void)
{
	static _Atomic int64_t kb;
	int64_t known = atomic_load_explicit(&kb, memory_order_relaxed);

	if (!known)
		atomic_store(&kb, known = sysconf(_SC_PAGESIZE) / 1024);
	return known;
}

static struct {
	_Atomic int64_t size_kb, rss_kb, data_kb, anon_kb;
} latest;

void gt_meter_latest(struct gt_meter *m)
{
	*m = (struct gt_meter){
		.size_kb = atomic_load_explicit(&latest.size_kb, memory_order_relaxed),
		.rss_kb = atomic_load_explicit(&latest.rss_kb, memory_order_relaxed),
		.data_kb = atomic_load_explicit(&latest.data_kb, memory_order_relaxed),
		.anon_kb = atomic_load_explicit(&latest.anon_kb, memory_order_relaxed),
	};
}

/* Stores only changes, so that threads do not fight for the cache line. */
static void store_latest(_Atomic int64_t *latest_kb, int64_t value)
{
	if (atomic_load_explicit(latest_kb, memory_order_relaxed) != value)
		atomic_store_explicit(latest_kb, value, memory_order_relaxed);
}

void gt_meter_exclude(int64_t kb)
{
	atomic_fetch_add(&own_kb, kb);
}

static void convert(struct gt_meter *m)
{
	const int64_t *pages = reading.pages;
	int64_t own = atomic_load_explicit(&own_kb, memory_order_relaxed);

	m->size_kb = pages[0] * page_kb() - own;
	m->rss_kb = pages[1] * page_kb() - own;
	m->anon_kb = (pages[1] - pages[2]) * page_kb() - own;
	m->data_kb =
		pages[5] * page_kb() - own - atomic_load_explicit(&stack_kb, memory_order_relaxed);
}

void gt_meter_invalidate(void)
{
	reading.is_valid = false;
}

bool gt_meter_reuse(struct gt_meter *m)
{
	if (!reading.is_valid)
		return false;
	convert(m);
	return true;
}

void gt_meter_read(struct gt_meter *m)
{
	*m = (struct gt_meter){ 0 };
	reading.is_valid = read_statm();
	if (!reading.is_valid)
		return;
	if (!atomic_load_explicit(&stack_kb, memory_order_relaxed))
		read_status();
	convert(m);
	store_latest(&latest.size_kb, m->size_kb);
	store_latest(&latest.rss_kb, m->rss_kb);
	store_latest(&latest.data_kb, m->data_kb);
	store_latest(&latest.anon_kb, m->anon_kb);
}

int64_t gt_meter_peak_kb(const struct gt_meter *m, uint64_t now_ns)
{
	uint64_t last = atomic_load_explicit(&status_read_ns, memory_order_relaxed);

	if (now_ns - last > STATUS_EVERY_NS &&
	    atomic_compare_exchange_strong(&status_read_ns, &last, now_ns))
		read_status();
	return raise_peak(m->size_kb);
}

static bool stat_proc(struct proc_file *file, const char *path, struct stat *st)
{
	for (int attempt = 0; attempt < 2; attempt++) {
		int fd = atomic_load_explicit(&file->fd, memory_order_relaxed);

		if (fd < 0)
			fd = open_proc(file, path);
		if (fd >= 0 && !fstat(fd, st) && S_ISDIR(st->st_mode))
			return true;
		close_proc(file);
	}
	return false;
}

int64_t gt_meter_threads(void)
{
	struct stat st;

	/* a link per thread, besides the two that every folder has */
	return stat_proc(&tasks, "/proc/self/task", &st) && st.st_nlink > 2 ?
		       (int64_t)st.st_nlink - 2 :
		       1;
}

int64_t gt_meter_touched_kb(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		return -1;
	return (usage.ru_minflt + usage.ru_majflt) * page_kb();
}

int64_t gt_meter_open_files(void)
{
	struct stat st;

	return stat_proc(&files, "/proc/self/fd", &st) && st.st_size > 0 ? (int64_t)st.st_size : -1;
}

static int64_t (*_Atomic device_query)(void);
static _Atomic int64_t device_used = -1;
static _Atomic uint64_t device_asked_ns;

void gt_meter_set_device_query(int64_t (*query)(void))
{
	atomic_store(&device_query, query);
}

void gt_meter_ask_device(uint64_t now_ns)
{
	int64_t (*query)(void) = atomic_load(&device_query);
	uint64_t last = atomic_load_explicit(&device_asked_ns, memory_order_relaxed);

	if (query && now_ns - last > DEVICE_EVERY_NS &&
	    atomic_compare_exchange_strong(&device_asked_ns, &last, now_ns))
		atomic_store(&device_used, query());
}

int64_t gt_meter_device_used(void)
{
	return atomic_load_explicit(&device_used, memory_order_relaxed);
}
