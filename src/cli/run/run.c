/* SPDX-License-Identifier: MIT */
/* run.c - `gputrack run`: runs a program with our libraries in it, then reports what it left. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tool.h"
#include "cli/cli.h"
#include "cli/run/cuda_door.h"
#include "cli/run/device_sampler.h"
#include "cli/forward.h"
#include "cli/launch.h"
#include "cli/run/end_watcher.h"
#include "cli/folder.h"
#include "cli/end_report.h"
#include "cli/fail_options.h"
#include "cli/input.h"
#include "cli/run/job.h"
#include "cli/run/script.h"
#include "cli/output.h"
#include "cli/run/with_nsys.h"
#include "judge/merged.h"
#include "trace/info.h"
#include "trace/layout.h"

struct settings {
	const char *output;
	const char *csv, *log, *log_file;
	bool quiet, no_stacks, no_phases, touches, csv_more, keep_nsys, show_held, no_held;
	uint64_t stack_depth, max_bytes;
	double duration; /* seconds; 0: to the end */
	struct gt_fail_options fail;
	struct gt_own_options own;
	int with, cuda_way, pools;
};

enum { DURATION_MAX = 1000000000 }; /* seconds, so that its nanoseconds fit into 64 bits */

/* Launchers wait from one second (Open MPI) to half a minute (Slurm) before they kill. */
enum { LINGER_MS = 5000 };

enum with { WITH_DOORS, WITH_NSYS };

static const char *const with_names[] = { [WITH_DOORS] = "doors", [WITH_NSYS] = "nsys", NULL };

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "output", .letter = 'o', .type = GT_OPTION_TEXT, .argument = "NAME.gt",
	  AT(output),
	  .help = "record into this folder (default: PROGRAM.PID.gt); an existing recording is "
		  "kept as NAME.gt.old" },
	{ .name = "csv", .type = GT_OPTION_TEXT, .argument = "FILE", AT(csv),
	  .help = "also write the resource tracker's CSV: a row per call with the process's memory "
		  "and the number of live resources; each process's pid is added to the file "
		  "name" },
	{ .name = "csv-more", .type = GT_OPTION_FLAG, AT(csv_more),
	  .local = GT_LOCAL_YES,
	  .help = "add columns to the CSV: open files, live bytes by location, device memory as "
		  "the driver reports it, driver residue" },
	{ .name = "log", .type = GT_OPTION_TEXT, .argument = "FILE", AT(log),
	  .help = "also write the resource tracker's log: the cost of each call, memory that the "
		  "driver kept, resources alive at exit (-: stderr)" },
	{ .name = "log-file", .type = GT_OPTION_TEXT, .argument = "FILE", AT(log_file),
	  .help = "also write the leaks to FILE in the form of Valgrind's log, which `ctest -T "
		  "memcheck` reads; without -o, the recording is FILE.gt" },
	{ .name = "quiet", .letter = 'q', .type = GT_OPTION_FLAG, AT(quiet),
	  .local = GT_LOCAL_YES,
	  .help = "print no report at the end; a verdict that fails still prints its line" },
	{ .name = "no-phases", .type = GT_OPTION_FLAG, AT(no_phases),
	  .local = GT_LOCAL_YES,
	  .help = "do not take the program's NVTX ranges (doc/phases.md)" },
	{ .name = "no-stacks", .type = GT_OPTION_FLAG, AT(no_stacks),
	  .local = GT_LOCAL_YES,
	  .help = "do not record call stacks: less overhead, but no call sites" },
	{ .name = "stack-depth", .type = GT_OPTION_COUNT, .argument = "N",
	  .most = GT_STACK_FRAMES_MAX, AT(stack_depth),
	  .local = GT_LOCAL_YES,
	  .help = "record at most N frames of each stack, up to 256 (default: 64)" },
	{ .name = "max-size", .type = GT_OPTION_SIZE, .argument = "SIZE", AT(max_bytes),
	  .local = GT_LOCAL_YES,
	  .help = "stop recording at this size (500M, 2GiB); the program continues, and the report "
		  "says so" },
	{ .name = "duration", .letter = 'd', .type = GT_OPTION_DECIMAL, .argument = "SECONDS",
	  .most = DURATION_MAX, AT(duration),
	  .local = GT_LOCAL_YES,
	  .help = "stop recording after this time (default: 0, no limit); the program continues, "
		  "and the report says so" },
	GT_FAIL_OPTIONS(struct settings),
	GT_SHOW_HELD_OPTION(AT(show_held)),
	GT_NO_HELD_OPTION(AT(no_held)),
	GT_OWN_OPTIONS(offsetof(struct settings, own)),
	{ .name = "with", .type = GT_OPTION_CHOICE, .argument = "WHAT", .choices = with_names,
	  AT(with),
	  .help = "recorder to use: doors (gputrack's own libraries; the default) or nsys (Nsight "
		  "Systems, for CUDA: must be installed; its export is imported)" },
	{ .name = "cuda-door", .type = GT_OPTION_CHOICE, .argument = "WAY",
	  .choices = gt_cuda_way_names, AT(cuda_way),
	  .help = "way to track CUDA: direct (around the driver's functions, CUPTI is left to "
		  "other profilers), cupti, or auto (direct where the driver is installed; the "
		  "default)" },
	{ .name = "pools", .type = GT_OPTION_CHOICE, .argument = "WHICH",
	  .choices = gt_pools_wanted_names, AT(pools),
	  .help = "blocks of PyTorch's allocator and of the program's own pools to record: gpu, "
		  "cpu (PyTorch's in main memory, too), none, or auto (gpu where CUDA is "
		  "installed; the default)" },
	{ .name = "touches", .type = GT_OPTION_FLAG, AT(touches),
	  .help = "also record copies, sets and kernel launches of CUDA with the memory they name: "
		  "`gputrack report -a touches` shows memory that is not used" },
	{ .name = "keep-nsys", .type = GT_OPTION_FLAG, AT(keep_nsys),
	  .help = "--with nsys: keep its profile and export beside the recording, as NAME.nsys-rep "
		  "and NAME.sqlite" },
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_run_syntax = {
	.name = "run",
	.summary = "run a program and track it",
	.operands = "[--] PROGRAM [ARG…]",
	.about = "Runs PROGRAM, and the programs it starts, with gputrack's libraries loaded, and "
		 "records the GPU resources they create and destroy. Input, output, signals and "
		 "exit status are passed through. A report follows on stderr.",
	.options = options,
	.first_operand_ends = true,
};

/* The state of a run. */
struct run {
	const struct settings *settings;
	char **argv;
	char folder[PATH_MAX];
	struct gt_job job;     /* without a rank: not a job */
	struct gt_folder made; /* the child's alone */
	int hold;              /* the parent's alone: of the folder, see gt_folder_hold */
	struct gt_info *info;
	struct gt_device_sampler *sampler; /* the parent's alone; NULL: none */
	struct gt_end_watcher *watcher;    /* likewise */
	uint64_t watcher_number;           /* trace/layout.h */
	int program_status;                /* if nothing could be recorded: of waitpid, or -1 */
};

static void set(const char *name, const char *value)
{
	if (setenv(name, value, 1))
		gt_memory_check(NULL);
}

static void set_number(const char *name, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof text, "%llu", (unsigned long long)number);
	set(name, text);
}

/* Absolute: the program, or a script around it, may change folders before it makes a call. */
static void set_path(const char *name, const char *path)
{
	char here[PATH_MAX], whole[2 * PATH_MAX];

	if (*path == '/' || !strcmp(path, "-") || !getcwd(here, sizeof here))
		here[0] = '\0';
	snprintf(whole, sizeof whole, "%s%s%s", here, *here ? "/" : "", path);
	set(name, whole);
}

/* Puts ours first in the list: some loaders pass only the first on to their children. */
static void set_first(const char *name, const char *ours)
{
	const char *old = getenv(name);
	char *list;

	if (asprintf(&list, "%s%s%s", ours, old && *old ? ":" : "", old ? old : "") < 0)
		gt_memory_check(NULL);
	set(name, list);
	free(list);
}

#ifdef GT_HAVE_EBPF
#define WITHOUT_DOORS "as root, `%s attach -c PROGRAM` works without them; otherwise install"
#else
#define WITHOUT_DOORS "`%s report` still reads recordings; otherwise install"
#endif

/* NVTX loads one library: one that was set before is called by ours. */
static void open_nvtx(void)
{
	const char *other = getenv("NVTX_INJECTION64_PATH");
	char path[PATH_MAX];

	if (!gt_doors_find(path, sizeof path, "libgputrack_nvtx.so") ||
	    (other && !strcmp(other, path)))
		return;
	if (other && *other)
		set("GPUTRACK_NVTX_NEXT", other);
	else
		unsetenv("GPUTRACK_NVTX_NEXT");
	set("NVTX_INJECTION64_PATH", path);
}

/* Not every build has all doors, but at least one must exist. */
static int open_doors(const struct settings *s, struct gt_error *error)
{
	char path[PATH_MAX];
	bool any = false;

	if (gt_doors_find(path, sizeof path, "libgputrack_opencl.so")) {
		any = true;
		set_first("OPENCL_LAYERS", path);
	}
	if (gt_doors_find(path, sizeof path, "levelzero/libze_validation_layer.so.1")) {
		any = true;
		*strrchr(path, '/') = '\0';
		set("ZE_ENABLE_VALIDATION_LAYER", "1");
		set_first("LD_LIBRARY_PATH", path);
	}
	any |= gt_cuda_open_door((enum gt_cuda_way)s->cuda_way, (enum gt_pools_wanted)s->pools);
	if (any)
		return 0;
	return gt_error_set(
		error, -ENOENT,
		"cannot track a program from its start: the libraries to load into it are "
		"missing beside this gputrack; " WITHOUT_DOORS " all of gputrack",
		gt_tool_name());
}

static int set_environment(const struct run *run, struct gt_error *error)
{
	const struct settings *s = run->settings;
	char tool[PATH_MAX], library[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", tool, sizeof tool - 1);

	if (n > 0) {
		tool[n] = '\0';
		set("GPUTRACK_TOOL", tool);
	}
	if (gt_doors_find(library, sizeof library, "libgputrack.so"))
		set("GPUTRACK_LIBRARY", library);
	set("GPUTRACK_RECORDING", run->folder);
	set_number("GPUTRACK_STACKS", s->no_stacks ? 0 : s->stack_depth);
	/* the limits of a `gputrack run` around this one do not apply here */
	unsetenv("GPUTRACK_MAX_SIZE");
	unsetenv("GPUTRACK_UNTIL");
	unsetenv("GPUTRACK_TOUCHES");
	set_number("GPUTRACK_WATCHER", run->watcher_number);
	if (s->max_bytes)
		set_number("GPUTRACK_MAX_SIZE", s->max_bytes);
	if (s->duration > 0)
		set_number("GPUTRACK_UNTIL", gt_now_ns() + (uint64_t)(s->duration * 1e9));
	if (s->touches && s->cuda_way == GT_CUDA_CUPTI_WAY)
		gt_tell("--touches has no effect with --cuda-door cupti: only the direct door sees "
			"GPU work");
	else if (s->touches)
		set("GPUTRACK_TOUCHES", "1");
	if (s->csv)
		set_path("GPUTRACK_CSV", s->csv);
	if (s->csv_more)
		set("GPUTRACK_CSV_MORE", "1");
	if (s->log)
		set_path("GPUTRACK_LOG", s->log);
	if (!s->no_phases)
		open_nvtx();
	return open_doors(s, error);
}

/* The ranks of a job share one recording, which is named after their launcher's pid. */
static void name_folder(struct run *run, pid_t pid)
{
	char otherwise[NAME_MAX], beside[PATH_MAX] = "";

	snprintf(otherwise, sizeof otherwise, "%.200s.%d.gt",
		 run->argv[0] + gt_path_folder_size(run->argv[0]),
		 (int)(run->job.rank ? run->job.launcher : pid));
	/* the tests of a project may be one program, in one folder */
	if (run->settings->log_file && !run->settings->output)
		snprintf(beside, sizeof beside, "%s.gt", run->settings->log_file);
	gt_folder_name(run->folder, sizeof run->folder, *beside ? beside : run->settings->output,
		       otherwise);
}

/* In the child, if the program cannot be run after all. */
static void undo(void *context)
{
	struct run *run = context;

	if (run->job.rank)
		gt_job_undo(&run->job, &run->made);
	else
		gt_folder_undo(&run->made);
}

/* In the child: its pid may be in the folder's name, so the folder is made here. */
static int prepare(void *context, struct gt_error *error)
{
	struct run *run = context;
	int e;

	name_folder(run, getpid());
	e = run->job.rank ? gt_job_enter(&run->job, &run->made, run->folder, run->info, error) :
			    gt_run_info_make(run->info, &run->made, run->folder, error);
	if (e)
		return e;
	e = set_environment(run, error);
	if (e)
		undo(run);
	return e;
}

/* In the parent: the folder exists, and the child holds it until exec. */
static void prepared(void *context, pid_t pid)
{
	struct run *run = context;

	name_folder(run, pid);
	run->hold = gt_folder_hold(run->folder);
	run->watcher = gt_end_watcher_start(run->folder, run->watcher_number);
}

static void started(void *context, pid_t pid)
{
	struct run *run = context;

	/* one sampler is enough for a job */
	if (!run->job.rank || !strcmp(run->job.rank, "0"))
		run->sampler = gt_device_sampler_start(run->folder, pid);
}

/* False if other ranks of the job are still running: the last one reports. */
static bool finish_info(struct run *run, pid_t pid, int status, uint64_t duration_ns)
{
	struct gt_error error;
	bool is_last = true;
	int e;

	gt_run_info_end(run->info, duration_ns);
	gt_run_info_status(run->info, status);
	if (run->job.rank) {
		e = gt_job_leave(&run->job, run->folder, run->info, &is_last, &error);
	} else {
		gt_info_setf(run->info, "pid", "%d", (int)pid);
		e = gt_run_info_write(run->info, run->folder, &error);
	}
	if (e)
		gt_tell("%s; the recorded events can still be read", error.text);
	return is_last;
}

/* Nothing was tracked: perhaps because the layer could not be found. */
static void explain_script(const struct run *run)
{
	unsigned line = gt_script_drops_library_path(run->argv[0]);

	if (line)
		gt_tell("%s sets LD_LIBRARY_PATH without its old value (line %u), so Level Zero "
			"programs do not find gputrack's layer: add "
			"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
			run->argv[0], line);
}

/* A log that cannot be written does not change the program's status. */
static void write_log_file(const char *path, struct gt_view v, const struct gt_verdict *verdict)
{
	const struct gt_view *view = &v;
	struct gt_output output;
	struct gt_error error;

	v.verdict = verdict;
	if (gt_output_open(&output, path, &error)) {
		gt_tell("%s", error.text);
		return;
	}
	gt_leaks_valgrind(&(struct gt_views){ &view, 1 }, output.file);
	if (gt_output_close(&output, &error))
		gt_tell("%s", error.text);
}

/* Prints the report and returns the exit status that --fail-on-leak or --max-peak asks for. */
static int conclude(const struct run *run, struct gt_fail_options *fail)
{
	struct gt_view v = { .show_held = run->settings->show_held,
			     .no_held = run->settings->no_held };
	struct gt_own_rules own = gt_own_options_rules(&run->settings->own);
	struct gt_error error;
	int verdict;

	if (gt_end_report_open(&v, run->folder, stderr, &own, NULL, &error)) {
		gt_tell("%s", error.text);
		return gt_fail_options_fails(fail) ? GT_EXIT_UNTRACKED : GT_EXIT_DONE;
	}
	if (gt_end_report_save_names(&v, false, &error))
		gt_tell("%s; the recorded events can still be read", error.text);
	gt_fail_options_apply(fail, &v);
	if (gt_fail_options_is_set(fail) || run->settings->log_file)
		gt_fail_options_judge(fail, &fail->verdict, &v);
	if (gt_fail_options_is_set(fail))
		v.verdict = &fail->verdict;
	if (run->settings->log_file)
		write_log_file(run->settings->log_file, v, &fail->verdict);
	if (!gt_recording_process_count(v.recording))
		explain_script(run);
	if (!run->settings->quiet)
		gt_end_report_print(&v, stderr);
	else
		gt_fail_options_explain(fail);
	verdict = gt_fail_options_status(fail, fail->verdict.outcome);
	gt_end_report_close(&v);
	return verdict;
}

static const char *nsys_folder(void *context, pid_t pid)
{
	struct run *run = context;

	name_folder(run, pid);
	return run->folder;
}

/* This process, and a secret that the programs it runs know. */
static uint64_t watcher_number(void)
{
	const unsigned bits = GT_WATCHER_BITS - GT_WATCHER_PID_BITS;
	uint64_t secret = 0;

	if (getrandom(&secret, sizeof secret, GRND_NONBLOCK) < 0)
		secret = gt_now_ns();
	return (secret & ((1ull << bits) - 1)) << GT_WATCHER_PID_BITS | (uint64_t)getpid();
}

/* Records. The status of waitpid and the pid, or -1 and the error. */
static int record(struct run *run, pid_t *pid, struct gt_error *error)
{
	struct gt_launch launch = { .argv = run->argv,
				    .prepare = prepare,
				    .undo = undo,
				    .prepared = prepared,
				    .started = started,
				    .context = run };
	struct gt_with_nsys with = { .argv = run->argv,
				     .no_stacks = run->settings->no_stacks,
				     .keep = run->settings->keep_nsys,
				     .folder = nsys_folder,
				     .context = run,
				     .info = run->info };
	uint64_t unrecorded;
	int status;

	if (run->settings->with == WITH_NSYS) {
		status = gt_with_nsys(&with, pid, error);
		run->program_status = with.program_status;
		return status;
	}
	run->watcher_number = watcher_number();
	status = gt_launch(&launch, pid, error);
	gt_device_sampler_stop(run->sampler);
	unrecorded = gt_end_watcher_stop(run->watcher, *pid, status);
	if (unrecorded)
		gt_info_setf(run->info, "unrecorded", "%" PRIu64, unrecorded);
	name_folder(run, *pid);
	if (status < 0 || !gt_folder_follow(run->hold, run->folder, sizeof run->folder))
		return status;
	run->program_status = status;
	return gt_error_set(error, -1,
			    "the recording %s was removed while the program ran: run it again",
			    run->folder);
}

/* 0, or the exit status after reporting what is wrong with the options. */
static int check(struct settings *s, bool has_program)
{
	const char *outputs[] = { s->csv, s->log };
	const char *not_with_nsys = s->csv                             ? "--csv" :
				    s->log                             ? "--log" :
				    s->csv_more                        ? "--csv-more" :
				    s->max_bytes                       ? "--max-size" :
				    s->duration > 0                    ? "--duration" :
				    gt_option_was_typed("stack-depth") ? "--stack-depth" :
									 NULL;
	/* the environment can request a CSV, too */
	bool has_csv =
		s->csv || getenv("GPUTRACK_CSV") || getenv("ZEL_SYSTEM_RESOURCE_TRACKER_CSV");
	struct gt_error error;
	int status;

	if (!has_program)
		return gt_syntax_wrong(&gt_run_syntax, "needs a PROGRAM to run");
	if (s->with == WITH_NSYS && not_with_nsys)
		return gt_syntax_wrong(&gt_run_syntax, "%s is not available --with nsys",
				       not_with_nsys);
	status = gt_option_needs(&gt_run_syntax, "csv-more", has_csv, "--csv FILE");
	if (!status)
		status = gt_option_needs(&gt_run_syntax, "keep-nsys", s->with == WITH_NSYS,
					 "--with nsys");
	/* here, because the traced program cannot report what is wrong with them */
	for (size_t i = 0; i < sizeof outputs / sizeof *outputs && !status; i++)
		if (outputs[i] && gt_output_check(outputs[i], &error))
			status = gt_fail("%s", error.text);
	return status ? status :
			gt_fail_options_open(&s->fail, &gt_run_syntax,
					     &(struct gt_input){ .no_held = s->no_held });
}

/*
 * The exit status if there is no recording: the program's own, as if it had run alone, unless a
 * verdict was asked for.
 */
static int unrecorded(const struct run *run)
{
	int status = run->program_status;

	if (status < 0)
		return GT_EXIT_FAILED;
	if (WIFSIGNALED(status))
		gt_launch_die_by(WTERMSIG(status));
	if (WIFEXITED(status) && WEXITSTATUS(status))
		return WEXITSTATUS(status);
	if (gt_fail_options_fails(&run->settings->fail))
		return GT_EXIT_UNTRACKED;
	return run->settings->with == WITH_NSYS ? GT_EXIT_FAILED : GT_EXIT_DONE;
}

int gt_cmd_run(int argc, char **argv)
{
	struct settings settings = { .stack_depth = 64 };
	struct run run = { .settings = &settings, .program_status = -1 };
	struct gt_error error = { "" };
	const char *obstacle;
	uint64_t begun;
	int status, verdict;
	bool is_last;
	int first = gt_options_parse(&gt_run_syntax, &settings, argc, argv, &status);
	pid_t pid;

	if (first >= 0)
		status = check(&settings, first < argc);
	if (first < 0 || status)
		goto free_fail_options;
	run.argv = argv + first;
	run.info = gt_run_info_begin(run.argv);
	if (settings.with == WITH_DOORS)
		gt_job_find(&run.job);
	obstacle = settings.with == WITH_DOORS ? gt_program_obstacle(run.argv[0]) : NULL;
	if (obstacle)
		gt_tell("%s %s, so no library can be loaded into it and it runs untracked: use "
			"`%s attach` as root",
			run.argv[0], obstacle, gt_tool_name());
	begun = gt_now_ns();
	status = record(&run, &pid, &error);
	/* return the program's status even if nobody reads the report */
	signal(SIGPIPE, SIG_IGN);
	if (status < 0) {
		gt_info_free(run.info);
		gt_tell("%s", error.text);
		status = unrecorded(&run);
		goto free_fail_options;
	}
	gt_folder_commit(run.folder);
	gt_folder_finish(run.folder);
	is_last = finish_info(&run, pid, status, gt_now_ns() - begun);
	gt_info_free(run.info);
	verdict = is_last ? conclude(&run, &settings.fail) : GT_EXIT_DONE;
	/* a launcher that ends a job kills the other ranks as soon as one ends: the last must
	 * report */
	if (!is_last && gt_stopped)
		gt_runners_wait(&run.job.others, LINGER_MS);
	gt_runners_fini(&run.job.others);
	if (WIFSIGNALED(status))
		gt_launch_die_by(WTERMSIG(status));
	status = WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : verdict;
free_fail_options:
	gt_fail_options_fini(&settings.fail);
	gt_own_options_fini(&settings.own);
	return status;
}
