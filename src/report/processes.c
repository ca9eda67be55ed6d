/* SPDX-License-Identifier: MIT */
/* processes.c - the processes of a recording: their names, and what each left alive. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "ledger/groups.h"
#include "replay/ending.h"
#include "replay/head.h"
#include "replay/process_text.h"
#include "report/analyses.h"

enum { NAME_MIN = 8 }; /* columns of a process's name, at least */

struct left {
	uint64_t count, bytes;
	bool leaked; /* some of it */
};

static void add_entry(void *context, const struct gt_entry *entry, enum gt_fate fate)
{
	struct left *left = (struct left *)context + entry->process;

	left->count++;
	left->bytes += gt_entry_bytes(entry);
	left->leaked |= fate == GT_FATE_LEAKED;
}

/* By the process's number in the recording; the caller frees it. */
static struct left *left_by_process(const struct gt_view *v)
{
	struct left *left = gt_alloc(gt_recording_process_count(v->recording) * sizeof *left);

	gt_fate_each(v, add_entry, left);
	return left;
}

static size_t shown_of(const struct gt_view *v)
{
	size_t count = gt_recording_process_count(v->recording);

	return v->top && v->top < count ? (size_t)v->top : count;
}

/* How long it ran, as far as is known. */
static uint64_t ran_ns(const struct gt_process *process)
{
	uint64_t end = process->end_ns ? process->end_ns : process->last_ns;

	return end > process->start_ns ? end - process->start_ns : 0;
}

/* Where a process is of another user, or in a container: names alone do not tell them apart. */
static void put_user(struct gt_printer *p, const struct gt_process *process)
{
	char text[160];

	if (!*process->user)
		return;
	snprintf(text, sizeof text, " (%s%s%s%.*s)", process->user,
		 *process->pod       ? ", pod " :
		 *process->container ? ", container " :
				       "",
		 *process->pod ? process->pod : "", *process->pod ? 0 : 12, process->container);
	if (gt_print_left(p) < strlen(text))
		snprintf(text, sizeof text, " (%s)", process->user);
	if (gt_print_left(p) >= strlen(text))
		gt_print_put(p, GT_DIM, "%s", text);
}

static void put_row(struct gt_printer *p, const struct gt_process *process, const struct left *left,
		    uint64_t start_ns)
{
	char text[GT_FORMAT_MAX], ran[GT_FORMAT_MAX + 1], *name = gt_process_name(process);
	bool goes_on = process->end == GT_END_RUNNING || process->end == GT_END_DETACHED ||
		       process->end == GT_END_STOPPED;

	snprintf(text, sizeof text, "%" PRIu32, process->pid);
	gt_print_right(p, GT_PLAIN, text, 9);
	gt_print_right(p, GT_PLAIN, *process->rank ? process->rank : "-", 15);
	gt_print_right(p, GT_PLAIN,
		       gt_format_span(text, process->start_ns > start_ns ?
						    process->start_ns - start_ns :
						    0),
		       26);
	snprintf(ran, sizeof ran, "%s%s", gt_format_span(text, ran_ns(process)),
		 goes_on ? "+" : "");
	gt_print_right(p, GT_PLAIN, ran, 37);
	gt_print_right(p,
		       left->leaked ? GT_RED :
		       left->count  ? GT_YELLOW :
				      GT_PLAIN,
		       gt_format_count(text, left->count), 46);
	gt_print_right(p, GT_PLAIN, left->bytes ? gt_format_bytes(text, left->bytes) : "-", 57);
	gt_print_tab(p, 59);
	gt_print_need(p, NAME_MIN);
	gt_print_name(p, GT_BOLD, *name ? name : GT_PROGRAM_UNKNOWN, gt_print_left(p));
	put_user(p, process);
	gt_print_end(p);
	free(name);
}

void gt_processes_text(const struct gt_view *v, FILE *out)
{
	static const struct {
		const char *title;
		unsigned column;
	} titles[] = { { "pid", 9 },  { "rank", 15 },  { "start", 26 },
		       { "ran", 37 }, { "alive", 46 }, { "bytes", 57 } };
	size_t count = gt_recording_process_count(v->recording), shown = shown_of(v);
	struct left *left = left_by_process(v);
	struct gt_printer p;

	gt_head_open(&p, out, v);
	gt_print_line(&p, GT_BOLD, "PROCESSES  %zu", count);
	for (size_t i = 0; count && i < sizeof titles / sizeof *titles; i++)
		gt_print_right(&p, GT_DIM, titles[i].title, titles[i].column);
	if (count) {
		gt_print_tab(&p, 59);
		gt_print_line(&p, GT_DIM, "name");
	}
	for (size_t i = 0; i < shown; i++)
		put_row(&p, gt_recording_process(v->recording, i), &left[i],
			gt_recording_start_ns(v->recording));
	if (shown < count)
		gt_print_wrap(&p, GT_DIM, 2, "and %zu more", count - shown);
	free(left);
}

void gt_processes_json(const struct gt_view *v, FILE *out)
{
	struct left *left = left_by_process(v);
	struct gt_tally total = gt_ledger_total(v->ledger);
	struct gt_json j;

	gt_head_json(&j, out, v, "processes");
	gt_totals_json(&j, total.live, total.bytes_live);
	gt_json_array(&j, "groups");
	for (size_t i = 0; i < shown_of(v); i++) {
		const struct gt_process *process = gt_recording_process(v->recording, i);
		char *name = gt_process_name(process);

		gt_json_line(&j, NULL);
		gt_json_uint(&j, "pid", process->pid);
		gt_json_text(&j, "rank", *process->rank ? process->rank : NULL);
		gt_json_text(&j, "name", name);
		gt_process_user_json(&j, process);
		gt_json_int(&j, "start_ns", gt_view_start(v, process));
		gt_json_uint(&j, "duration_ns", ran_ns(process));
		gt_json_uint(&j, "count", left[i].count);
		gt_json_uint(&j, "bytes", left[i].bytes);
		gt_json_end(&j);
		free(name);
	}
	gt_json_end(&j);
	gt_foot_json(&j, v);
	free(left);
}

void gt_processes_tsv(const struct gt_view *v, FILE *out)
{
	struct left *left = left_by_process(v);

	fputs("pid\tppid\trank\tname\tcount\tbytes\tcommand\tstart_ns\tduration_ns\t"
	      "uid\tuser\tcontainer\tpod\n",
	      out);
	for (size_t i = 0; i < shown_of(v); i++) {
		const struct gt_process *process = gt_recording_process(v->recording, i);
		char *name = gt_process_name(process);

		fprintf(out, "%" PRIu32 "\t%" PRIu32 "\t", process->pid, process->ppid);
		gt_tsv_put(out, process->rank);
		putc('\t', out);
		gt_tsv_put(out, name);
		fprintf(out, "\t%" PRIu64 "\t%" PRIu64 "\t", left[i].count, left[i].bytes);
		gt_tsv_put(out, process->command);
		fprintf(out, "\t%" PRId64 "\t%" PRIu64, gt_view_start(v, process), ran_ns(process));
		for (size_t k = 0; k < 4; k++) {
			putc('\t', out);
			gt_tsv_put(out,
				   ((const char *const[]){ process->uid, process->user,
							   process->container, process->pod })[k]);
		}
		putc('\n', out);
		free(name);
	}
	free(left);
}
