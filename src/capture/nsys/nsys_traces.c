/* SPDX-License-Identifier: MIT */
/* nsys_traces.c - the traces that an import writes, one for each process of the export. */
#include "capture/nsys/nsys_traces.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "capture/nsys/nsys_busy.h"

enum { DEVICES_MAX = 63, TRACES_MAX = 4096 };

struct gt_nsys_traces {
	const char *folder;
	uint64_t base_ns, start_real_ns;
	struct gt_nsys_trace **list; /* each allocated by itself: callers keep its address */
	size_t count, room;
	int error;       /* why a writer had to stop */
	bool has_system; /* the trace of the whole system was written */
};

struct gt_nsys_traces *gt_nsys_traces_new(const char *folder, uint64_t base_ns,
					  uint64_t start_real_ns)
{
	struct gt_nsys_traces *t = gt_alloc(sizeof *t);

	t->folder = folder;
	t->base_ns = base_ns;
	t->start_real_ns = start_real_ns;
	return t;
}

int gt_nsys_traces_end(struct gt_nsys_traces *t, uint64_t end_ns, struct gt_error *error)
{
	for (size_t i = 0; i < t->count; i++)
		gt_writer_end_at(t->list[i]->writer, end_ns);
	return t->error ? gt_error_set(error, t->error,
				       "cannot write %s: %s; choose another place with -o",
				       t->folder, strerror(-t->error)) :
			  0;
}

void gt_nsys_traces_free(struct gt_nsys_traces *t)
{
	for (size_t i = 0; i < t->count; i++) {
		gt_writer_free(t->list[i]->writer);
		free(t->list[i]);
	}
	free(t->list);
	free(t);
}

static void stopped(struct gt_writer *w, void *context, int error)
{
	struct gt_nsys_traces *t = context;

	(void)w;
	t->error = error;
}

static int refuse(struct gt_error *error)
{
	return gt_error_set(error, -E2BIG,
			    "the export has more than %d processes, which is more than a "
			    "recording can hold: profile fewer of them",
			    TRACES_MAX);
}

int gt_nsys_traces_fit(const struct gt_database *d, const char *table, struct gt_error *error)
{
	char sql[160];

	/* almost never: to look through all rows takes a while */
	if (gt_nsys_read_number(d, "SELECT count(*) FROM PROCESSES") <= TRACES_MAX)
		return 0;
	snprintf(sql, sizeof sql,
		 "SELECT count(*) FROM (SELECT DISTINCT globalPid >> 24 FROM %s LIMIT %d)", table,
		 TRACES_MAX + 1);
	return gt_nsys_read_number(d, sql) > TRACES_MAX ? refuse(error) : 0;
}

/* Each process has a file of its own, also one with the same pid on another machine. */
static int open_writer(struct gt_nsys_traces *t, struct gt_nsys_trace *trace,
		       struct gt_error *error)
{
	struct gt_writer_options options = { .pid = trace->pid,
					     .start_ns = t->base_ns,
					     .start_real_ns = t->start_real_ns,
					     .stopped = stopped,
					     .context = t };
	int e = gt_writer_open_in(&trace->writer, t->folder, &options);

	return e ? gt_error_set(error, e, "cannot write into %s: %s; choose another place with -o",
				t->folder, strerror(-e)) :
		   0;
}

int gt_nsys_traces_get(struct gt_nsys_traces *t, uint64_t process, uint32_t pid,
		       struct gt_nsys_trace **trace, bool *is_new, struct gt_error *error)
{
	struct gt_nsys_trace *new;
	int e;

	*is_new = false;
	/* the newest first: rows of one process come in runs */
	for (size_t i = t->count; i-- > 0;)
		if (t->list[i]->process == process) {
			*trace = t->list[i];
			return t->error ? gt_nsys_traces_end(t, 0, error) : 0;
		}
	if (t->count == TRACES_MAX)
		return refuse(error);
	new = gt_alloc(sizeof *new);
	*new = (struct gt_nsys_trace){ .process = process,
				       .pid = pid,
				       .number = (uint32_t)t->count };
	e = open_writer(t, new, error);
	if (!e) {
		new->lane = gt_lane_acquire(new->writer, 0, "");
		if (!new->lane) {
			gt_writer_free(new->writer);
			e = gt_error_set(error, -EIO,
					 "cannot write into %s; choose another place with -o",
					 t->folder);
		}
	}
	if (e) {
		free(new);
		return e;
	}
	GT_GROW(t->list, t->count, t->room);
	t->list[t->count++] = *trace = new;
	*is_new = true;
	return 0;
}

uint32_t gt_nsys_traces_count(const struct gt_nsys_traces *t)
{
	return (uint32_t)t->count;
}

bool gt_nsys_trace_has_place(const struct gt_nsys_trace *trace, int64_t device)
{
	return device < 0 || device >= DEVICES_MAX || trace->places & 1ull << device;
}

uint16_t gt_nsys_trace_place(struct gt_nsys_trace *trace, int64_t device, const char *name)
{
	char text[128];

	if (device < 0 || device >= DEVICES_MAX)
		return 0;
	if (!gt_nsys_trace_has_place(trace, device)) {
		snprintf(text, sizeof text, *name ? "GPU %d: %s" : "GPU %d", (int)device, name);
		gt_writer_place(trace->writer, (uint16_t)(device + 1), GT_CUDA, text);
		trace->places |= 1ull << device;
	}
	return (uint16_t)(device + 1);
}

static void write_capacities(struct gt_writer *w, const struct gt_nsys_profile *profile,
			     uint64_t base_ns)
{
	struct gt_lane *lane = gt_lane_acquire(w, 0, "devices");

	for (size_t i = 0; lane && i < profile->gpu_count; i++) {
		const struct gt_nsys_gpu *gpu = &profile->gpus[i];
		char subject[128];
		struct gt_series series = { GT_SERIES_DEVICE_CAPACITY, "bytes", subject };

		snprintf(subject, sizeof subject, "GPU %lld: %s", (long long)gpu->id, gpu->name);
		if (gpu->bytes && gpu->bytes <= INT64_MAX)
			gt_lane_sample(lane, gt_writer_series(w, &series), base_ns,
				       (int64_t)gpu->bytes);
	}
	if (lane)
		gt_lane_release(lane);
}

int gt_nsys_traces_devices(struct gt_nsys_traces *t, const struct gt_nsys_profile *profile,
			   const struct gt_database *d, struct gt_error *error)
{
	struct gt_writer_options options = { .start_ns = t->base_ns,
					     .start_real_ns = t->start_real_ns };
	char path[PATH_MAX];
	struct gt_writer *w;
	int e;

	snprintf(path, sizeof path, "%.4000s/" GT_SYSTEM_TRACE, t->folder);
	if ((!profile->gpu_count && !gt_nsys_has_work(d)) || gt_writer_open(&w, path, &options))
		return 0;
	t->has_system = true;
	write_capacities(w, profile, t->base_ns);
	e = gt_nsys_busy_write(w, d, t->base_ns, error);
	gt_writer_end_at(w, t->base_ns);
	gt_writer_free(w);
	return e;
}

void gt_nsys_traces_remove(struct gt_nsys_traces *t)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < t->count; i++) {
		snprintf(path, sizeof path, "%.4000s/%s", t->folder,
			 gt_writer_name_of(t->list[i]->writer));
		unlink(path);
	}
	snprintf(path, sizeof path, "%.4000s/" GT_SYSTEM_TRACE, t->folder);
	if (t->has_system)
		unlink(path);
}

void gt_nsys_trace_event(struct gt_nsys_trace *trace, uint32_t tid, const struct gt_event *event)
{
	struct gt_lane *lane;

	/* a single lane, reused for each thread, keeps the order of rows with equal times */
	if (tid != trace->tid) {
		gt_lane_release(trace->lane);
		lane = gt_lane_acquire(trace->writer, tid, "");
		trace->lane = lane ? lane : trace->lane;
		trace->tid = tid;
	}
	gt_lane_event(trace->lane, event);
}

void gt_nsys_trace_paging(struct gt_nsys_trace *trace, const struct gt_paging *paging)
{
	if (!trace->paging)
		trace->paging = gt_lane_acquire(trace->writer, 0, "unified memory");
	if (trace->paging)
		gt_lane_paging(trace->paging, paging);
}

struct gt_nsys_trace *gt_nsys_traces_only(const struct gt_nsys_traces *t)
{
	return t->count == 1 ? t->list[0] : NULL;
}
