/* SPDX-License-Identifier: MIT */
/* device_sampler.c - samples the GPUs' memory use while the program runs. */
#include "cli/run/device_sampler.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/process.h"
#include "base/tool.h"
#include "cli/nvml.h"
#include "trace/layout.h"
#include "trace/writer.h"

enum { FIRST_NS = 5 * 1000 * 1000, EVERY_NS = 100 * 1000 * 1000 };

struct series {
	uint16_t number;
	bool any; /* a value has been written */
	int64_t written, seen;
	uint64_t seen_ns;
};

struct gt_device_sampler {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stop;
	bool stopping;
	char folder[PATH_MAX], path[PATH_MAX];
	pid_t pid;
	struct gt_nvml *nvml;
	struct gt_writer *writer;
	struct gt_lane *lane;
	struct series *used, *by_program, *capacity; /* by GPU */
};

static void take(struct gt_device_sampler *s, struct series *series, uint64_t value)
{
	series->seen = (int64_t)value;
	series->seen_ns = gt_now_ns();
	if (series->any && series->written == series->seen)
		return;
	gt_lane_sample(s->lane, series->number, series->seen_ns, series->seen);
	series->written = series->seen;
	series->any = true;
}

static void take_all(struct gt_device_sampler *s)
{
	for (unsigned i = 0; i < gt_nvml_count(s->nvml); i++) {
		uint64_t used, total, available;

		if (gt_nvml_memory(s->nvml, i, &total, &used, &available)) {
			take(s, &s->used[i], used);
			take(s, &s->capacity[i], total);
		}
		if (gt_nvml_used_by(s->nvml, i, s->pid, &used))
			take(s, &s->by_program[i], used);
		else if (s->by_program[i].any) /* it no longer uses the GPU */
			take(s, &s->by_program[i], 0);
	}
}

/* Writes the last value again, at the time of its last sample. */
static void take_last(struct gt_device_sampler *s, const struct series *series)
{
	if (series->any)
		gt_lane_sample(s->lane, series->number, series->seen_ns, series->seen);
}

static bool open_trace(struct gt_device_sampler *s)
{
	unsigned count = gt_nvml_count(s->nvml);

	if (!count || gt_writer_open(&s->writer, s->path, &(struct gt_writer_options){ .pid = 0 }))
		return false;
	s->lane = gt_lane_acquire(s->writer, 0, "devices");
	s->used = gt_alloc(count * sizeof *s->used);
	s->by_program = gt_alloc(count * sizeof *s->by_program);
	s->capacity = gt_alloc(count * sizeof *s->capacity);
	for (unsigned i = 0; i < count; i++) {
		char name[GT_NVML_NAME], subject[GT_NVML_NAME + 16];
		struct gt_series series = { GT_SERIES_DEVICE_USED, "bytes", subject };

		gt_nvml_name(s->nvml, i, name);
		snprintf(subject, sizeof subject, "GPU %u: %s", i, *name ? name : "(no name)");
		s->used[i].number = gt_writer_series(s->writer, &series);
		series.name = GT_SERIES_PROGRAM_USED;
		s->by_program[i].number = gt_writer_series(s->writer, &series);
		series.name = GT_SERIES_DEVICE_CAPACITY;
		s->capacity[i].number = gt_writer_series(s->writer, &series);
	}
	return s->lane;
}

/* True if it has been stopped by then, or is. */
static bool wait_until_stopped(struct gt_device_sampler *s, long ns)
{
	struct timespec until;
	bool last;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&s->lock);
	if (!s->stopping)
		pthread_cond_timedwait(&s->stop, &s->lock, &until);
	last = s->stopping;
	pthread_mutex_unlock(&s->lock);
	return last;
}

static bool has_traces(const char *folder)
{
	DIR *files = opendir(folder);
	const struct dirent *file;
	bool found = false;

	while (files && !found && (file = readdir(files)))
		found = strstr(file->d_name, ".trace");
	if (files)
		closedir(files);
	return found;
}

static void *sample(void *context)
{
	struct gt_device_sampler *s = context;
	char why[256];
	bool last = false;

	/* NVML takes tens of milliseconds to start: not for programs that have nothing to do with
	 * it */
	if (wait_until_stopped(s, FIRST_NS) && !has_traces(s->folder))
		return NULL;
	s->nvml = gt_nvml_open(why, sizeof why);
	if (!s->nvml || !open_trace(s))
		return NULL;
	do {
		take_all(s);
		last = wait_until_stopped(s, EVERY_NS);
	} while (!last);
	take_all(s);
	for (unsigned i = 0; i < gt_nvml_count(s->nvml); i++) {
		take_last(s, &s->used[i]);
		take_last(s, &s->by_program[i]);
	}
	return NULL;
}

struct gt_device_sampler *gt_device_sampler_start(const char *folder, pid_t pid)
{
	struct gt_device_sampler *s = gt_alloc(sizeof *s);
	pthread_condattr_t clock;

	s->pid = pid;
	snprintf(s->folder, sizeof s->folder, "%s", folder);
	snprintf(s->path, sizeof s->path, "%.4000s/" GT_SYSTEM_TRACE, folder);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&s->stop, &clock);
	if (gt_thread_start(&s->thread, sample, s)) {
		free(s);
		return NULL;
	}
	return s;
}

void gt_device_sampler_stop(struct gt_device_sampler *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_signal(&s->stop);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	if (s->lane)
		gt_lane_release(s->lane);
	if (s->writer) {
		gt_writer_end(s->writer);
		gt_writer_free(s->writer);
	}
	gt_nvml_close(s->nvml);
	free(s->used);
	free(s->by_program);
	free(s->capacity);
	free(s);
}
