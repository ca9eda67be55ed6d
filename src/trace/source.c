/* SPDX-License-Identifier: MIT */
/*
 * source.c - what a trace tells of its process: its texts, how it ended, where its record has gaps.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/process.h"
#include "trace/stream.h"

enum { SECOND_NS = 1000000000 };

bool gt_process_runs(const struct gt_process *process)
{
	struct utsname system;
	uint64_t began;

	/* exec keeps the pid, so the end of the program before it is in `ends` */
	if (process->state != GT_TRACE_RUNNING || process->end_ns)
		return false;
	if (!*process->host || uname(&system) || strcmp(process->host, system.nodename))
		return false;
	if (*process->boot && strcmp(process->boot, gt_boot_id()))
		return false;
	began = gt_process_start_ns(process->pid);
	/* a reused pid belongs to a process that started later */
	return began && began <= process->start_real_ns + SECOND_NS;
}

/* Joins the arguments: the NUL bytes between them become blanks. */
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

static void read_process_text(const struct gt_source_trace *s, char **text, const char *key)
{
	const struct gt_trace_text *found = gt_reader_text(s->reader, key);

	free(*text);
	*text = gt_strdup(found ? found->value : "");
}

/* Every text with this key, a blank between two. */
static void join_process_texts(const struct gt_source_trace *s, char **joined, const char *key)
{
	const struct gt_definitions *d = gt_reader_definitions(s->reader);
	size_t size = 0;

	free(*joined);
	for (size_t i = 0; i < d->text_count; i++)
		size += d->texts[i].size + 1;
	*joined = gt_alloc(size + 1);
	size = 0;
	for (size_t i = 0; i < d->text_count; i++) {
		if (strcmp(d->texts[i].key, key))
			continue;
		if (size)
			(*joined)[size++] = ' ';
		memcpy(*joined + size, d->texts[i].value, d->texts[i].size);
		size += d->texts[i].size;
	}
}

void gt_source_read_texts(struct gt_source_trace *s)
{
	const struct gt_trace_text *depth = gt_reader_text(s->reader, "stack_depth");

	s->process.follows_touches = gt_reader_text(s->reader, "touches");
	read_process_text(s, &s->process.program, "program");
	read_process_text(s, &s->process.directory, "directory");
	read_process_text(s, &s->process.host, "host");
	read_process_text(s, &s->process.boot, "boot");
	read_process_text(s, &s->process.uid, "uid");
	read_process_text(s, &s->process.user, "user");
	read_process_text(s, &s->process.container, "container");
	read_process_text(s, &s->process.pod, "pod");
	read_process_text(s, &s->process.rank, "rank");
	read_process_text(s, &s->process.csv, "csv");
	read_process_text(s, &s->process.residue, "residue");
	read_process_text(s, &s->process.residue_once, "residue_once");
	join_process_texts(s, &s->process.unfollowed, "unfollowed");
	if (!depth || !gt_count_parse(depth->value, &s->process.stack_depth))
		s->process.stack_depth = 0;
	s->process.is_attached = gt_reader_text(s->reader, "capture");
	s->process.went_on = gt_reader_text(s->reader, "went_on");
	s->process.is_snapshot = gt_reader_text(s->reader, "snapshot");
	s->process.is_late = gt_reader_text(s->reader, "late");
	s->process.has_full_ranges = gt_reader_text(s->reader, "ranges_full");
	free(s->process.command);
	s->process.command = command_line(gt_reader_text(s->reader, "command"));
}

static int number_text(const struct gt_source_trace *s, const char *key, int otherwise)
{
	const struct gt_trace_text *found = s->reader ? gt_reader_text(s->reader, key) : NULL;
	uint64_t number;

	return found && gt_count_parse(found->value, &number) && number < 256 ? (int)number :
										otherwise;
}

/* A process that ended by itself may have said so, or only have left an exit status. */
void gt_source_find_end(struct gt_source_trace *s)
{
	struct gt_process *p = &s->process;
	bool has_execed = s->ended.has_execed || (s->reader && gt_reader_text(s->reader, "exec"));

	p->signal = number_text(s, "signal", s->ended.signal);
	p->is_oom_kill = p->signal && s->ended.is_oom_kill;
	p->exit_status = number_text(s, "exit_status", s->ended.exit_status);
	p->end = p->went_on                   ? GT_END_DETACHED :
		 p->state == GT_TRACE_STOPPED ? GT_END_STOPPED :
		 has_execed                   ? GT_END_EXEC :
		 p->signal                    ? GT_END_SIGNAL :
		 p->state == GT_TRACE_ENDED   ? GT_END_EXIT :
		 p->exit_status >= 0          ? GT_END_QUICK :
		 s->was_running               ? GT_END_RUNNING :
						GT_END_UNKNOWN;
	if (s->reader)
		p->threads_at_end = gt_reader_threads(s->reader, &p->main_at_end);
}

/* Widens the gap. */
static void add_gap(struct gt_process *p, uint64_t first_ns, uint64_t last_ns)
{
	if (!p->gap_first_ns || first_ns < p->gap_first_ns)
		p->gap_first_ns = first_ns ? first_ns : 1;
	if (last_ns > p->gap_last_ns)
		p->gap_last_ns = last_ns;
}

void gt_source_follow_gaps(struct gt_source_trace *s)
{
	uint64_t first_ns, last_ns;

	if (gt_reader_gap(s->reader, &first_ns, &last_ns))
		add_gap(&s->process, first_ns, last_ns);
}

void gt_source_find_gaps(struct gt_source_trace *s, bool is_read)
{
	const struct gt_recording *r = s->recording;
	struct gt_process *p = &s->process;

	p->gap_first_ns = p->gap_last_ns = 0;
	if (r->gap_first_ns)
		add_gap(p, r->gap_first_ns, r->gap_last_ns);
	if (s->lost_first_ns && s->lost_last_ns)
		add_gap(p, s->lost_first_ns, s->lost_last_ns);
	else if (p->lost)
		add_gap(p, p->start_ns, UINT64_MAX);
	if (p->unread) {
		add_gap(p, p->start_ns, UINT64_MAX);
		return;
	}
	gt_source_follow_gaps(s);
	if (p->state == GT_TRACE_STOPPED)
		add_gap(p, p->end_ns, UINT64_MAX);
	/* the process may go on without those who attached to it */
	if (is_read && p->state == GT_TRACE_RUNNING && gt_reader_text(s->reader, "capture"))
		add_gap(p, p->last_ns ? p->last_ns : p->start_ns, UINT64_MAX);
}
