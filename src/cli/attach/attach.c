/* SPDX-License-Identifier: MIT */
/* attach.c - `gputrack attach`: tracks running processes through the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/resident.h"
#include "capture/ebpf/obstacle.h"
#include "capture/ebpf/probes.h"
#include "capture/ebpf/tracer.h"
#include "cli/attach/kept_files.h"
#include "cli/attach/live_view.h"
#include "cli/attach/ring_size.h"
#include "cli/attach/targets.h"
#include "cli/attach/tracer_info.h"
#include "cli/cli.h"
#include "cli/end_report.h"
#include "cli/folder.h"
#include "cli/forward.h"
#include "cli/input.h"
#include "cli/launch.h"
#include "cli/options.h"
#include "screen/board_text.h"
#include "trace/info.h"

struct settings {
	struct gt_targets_settings targets;
	const char *output;
	double interval, duration; /* seconds; 0: never, without end */
	bool command, all, quiet, no_stacks, no_python;
	int unwind, way;
	struct gt_own_options own;
	uint64_t ready_fd; /* 0: none */
	uint64_t top, stack_depth, max_bytes, max_memory, ring_size, stack_bytes;
};

enum {
	DRAIN_MS = 50,            /* how often the ring is emptied */
	SETTLED_NS = 1000000000,  /* libraries, modules and the first stacks are read by then */
	SECONDS_MAX = 1000000000, /* so that its nanoseconds fit into 64 bits */
	AHEAD = -10,              /* nice */
};

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	GT_TARGETS_OPTIONS(offsetof(struct settings, targets),
		"track this process, its children, and those they start; may be repeated, or a "
		"list separated by commas"),
	{ .name = "command", .letter = 'c', .type = GT_OPTION_FLAG, AT(command),
	  .help = "run COMMAND, and track it and its children; the first calls to a library in an "
		  "unusual folder may be missed, and the report says so" },
	{ .name = "all", .letter = 'a', .type = GT_OPTION_FLAG, AT(all),
	  .help = "track every process that uses one of the libraries, in containers too, and "
		  "those that start later" },
	{ .name = "output", .letter = 'o', .type = GT_OPTION_TEXT, .argument = "NAME.gt",
	  AT(output),
	  .help = "record into this folder (default: attach.PID.gt); an existing recording is kept "
		  "as NAME.gt.old" },
	{ .name = "interval", .letter = 'i', .type = GT_OPTION_DECIMAL, .argument = "SECONDS",
	  .most = SECONDS_MAX, AT(interval),
	  .local = GT_LOCAL_YES, .help = "print a summary at this interval (default: "
		  "5; 0: never)" },
	{ .name = "duration", .letter = 'd', .type = GT_OPTION_DECIMAL, .argument = "SECONDS",
	  .most = SECONDS_MAX, AT(duration),
	  .local = GT_LOCAL_YES,
	  .help = "stop after this time (default: 0, no limit); Ctrl-C and the end of the "
		  "processes stop it too" },
	{ .name = "max-size", .type = GT_OPTION_SIZE, .argument = "SIZE", AT(max_bytes),
	  .local = GT_LOCAL_YES,
	  .help = "stop recording at this size (500M, 2GiB); the summaries continue, and the "
		  "report says so" },
	GT_MEMORY_OPTION(AT(max_memory)),
	{ .name = "top", .letter = 'T', .type = GT_OPTION_COUNT, .argument = "N",
	  .most = GT_BOARD_TOP_MAX, AT(top),
	  .local = GT_LOCAL_YES,
	  .help = "list N call sites and resources of each process in a summary, at most 1000 "
		  "(default: 3)" },
	{ .name = "no-stacks", .type = GT_OPTION_FLAG, AT(no_stacks),
	  .local = GT_LOCAL_YES,
	  .help = "do not record call stacks: less overhead, but no call sites" },
	GT_UNWIND_OPTIONS(AT(no_python), AT(unwind)),
	{ .name = "stack-bytes", .type = GT_OPTION_SIZE, .argument = "SIZE",
	  .least = 512, .most = 32768, AT(stack_bytes),
	  .local = GT_LOCAL_YES,
	  .help = "size of the copy for --unwind dwarf (default: 8K, at most 32K)" },
	{ .name = "stack-depth", .type = GT_OPTION_COUNT, .argument = "N",
	  .most = GT_PROBE_FRAMES, AT(stack_depth),
	  .local = GT_LOCAL_YES,
	  .help = "record at most N frames of each stack, up to 127 (default: 64)" },
	{ .name = "ring-size", .type = GT_OPTION_SIZE, .argument = "SIZE",
	  .most = GT_RING_MAX, AT(ring_size),
	  .help = "size of the buffer between kernel and gputrack, at most 1G (default: 16M, up to "
		  "64M with more than 4 processors, 8 times that with --unwind dwarf, less where "
		  "memory is short); events that do not fit are lost, counted and reported" },
	{ .name = "probes", .type = GT_OPTION_CHOICE, .argument = "HOW",
	  .choices = gt_probe_way_names, AT(way),
	  .help = "how to probe functions: auto (the best the kernel supports; the default), "
		  "session (Linux 6.13), multi (6.6) or perf" },
	{ .name = "quiet", .letter = 'q', .type = GT_OPTION_FLAG, AT(quiet),
	  .local = GT_LOCAL_YES,
	  .help = "print no report at the end" },
	{ .name = "ready-fd", .type = GT_OPTION_COUNT, .argument = "FD", .most = INT_MAX,
	  AT(ready_fd),
	  .help = "write a line to this open file descriptor as soon as calls are recorded, and "
		  "close it: for scripts, also with --quiet" },
	GT_OWN_OPTIONS(offsetof(struct settings, own)),
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_attach_syntax = {
	.name = "attach",
	.summary = "track running processes",
	.operands = "-p PID | --comm NAME | --all | -c [--] COMMAND [ARG…]",
	.about = "Tracks running processes through the kernel (eBPF), without stopping or changing "
		 "them, and records the CUDA, Level Zero and OpenCL resources they create and "
		 "destroy. Ctrl-C detaches and prints a report. Needs root.",
	.options = options,
	.first_operand_ends = true,
};

struct attach {
	struct settings settings;
	struct gt_targets targets;
	struct gt_tracer_options how;
	struct gt_tracer *tracer;
	struct gt_attach_live live;
	struct gt_info *info;
	struct gt_kept_files kept;
	struct gt_folder made;
	char folder[PATH_MAX];
	char **argv; /* of the command; NULL: none */
	int nice_before;
	pid_t child;     /* 0: none */
	int release;     /* a pipe: a byte written to it lets the child run the command */
	int refusal;     /* a pipe: why exec failed in the child; exec closes it */
	int status;      /* the child's, once it has ended */
	bool has_warned; /* of a library that could not be probed */
	bool has_told_linked;
	size_t told;         /* of processes with too many libraries */
	bool is_full;        /* the memory for stacks, which has been told */
	bool has_all_images; /* told as well */
	bool has_all_tables;
	FILE *out;
};

/* Checks the options and derives the rest from them. 0, or the exit status. */
static int check(struct attach *a, int argc, char **argv, int first)
{
	struct settings *s = &a->settings;
	bool selects = gt_selection_is_given(&s->targets.selection);
	int modes = (s->targets.pids.count > 0) + s->command + (s->all || selects), status;

	status = gt_targets_parse(&a->targets, &gt_attach_syntax, &s->targets, &s->own.library);
	a->targets.everyone = s->all || selects;
	if (status)
		return status;
	if (modes != 1)
		return gt_syntax_wrong(&gt_attach_syntax,
				       modes ? "-p, -c and --all (or --comm, --exe, --cgroup, "
					       "--container, --user) exclude each other" :
					       "needs -p PID, --comm NAME, -c COMMAND or --all");
	if (s->command && first == argc)
		return gt_syntax_wrong(&gt_attach_syntax, "-c needs a COMMAND to run");
	if (!s->command && first < argc)
		return gt_syntax_wrong(&gt_attach_syntax,
				       "unexpected '%s': to run a command, use -c", argv[first]);
	status = gt_option_needs(&gt_attach_syntax, "stack-bytes", s->unwind == GT_UNWIND_DWARF,
				 "--unwind dwarf");
	if (status)
		return status;
	a->argv = s->command ? argv + first : NULL;
	a->how.max_bytes = s->max_bytes;
	a->how.max_stack_bytes = s->max_memory / 2;
	a->how.probes =
		(struct gt_probes_options){ .frames = s->no_stacks ? 0 : (uint32_t)s->stack_depth,
					    .unwinding = (enum gt_unwinding)s->unwind,
					    .stack_bytes = (uint32_t)s->stack_bytes & ~255u,
					    .way = (enum gt_probe_way)s->way,
					    .python = !s->no_python };
	a->how.probes.ring_bytes = gt_ring_size(s->ring_size, &a->how.probes);
	gt_targets_configure(&a->targets, &a->how);
	return 0;
}

static int name_folder(struct attach *a, struct gt_error *error)
{
	char otherwise[32];
	int e;

	snprintf(otherwise, sizeof otherwise, "attach.%d.gt", (int)getpid());
	e = gt_folder_name(a->folder, sizeof a->folder, a->settings.output, otherwise);
	if (e)
		return gt_error_set(error, e, "cannot find the current folder: %s", strerror(-e));
	gt_tracer_record(a->tracer, a->folder);
	return gt_folder_make(&a->made, a->folder, error);
}

/* The command waits in a child of ours until everything is in place. */
static int start_child(struct attach *a, struct gt_error *error)
{
	int release[2], refusal[2];
	char wait;

	if (pipe2(release, O_CLOEXEC) || pipe2(refusal, O_CLOEXEC))
		return gt_error_set(error, -errno, "cannot create a pipe: %s", strerror(errno));
	a->child = fork();
	if (a->child < 0)
		return gt_error_set(error, -errno, "cannot fork: %s", strerror(errno));
	if (!a->child) {
		gt_inherited_restore();
		close(release[1]);
		/* closed without a byte: the tool has given up */
		if (read(release[0], &wait, 1) != 1)
			_exit(127);
		execvp(a->argv[0], a->argv);
		gt_launch_explain(error, a->argv[0], errno);
		(void)!write(refusal[1], error->text, strlen(error->text));
		_exit(127);
	}
	close(release[0]);
	close(refusal[1]);
	a->release = release[1];
	a->refusal = refusal[0];
	gt_targets_add(&a->targets, (uint32_t)a->child);
	return 0;
}

/* Lets the child run the command. */
static int release_child(struct attach *a, struct gt_error *error)
{
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	ssize_t n = gt_stopped ? 0 : write(a->release, "", 1);

	signal(SIGPIPE, before);
	close(a->release);
	if (n != 1) {
		close(a->refusal);
		return gt_error_set(error, -EINTR, "interrupted before %s started", a->argv[0]);
	}
	do
		n = read(a->refusal, error->text, sizeof error->text - 1);
	while (n < 0 && errno == EINTR && !gt_stopped);
	close(a->refusal);
	if (n <= 0)
		return 0;
	error->text[n] = '\0';
	return -ENOEXEC;
}

/* Probes the libraries that the processes have loaded and those that they may load. */
static int attach_libraries(struct attach *a, struct gt_error *error)
{
	int mapped = gt_targets_probe(&a->targets, a->tracer, error);

	if (a->argv)
		gt_tracer_find_pythons(a->tracer, a->argv[0]);

	if (mapped >= 0 && !a->child)
		gt_targets_tell_waiting(&a->targets, a->tracer);
	return mapped < 0 ? mapped : 0;
}

/* Announces that all calls are recorded from now on; scripts wait for this line. */
static void announce(const struct attach *a)
{
	const struct gt_libraries *l = gt_tracer_libraries(a->tracer);
	size_t functions = 0, libraries = 0;
	size_t ring = a->how.probes.ring_bytes;
	char who[128], text[GT_FORMAT_MAX];

	for (size_t i = 0; i < l->count; i++) {
		functions += l->list[i].functions;
		libraries += l->list[i].functions > 0;
	}
	if (a->settings.ready_fd) {
		(void)!write((int)a->settings.ready_fd, "ready\n", 6);
		close((int)a->settings.ready_fd);
	}
	if (a->settings.quiet)
		return;
	if (a->how.probes.python && !gt_tracer_has_python(a->tracer))
		gt_tell("the kernel refuses the walk of Python's frames: calls from Python have no "
			"lines of Python");
	gt_targets_name(&a->targets, who, sizeof who);
	fprintf(stderr, "gputrack: tracking %s", a->argv ? "the command" : who);
	fprintf(stderr,
		", %zu functions in %zu %s; bears bursts of about %s calls (--ring-size %zu%c); "
		"press Ctrl-C to detach\n",
		functions, libraries, libraries == 1 ? "library" : "libraries",
		gt_format_count(text, gt_ring_calls(&a->how.probes)),
		ring >> (ring < 1 << 20 ? 10 : 20), ring < 1 << 20 ? 'K' : 'M');
}

/* Of a refusal only once: the reason is likely to be the same for other libraries. */
static void warn_of_libraries(struct attach *a)
{
	const struct gt_error *refusal = &gt_tracer_libraries(a->tracer)->refusal;
	const struct gt_error *linked = &gt_tracer_libraries(a->tracer)->linked;

	if (!a->has_warned && *refusal->text)
		gt_tell("%s; the rest is tracked", refusal->text);
	a->has_warned |= *refusal->text;
	if (!a->has_told_linked && *linked->text)
		gt_tell("%s", linked->text);
	a->has_told_linked |= *linked->text;
	gt_targets_tell_dropped(a->tracer, &a->told);
}

static void warn_of_memory(struct attach *a)
{
	struct gt_unwind_size size;

	if (!a->has_all_images && gt_tracer_has_all_images(a->tracer)) {
		a->has_all_images = true;
		gt_tell("the processes have mapped %d programs and libraries: calls from further "
			"ones are recorded without names; -p PID tracks fewer processes",
			GT_IMAGES_MAX);
	}
	if (!a->has_all_tables && gt_tracer_tables(a->tracer, &size) && size.is_full) {
		a->has_all_tables = true;
		gt_tell("the unwind tables of the processes take all the kernel memory they may, "
			"%llu MiB: calls from further code cost more, as with --unwind dwarf",
			(unsigned long long)size.bytes >> 20);
	}
	if (!a->is_full)
		a->is_full = gt_attach_live_tell_full(&a->live, a->tracer, a->settings.max_memory);
}

static bool all_ended(struct attach *a)
{
	if (a->child)
		return waitpid(a->child, &a->status, WNOHANG) == a->child;
	return gt_targets_ended(&a->targets, a->tracer);
}

static void follow(struct attach *a)
{
	uint64_t begun = gt_now_ns(), shown = begun;
	uint64_t interval = (uint64_t)(a->settings.interval * 1e9);
	uint64_t duration = (uint64_t)(a->settings.duration * 1e9);
	bool is_settled = false;

	while (!gt_stopped) {
		uint64_t now;

		gt_tracer_wait(a->tracer, DRAIN_MS);
		gt_tracer_drain(a->tracer);
		warn_of_libraries(a);
		warn_of_memory(a);
		now = gt_now_ns();
		if (!is_settled && now - begun >= SETTLED_NS) {
			is_settled = true;
			gt_resident_trim();
		}
		if (all_ended(a)) {
			a->child = 0;
			break;
		}
		if (duration && now - begun >= duration)
			break;
		if (interval && now - shown >= interval) {
			shown += interval * ((now - shown) / interval);
			gt_attach_live_show(&a->live, a->out, a->settings.top,
					    gt_tracer_lost(a->tracer));
		}
	}
	gt_tracer_stop(a->tracer);
	warn_of_libraries(a);
}

static void finish_info(struct attach *a, uint64_t duration_ns, uint64_t lost, size_t running)
{
	struct gt_error error;

	gt_run_info_end(a->info, duration_ns);
	gt_info_setf(a->info, "running", "%zu", running);
	gt_info_setf(a->info, "lost", "%llu", (unsigned long long)lost);
	if (a->argv && !a->child)
		gt_run_info_status(a->info, a->status);
	if (gt_run_info_write(a->info, a->folder, &error))
		gt_tell("%s; the recorded events can still be read", error.text);
}

static int report(const struct attach *a)
{
	struct gt_own_rules own = gt_own_options_rules(&a->settings.own);
	struct gt_view v = { 0 };
	struct gt_error error;

	if (a->settings.quiet && !a->kept.count)
		return GT_EXIT_DONE;
	if (gt_end_report_open(&v, a->folder, a->out, &own, a->kept.count ? a->kept.search : NULL,
			       &error))
		return gt_fail("%s", error.text);
	/* later nobody can name what lies in these files, or was compiled in memory */
	if (gt_end_report_save_names(&v, a->kept.count > 0, &error))
		gt_tell("%s; the recorded events can still be read", error.text);
	if (!a->settings.quiet)
		gt_end_report_print(&v, a->out);
	gt_end_report_close(&v);
	return GT_EXIT_DONE;
}

/*
 * Ahead of programs that use every processor: names are read while processes live, and the ring is
 * emptied in time. The tracer takes a few milliseconds a second.
 */
static int get_ahead(void)
{
	int before = getpriority(PRIO_PROCESS, 0);

	if (before > AHEAD)
		setpriority(PRIO_PROCESS, 0, AHEAD);
	return before;
}

static int prepare(struct attach *a, struct gt_error *error)
{
	int e = gt_targets_check(&a->targets, error);

	if (!e)
		e = gt_tracer_new(&a->tracer, &a->how, error);
	a->live.tracer = a->tracer;
	if (!e && a->argv)
		e = start_child(a, error);
	if (!e)
		e = attach_libraries(a, error);
	if (!e)
		e = name_folder(a, error);
	if (!e)
		e = gt_run_info_write(a->info, a->folder, error);
	if (!e && a->child)
		e = release_child(a, error);
	if (e) {
		gt_folder_undo(&a->made);
		return e;
	}
	a->nice_before = get_ahead();
	/* only now: without privileges, another user's folder could be neither restored nor removed
	 */
	gt_folder_commit(a->folder);
	e = gt_privileges_drop(0);
	return e ? gt_error_set(error, e, "cannot drop privileges: %s", strerror(-e)) : 0;
}

static int run(struct attach *a)
{
	struct gt_error error = { "" };
	uint64_t begun = gt_now_ns(), lost, first_ns, last_ns;
	bool is_untracked;
	size_t running;
	int verdict, e;

	gt_stop_on(SIGINT);
	gt_stop_on(SIGTERM);
	/* the terminal is gone: end the recording properly; under nohup, continue */
	gt_stop_unless_ignored(SIGHUP);
	gt_attach_live_init(&a->live, &(struct gt_attach_live_options){
					      .max_site_bytes = a->settings.max_memory / 2,
					      .own = gt_own_options_rules(&a->settings.own) });
	a->how.listener = a->live.listener;
	e = prepare(a, &error);
	if (e) {
		if (a->tracer)
			gt_tracer_free(a->tracer);
		gt_attach_live_fini(&a->live);
		gt_tell("%s", error.text);
		return gt_targets_status(e);
	}
	warn_of_libraries(a);
	announce(a);
	follow(a);
	setpriority(PRIO_PROCESS, 0, a->nice_before);
	lost = gt_tracer_lost(a->tracer);
	gt_tracer_lost_times(a->tracer, &first_ns, &last_ns);
	e = gt_tracer_error(a->tracer);
	running = gt_tracer_running(a->tracer);
	is_untracked = !a->argv && !gt_tracer_has_library(a->tracer);
	if (is_untracked)
		gt_targets_tell_untracked(&a->targets, a->tracer);
	gt_tracer_info(a->info, a->tracer);
	if (gt_tracer_cut_stacks(a->tracer))
		gt_info_setf(a->info, "cut_stacks", "%llu",
			     (unsigned long long)gt_tracer_cut_stacks(a->tracer));
	gt_kept_files_take(&a->kept, a->tracer);
	gt_tracer_free(a->tracer);
	gt_attach_live_fini(&a->live);
	if (lost) {
		gt_info_setf(a->info, "lost_first_ns", "%llu", (unsigned long long)first_ns);
		gt_info_setf(a->info, "lost_last_ns", "%llu", (unsigned long long)last_ns);
	}
	finish_info(a, gt_now_ns() - begun, lost, running);
	verdict = report(a);
	gt_kept_files_fini(&a->kept);
	if (!verdict && is_untracked)
		verdict = GT_EXIT_UNTRACKED;
	if (e)
		verdict = gt_fail("cannot record all processes into %s: %s; make room or choose "
				  "another place with -o",
				  a->folder, strerror(-e));
	if (a->argv && !a->child && !verdict) {
		if (WIFSIGNALED(a->status))
			gt_launch_die_by(WTERMSIG(a->status));
		verdict = WEXITSTATUS(a->status);
	}
	return verdict;
}

int gt_cmd_attach(int argc, char **argv)
{
	struct attach *a = gt_alloc(sizeof *a);
	int status, first;

	a->settings = (struct settings){ .stack_depth = GT_PROBES_DEPTH,
					 .top = 3,
					 .interval = 5,
					 .max_memory = GT_MEMORY,
					 .stack_bytes = GT_PROBES_STACK };
	first = gt_options_parse(&gt_attach_syntax, &a->settings, argc, argv, &status);
	if (first >= 0)
		status = check(a, argc, argv, first);
	if (first >= 0 && !status) {
		a->out = a->argv ? stderr : stdout;
		a->info = gt_run_info_begin(argv);
		gt_info_set(a->info, "capture", "attach");
		status = run(a);
		gt_info_free(a->info);
	}
	gt_targets_settings_fini(&a->settings.targets);
	gt_own_options_fini(&a->settings.own);
	gt_targets_fini(&a->targets);
	free(a);
	return status;
}
