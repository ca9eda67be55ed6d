/* SPDX-License-Identifier: MIT */
/* attach.c - `gputrack attach`: tracks processes that already run, through the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"
#include "capture/ebpf/obstacle.h"
#include "capture/ebpf/tracer.h"
#include "cli/attach/live_view.h"
#include "cli/attach/attach_options.h"
#include "cli/cli.h"
#include "cli/folder.h"
#include "cli/inherited.h"
#include "cli/launch.h"
#include "cli/run_info.h"
#include "cli/recorded.h"
#include "trace/info.h"

enum { DRAIN_MS = 50 }; /* how often the ring is emptied */

struct attach {
	struct gt_attach_settings settings;
	struct gt_tracer_options how;
	struct gt_tracer *tracer;
	struct gt_attach_live live;
	struct gt_info *info;
	struct gt_folder made;
	char folder[PATH_MAX];
	struct gt_targets *targets; /* settings' */
	char **argv;                /* of the command; NULL: none */
	pid_t child;                /* 0: none */
	int release;                /* the child goes on when a byte comes through this */
	int refusal;                /* why the child could not become the command; exec closes it */
	int status;                 /* the child's, once it has ended */
	bool has_warned;            /* of a library that could not be probed */
	FILE *out;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = number;
}

static int name_folder(struct attach *a, struct gt_error *error)
{
	char otherwise[32];
	int e;

	snprintf(otherwise, sizeof otherwise, "attach.%d.gt", (int)getpid());
	e = gt_folder_name(a->folder, sizeof a->folder, a->settings.typed.output, otherwise);
	if (e)
		return gt_error_set(error, e, "cannot tell the current folder: %s", strerror(-e));
	gt_tracer_record(a->tracer, a->folder);
	return gt_folder_make(&a->made, a->folder, error);
}

/* The command waits in a child of ours until everything is in place. */
static int start_child(struct attach *a, struct gt_error *error)
{
	int gate[2], tell[2];
	char wait;

	if (pipe2(gate, O_CLOEXEC) || pipe2(tell, O_CLOEXEC))
		return gt_error_set(error, -errno, "cannot make a pipe: %s", strerror(errno));
	a->child = fork();
	if (a->child < 0)
		return gt_error_set(error, -errno, "cannot fork: %s", strerror(errno));
	if (!a->child) {
		gt_inherited_give();
		close(gate[1]);
		/* closed without a word: the tool has given up */
		if (read(gate[0], &wait, 1) != 1)
			_exit(127);
		execvp(a->argv[0], a->argv);
		gt_launch_explain(error, a->argv[0], errno);
		(void)!write(tell[1], error->text, strlen(error->text));
		_exit(127);
	}
	close(gate[0]);
	close(tell[1]);
	a->release = gate[1];
	a->refusal = tell[0];
	gt_targets_add(a->targets, (uint32_t)a->child);
	return 0;
}

/* Lets the child become the command. */
static int release_child(struct attach *a, struct gt_error *error)
{
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	ssize_t n = interrupted ? 0 : write(a->release, "", 1);

	signal(SIGPIPE, before);
	close(a->release);
	if (n != 1) {
		close(a->refusal);
		return gt_error_set(error, -EINTR, "stopped before %s began", a->argv[0]);
	}
	do
		n = read(a->refusal, error->text, sizeof error->text - 1);
	while (n < 0 && errno == EINTR && !interrupted);
	close(a->refusal);
	if (n <= 0)
		return 0;
	error->text[n] = '\0';
	return -ENOEXEC;
}

/* Probes what the processes have, and what they may load. */
static int attach_libraries(struct attach *a, struct gt_error *error)
{
	int mapped = gt_targets_probe(a->targets, a->tracer, error);

	if (!mapped && a->targets->count && !a->child)
		fprintf(stderr,
			"gputrack: process %u has loaded none of libcuda.so.1, "
			"libze_loader.so.1 and libOpenCL.so.1 yet: waiting for it\n",
			a->targets->pids[0]);
	return mapped < 0 ? mapped : 0;
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
	if (a->settings.typed.quiet)
		return;
	fprintf(stderr, "gputrack: following ");
	if (a->settings.typed.all)
		fprintf(stderr, "all processes");
	else if (a->argv)
		fprintf(stderr, "the command");
	else if (a->targets->count == 1)
		fprintf(stderr, "process %u", a->targets->pids[0]);
	else
		fprintf(stderr, "%zu processes", a->targets->count);
	fprintf(stderr, ", %zu functions in %zu %s; Ctrl-C lets go\n", functions, libraries,
		libraries == 1 ? "library" : "libraries");
}

/* Once: others may be in the same way. */
static void warn_of_refusal(struct attach *a)
{
	const struct gt_error *refusal = &gt_tracer_libraries(a->tracer)->refusal;

	if (!a->has_warned && *refusal->text)
		gt_tell("%s; without it the rest is followed", refusal->text);
	a->has_warned |= *refusal->text;
}

static bool all_ended(struct attach *a)
{
	if (a->child)
		return waitpid(a->child, &a->status, WNOHANG) == a->child;
	return gt_targets_ended(a->targets, a->tracer);
}

static void follow(struct attach *a)
{
	uint64_t begun = gt_now_ns(), shown = begun;
	uint64_t interval = (uint64_t)(a->settings.typed.interval * 1e9);
	uint64_t duration = (uint64_t)(a->settings.typed.duration * 1e9);

	while (!interrupted) {
		uint64_t now;

		gt_tracer_wait(a->tracer, DRAIN_MS);
		gt_tracer_drain(a->tracer);
		warn_of_refusal(a);
		now = gt_now_ns();
		if (all_ended(a)) {
			a->child = 0;
			break;
		}
		if (duration && now - begun >= duration)
			break;
		if (interval && now - shown >= interval) {
			shown += interval * ((now - shown) / interval);
			gt_attach_live_show(&a->live, a->out, a->settings.typed.top,
					    gt_tracer_lost(a->tracer));
		}
	}
	gt_tracer_stop(a->tracer);
}

/* In use before it was probed: its first calls were not seen. */
static bool is_late(const struct gt_library *l)
{
	return l->is_late && l->functions;
}

static bool is_refused(const struct gt_library *l)
{
	return l->is_refused;
}

static void note_libraries(struct attach *a, const char *key, bool (*is)(const struct gt_library *))
{
	const struct gt_libraries *l = gt_tracer_libraries(a->tracer);
	char *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	for (size_t i = 0; i < l->count; i++)
		if (is(&l->list[i]))
			fprintf(out, "%s%s", ftell(out) ? ", " : "", l->list[i].path);
	gt_memstream_close(out);
	if (*text)
		gt_info_set(a->info, key, text);
	free(text);
}

static void note_cut_stacks(struct attach *a)
{
	uint64_t count = gt_tracer_cut_stacks(a->tracer);

	if (count)
		gt_info_setf(a->info, "cut_stacks", "%llu", (unsigned long long)count);
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
		gt_fail("%s; what was recorded can be read all the same", error.text);
}

static int report(const struct attach *a)
{
	struct gt_recorded_options what = { .path = a->folder };
	struct gt_recorded *replay;
	struct gt_error error;

	if (a->settings.typed.quiet)
		return GT_EXIT_DONE;
	if (gt_recorded_new(&replay, &what, &error))
		return gt_fail("%s", error.text);
	gt_recorded_summary(replay, a->out);
	gt_recorded_free(replay);
	return GT_EXIT_DONE;
}

static int prepare(struct attach *a, struct gt_error *error)
{
	int e = gt_targets_check(a->targets, error);

	if (!e)
		e = gt_tracer_new(&a->tracer, &a->how, error);
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
	/* not before: in a folder of somebody else's, nothing could be put back or cleared away */
	gt_folder_settle(a->folder);
	e = gt_privileges_drop();
	return e ? gt_error_set(error, e, "cannot give up privileges: %s", strerror(-e)) : 0;
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
	/* the terminal is gone, and the recording is to have its end; nohup goes on */
	gt_inherited_heed(SIGHUP, on_signal);
	gt_attach_live_init(&a->live);
	a->how.listener = a->live.listener;
	if (prepare(a, &error)) {
		if (a->tracer)
			gt_tracer_free(a->tracer);
		gt_attach_live_fini(&a->live);
		return gt_fail("%s", error.text);
	}
	warn_of_refusal(a);
	say_ready(a);
	follow(a);
	lost = gt_tracer_lost(a->tracer);
	e = gt_tracer_error(a->tracer);
	running = gt_tracer_running(a->tracer);
	note_libraries(a, "late_libraries", is_late);
	note_libraries(a, "refused_libraries", is_refused);
	note_cut_stacks(a);
	gt_tracer_free(a->tracer);
	gt_attach_live_fini(&a->live);
	finish_info(a, gt_now_ns() - begun, lost, running);
	verdict = report(a);
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
	int status;

	if (gt_attach_settings_parse(&a->settings, argc, argv, &status)) {
		a->how.probes = a->settings.probes;
		a->targets = &a->settings.targets;
		a->how.max_bytes = a->settings.typed.max_bytes;
		a->argv = a->settings.argv;
		a->out = a->argv ? stderr : stdout;
		a->info = gt_run_info_begin(argv);
		gt_info_set(a->info, "capture", "attach");
		status = run(a);
		gt_info_free(a->info);
	}
	gt_attach_settings_fini(&a->settings);
	free(a);
	return status;
}
