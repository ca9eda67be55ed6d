/* SPDX-License-Identifier: MIT */
/* head.c - the opening and closing of every report: the program, and gaps in the recording. */
#include "replay/head.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/tool.h"
#include "replay/background.h"
#include "replay/ending.h"
#include "replay/process_text.h"

enum { PIDS_SHOWN = 6, GAPS_SHOWN = 4, NOTES_SHOWN = 4, NAME_SHOWN = 24, MORE_ROOM = 16 };
enum { FUNCTIONS_SHOWN = 8 };

static const char *const state_names[] = {
	[GT_TRACE_RUNNING] = "unended",
	[GT_TRACE_ENDED] = "ended",
	[GT_TRACE_STOPPED] = "stopped",
};

static bool is_killed(const struct gt_process *process)
{
	return process->end == GT_END_SIGNAL;
}

static const struct gt_process *process_at(const struct gt_view *v, size_t i)
{
	return gt_recording_process(v->recording, i);
}

/* The command as typed, or the first process's if there is no `info`. */
static const char *command_of(const struct gt_view *v)
{
	const char *command = gt_recording_info(v->recording, "command");

	if (!*command && gt_recording_process_count(v->recording))
		command = process_at(v, 0)->command;
	if (!*command && gt_recording_process_count(v->recording))
		command = process_at(v, 0)->program;
	return command;
}

/* "demo", or NULL when the processes have several names; the caller frees it. */
static char *common_name(const struct gt_view *v)
{
	char *first = gt_process_name(process_at(v, 0));

	for (size_t i = 1; first && i < gt_recording_process_count(v->recording); i++) {
		char *name = gt_process_name(process_at(v, i));

		if (strcmp(first, name)) {
			free(first);
			first = NULL;
		}
		free(name);
	}
	return first;
}

/* "12", "12 (rank 0)", "demo 12": as much as distinguishes this process. */
static void process_text(char *out, size_t size, const struct gt_process *process, bool with_name)
{
	char *name = gt_process_name(process);

	snprintf(out, size, "%s%s%" PRIu32 "%s%.10s%s",
		 !with_name ? "" :
		 *name      ? name :
			      GT_PROGRAM_UNKNOWN,
		 with_name ? " " : "", process->pid, *process->rank ? " (rank " : "", process->rank,
		 *process->rank ? ")" : "");
	free(name);
}

static void put_processes(struct gt_printer *p, const struct gt_view *v)
{
	size_t count = gt_recording_process_count(v->recording);
	char *common = common_name(v), text[256];

	gt_print_end(p);
	gt_print_put(p, GT_PLAIN, "  %zu processes", count);
	if (common) {
		gt_print_put(p, GT_PLAIN, " of ");
		gt_print_name(p, GT_PLAIN, common, NAME_SHOWN);
	}
	gt_print_put(p, GT_PLAIN, common ? ": pids " : ": ");
	for (size_t i = 0; i < count; i++) {
		process_text(text, sizeof text, process_at(v, i), !common);
		/* what is left must hold it, and that there are more */
		if (i && (i == PIDS_SHOWN || gt_print_left(p) < strlen(text) + MORE_ROOM)) {
			gt_print_put(p, GT_PLAIN, " and %zu more", count - i);
			break;
		}
		gt_print_put(p, GT_PLAIN, i ? ", " : "");
		gt_print_name(p, GT_PLAIN, text, gt_print_left(p));
	}
	free(common);
}

static void put_pids(struct gt_printer *p, const struct gt_view *v)
{
	char text[256];
	size_t count = gt_recording_process_count(v->recording);

	if (count > 1)
		put_processes(p, v);
	/* a snapshot does not say of which process it is */
	if (count != 1 || *gt_recording_info(v->recording, "snapshot"))
		return;
	process_text(text, sizeof text, process_at(v, 0), false);
	gt_print_put(p, GT_PLAIN, ", pid %s", text);
}

/* An import knows neither status nor end: it says whose it is. */
static void put_import(struct gt_printer *p, const struct gt_view *v)
{
	const char *path = gt_recording_info(v->recording, "imported");
	const char *nsys = gt_recording_info(v->recording, "nsys");

	gt_print_put(p, GT_PLAIN, "imported from ");
	gt_print_name(p, GT_PLAIN, gt_path_name(path), gt_print_left(p) / 3);
	if (*gt_recording_info(v->recording, "snapshot")) {
		gt_print_put(p, GT_PLAIN, " (memory snapshot of PyTorch)");
		return;
	}
	gt_print_put(p, GT_PLAIN, " (Nsight Systems");
	if (*nsys)
		gt_print_put(p, GT_PLAIN, " %s", nsys);
	gt_print_put(p, GT_PLAIN, ")");
}

static void put_end(struct gt_printer *p, const struct gt_view *v)
{
	const char *status = gt_recording_info(v->recording, "exit_status");
	const char *signal = gt_recording_info(v->recording, "signal");
	const char *name = *signal ? sigabbrev_np(atoi(signal)) : NULL;
	char text[GT_FORMAT_MAX];
	uint64_t ns;

	if (*signal) {
		gt_print_put(p, GT_PLAIN, "killed by signal ");
		gt_print_name(p, GT_RED, signal, 16);
		if (name)
			gt_print_put(p, GT_PLAIN, " (SIG%s)", name);
	} else if (*status) {
		gt_print_put(p, GT_PLAIN, "exit status ");
		gt_print_name(p, strcmp(status, "0") ? GT_YELLOW : GT_PLAIN, status, 16);
	} else if (*gt_recording_info(v->recording, "imported")) {
		put_import(p, v);
		return;
	} else if (gt_view_is_attached(v)) {
		gt_print_put(p, GT_PLAIN, "detached");
	} else {
		gt_print_put(p, GT_PLAIN, "end not recorded");
	}
	if (gt_recording_duration_ns(v->recording, &ns))
		gt_print_put(p, GT_PLAIN, " after %s", gt_format_span(text, ns));
}

void gt_head_text(struct gt_printer *p, const struct gt_view *v)
{
	const char *host = gt_recording_info(v->recording, "host"), *command = command_of(v);
	char started[GT_FORMAT_MAX], count[GT_FORMAT_MAX];

	gt_print_put(p, GT_BOLD, "gputrack ");
	gt_print_name(p, GT_BOLD, *command ? command : GT_PROGRAM_UNKNOWN, p->style.width - 9);
	gt_print_end(p);
	gt_print_put(p, GT_PLAIN, "  ");
	put_end(p, v);
	put_pids(p, v);
	gt_print_end(p);
	gt_print_put(p, GT_PLAIN, "  %s %s recorded", gt_format_count(count, v->ledger->events),
		     gt_plural(v->ledger->events, "event", "events"));
	if (gt_recording_start_real_ns(v->recording))
		gt_print_put(p, GT_PLAIN, ", started %s",
			     gt_format_moment(started, gt_recording_start_real_ns(v->recording)));
	if (*host) {
		gt_print_put(p, GT_PLAIN, " on ");
		gt_print_name(p, GT_PLAIN, host, gt_print_left(p));
	}
	gt_print_end(p);
}

/* Ranks of a job whose exit is unknown, because gputrack was killed too. */
static void put_killed(struct gt_printer *p, const struct gt_view *v)
{
	const char *ranks = gt_recording_info(v->recording, "ranks_killed");
	bool several = strchr(ranks, ',');

	if (*ranks)
		gt_print_wrap(p, GT_RED, 2,
			      "%s %s %s killed together with gputrack: the recording ends there",
			      several ? "ranks" : "rank", ranks, several ? "were" : "was");
}

static void put_full_ranges(struct gt_printer *p, const struct gt_view *v)
{
	for (size_t i = 0; i < gt_recording_process_count(v->recording); i++)
		if (process_at(v, i)->has_full_ranges) {
			gt_print_wrap(p, GT_YELLOW, 2,
				      "there were more different NVTX ranges than can be told "
				      "apart: the later ones count as the range around them");
			return;
		}
}

/* Functions of the driver that a program called without us: each named once. */
static void put_unfollowed(struct gt_printer *p, const struct gt_view *v)
{
	struct gt_intern *names = gt_intern_new();
	char *list = NULL;
	size_t size = 0;
	FILE *text = open_memstream(&list, &size);
	unsigned count = 0;

	for (size_t i = 0; i < gt_recording_process_count(v->recording); i++) {
		char *copy = gt_strdup(process_at(v, i)->unfollowed), *rest = NULL;

		for (char *name = strtok_r(copy, " ", &rest); name;
		     name = strtok_r(NULL, " ", &rest)) {
			if (gt_intern(names, name, strlen(name)) < count)
				continue;
			if (text && count < FUNCTIONS_SHOWN)
				fprintf(text, "%s%s", count ? ", " : "", name);
			count++;
		}
		free(copy);
	}
	if (text && count > FUNCTIONS_SHOWN)
		fprintf(text, " and %u more", count - FUNCTIONS_SHOWN);
	if (text)
		fclose(text);
	if (count)
		gt_print_wrap(p, GT_YELLOW, 2,
			      "%u extension %s handed out that gputrack does not follow: %s", count,
			      gt_plural(count, "function was", "functions were"), list ? list : "");
	free(list);
	gt_intern_free(names);
}

static void put_lost(struct gt_printer *p, const struct gt_view *v)
{
	const char *late = gt_recording_info(v->recording, "late_libraries");
	const char *refused = gt_recording_info(v->recording, "refused_libraries");
	uint64_t lost = gt_recording_lost(v->recording), stacks = 0, unknown = 0;
	uint64_t unrecorded = gt_recording_unrecorded(v->recording);
	char text[GT_FORMAT_MAX];

	for (size_t i = 0; i < gt_recording_process_count(v->recording); i++) {
		stacks += process_at(v, i)->lost_stacks;
		unknown += process_at(v, i)->unknown;
	}
	if (lost)
		gt_print_wrap(p, GT_RED, 2, "%s %s LOST: creations and releases are missing below",
			      gt_format_count(text, lost),
			      gt_plural(lost, "event was", "events were"));
	if (unrecorded)
		gt_print_wrap(p, GT_RED, 2,
			      "%s %s NOT RECORDED, unable to write to the recording, as after "
			      "chroot or a change of user; `%s attach` records such processes",
			      gt_format_count(text, unrecorded),
			      gt_plural(unrecorded, "process was", "processes were"),
			      gt_tool_name());
	if (*late)
		gt_print_wrap(p, GT_YELLOW, 2,
			      "the first calls into %s may be missing: it was loaded before "
			      "gputrack could probe it",
			      late);
	if (*refused)
		gt_print_wrap(p, GT_YELLOW, 2, "calls into %s are missing: it could not be probed",
			      refused);
	if (stacks)
		gt_print_wrap(p, GT_YELLOW, 2, "%s %s recorded without a complete stack",
			      gt_format_count(text, stacks),
			      gt_plural(stacks, "event was", "events were"));
	if (unknown)
		gt_print_wrap(
			p, GT_YELLOW, 2,
			"%s %s that this gputrack does not know: read the recording with the "
			"version that made it",
			gt_format_count(text, unknown),
			gt_plural(unknown, "event calls a function", "events call functions"));
	put_unfollowed(p, v);
	put_full_ranges(p, v);
}

/* The first line of the head already says how the program itself was killed. */
static bool is_told(const struct gt_view *v, const struct gt_process *process)
{
	uint64_t pid;

	return *gt_recording_info(v->recording, "signal") &&
	       (gt_recording_process_count(v->recording) == 1 ||
		(gt_count_parse(gt_recording_info(v->recording, "pid"), &pid) &&
		 pid == process->pid));
}

static bool has_gap(const struct gt_view *v, const struct gt_process *process)
{
	return process->damage || process->state == GT_TRACE_STOPPED ||
	       process->end == GT_END_RUNNING || process->end == GT_END_UNKNOWN ||
	       (is_killed(process) && !is_told(v, process));
}

static void put_ending(struct gt_printer *p, const struct gt_process *process)
{
	char *text = gt_ending_text(process);

	gt_print_wrap(p, GT_YELLOW, 2, "%s%s", text ? text : "",
		      process->end == GT_END_RUNNING ? ": this is its state so far" : "");
	free(text);
}

/* One line about a process that has a gap. */
static void put_gap(struct gt_printer *p, const struct gt_process *process)
{
	if (process->unread)
		gt_print_wrap(p, GT_RED, 2, "pid %" PRIu32 " is left out: %s; the rest is shown",
			      process->pid, process->damage);
	else if (process->damage)
		gt_print_wrap(p, GT_RED, 2,
			      "pid %" PRIu32
			      ": the trace is damaged (%s); what is damaged is missing",
			      process->pid, process->damage);
	else if (process->state == GT_TRACE_STOPPED)
		gt_print_wrap(p, GT_RED, 2,
			      "pid %" PRIu32 ": recording STOPPED before the process ended: %s",
			      process->pid, gt_stop_reason(process->error));
	else
		put_ending(p, process);
}

/* The clock that events are timed by begins when its host does. */
static void put_hosts(struct gt_printer *p, const struct gt_view *v)
{
	const char *first = "";

	for (size_t i = 0; i < gt_recording_process_count(v->recording); i++) {
		const char *host = process_at(v, i)->host;

		if (*first && *host && strcmp(first, host)) {
			gt_print_wrap(p, GT_YELLOW, 2,
				      "processes ran on several hosts, each with its own clock: "
				      "times and the overall peak are not comparable between "
				      "hosts; -p PID selects one process");
			return;
		}
		first = *first ? first : host;
	}
}

bool gt_head_has_gaps(const struct gt_recording *recording)
{
	for (size_t i = 0; i < gt_recording_process_count(recording); i++) {
		const struct gt_process *p = gt_recording_process(recording, i);

		if (p->unknown || p->damage || p->state == GT_TRACE_STOPPED)
			return true;
	}
	return gt_recording_lost(recording) > 0 || gt_recording_unrecorded(recording) > 0;
}

void gt_head_nothing(struct gt_printer *p, const struct gt_view *v)
{
	bool has_gaps = gt_head_has_gaps(v->recording);

	gt_print_line(p, GT_RED, has_gaps ? "NOTHING WAS RECORDED" : "NOTHING WAS TRACKED");
	if (has_gaps)
		gt_print_wrap(
			p, GT_PLAIN, 2,
			"The program made GPU API calls, but none could be recorded: see above.");
	else if (gt_recording_process_count(v->recording))
		gt_print_wrap(
			p, GT_PLAIN, 2,
			"The program loaded a GPU API, but no call that creates or releases a "
			"resource was seen. It may have exited too early, or found no device.");
	else if (!strcmp(gt_recording_info(v->recording, "capture"), "attach"))
		gt_print_wrap(p, GT_PLAIN, 2,
			      "No traced program made a GPU API call that creates or releases a "
			      "resource.");
	else
		gt_print_wrap(p, GT_PLAIN, 2,
			      "The program never loaded a GPU API that gputrack can track, or "
			      "found no GPU. Programs that are static or setuid, or that clear "
			      "their environment, cannot be tracked.");
	if (!gt_recording_process_count(v->recording) && gt_background_runs(v->recording))
		gt_print_wrap(p, GT_PLAIN, 2,
			      "Processes that it left in the background are still being recorded: "
			      "run `%s report` when they have ended.",
			      gt_tool_name());
	gt_print_wrap(p, GT_PLAIN, 2, "`%s doctor` shows what can be tracked on this machine.",
		      gt_tool_name());
}

/* What Nsight Systems says went wrong while it collected an imported profile. */
static void put_notes(struct gt_printer *p, const struct gt_view *v)
{
	char key[32];

	for (int i = 0; i < NOTES_SHOWN; i++) {
		snprintf(key, sizeof key, "nsys_note_%d", i);
		if (*gt_recording_info(v->recording, key))
			gt_print_wrap(p, GT_YELLOW, 2, "Nsight Systems: %s",
				      gt_recording_info(v->recording, key));
	}
}

void gt_head_gaps(struct gt_printer *p, const struct gt_view *v)
{
	size_t gaps = 0;

	put_killed(p, v);
	put_notes(p, v);
	put_lost(p, v);
	put_hosts(p, v);
	for (size_t i = 0; i < gt_recording_process_count(v->recording); i++)
		if (has_gap(v, process_at(v, i)) && gaps++ < GAPS_SHOWN)
			put_gap(p, process_at(v, i));
	if (gaps > GAPS_SHOWN)
		gt_print_wrap(p, GT_YELLOW, 2, "and %zu more %s: --format json lists all processes",
			      gaps - GAPS_SHOWN, gt_plural(gaps - GAPS_SHOWN, "gap", "gaps"));
}

static const char *const remedies[] = {
	[GT_SYMBOL_NAMES] = "has no line numbers: rebuild it with -g",
	[GT_SYMBOL_NONE] =
		"is stripped: rebuild it with -g, or point --symbols DIR at its debug files",
	[GT_SYMBOL_MISSING] = "is not on this machine: point --symbols DIR at a copy",
	[GT_SYMBOL_CHANGED] = "has changed since it was recorded, so its symbols are not used: "
			      "record again, or point --symbols DIR at the old file",
	[GT_SYMBOL_BAD] = "is not a readable ELF file",
};

void gt_head_modules(struct gt_printer *p, const struct gt_view *v, size_t most)
{
	struct gt_frames_trouble *list;
	size_t count = gt_frames_troubles(v->frames, &list);

	for (size_t i = 0; i < count && i < most; i++)
		gt_print_wrap(p, GT_YELLOW, 2, "%s %s", list[i].path, remedies[list[i].state]);
	if (count > most)
		gt_print_wrap(p, GT_YELLOW, 2, "%zu more %s no debug information", count - most,
			      gt_plural(count - most, "file has", "files have"));
	free(list);
	if (!*gt_recording_info(v->recording, "cut_stacks"))
		return;
	if (*gt_recording_info(v->recording, "unwind"))
		gt_print_wrap(p, GT_YELLOW, 2,
			      "some stacks end early, in code that has neither unwind tables nor "
			      "frame pointers");
	else
		gt_print_wrap(p, GT_YELLOW, 2,
			      "some stacks end early, in code without frame pointers: `%s attach "
			      "--unwind dwarf` unwinds further",
			      gt_tool_name());
}

void gt_head_open(struct gt_printer *p, FILE *out, const struct gt_view *v)
{
	gt_print_init(p, out, &v->style);
	gt_head_text(p, v);
	gt_head_gaps(p, v);
	gt_print_end(p);
}

/* "unfollowed": names; nothing if there are none. */
static void unfollowed_json(struct gt_json *j, const struct gt_process *process)
{
	char *copy = gt_strdup(process->unfollowed), *rest = NULL;

	if (*copy) {
		gt_json_array(j, "unfollowed");
		for (char *name = strtok_r(copy, " ", &rest); name;
		     name = strtok_r(NULL, " ", &rest))
			gt_json_text(j, NULL, name);
		gt_json_end(j);
	}
	free(copy);
}

static void process_json(struct gt_json *j, const struct gt_view *v,
			 const struct gt_process *process)
{
	char *name = gt_process_name(process);

	gt_json_line(j, NULL);
	gt_json_uint(j, "pid", process->pid);
	gt_json_uint(j, "ppid", process->ppid);
	gt_json_text(j, "name", name);
	gt_json_text(j, "rank", *process->rank ? process->rank : NULL);
	gt_process_user_json(j, process);
	gt_json_text(j, "program", process->program);
	gt_json_text(j, "command", process->command);
	gt_json_int(j, "start_ns", gt_view_start(v, process));
	if (process->end_ns)
		gt_json_int(j, "end_ns", gt_view_time(v, process->end_ns));
	else
		gt_json_null(j, "end_ns");
	gt_json_text(j, "state",
		     process->unread                ? "unread" :
		     process->end == GT_END_RUNNING ? "running" :
		     process->went_on               ? "went_on" :
						      state_names[process->state]);
	gt_json_text(j, "end", gt_end_key(process));
	if (process->exit_status >= 0)
		gt_json_int(j, "exit_status", process->exit_status);
	else
		gt_json_null(j, "exit_status");
	if (process->signal)
		gt_json_int(j, "signal", process->signal);
	else
		gt_json_null(j, "signal");
	if (process->is_oom_kill)
		gt_json_bool(j, "oom_kill", true);
	gt_json_text(j, "error", process->error ? gt_stop_reason(process->error) : NULL);
	gt_json_uint(j, "lost", process->lost);
	gt_json_uint(j, "lost_stacks", process->lost_stacks);
	gt_json_uint(j, "unknown", process->unknown);
	gt_json_text(j, "damage", process->damage);
	unfollowed_json(j, process);
	gt_json_end(j);
	free(name);
}

/* A number of `info`, or null. */
static void info_number(struct gt_json *j, const struct gt_view *v, const char *key)
{
	uint64_t value;

	if (gt_count_parse(gt_recording_info(v->recording, key), &value))
		gt_json_uint(j, key, value);
	else
		gt_json_null(j, key);
}

void gt_recording_json(struct gt_json *j, const struct gt_view *v)
{
	const char *started = gt_recording_info(v->recording, "started");
	uint64_t real_ns = gt_recording_start_real_ns(v->recording), ns;
	/* a part of longer recordings: times count from the first call of its processes */
	bool is_part = real_ns && *gt_recording_info(v->recording, "ended_ns");
	char moment[GT_FORMAT_MAX];

	gt_json_object(j, "recording");
	gt_json_text(j, "path", gt_recording_path(v->recording));
	gt_json_text(j, "command", command_of(v));
	gt_json_text(j, "host", gt_recording_info(v->recording, "host"));
	gt_json_text(j, "started",
		     *started && !is_part ? started : gt_format_moment(moment, real_ns));
	if (gt_recording_duration_ns(v->recording, &ns))
		gt_json_uint(j, "duration_ns", ns);
	else
		gt_json_null(j, "duration_ns");
	info_number(j, v, "exit_status");
	info_number(j, v, "signal");
	gt_json_uint(j, "events", v->ledger->events);
	gt_json_uint(j, "lost", gt_recording_lost(v->recording));
	gt_json_bool(j, "gaps", gt_head_has_gaps(v->recording));
	if (gt_recording_unrecorded(v->recording))
		gt_json_uint(j, "unrecorded", gt_recording_unrecorded(v->recording));
	info_number(j, v, "running");
	info_number(j, v, "cut_stacks");
	gt_json_array(j, "processes");
	for (size_t i = 0; i < gt_recording_process_count(v->recording); i++)
		process_json(j, v, process_at(v, i));
	gt_json_end(j);
	gt_json_end(j);
}

void gt_head_json(struct gt_json *j, FILE *out, const struct gt_view *v, const char *analysis)
{
	gt_json_begin(j, out);
	gt_json_uint(j, "schema", 1);
	gt_json_text(j, "analysis", analysis);
	gt_recording_json(j, v);
}

void gt_totals_json(struct gt_json *j, uint64_t count, uint64_t bytes)
{
	gt_json_line(j, "totals");
	gt_json_uint(j, "count", count);
	gt_json_uint(j, "bytes", bytes);
	gt_json_end(j);
}

void gt_foot_json(struct gt_json *j, const struct gt_view *v)
{
	gt_json_uint(j, "lost", gt_recording_lost(v->recording));
	gt_json_finish(j);
}
