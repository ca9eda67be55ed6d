/* SPDX-License-Identifier: MIT */
/* recording.c - a folder NAME.gt: finds its traces, and answers questions about its processes. */
#include "trace/stream.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/tool.h"

/*
 * Adds a trace as a source, unless another process was asked for. Returns 0, or why its header
 * cannot be read: it is added nevertheless, as a process whose damage is known.
 */
static int add_source(struct gt_recording *r, const char *folder, const char *file,
		      const struct gt_recording_options *options, struct gt_error *error)
{
	struct gt_source_trace s = { 0 };
	struct gt_trace_header h;
	int e;

	if (asprintf(&s.path, "%s%s%s", folder, *folder ? "/" : "", file) < 0)
		s.path = gt_strdup(file);
	e = gt_trace_header_read(&h, s.path, error);
	s.is_empty = e == -ENODATA;
	if (e) {
		s.process.damage = gt_strdup(error->text);
		s.process.unread = true;
		h = (struct gt_trace_header){ .pid = (uint32_t)strtoul(file, NULL, 10) };
	}
	s.is_system = s.process.damage ? !strcmp(file, GT_SYSTEM_TRACE) : !h.pid;
	if (options && options->pid && !s.is_system && h.pid != options->pid) {
		r->lost_elsewhere += h.lost;
		free(s.process.damage);
		free(s.path);
		return e;
	}
	s.process.pid = h.pid;
	s.process.ppid = h.ppid;
	s.process.start_ns = h.start_ns;
	s.process.start_real_ns = h.start_real_ns;
	s.recording = r;
	s.ended = gt_ends_find(r->ends, file);
	s.lost_first_ns = h.lost_first_ns;
	s.lost_last_ns = h.lost_last_ns;
	s.process.end_ns = h.end_ns ? h.end_ns : s.ended.time_ns;
	s.process.exit_status = -1;
	s.process.state = h.state <= GT_TRACE_STOPPED ? h.state : GT_TRACE_RUNNING;
	s.process.error = (int)h.error;
	s.process.lost = h.lost;
	s.process.lost_stacks = h.lost_stacks;
	s.process.file = gt_strdup(file);
	s.process.program = gt_strdup("");
	s.process.command = gt_strdup("");
	s.process.directory = gt_strdup("");
	s.process.host = gt_strdup("");
	s.process.boot = gt_strdup("");
	s.process.uid = gt_strdup("");
	s.process.user = gt_strdup("");
	s.process.container = gt_strdup("");
	s.process.pod = gt_strdup("");
	s.process.rank = gt_strdup("");
	s.process.csv = gt_strdup("");
	s.process.residue = gt_strdup("");
	s.process.residue_once = gt_strdup("");
	s.process.unfollowed = gt_strdup("");
	GT_GROW(r->sources, r->source_count, r->source_room);
	r->sources[r->source_count++] = s;
	return e;
}

bool gt_recording_is_trace(const char *name)
{
	size_t size = strlen(name);

	return size > 6 && !strcmp(name + size - 6, ".trace");
}

static int is_trace(const struct dirent *entry)
{
	return gt_recording_is_trace(entry->d_name);
}

static int by_start(const void *a, const void *b)
{
	const struct gt_source_trace *x = a, *y = b;

	if (x->is_system != y->is_system)
		return y->is_system ? -1 : 1;
	if (x->process.start_ns != y->process.start_ns)
		return x->process.start_ns < y->process.start_ns ? -1 : 1;
	return strcmp(x->process.file, y->process.file);
}

/* Adds the traces of the folder; returns how many it has, wanted or not, or -errno. */
static int find_traces(struct gt_recording *r, const struct gt_recording_options *options,
		       struct gt_error *error)
{
	struct dirent **entries;
	int count = scandir(r->path, &entries, is_trace, alphasort);

	if (count < 0)
		return gt_error_set(error, -errno, "cannot read the recording %s: %s%s", r->path,
				    strerror(errno),
				    errno == EACCES ? "; it is private to the user who made it" :
						      "");
	for (int i = 0; i < count; i++) {
		struct gt_error unread;

		add_source(r, r->path, entries[i]->d_name, options, &unread);
		free(entries[i]);
	}
	free(entries);
	return count;
}

/* A single trace is a recording of one process. */
static int open_single_trace(struct gt_recording *r, const struct gt_recording_options *options,
			     struct gt_error *error)
{
	struct gt_error why;
	int e = add_source(r, "", r->path, options, &why);

	if (!e)
		return 1;
	return e == -EINVAL || e == -ENODATA ?
		       gt_error_set(error, e, "%s; name a recording, NAME.gt as `%s run` makes it",
				    why.text, gt_tool_name()) :
		       gt_error_set(error, e, "%s", why.text);
}

/* Thousands of processes may have run at once, each with its trace open while we read. */
static void allow_many_files(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* True when no trace has a readable header, although something was recorded. */
static bool none_is_readable(const struct gt_recording *r)
{
	for (size_t i = 0; i < r->process_count; i++)
		if (!r->sources[i].process.damage || r->sources[i].is_empty)
			return false;
	return true;
}

/* The earliest process; one whose trace is unreadable has no start. */
static const struct gt_process *first_process(const struct gt_recording *r)
{
	for (size_t i = 0; i < r->process_count; i++)
		if (r->sources[i].process.start_ns)
			return &r->sources[i].process;
	return NULL;
}

/* Ledgers number processes in 16 bits: those that started last are left out, and say so. */
static void leave_out_rest(struct gt_recording *r, size_t most)
{
	for (size_t i = most; i < r->process_count; i++) {
		struct gt_process *process = &r->sources[i].process;

		r->sources[i].is_left_out = process->unread = true;
		free(process->damage);
		if (asprintf(&process->damage,
			     "%s was left out: gputrack reads the first %zu "
			     "processes of a recording",
			     process->file, most) < 0)
			process->damage = gt_strdup("left out: too many processes");
	}
}

/* Processes by start time, then the traces that have only samples. */
static void sort_sources(struct gt_recording *r)
{
	if (r->source_count > 1)
		qsort(r->sources, r->source_count, sizeof *r->sources, by_start);
	while (r->process_count < r->source_count && !r->sources[r->process_count].is_system)
		r->process_count++;
}

/* Reads the files beside the traces. */
static void read_text_files(struct gt_recording *r)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/info", r->path);
	r->info = gt_info_read(path);
	snprintf(path, sizeof path, "%s/" GT_ENDS_FILE, r->path);
	r->ends = gt_ends_read(path);
}

/* Losses that belong to no process may be of any. */
static void find_gap(struct gt_recording *r)
{
	uint64_t in_traces = r->lost_elsewhere, all;

	for (size_t i = 0; i < r->process_count; i++)
		in_traces += r->sources[i].process.lost;
	if (!gt_count_parse(gt_recording_info(r, "lost"), &all) || all <= in_traces)
		return;
	if (!gt_count_parse(gt_recording_info(r, "lost_first_ns"), &r->gap_first_ns) ||
	    !gt_count_parse(gt_recording_info(r, "lost_last_ns"), &r->gap_last_ns)) {
		r->gap_first_ns = 1;
		r->gap_last_ns = UINT64_MAX;
	}
}

int gt_recording_open(struct gt_recording **out, const char *path,
		      const struct gt_recording_options *options, struct gt_error *error)
{
	struct gt_recording *r;
	struct stat st;
	int count, e;

	e = stat(path, &st) ? errno : 0;
	if (e == ENOENT)
		return gt_error_set(error, -e, "cannot open %s: %s; `%s run` makes recordings",
				    path, strerror(e), gt_tool_name());
	if (e)
		return gt_error_set(error, -e, "cannot open %s: %s%s", path, strerror(e),
				    e == EACCES ? "; read it as the user whose it is" : "");
	r = gt_alloc(sizeof *r);
	r->path = gt_strdup(path);
	r->pid = options ? options->pid : 0;
	r->catalog = gt_catalog_new();
	r->batch = r->own_batch = gt_alloc(sizeof *r->own_batch);
	read_text_files(r);
	count = S_ISDIR(st.st_mode) ? find_traces(r, options, error) :
				      open_single_trace(r, options, error);
	sort_sources(r);
	leave_out_rest(r, options && options->most ? options->most : GT_PROCESSES_MAX);
	e = count < 0 ? count : 0;
	if (!count && !*gt_recording_info(r, "gputrack"))
		e = gt_error_set(error, -EINVAL,
				 "%s is not a recording: it has no traces; name a "
				 "folder NAME.gt as `%s run` makes it",
				 path, gt_tool_name());
	if (count > 0 && options && options->pid && !r->process_count)
		e = gt_error_set(error, -ESRCH,
				 "%s has no process %" PRIu32
				 "; `%s report %s -a processes` lists those it has",
				 path, options->pid, gt_tool_name(), path);
	if (!e && r->process_count && none_is_readable(r))
		e = gt_error_set(error, -EINVAL, "%s has no trace that can be read: %s", path,
				 r->sources[0].process.damage);
	if (e) {
		gt_recording_close(r);
		return e;
	}
	allow_many_files();
	find_gap(r);
	gt_recording_rewind(r);
	*out = r;
	return 0;
}

void gt_recording_close(struct gt_recording *r)
{
	gt_recording_stop(r);
	for (size_t i = 0; i < r->source_count; i++) {
		struct gt_source_trace *s = &r->sources[i];

		gt_source_trace_close(s);
		free(s->process.file);
		free(s->process.program);
		free(s->process.command);
		free(s->process.directory);
		free(s->process.host);
		free(s->process.boot);
		free(s->process.uid);
		free(s->process.user);
		free(s->process.container);
		free(s->process.pod);
		free(s->process.rank);
		free(s->process.csv);
		free(s->process.residue);
		free(s->process.residue_once);
		free(s->process.unfollowed);
		free(s->process.damage);
		free(s->calls);
		free(s->path);
	}
	free(r->sources);
	free(r->own_batch);
	gt_heap_fini(&r->heap);
	gt_heap_fini(&r->ended);
	gt_phase_filter_free(r->phase_filter);
	gt_catalog_free(r->catalog);
	gt_info_free(r->info);
	gt_ends_free(r->ends);
	free(r->path);
	free(r);
}

const char *gt_recording_info(const struct gt_recording *r, const char *key)
{
	return gt_info_get(r->info, key);
}

bool gt_recording_is_empty(const struct gt_recording *r)
{
	return !r->process_count && !gt_recording_lost(r);
}

uint64_t gt_recording_unrecorded(const struct gt_recording *r)
{
	uint64_t count;

	return gt_count_parse(gt_recording_info(r, "unrecorded"), &count) ? count : 0;
}

const char *gt_recording_path(const struct gt_recording *r)
{
	return r->path;
}

uint64_t gt_recording_lost(const struct gt_recording *r)
{
	uint64_t lost = 0, all;

	for (size_t i = 0; i < r->process_count; i++)
		lost += r->sources[i].process.lost;
	/* `info` also counts events of attach that are in no process's trace */
	if (gt_count_parse(gt_recording_info(r, "lost"), &all) && all > lost + r->lost_elsewhere)
		lost = all - r->lost_elsewhere;
	return lost;
}

uint32_t gt_recording_pid(const struct gt_recording *r)
{
	return r->pid;
}

size_t gt_recording_process_count(const struct gt_recording *r)
{
	return r->process_count;
}

const struct gt_process *gt_recording_process(const struct gt_recording *r, size_t index)
{
	return &r->sources[index].process;
}

size_t gt_recording_stack_cut(const struct gt_recording *r, uint32_t stack)
{
	size_t count = gt_recording_stack_depth(r, stack, GT_STACK_FRAMES_MAX);

	for (size_t i = 0; count && i < r->process_count; i++)
		if (r->sources[i].process.stack_depth == count)
			return count;
	return 0;
}

bool gt_recording_is_bare(const struct gt_recording *r, uint32_t stack)
{
	return gt_recording_origin(r, GT_FN_NONE, stack) != GT_ORIGIN_VALID;
}

uint64_t gt_recording_start_ns(const struct gt_recording *r)
{
	const struct gt_process *first = first_process(r);

	return first ? first->start_ns : 0;
}

uint64_t gt_recording_start_real_ns(const struct gt_recording *r)
{
	const struct gt_process *first = first_process(r);

	return first ? first->start_real_ns : 0;
}

bool gt_recording_duration_ns(const struct gt_recording *r, uint64_t *ns)
{
	uint64_t start = gt_recording_start_ns(r), end;

	/* a part of longer recordings: its processes' times began before it did */
	if (start && gt_count_parse(gt_recording_info(r, "ended_ns"), &end)) {
		*ns = end > start ? end - start : 0;
		return true;
	}
	return gt_count_parse(gt_recording_info(r, "duration_ns"), ns);
}
