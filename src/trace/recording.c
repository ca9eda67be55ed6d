/* recording.c - a folder NAME.gt: the traces of all its processes as one stream of events. */
#include "trace/recording.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/format.h"
#include "base/heap.h"
#include "base/mem.h"
#include "base/tool.h"
#include "trace/info.h"
#include "trace/names.h"
#include "trace/numbers.h"

/* One process's trace: opened when the stream reaches its start, closed when it has ended. */
struct source {
	struct gt_process process;
	bool beside;           /* no process: what was measured beside them all */
	bool empty;            /* a process that starts just now, or was killed when it did */
	bool beyond;           /* more processes than are read */
	bool runs;             /* it went on when its trace was opened */
	char *path;
	struct gt_reader *reader;
	struct gt_numbers_map map;
	struct gt_event next;
	uint64_t key;          /* time of `next`; the process's start while it is not open */
};

struct gt_recording {
	char *path;
	struct gt_info *info;
	struct source *sources;
	size_t source_count, source_room;
	size_t process_count;  /* of the sources; those after them hold samples alone */
	uint64_t lost_elsewhere; /* by processes that are left out */
	struct gt_heap heap;   /* sources by key */
	struct gt_heap ended;  /* sources without further events, by the end of their process */
	gt_process_end_fn *on_end;
	void *on_end_context;
	gt_sample_fn *on_sample;
	void *on_sample_context;
	struct gt_numbers *numbers;
	struct gt_names *names;
};

static uint16_t place_number(const struct source *s, uint16_t place)
{
	return place < s->map.place_count ? s->map.places[place] : 0;
}

/* Arguments as one would type them: NUL bytes between them become spaces. */
static char *command_line(const struct gt_trace_text *text)
{
	char *line;

	if (!text)
		return gt_strdup("");
	line = gt_alloc(text->size + 1);
	memcpy(line, text->value, text->size);
	for (size_t i = 0; i + 1 < text->size; i++)
		if (!line[i])
			line[i] = ' ';
	return line;
}

static void take_text(const struct source *s, char **text, const char *key)
{
	const struct gt_trace_text *found = gt_reader_text(s->reader, key);

	free(*text);
	*text = gt_strdup(found ? found->value : "");
}

static void take_texts(struct source *s)
{
	take_text(s, &s->process.program, "program");
	take_text(s, &s->process.host, "host");
	take_text(s, &s->process.rank, "rank");
	take_text(s, &s->process.csv, "csv");
	take_text(s, &s->process.residue, "residue");
	free(s->process.command);
	s->process.command = command_line(gt_reader_text(s->reader, "command"));
}

static void source_close(struct source *s)
{
	if (s->reader) {
		s->process.unknown = gt_reader_unknown(s->reader);
		if (gt_reader_damage(s->reader) && !s->process.damage)
			s->process.damage = gt_strdup(gt_reader_damage(s->reader));
		gt_reader_close(s->reader);
	}
	gt_numbers_map_fini(&s->map);
	s->reader = NULL;
}

static bool is_sample(const struct gt_event *e)
{
	return e->function == GT_FN_NONE;
}

/* Fetches the next event; false, and closed, when there is none. */
static bool source_advance(struct source *s)
{
	/* a call that a process is in comes last; it died in it only if it is dead */
	if (gt_reader_next(s->reader, &s->next) <= 0 || (s->next.unfinished && s->runs)) {
		source_close(s);
		return false;
	}
	if (is_sample(&s->next))
		s->next.handle = s->map.series[s->next.handle];
	s->next.stack = s->next.stack ? s->map.stacks[s->next.stack] : 0;
	s->next.place = place_number(s, s->next.place);
	if (s->next.time_ns > s->key)
		s->key = s->next.time_ns;
	s->process.last_ns = s->key;
	return true;
}

static bool source_open(struct gt_recording *r, struct source *s)
{
	struct gt_error error;

	if (s->beyond)
		return false;
	if (gt_reader_open(&s->reader, s->path, &error)) {
		free(s->process.damage);
		s->process.damage = gt_strdup(error.text);
		s->process.unread = true;
		return false;
	}
	take_texts(s);
	/* after the trace was looked at: who lives now was alive then */
	s->runs = gt_process_runs(&s->process);
	gt_numbers_take(r->numbers, &s->map, gt_reader_definitions(s->reader));
	gt_names_take(r->names, (uint32_t)(s - r->sources), gt_reader_definitions(s->reader));
	return source_advance(s);
}

/*
 * The heap's first source has no event left: its process ends when it ended, or killed, now, a
 * moment after its last event.
 */
static void source_ended(struct gt_recording *r, const struct source *s)
{
	uint64_t end = s->process.end_ns > s->key ? s->process.end_ns : s->key + 1;

	if (r->heap.items[0].item < r->process_count && !s->runs)
		gt_heap_push(&r->ended, end, r->heap.items[0].item);
	gt_heap_pop(&r->heap);
}

/* Processes that ended before others went on. */
static void tell_ends(struct gt_recording *r, uint64_t now_ns)
{
	while (r->ended.count && r->ended.items[0].key < now_ns) {
		if (r->on_end)
			r->on_end(r->on_end_context, r->ended.items[0].item, r->ended.items[0].key);
		gt_heap_pop(&r->ended);
	}
}

void gt_recording_on_end(struct gt_recording *r, gt_process_end_fn *on_end, void *context)
{
	r->on_end = on_end;
	r->on_end_context = context;
}

void gt_recording_on_sample(struct gt_recording *r, gt_sample_fn *on_sample, void *context)
{
	r->on_sample = on_sample;
	r->on_sample_context = context;
}

/* Samples go to whoever asked for them. */
static void tell_sample(struct gt_recording *r, uint32_t source, const struct gt_event *e)
{
	uint32_t process = source < r->process_count ? source : GT_NO_PROCESS;

	if (r->on_sample)
		r->on_sample(r->on_sample_context, process,
			     &(struct gt_sample){ .time_ns = e->time_ns, .value = (int64_t)e->size,
						  .series = (uint16_t)e->handle });
}

int gt_recording_next(struct gt_recording *r, struct gt_event *event, uint32_t *process)
{
	while (r->heap.count) {
		uint32_t first = r->heap.items[0].item;
		struct source *s = &r->sources[first];

		/* a trace is opened at its start, and may begin later than another goes on */
		if (!s->reader) {
			if (source_open(r, s))
				gt_heap_rekey(&r->heap, s->key);
			else
				source_ended(r, s);
			continue;
		}
		*event = s->next;
		*process = first;
		/* the GPU is looked at for a while after the last process has ended: nobody went on */
		if (!is_sample(event))
			tell_ends(r, s->key);
		if (source_advance(s))
			gt_heap_rekey(&r->heap, s->key);
		else
			source_ended(r, s);
		if (is_sample(event))
			tell_sample(r, first, event);
		else if (first < r->process_count)
			return 1;
	}
	return 0;
}

static void start(struct gt_recording *r)
{
	r->heap.count = 0;
	r->ended.count = 0;
	for (size_t i = 0; i < r->source_count; i++) {
		struct source *s = &r->sources[i];

		source_close(s);
		s->key = s->process.start_ns;
		gt_heap_push(&r->heap, s->key, (uint32_t)i);
	}
}

void gt_recording_rewind(struct gt_recording *r)
{
	start(r);
}

static void add_source(struct gt_recording *r, const char *folder, const char *file,
		       const struct gt_recording_options *options)
{
	struct source s = { 0 };
	struct gt_trace_header h;
	struct gt_error error;
	int e;

	if (asprintf(&s.path, "%s%s%s", folder, *folder ? "/" : "", file) < 0)
		s.path = gt_strdup(file);
	e = gt_trace_header_read(&h, s.path, &error);
	s.empty = e == -ENODATA;
	if (e) {
		s.process.damage = gt_strdup(error.text);
		s.process.unread = true;
		h = (struct gt_trace_header){ .pid = (uint32_t)strtoul(file, NULL, 10) };
	}
	s.beside = s.process.damage ? !strcmp(file, GT_SYSTEM_TRACE) : !h.pid;
	if (options && options->pid && !s.beside && h.pid != options->pid) {
		r->lost_elsewhere += h.lost;
		free(s.process.damage);
		free(s.path);
		return;
	}
	s.process.pid = h.pid;
	s.process.ppid = h.ppid;
	s.process.start_ns = h.start_ns;
	s.process.start_real_ns = h.start_real_ns;
	s.process.end_ns = h.end_ns;
	s.process.state = h.state <= GT_TRACE_STOPPED ? h.state : GT_TRACE_RUNNING;
	s.process.error = (int)h.error;
	s.process.lost = h.lost;
	s.process.lost_stacks = h.lost_stacks;
	s.process.file = gt_strdup(file);
	s.process.program = gt_strdup("");
	s.process.command = gt_strdup("");
	s.process.host = gt_strdup("");
	s.process.rank = gt_strdup("");
	s.process.csv = gt_strdup("");
	s.process.residue = gt_strdup("");
	GT_GROW(r->sources, r->source_count, r->source_room);
	r->sources[r->source_count++] = s;
}

static int is_trace(const struct dirent *entry)
{
	size_t size = strlen(entry->d_name);

	return size > 6 && !strcmp(entry->d_name + size - 6, ".trace");
}

static int by_start(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	if (x->beside != y->beside)
		return y->beside ? -1 : 1;
	if (x->process.start_ns != y->process.start_ns)
		return x->process.start_ns < y->process.start_ns ? -1 : 1;
	return strcmp(x->process.file, y->process.file);
}

/* How many traces there are, of which those of the wanted process become sources; or -errno. */
static int find_traces(struct gt_recording *r, const struct gt_recording_options *options,
		       struct gt_error *error)
{
	struct dirent **entries;
	int count = scandir(r->path, &entries, is_trace, alphasort);

	if (count < 0)
		return gt_error_set(error, -errno, "cannot read the recording %s: %s%s", r->path,
				    strerror(errno), errno == EACCES ?
				    "; it is private to the user who made it" : "");
	for (int i = 0; i < count; i++) {
		add_source(r, r->path, entries[i]->d_name, options);
		free(entries[i]);
	}
	free(entries);
	return count;
}

/* A single trace, taken for a recording of one process. */
static int take_trace(struct gt_recording *r, const struct gt_recording_options *options,
		      struct gt_error *error)
{
	struct gt_trace_header h;
	struct gt_error why;
	int e = gt_trace_header_read(&h, r->path, &why);

	if (e)
		return e == -EINVAL || e == -ENODATA ?
		       gt_error_set(error, e, "%s; name a recording, NAME.gt as `%s run` makes it",
				    why.text, gt_tool_name()) :
		       gt_error_set(error, e, "%s", why.text);
	add_source(r, "", r->path, options);
	return 1;
}

/* Thousands of processes may have been alive at once, each with its trace open. */
static void allow_many_files(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* True when something was recorded, and not even the first page of any trace could be read. */
static bool none_is_readable(const struct gt_recording *r)
{
	for (size_t i = 0; i < r->process_count; i++)
		if (!r->sources[i].process.damage || r->sources[i].empty)
			return false;
	return true;
}

/* The earliest process; one whose trace cannot be read has no start. */
static const struct gt_process *first_process(const struct gt_recording *r)
{
	for (size_t i = 0; i < r->process_count; i++)
		if (r->sources[i].process.start_ns)
			return &r->sources[i].process;
	return NULL;
}

/* Ledgers number processes in 16 bits: those who started last are left out, and say so. */
static void leave_out(struct gt_recording *r, size_t most)
{
	for (size_t i = most; i < r->process_count; i++) {
		struct gt_process *process = &r->sources[i].process;

		r->sources[i].beyond = process->unread = true;
		free(process->damage);
		if (asprintf(&process->damage, "%s was left out: gputrack reads the first %zu "
			     "processes of a recording", process->file, most) < 0)
			process->damage = gt_strdup("left out: too many processes");
	}
}

/* Processes by their start, then what only has samples. */
static void sort_sources(struct gt_recording *r)
{
	if (r->source_count > 1)
		qsort(r->sources, r->source_count, sizeof *r->sources, by_start);
	while (r->process_count < r->source_count && !r->sources[r->process_count].beside)
		r->process_count++;
}

int gt_recording_open(struct gt_recording **out, const char *path,
		      const struct gt_recording_options *options, struct gt_error *error)
{
	struct gt_recording *r;
	char *info;
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
	r->numbers = gt_numbers_new();
	r->names = gt_names_new();
	if (asprintf(&info, "%s/info", path) < 0)
		info = gt_strdup("");
	r->info = gt_info_read(info);
	free(info);
	count = S_ISDIR(st.st_mode) ? find_traces(r, options, error) :
				      take_trace(r, options, error);
	sort_sources(r);
	leave_out(r, options && options->most ? options->most : GT_PROCESSES_MAX);
	e = count < 0 ? count : 0;
	if (!count && !*gt_recording_info(r, "gputrack"))
		e = gt_error_set(error, -EINVAL, "%s is not a recording: it has no traces; name a "
				 "folder NAME.gt as `%s run` makes it", path, gt_tool_name());
	if (count > 0 && options && options->pid && !r->process_count)
		e = gt_error_set(error, -ESRCH, "%s has no process %" PRIu32
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
	start(r);
	*out = r;
	return 0;
}

void gt_recording_close(struct gt_recording *r)
{
	for (size_t i = 0; i < r->source_count; i++) {
		struct source *s = &r->sources[i];

		source_close(s);
		free(s->process.file);
		free(s->process.program);
		free(s->process.command);
		free(s->process.host);
		free(s->process.rank);
		free(s->process.csv);
		free(s->process.residue);
		free(s->process.damage);
		free(s->path);
	}
	free(r->sources);
	gt_heap_fini(&r->heap);
	gt_heap_fini(&r->ended);
	gt_numbers_free(r->numbers);
	gt_names_free(r->names);
	gt_info_free(r->info);
	free(r->path);
	free(r);
}

const char *gt_recording_info(const struct gt_recording *r, const char *key)
{
	return gt_info_get(r->info, key);
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
	/* those of attach that are in no process's trace are counted here alone */
	if (gt_count_parse(gt_recording_info(r, "lost"), &all) && all > lost + r->lost_elsewhere)
		lost = all - r->lost_elsewhere;
	return lost;
}

size_t gt_recording_process_count(const struct gt_recording *r)
{
	return r->process_count;
}

const struct gt_process *gt_recording_process(const struct gt_recording *r, size_t index)
{
	return &r->sources[index].process;
}

size_t gt_recording_stack(const struct gt_recording *r, uint32_t stack,
			  const struct gt_trace_frame **frames)
{
	return gt_numbers_stack(r->numbers, stack, frames);
}

size_t gt_recording_stack_count(const struct gt_recording *r)
{
	return gt_numbers_stack_count(r->numbers);
}

const struct gt_recorded_module *gt_recording_module(const struct gt_recording *r, uint32_t module)
{
	return gt_numbers_module(r->numbers, module);
}

size_t gt_recording_module_count(const struct gt_recording *r)
{
	return gt_numbers_module_count(r->numbers);
}

const char *gt_recording_place(const struct gt_recording *r, uint16_t place)
{
	return gt_numbers_place(r->numbers, place);
}

size_t gt_recording_place_count(const struct gt_recording *r)
{
	return gt_numbers_place_count(r->numbers);
}

const struct gt_text_frame *gt_recording_text_frame(const struct gt_recording *r, uint64_t number)
{
	return gt_numbers_text_frame(r->numbers, number);
}

const struct gt_series *gt_recording_series(const struct gt_recording *r, uint16_t series)
{
	return gt_numbers_series(r->numbers, series);
}

size_t gt_recording_series_count(const struct gt_recording *r)
{
	return gt_numbers_series_count(r->numbers);
}

/* An import has no call: where it has no stack, not even a function's name is known. */
static bool is_imported(uint16_t function)
{
	return function >= GT_FN_nsysPageableAllocation && function <= GT_FN_nsysPoolDestroyed;
}

enum gt_origin gt_recording_origin(const struct gt_recording *r, uint16_t function, uint32_t stack)
{
	const struct gt_trace_frame *frames;
	size_t count = gt_recording_stack(r, stack, &frames);

	if (!count)
		return is_imported(function) ? GT_ORIGIN_INVALID : GT_ORIGIN_DRIVER;
	if (count == 1 && frames->module == GT_TEXT_MODULE) {
		const struct gt_text_frame *text = gt_recording_text_frame(r, frames->address);

		if (!*text->module && !*text->file)
			return GT_ORIGIN_DRIVER;
	}
	return GT_ORIGIN_VALID;
}

const char *gt_recording_name(const struct gt_recording *r, uint32_t process, uint64_t handle,
			      uint64_t time_ns)
{
	return gt_names_find(r->names, process, handle, time_ns);
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
