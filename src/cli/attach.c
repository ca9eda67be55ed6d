/* attach.c - `gputrack attach`: tracks processes that already run, through the kernel. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/mem.h"
#include "capture/ebpf/obstacle.h"
#include "capture/ebpf/tracer.h"
#include "cli/attach_live.h"
#include "cli/cli.h"
#include "cli/folder.h"
#include "cli/launch.h"
#include "cli/replay.h"
#include "trace/info.h"

enum unwinding { UNWIND_FP, UNWIND_DWARF };

enum {
	DRAIN_MS = 50,               /* how often the ring is emptied */
	RING_BYTES = 16 << 20,
	STACK_BYTES = 8192,
	DEPTH = 64,
	TARGETS_MAX = 1000,
};

static const char *const unwind_names[] = {
	[UNWIND_FP] = "fp", [UNWIND_DWARF] = "dwarf", NULL,
};

struct settings {
	struct gt_texts pids, apis;
	const char *output, *interval, *duration, *ring_size, *stack_bytes;
	bool command, all, quiet, no_stacks;
	int unwind, way;
	uint64_t top, stack_depth;
};

#define AT(field) .at = offsetof(struct settings, field)

static const struct gt_option options[] = {
	{ .name = "pid", .letter = 'p', .type = GT_OPTION_TEXTS, .argument = "PID", AT(pids),
	  .help = "this process and the children it will have; may be given several times, or as "
		  "a list with commas" },
	{ .name = "command", .letter = 'c', .type = GT_OPTION_FLAG, AT(command),
	  .help = "run COMMAND and follow it, and its children, from the first call on" },
	{ .name = "all", .letter = 'a', .type = GT_OPTION_FLAG, AT(all),
	  .help = "every process that has one of the libraries, in containers too, and those that "
		  "start later" },
	{ .name = "api", .type = GT_OPTION_TEXTS, .argument = "API", AT(apis),
	  .help = "only cuda, levelzero or opencl; may be given several times (default: all)" },
	{ .name = "output", .letter = 'o', .type = GT_OPTION_TEXT, .argument = "NAME.gt", AT(output),
	  .help = "record into this folder (default: attach.PID.gt); a recording that is there "
		  "already is kept as NAME.gt.old" },
	{ .name = "interval", .letter = 'i', .type = GT_OPTION_TEXT, .argument = "SECONDS",
	  AT(interval), .help = "show a summary so often (default: 5; 0: never)" },
	{ .name = "duration", .letter = 'd', .type = GT_OPTION_TEXT, .argument = "SECONDS",
	  AT(duration), .help = "end after this time; otherwise with Ctrl-C, or with the processes" },
	{ .name = "top", .letter = 'T', .type = GT_OPTION_COUNT, .argument = "N", AT(top),
	  .help = "call sites and resources to show of each process in a summary (default: 3)" },
	{ .name = "no-stacks", .type = GT_OPTION_FLAG, AT(no_stacks),
	  .help = "do not record where calls come from: cheaper, and says less" },
	{ .name = "unwind", .type = GT_OPTION_CHOICE, .argument = "HOW", .choices = unwind_names,
	  AT(unwind), .help = "how stacks are found: fp (frame pointers, cheap; the default) or "
			      "dwarf (a copy of the stack's top, for programs without them)" },
	{ .name = "stack-bytes", .type = GT_OPTION_TEXT, .argument = "SIZE", AT(stack_bytes),
	  .help = "how much of the stack --unwind dwarf copies (default: 8K, at most 32K)" },
	{ .name = "stack-depth", .type = GT_OPTION_COUNT, .argument = "N", AT(stack_depth),
	  .help = "frames to record of each stack, at most 127 (default: 64)" },
	{ .name = "ring-size", .type = GT_OPTION_TEXT, .argument = "SIZE", AT(ring_size),
	  .help = "the buffer between kernel and gputrack (default: 16M); what does not fit is "
		  "lost, counted and shown" },
	{ .name = "probes", .type = GT_OPTION_CHOICE, .argument = "HOW",
	  .choices = gt_probe_way_names, AT(way),
	  .help = "how functions are probed: auto (the best the kernel has; the default), session "
		  "(Linux 6.13), multi (6.6) or perf" },
	{ .name = "quiet", .letter = 'q', .type = GT_OPTION_FLAG, AT(quiet),
	  .help = "print no report at the end" },
	{ 0 },
};

const struct gt_usage gt_attach_usage = {
	.name = "attach",
	.summary = "track processes that already run",
	.operands = "-p PID | --all | -c [--] COMMAND [ARG…]",
	.about = "Follows running processes through the kernel (eBPF), without stopping or changing "
		 "them, and records what they create and destroy: CUDA, Level Zero, OpenCL. Ctrl-C "
		 "lets go of them; a report follows. Needs root.",
	.options = options,
	.first_operand_ends = true,
};

struct attach {
	struct settings *settings;
	struct gt_tracer_options how;
	struct gt_tracer *tracer;
	struct gt_attach_live live;
	struct gt_info *info;
	struct gt_folder made;
	char folder[PATH_MAX];
	double interval, duration;
	uint32_t pids[TARGETS_MAX];
	int pidfds[TARGETS_MAX];
	size_t pid_count;
	bool wanted[GT_API_COUNT]; /* none: all */
	char **argv;            /* of the command; NULL: none */
	pid_t child;            /* 0: none */
	int release;            /* the child goes on when this is closed */
	int status;             /* the child's, once it has ended */
	FILE *out;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = number;
}

/* "16M", "256K", "8192". */
static bool parse_size(const char *text, uint64_t *out)
{
	char *end;
	double value = strtod(text, &end);
	unsigned shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 :
			 *end == 'G' || *end == 'g' ? 30 : 0;

	if (end == text || (shift && end[1]) || (!shift && *end) || !(value > 0) || value > 1e15)
		return false;
	*out = (uint64_t)(value * (double)(UINT64_C(1) << shift));
	return true;
}

static bool parse_seconds(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && isfinite(*out) && *out >= 0 && *out <= 1e9;
}

/* The next power of two, from a page to a gibibyte. */
static size_t ring_bytes(uint64_t wanted)
{
	size_t size = 4096;

	while (size < wanted && size < 1u << 30)
		size *= 2;
	return size;
}

static int parse_pids(struct attach *a)
{
	for (size_t i = 0; i < a->settings->pids.count; i++) {
		char *list = gt_strdup(a->settings->pids.items[i]), *rest = list, *word;
		int status = 0;

		while (!status && (word = strsep(&rest, ","))) {
			uint64_t pid;

			if (!gt_count_parse(word, &pid) || !pid || pid > INT_MAX)
				status = gt_usage_wrong(&gt_attach_usage, "'%s' is no process's number",
							word);
			else if (a->pid_count == TARGETS_MAX)
				status = gt_usage_wrong(&gt_attach_usage, "-p takes at most %d "
							"processes: use --all", TARGETS_MAX);
			else
				a->pids[a->pid_count++] = (uint32_t)pid;
		}
		free(list);
		if (status)
			return status;
	}
	return 0;
}

static int parse_apis(struct attach *a)
{
	const struct gt_texts *apis = &a->settings->apis;

	for (size_t i = 0; i < apis->count; i++) {
		int api = 0;

		while (api < GT_API_COUNT && strcmp(apis->items[i], gt_api_keys[api]))
			api++;
		if (api == GT_API_COUNT)
			return gt_usage_wrong(&gt_attach_usage, "--api is cuda, levelzero or opencl, "
					      "not '%s'", apis->items[i]);
		a->wanted[api] = true;
	}
	return 0;
}

static int parse(struct attach *a, int argc, char **argv, int first)
{
	const struct settings *s = a->settings;
	uint64_t ring = RING_BYTES, stack = STACK_BYTES;
	int modes = (s->pids.count > 0) + s->command + s->all, status = parse_pids(a);

	if (!status)
		status = parse_apis(a);
	if (status)
		return status;
	if (modes != 1)
		return gt_usage_wrong(&gt_attach_usage, modes ?
				      "-p, -c and --all exclude each other" :
				      "whom to follow? Give -p PID, -c COMMAND or --all");
	if (s->command && first == argc)
		return gt_usage_wrong(&gt_attach_usage, "there is no COMMAND to run");
	if (!s->command && first < argc)
		return gt_usage_wrong(&gt_attach_usage, "'%s' is too much: a command to run comes "
				      "after -c", argv[first]);
	a->interval = 5;
	if (s->interval && !parse_seconds(s->interval, &a->interval))
		return gt_usage_wrong(&gt_attach_usage, "--interval is a number of seconds");
	if (s->duration && !parse_seconds(s->duration, &a->duration))
		return gt_usage_wrong(&gt_attach_usage, "--duration is a number of seconds");
	if (s->ring_size && !parse_size(s->ring_size, &ring))
		return gt_usage_wrong(&gt_attach_usage, "--ring-size is a size such as 16M");
	if (s->stack_bytes && (!parse_size(s->stack_bytes, &stack) || stack < 512 || stack > 32768))
		return gt_usage_wrong(&gt_attach_usage, "--stack-bytes is a size from 512 to 32K");
	if (s->stack_depth > GT_PROBE_FRAMES)
		return gt_usage_wrong(&gt_attach_usage, "--stack-depth is at most %d",
				      GT_PROBE_FRAMES);
	a->argv = s->command ? argv + first : NULL;
	a->how.probes = (struct gt_probes_options){
		.everyone = s->all, .frames = s->no_stacks ? 0 : (uint32_t)s->stack_depth,
		.stack_bytes = s->unwind == UNWIND_DWARF ? (uint32_t)stack & ~255u : 0,
		.ring_bytes = ring_bytes(ring), .way = (enum gt_probe_way)s->way };
	return 0;
}

static int name_folder(struct attach *a, struct gt_error *error)
{
	char here[PATH_MAX] = "";

	if (a->settings->output && a->settings->output[0] == '/')
		snprintf(a->folder, sizeof a->folder, "%s", a->settings->output);
	else if (!getcwd(here, sizeof here))
		return gt_error_set(error, -errno, "cannot tell the current folder: %s",
				    strerror(errno));
	else if (a->settings->output)
		snprintf(a->folder, sizeof a->folder, "%.2000s/%.2000s", here, a->settings->output);
	else
		snprintf(a->folder, sizeof a->folder, "%.2000s/attach.%d.gt", here, (int)getpid());
	gt_tracer_record(a->tracer, a->folder);
	return gt_folder_make(&a->made, a->folder, error);
}

static void add_time(struct gt_info *info, const char *key)
{
	char text[GT_FORMAT_MAX];

	gt_info_set(info, key, gt_format_moment(text, gt_clock_ns(CLOCK_REALTIME)));
}

static void first_info(struct attach *a, int argc, char **argv)
{
	struct utsname system;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	a->info = gt_info_new();
	gt_info_set(a->info, "gputrack", GT_VERSION);
	for (int i = 0; i < argc; i++)
		fprintf(out, "%s%s", i ? " " : "", argv[i]);
	fclose(out);
	gt_info_set(a->info, "command", text);
	free(text);
	gt_info_set(a->info, "capture", "attach");
	if (!uname(&system)) {
		gt_info_set(a->info, "host", system.nodename);
		gt_info_setf(a->info, "kernel", "%s %s", system.sysname, system.release);
	}
	add_time(a->info, "started");
}

static int write_info(const struct attach *a, struct gt_error *error)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof path, "%s/info", a->folder);
	return gt_info_write(a->info, path, error);
}

/* The command waits in a child of ours until everything is in place. */
static int start_child(struct attach *a, struct gt_error *error)
{
	int gate[2];
	char wait;

	if (pipe2(gate, 0))
		return gt_error_set(error, -errno, "cannot make a pipe: %s", strerror(errno));
	a->child = fork();
	if (a->child < 0)
		return gt_error_set(error, -errno, "cannot fork: %s", strerror(errno));
	if (!a->child) {
		close(gate[1]);
		/* closed without a word: the tool has given up */
		if (read(gate[0], &wait, 1) != 1)
			_exit(127);
		close(gate[0]);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		execvp(a->argv[0], a->argv);
		fprintf(stderr, "gputrack: cannot run %s: %s; check its name and permissions\n",
			a->argv[0], strerror(errno));
		_exit(127);
	}
	close(gate[0]);
	a->release = gate[1];
	a->pids[a->pid_count++] = (uint32_t)a->child;
	return 0;
}

static int check_pids(struct attach *a, struct gt_error *error)
{
	for (size_t i = 0; i < a->pid_count; i++) {
		a->pidfds[i] = (int)syscall(SYS_pidfd_open, (pid_t)a->pids[i], 0);
		if (a->pidfds[i] < 0 && errno == ESRCH)
			return gt_error_set(error, -ESRCH, "there is no process %u: `ps` lists those "
					    "there are", a->pids[i]);
		if (a->pidfds[i] < 0)
			return gt_error_set(error, -errno, "%u is no process to follow: %s",
					    a->pids[i], strerror(errno));
	}
	return 0;
}

/* Probes what the processes have, and what they may load. */
static int attach_libraries(struct attach *a, struct gt_error *error)
{
	struct gt_libraries *l = gt_tracer_libraries(a->tracer);
	size_t functions = 0;
	int e = 0, mapped = 0;

	for (int i = 0; i < GT_API_COUNT; i++)
		l->unwanted[i] = a->settings->apis.count && !a->wanted[i];
	for (size_t i = 0; i < a->pid_count && e >= 0; i++) {
		e = gt_tracer_follow(a->tracer, a->pids[i], error);
		if (!e)
			e = gt_libraries_scan(l, a->pids[i], error);
		mapped += e > 0 ? e : 0;
	}
	if (e < 0)
		return e;
	if (a->settings->all)
		e = gt_libraries_everywhere(l, error);
	if (!e || e > 0)
		e = gt_libraries_installed(l, getenv("LD_LIBRARY_PATH"), error);
	if (e)
		return e;
	for (size_t i = 0; i < l->count; i++)
		functions += l->list[i].functions;
	if (!functions)
		return gt_error_set(error, -ENOENT,
				    "none of libcuda.so.1, libze_loader.so.1 and libOpenCL.so.1 is "
				    "here%s: install a driver, or check LD_LIBRARY_PATH",
				    a->settings->all ? " or in a process" : " or in the process");
	if (a->pid_count && !a->child && !mapped)
		fprintf(stderr, "gputrack: process %u has loaded none of libcuda.so.1, "
			"libze_loader.so.1 and libOpenCL.so.1 yet: waiting for it\n", a->pids[0]);
	return 0;
}

/* Where people, and scripts, see that nothing is missed from here on. */
static void say_ready(const struct attach *a)
{
	const struct gt_libraries *l = gt_tracer_libraries(a->tracer);
	size_t functions = 0, libraries = 0;

	for (size_t i = 0; i < l->count; i++) {
		functions += l->list[i].functions;
		libraries += l->list[i].functions > 0;
	}
	if (a->settings->quiet)
		return;
	fprintf(stderr, "gputrack: following ");
	if (a->settings->all)
		fprintf(stderr, "all processes");
	else if (a->argv)
		fprintf(stderr, "the command");
	else if (a->pid_count == 1)
		fprintf(stderr, "process %u", a->pids[0]);
	else
		fprintf(stderr, "%zu processes", a->pid_count);
	fprintf(stderr, ", %zu functions in %zu %s; Ctrl-C lets go\n", functions, libraries,
		libraries == 1 ? "library" : "libraries");
}

static bool all_ended(struct attach *a)
{
	size_t ended = 0;

	if (a->child)
		return waitpid(a->child, &a->status, WNOHANG) == a->child;
	for (size_t i = 0; i < a->pid_count; i++) {
		struct pollfd fd = { .fd = a->pidfds[i], .events = POLLIN };

		ended += poll(&fd, 1, 0) > 0;
	}
	/* children that are still there are followed on */
	return a->pid_count && ended == a->pid_count && !gt_tracer_running(a->tracer);
}

static void follow(struct attach *a)
{
	uint64_t begun = gt_now_ns(), shown = begun;
	uint64_t interval = (uint64_t)(a->interval * 1e9), duration = (uint64_t)(a->duration * 1e9);

	while (!interrupted) {
		uint64_t now;

		gt_tracer_wait(a->tracer, DRAIN_MS);
		gt_tracer_drain(a->tracer);
		now = gt_now_ns();
		if (all_ended(a)) {
			a->child = 0;
			break;
		}
		if (duration && now - begun >= duration)
			break;
		if (interval && now - shown >= interval) {
			shown += interval * ((now - shown) / interval);
			gt_attach_live_show(&a->live, a->out, a->settings->top,
					    gt_tracer_lost(a->tracer));
		}
	}
	gt_tracer_stop(a->tracer);
}

static void finish_info(struct attach *a, uint64_t duration_ns, uint64_t lost, size_t running)
{
	struct gt_error error;

	add_time(a->info, "ended");
	gt_info_setf(a->info, "duration_ns", "%llu", (unsigned long long)duration_ns);
	gt_info_setf(a->info, "running", "%zu", running);
	gt_info_setf(a->info, "lost", "%llu", (unsigned long long)lost);
	if (a->argv && !a->child) {
		if (WIFSIGNALED(a->status))
			gt_info_setf(a->info, "signal", "%d", WTERMSIG(a->status));
		else
			gt_info_setf(a->info, "exit_status", "%d", WEXITSTATUS(a->status));
	}
	if (write_info(a, &error))
		gt_fail("%s; what was recorded can be read all the same", error.text);
}

static int report(const struct attach *a)
{
	struct gt_replay_options what = { .path = a->folder };
	struct gt_replay *replay;
	struct gt_error error;

	if (a->settings->quiet)
		return GT_EXIT_DONE;
	if (gt_replay_new(&replay, &what, &error))
		return gt_fail("%s", error.text);
	gt_replay_summary(replay, a->out);
	gt_replay_free(replay);
	return GT_EXIT_DONE;
}

static int prepare(struct attach *a, struct gt_error *error)
{
	int e = check_pids(a, error);

	if (!e)
		e = gt_tracer_new(&a->tracer, &a->how, error);
	if (!e && a->argv)
		e = start_child(a, error);
	if (!e)
		e = attach_libraries(a, error);
	if (!e)
		e = name_folder(a, error);
	if (!e)
		e = write_info(a, error);
	if (!e && (e = gt_privileges_drop()))
		gt_error_set(error, e, "cannot give up privileges: %s", strerror(-e));
	return e;
}

static int run(struct attach *a)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct gt_error error = { "" };
	uint64_t begun = gt_now_ns(), lost;
	size_t running;
	int verdict, e;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	gt_attach_live_init(&a->live);
	a->how.listener = a->live.listener;
	if (prepare(a, &error)) {
		gt_folder_undo(&a->made);
		if (a->tracer)
			gt_tracer_free(a->tracer);
		gt_attach_live_fini(&a->live);
		return gt_fail("%s", error.text);
	}
	gt_folder_settle(a->folder);
	say_ready(a);
	if (a->child)
		(void)!write(a->release, "", 1);
	follow(a);
	lost = gt_tracer_lost(a->tracer);
	e = gt_tracer_error(a->tracer);
	running = gt_tracer_running(a->tracer);
	gt_tracer_free(a->tracer);
	gt_attach_live_fini(&a->live);
	finish_info(a, gt_now_ns() - begun, lost, running);
	verdict = report(a);
	if (e)
		verdict = gt_fail("cannot record all processes into %s: %s", a->folder, strerror(-e));
	if (a->argv && !a->child && !verdict) {
		if (WIFSIGNALED(a->status))
			gt_launch_die_by(WTERMSIG(a->status));
		verdict = WEXITSTATUS(a->status);
	}
	return verdict;
}

int gt_cmd_attach(int argc, char **argv)
{
	struct settings settings = { .stack_depth = DEPTH, .top = 3 };
	struct attach *a = gt_alloc(sizeof *a);
	int status, first = gt_options_parse(&gt_attach_usage, &settings, argc, argv, &status);

	a->settings = &settings;
	if (first >= 0) {
		status = parse(a, argc, argv, first);
		if (!status) {
			a->out = a->argv ? stderr : stdout;
			first_info(a, argc, argv);
			status = run(a);
			gt_info_free(a->info);
		}
	}
	gt_texts_fini(&settings.pids);
	gt_texts_fini(&settings.apis);
	free(a);
	return status;
}
