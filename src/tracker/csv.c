/* SPDX-License-Identifier: MIT */
/* csv.c - the resource tracker's CSV: a row per call, written before the call returns. */
#include "tracker/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/guest_file.h"
#include "base/process.h"
#include "base/small_printf.h"
#include "guest/recorder.h"
#include "guest/settings.h"
#include "tracker/residue_sums.h"

enum { ROW_MAX = 1024, COLUMNS_MAX = 32, BATCH_MAX = 32 * ROW_MAX, SPINS_MAX = 200 };

static const char header[] =
	"CallNumber,TimeMs,APICall,VmSize_KB,VmRSS_KB,VmData_KB,VmPeak_KB,Threads,"
	"Delta_VmSize_KB,Delta_VmRSS_KB,Delta_VmData_KB,"
	"Contexts,CommandQueues,Modules,Kernels,EventPools,CommandLists,"
	"Events,Fences,Images,Samplers,TotalMemory_Bytes";
static const char extended_header[] =
	",OpenFiles,DeviceMemory_Bytes,SharedMemory_Bytes,HostMemory_Bytes,DeviceUsed_Bytes,"
	"Residue_KB";

/*
 * Rows are formatted one after another under `rows_lock` and written under `file_lock`: while one
 * thread writes, others add their rows to the next batch, which one of them writes for all.
 */
static pthread_mutex_t rows_lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t file_lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

/* Guarded by `rows_lock`. */
static uint64_t calls, start_ns, last_ns;
static struct gt_meter before;
static struct gt_counts counters;
static struct batch {
	char text[BATCH_MAX];
	size_t size;
} batches[2], *next_batch = &batches[0];

/* Written under `file_lock`. */
static struct gt_append_file file = GT_APPEND_NONE;
static char file_path[PATH_MAX];
static _Atomic uint64_t calls_written;

/* A column's text in the last row: most columns rarely change. */
struct column {
	int64_t value;
	uint8_t length; /* 0: none yet */
	char text[23];  /* with the comma before it */
};

static struct column columns[COLUMNS_MAX];

/*
 * Into `file_path`: inserts `_pid<PID>` before the extension of the file name. exec keeps the pid,
 * and the file of the program before it stays: the next one is `_pid<PID>-2`.
 */
static bool name_file(const char *asked, int image)
{
	const char *name = strrchr(asked, '/'), *dot;
	char number[32] = "";
	size_t stem;
	int n;

	name = name ? name + 1 : asked;
	dot = strrchr(name, '.');
	/* a name whose only dot is its first character has no extension */
	stem = dot && dot != name ? (size_t)(dot - asked) : strlen(asked);
	if (image > 1)
		gt_snprintf(number, sizeof number, "-%d", image);
	n = gt_snprintf(file_path, sizeof file_path, "%.*s_pid%d%s%s", (int)stem, asked,
			(int)getpid(), number, asked + stem);
	return n < PATH_MAX;
}

/* True for a file written since this process started: by its program before exec. */
static bool is_from_before_exec(const char *path)
{
	struct stat st;

	return !stat(path, &st) &&
	       (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec >=
		       gt_process_start_ns((uint32_t)getpid());
}

/* Two digits at a time and without printf: every call writes a row. */
static char *put_number(char *at, int64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930"
				    "31323334353637383940414243444546474849505152535455565758596061"
				    "62636465666768697071727374757677787980818283848586878889909192"
				    "93949596979899";
	uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	char digits[24], *first = digits + sizeof digits;
	size_t size;

	if (value < 0)
		*at++ = '-';
	for (; left >= 100; left /= 100)
		memcpy(first -= 2, pairs + left % 100 * 2, 2);
	if (left >= 10)
		memcpy(first -= 2, pairs + left * 2, 2);
	else
		*--first = (char)('0' + left);
	size = (size_t)(digits + sizeof digits - first);
	memcpy(at, first, size);
	return at + size;
}

static char *put_field(char *at, struct column *c, int64_t value)
{
	if (c->value != value || !c->length) {
		c->text[0] = ',';
		c->length = (uint8_t)(put_number(c->text + 1, value) - c->text);
		c->value = value;
	}
	/* a copy of fixed size is fast; what follows the text will be overwritten */
	memcpy(at, c->text, sizeof c->text);
	return at + c->length;
}

/* The caller holds `file_lock`. */
static void write_all(const char *text, size_t size, uint64_t now_ns)
{
	ssize_t n = gt_append_file_write(&file, text, size, now_ns);

	if (n == (ssize_t)size)
		return;
	gt_stderr_line("the tracker's CSV ends here: %s; the program runs on",
		       gt_error_text(errno));
	gt_append_file_close(&file);
}

void gt_csv_start(void)
{
	const struct gt_settings *s = gt_settings_get();
	int e, n;

	start_ns = gt_now_ns();
	if (!s->csv)
		return;
	if (!name_file(s->csv, 1)) {
		gt_stderr_line(
			"cannot write the tracker's CSV: its name is too long; the program runs on "
			"without it");
		return;
	}
	for (int image = 2; is_from_before_exec(file_path) && name_file(s->csv, image); image++)
		;
	e = gt_append_file_open(&file, file_path, O_CREAT | O_TRUNC | O_NOFOLLOW, GT_APPEND_FILE);
	if (e) {
		gt_stderr_line(
			"cannot write the tracker's CSV %s: %s; the program runs on without it",
			file_path, gt_append_file_error(e));
		return;
	}
	gt_recorder_info("csv", file_path);
	for (int i = 0; i < 2; i++)
		memset(batches[i].text, 0, sizeof batches[i].text);
	n = gt_snprintf(batches[0].text, sizeof batches[0].text, "%s%s\n", header,
			s->csv_extended ? extended_header : "");
	write_all(batches[0].text, (size_t)n, start_ns);
	/* last, when we have allocated all we need */
	gt_meter_read(&before);
}

void gt_csv_restart(void)
{
	pthread_mutex_init(&rows_lock, NULL);
	pthread_mutex_init(&file_lock, NULL);
	gt_append_file_close(&file);
	calls = 0;
	calls_written = 0;
	batches[0].size = batches[1].size = 0;
	memset(columns, 0, sizeof columns);
	counters = (struct gt_counts){ 0 };
	gt_csv_start();
}

static char *put_extended(char *at, struct column *c)
{
	at = put_field(at, c++, gt_meter_open_files());
	at = put_field(at, c++, counters.bytes[GT_MEMORY_DEVICE]);
	at = put_field(at, c++, counters.bytes[GT_MEMORY_SHARED]);
	at = put_field(at, c++, counters.bytes[GT_MEMORY_HOST]);
	at = put_field(at, c++, gt_meter_device_used());
	return put_field(at, c, gt_residue_total_kb());
}

/* Appends a row to the next batch; the caller holds `rows_lock`. */
static void make_row(const char *function, const struct gt_meter *now, int64_t threads,
		     uint64_t time_ns)
{
	char *at = next_batch->text + next_batch->size;
	struct column *c = columns;
	size_t length = strlen(function);

	at = put_number(at, (int64_t)calls);
	at = put_field(at, c++, (int64_t)((time_ns - start_ns) / 1000000));
	*at++ = ',';
	memcpy(at, function, length);
	at += length;
	at = put_field(at, c++, now->size_kb);
	at = put_field(at, c++, now->rss_kb);
	at = put_field(at, c++, now->data_kb);
	at = put_field(at, c++, gt_meter_peak_kb(now, time_ns));
	at = put_field(at, c++, threads);
	at = put_field(at, c++, now->size_kb - before.size_kb);
	at = put_field(at, c++, now->rss_kb - before.rss_kb);
	at = put_field(at, c++, now->data_kb - before.data_kb);
	for (int i = 0; i < GT_LABEL_COUNTERS; i++)
		at = put_field(at, c++, counters.count[i]);
	at = put_field(at, c++,
		       counters.bytes[GT_MEMORY_DEVICE] + counters.bytes[GT_MEMORY_SHARED] +
			       counters.bytes[GT_MEMORY_HOST]);
	if (gt_settings_get()->csv_extended)
		at = put_extended(at, c);
	*at++ = '\n';
	next_batch->size = (size_t)(at - next_batch->text);
}

/* Writes all rows so far; the caller holds `file_lock`. */
static void write_batch(uint64_t now_ns)
{
	struct batch *batch;
	uint64_t last;

	pthread_mutex_lock(&rows_lock);
	batch = next_batch;
	last = calls;
	next_batch = batch == &batches[0] ? &batches[1] : &batches[0];
	pthread_mutex_unlock(&rows_lock);
	/* closed: writing the batch before failed, and that was reported */
	if (batch->size && atomic_load(&file.fd) >= 0)
		write_all(batch->text, batch->size, now_ns);
	batch->size = 0;
	atomic_store(&calls_written, last);
}

/* Takes `rows_lock` with room for a row: a thread has one row in a batch, but there may be many. */
static void lock_rows(uint64_t now_ns)
{
	pthread_mutex_lock(&rows_lock);
	while (next_batch->size > BATCH_MAX - ROW_MAX) {
		pthread_mutex_unlock(&rows_lock);
		pthread_mutex_lock(&file_lock);
		write_batch(now_ns);
		pthread_mutex_unlock(&file_lock);
		pthread_mutex_lock(&rows_lock);
	}
}

/* Returns when the row of this call has been written, by any thread. */
static void wait_until_written(uint64_t call, uint64_t now_ns)
{
	for (int spins = 0; atomic_load(&calls_written) < call; spins++) {
		if (spins < SPINS_MAX && pthread_mutex_trylock(&file_lock)) {
			gt_pause();
			continue;
		}
		if (spins >= SPINS_MAX)
			pthread_mutex_lock(&file_lock);
		if (atomic_load(&calls_written) < call)
			write_batch(now_ns);
		pthread_mutex_unlock(&file_lock);
	}
}

/* The caller holds `rows_lock`. */
static void add_counts(const struct gt_counts *change)
{
	for (int i = 0; i < GT_LABEL_COUNT; i++)
		counters.count[i] += change->count[i];
	for (int i = 0; i <= GT_MEMORY_HOST; i++)
		counters.bytes[i] += change->bytes[i];
}

void gt_csv_count(const struct gt_counts *change)
{
	pthread_mutex_lock(&rows_lock);
	add_counts(change);
	pthread_mutex_unlock(&rows_lock);
}

void gt_csv_row(const char *function, const struct gt_meter *now, int64_t threads,
		struct gt_counts *counts, uint64_t time_ns)
{
	bool has_file;
	uint64_t call;

	lock_rows(time_ns);
	add_counts(counts);
	call = ++calls;
	/* this call ended before that of the last row: times must not go back */
	if (time_ns < last_ns)
		time_ns = last_ns;
	last_ns = time_ns;
	has_file = atomic_load_explicit(&file.fd, memory_order_relaxed) >= 0;
	if (has_file)
		make_row(function, now, threads, time_ns);
	before = *now;
	*counts = counters;
	pthread_mutex_unlock(&rows_lock);
	if (has_file)
		wait_until_written(call, time_ns);
}
