/* SPDX-License-Identifier: MIT */
/* monitor.c - gputrack monitor: CPU, memory and disk use of processes as CSV. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/forward.h"
#include "cli/launch.h"
#include "cli/output.h"
#include "cli/monitor/process_meter.h"

#define HEADER                                                                                     \
	"timestamp,description,pid,name,cpu_percent,memory_mb,memory_percent,disk_read_kb,"        \
	"disk_write_kb\n"

enum { DURATION_MAX = 1000000000 }; /* seconds, so that its nanoseconds fit into 64 bits */

struct settings {
	struct gt_texts pids, names;
	double interval_s, duration_s;
	const char *description, *output;
};

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "pids", .letter = 'p', .argument = "PID[,PID…]", .type = GT_OPTION_TEXTS,
	  AT(pids), .help = "processes to monitor" },
	{ .name = "name", .argument = "NAME", .type = GT_OPTION_TEXTS, AT(names),
	  .help = "monitor all processes called NAME, as `ps -o comm` shows it; a pattern like "
		  "'gpu*'; may be repeated" },
	{ .name = "interval", .letter = 'i', .argument = "S", .type = GT_OPTION_DECIMAL,
	  .least = 0.001, .most = 86400, AT(interval_s),
	  .local = GT_LOCAL_YES, .help = "write a row for each process "
		  "every S seconds (default: 0.2)" },
	{ .name = "duration", .letter = 'd', .argument = "S", .type = GT_OPTION_DECIMAL,
	  .most = DURATION_MAX, AT(duration_s),
	  .local = GT_LOCAL_YES, .help = "stop after S seconds (default: when the "
		  "processes end)" },
	{ .name = "description", .argument = "TEXT", .type = GT_OPTION_TEXT, .may_be_empty = true,
	  AT(description), .help = "text for the description column of each row, written as typed: "
		  "a spreadsheet takes one that begins with =, +, - or @ for a formula" },
	{ .name = "desc", .argument = "TEXT", .type = GT_OPTION_TEXT, .may_be_empty = true,
	  AT(description), .help = "the same as --description" },
	{ .name = "output", .letter = 'o', .argument = "FILE.csv", .type = GT_OPTION_TEXT,
	  AT(output), .help = "write to FILE.csv instead of stdout; appends to the rows of an "
		  "earlier run" },
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_monitor_syntax = {
	.name = "monitor",
	.summary = "write CPU, memory and disk use of processes as CSV",
	.operands = "[--] [PROGRAM [ARG…]]",
	.about = "Writes a CSV row for each process at each interval until the processes end: "
		 "timestamp, description, pid, name, cpu_percent (of one core, in this interval), "
		 "memory_mb (resident, in units of 1,048,576 bytes), memory_percent (of this "
		 "machine), disk_read_kb and disk_write_kb (in units of 1,024 bytes, since the "
		 "process started; empty if the kernel denies access). With PROGRAM, starts and "
		 "monitors it, and passes on its exit status.",
	.options = options,
	.first_operand_ends = true,
};

/* The watched processes, and how they are watched. */
struct watch {
	struct gt_process_meter *meters;
	size_t count, room;
	uint64_t memory_bytes; /* of the machine */
	const char *description;
	FILE *out;
	bool has_header; /* from an earlier run */
	bool is_new;     /* the file did not exist */
	pid_t child;     /* PROGRAM; 0: none */
	bool has_warned;
};

/* Each process once. */
static int add_process(struct watch *w, pid_t pid, struct gt_error *error)
{
	int e;

	for (size_t i = 0; i < w->count; i++)
		if (w->meters[i].pid == pid)
			return 0;
	GT_GROW(w->meters, w->count, w->room);
	e = gt_process_meter_open(&w->meters[w->count], pid, error);
	w->count += !e;
	return e;
}

static int add_pid(struct watch *w, const char *text, const char *list)
{
	struct gt_error error;
	uint64_t pid;

	if (!gt_count_parse(text, &pid) || !pid || pid > INT32_MAX)
		return gt_syntax_wrong(&gt_monitor_syntax, "--pids takes numbers, not '%s'", list);
	return add_process(w, (pid_t)pid, &error) ? gt_fail("%s", error.text) : 0;
}

static int add_pids(struct watch *w, const struct gt_texts *lists)
{
	int status = 0;

	for (size_t i = 0; i < lists->count && !status; i++) {
		char *copy = gt_strdup(lists->items[i]), *rest = copy, *word;

		/* strsep, unlike strtok, reports an empty item between two commas */
		while (!status && (word = strsep(&rest, ",")))
			status = add_pid(w, word, lists->items[i]);
		free(copy);
	}
	return status;
}

/* Reads the name of a process; false if it has none (any more). */
static bool read_name(const char *pid, char *name, size_t size)
{
	char path[64];
	FILE *file;
	bool found;

	snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
	file = fopen(path, "re");
	found = file && fgets(name, (int)size, file);
	if (file)
		fclose(file);
	if (found)
		name[strcspn(name, "\n")] = '\0';
	return found;
}

/* Adds the processes that are called so now, except this one. */
static int add_named(struct watch *w, const char *pattern)
{
	DIR *proc = opendir("/proc");
	size_t before = w->count;
	struct gt_error unused;
	struct dirent *entry;
	char name[64];

	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		/* it may have ended by now */
		if (pid > 0 && pid != getpid() && read_name(entry->d_name, name, sizeof name) &&
		    !fnmatch(pattern, name, 0))
			add_process(w, pid, &unused);
	}
	if (proc)
		closedir(proc);
	return w->count > before ?
		       0 :
		       gt_fail("no process is called '%s': `ps -e` lists them", pattern);
}

/* Appends to the rows of an earlier run, if the file contains such rows. */
static int open_output(struct watch *w, const char *path)
{
	char begin[sizeof HEADER] = "", last = '\n';
	struct gt_error error;
	FILE *file;
	long size;

	if (!path || !strcmp(path, "-"))
		return 0;
	if (gt_output_check(path, &error))
		return gt_fail("%s", error.text);
	w->is_new = access(path, F_OK) != 0;
	file = fopen(path, "a+e");
	if (!file)
		return gt_fail("cannot write %s: %s; choose another place with --output", path,
			       strerror(errno));
	w->out = file;
	/* a pipe or terminal, which cannot seek, is empty */
	if (fseek(file, 0, SEEK_END) || (size = ftell(file)) <= 0)
		return 0;
	rewind(file);
	if (fread(begin, 1, sizeof HEADER - 1, file) != sizeof HEADER - 1 ||
	    strcmp(begin, HEADER)) {
		fclose(file);
		w->out = stdout;
		return gt_fail("%s does not contain monitor's rows; choose another --output, or "
			       "move the file away",
			       path);
	}
	fseek(file, -1, SEEK_END);
	last = (char)getc(file);
	fseek(file, 0, SEEK_END);
	if (last != '\n') /* its writer was killed in the middle of a row */
		putc('\n', file);
	w->has_header = true;
	return 0;
}

static void put_timestamp(FILE *out)
{
	struct timespec now;
	struct tm local;
	char text[32] = "";

	clock_gettime(CLOCK_REALTIME, &now);
	if (localtime_r(&now.tv_sec, &local))
		strftime(text, sizeof text, "%F %T", &local);
	fprintf(out, "%s.%06ld", text, now.tv_nsec / 1000);
}

static void put_row(struct watch *w, const struct gt_process_meter *m,
		    const struct gt_process_reading *r)
{
	put_timestamp(w->out);
	putc(',', w->out);
	/* the user's own text is written as typed; a process's name is foreign text */
	gt_csv_put(w->out, w->description);
	fprintf(w->out, ",%d,", (int)m->pid);
	gt_csv_put_safe(w->out, m->name);
	fprintf(w->out, ",%.1f,%.1f,%.1f,", r->cpu_percent, (double)r->rss_bytes / 1048576,
		w->memory_bytes ? 100 * (double)r->rss_bytes / (double)w->memory_bytes : 0);
	if (r->has_disk)
		fprintf(w->out, "%.1f,%.1f\n", (double)r->read_bytes / 1024,
			(double)r->write_bytes / 1024);
	else
		fputs(",\n", w->out);
	if (!r->has_disk && !w->has_warned) {
		gt_tell("no permission to read the disk use of process %d, so its fields stay "
			"empty: run as its user or as root",
			(int)m->pid);
		w->has_warned = true;
	}
}

/* Writes a row for each process that still exists; false if writing fails. */
static bool put_rows(struct watch *w)
{
	struct gt_process_reading reading;
	size_t left = 0;

	for (size_t i = 0; i < w->count; i++) {
		if (!gt_process_meter_read(&w->meters[i], &reading)) {
			gt_process_meter_close(&w->meters[i]);
			continue;
		}
		put_row(w, &w->meters[i], &reading);
		w->meters[left++] = w->meters[i];
	}
	w->count = left;
	return !fflush(w->out);
}

/* Waits until that time, or until one of the processes ends. */
static void sleep_until(const struct watch *w, uint64_t until_ns)
{
	struct pollfd *ends = gt_alloc((w->count + 1) * sizeof *ends);
	uint64_t now;

	for (size_t i = 0; i < w->count; i++)
		ends[i] = (struct pollfd){ .fd = w->meters[i].fd, .events = POLLIN };
	while (!gt_stopped && (now = gt_now_ns()) < until_ns) {
		uint64_t left = until_ns - now;
		struct timespec nap = { (time_t)(left / 1000000000u), (long)(left % 1000000000u) };

		if (ppoll(ends, w->count, &nap, NULL) > 0)
			break;
	}
	free(ends);
}

/* Removes processes that ended in an interval without a row; the others keep their schedule. */
static void drop_ended(struct watch *w)
{
	size_t left = 0;

	for (size_t i = 0; i < w->count; i++) {
		struct pollfd end = { .fd = w->meters[i].fd, .events = POLLIN };

		if (end.fd >= 0 && poll(&end, 1, 0) > 0)
			gt_process_meter_close(&w->meters[i]);
		else
			w->meters[left++] = w->meters[i];
	}
	w->count = left;
}

static bool watch_processes(struct watch *w, const struct settings *s)
{
	uint64_t begin = gt_now_ns(), interval = (uint64_t)(s->interval_s * 1e9), next = begin,
		 duration = (uint64_t)(s->duration_s * 1e9), end = UINT64_MAX;

	if (duration && interval > duration)
		interval = duration;
	if (duration) /* 0.1 is a little more than a tenth in binary */
		end = begin + duration + interval / 1000;
	if (!w->has_header)
		fputs(HEADER, w->out);
	if (fflush(w->out))
		return false;
	while (w->count && !gt_stopped && next + interval <= end) {
		next += interval;
		while (w->count && !gt_stopped && gt_now_ns() < next) {
			sleep_until(w, next);
			drop_ended(w);
		}
		if (!gt_stopped && !put_rows(w))
			return false;
		/* restart the schedule after a suspension: rows of empty intervals are useless */
		if (gt_now_ns() > next + interval)
			next = gt_now_ns();
	}
	return true;
}

static int start_program(struct watch *w, char **argv)
{
	struct gt_error error;
	int e;

	if (gt_launch_start(&(struct gt_launch){ .argv = argv }, &w->child, &error)) {
		w->child = 0;
		return gt_fail("%s", error.text);
	}
	e = add_process(w, w->child, &error);
	/* it may have ended already, which is no error */
	return e && e != -ESRCH ? gt_fail("%s", error.text) : 0;
}

/* Ends as the program did, with a shell's exit status. */
static int program_status(pid_t child)
{
	int status = gt_launch_wait(child);

	if (status < 0)
		return GT_EXIT_FAILED;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int monitor(struct watch *w, const struct settings *s, char **program)
{
	int status;

	if (!s->pids.count && !s->names.count && !*program)
		return gt_syntax_wrong(&gt_monitor_syntax,
				       "needs --pids PID[,PID…], --name NAME or a PROGRAM");
	status = add_pids(w, &s->pids);
	for (size_t i = 0; i < s->names.count && !status; i++)
		status = add_named(w, s->names.items[i]);
	if (!status)
		status = open_output(w, s->output);
	gt_stop_unless_ignored(SIGINT);
	gt_stop_unless_ignored(SIGTERM);
	if (!status && *program)
		status = start_program(w, program);
	if (status) {
		if (w->is_new)
			unlink(s->output);
		return status;
	}
	if (!watch_processes(w, s))
		status = gt_fail("cannot write %s: %s; make room or choose another place with -o",
				 s->output ? s->output : "the output", strerror(errno));
	/* the program runs to its end even if the rows cannot be written */
	if (w->child) {
		int ended = program_status(w->child);

		status = status ? status : ended;
	}
	return status;
}

int gt_cmd_monitor(int argc, char **argv)
{
	struct settings s = { .interval_s = 0.2, .description = "" };
	struct watch w = { .out = stdout, .memory_bytes = gt_machine_memory_bytes() };
	int status, first = gt_options_parse(&gt_monitor_syntax, &s, argc, argv, &status);

	w.description = s.description;
	if (first >= 0)
		status = monitor(&w, &s, argv + first);
	if (w.out != stdout)
		fclose(w.out);
	for (size_t i = 0; i < w.count; i++)
		gt_process_meter_close(&w.meters[i]);
	free(w.meters);
	gt_texts_fini(&s.pids);
	gt_texts_fini(&s.names);
	return status;
}
