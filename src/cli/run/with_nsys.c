/* SPDX-License-Identifier: MIT */
/* with_nsys.c - `gputrack run --with nsys`: Nsight Systems records, its export is imported. */
#include "cli/run/with_nsys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"
#include "cli/cli.h"
#include "cli/folder.h"
#include "cli/import.h"
#include "cli/launch.h"
#include "cli/output.h"

#define NS_PER_MS 1000000ull

enum {
	HOLD_MS = 3000, /* if nsys cannot even start, its message becomes part of ours */
	TAIL = 4096,
};

/* A filter before stderr: forwards the text, and remembers the end of it. */
struct stderr_tap {
	int from, stop[2];
	char tail[TAIL];
	size_t size;
	bool forwarding; /* the text is no longer held back */
	uint64_t began_ns;
	pthread_t thread;
};

static void forward(const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(STDERR_FILENO, text, size);

		if (n < 0 && errno != EINTR)
			return;
		text += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
}

static void take(struct stderr_tap *t, const char *text, size_t size)
{
	if (t->forwarding)
		forward(text, size);
	if (!t->forwarding && t->size + size > sizeof t->tail) {
		forward(t->tail, t->size);
		forward(text, size);
		t->forwarding = true;
	}
	if (size > sizeof t->tail) {
		text += size - sizeof t->tail;
		size = sizeof t->tail;
	}
	if (t->size + size > sizeof t->tail) {
		size_t drop = t->size + size - sizeof t->tail;

		memmove(t->tail, t->tail + drop, t->size - drop);
		t->size -= drop;
	}
	memcpy(t->tail + t->size, text, size);
	t->size += size;
}

static void stop_holding(struct stderr_tap *t)
{
	if (!t->forwarding)
		forward(t->tail, t->size);
	t->forwarding = true;
}

/* Reads until the other end is closed; once nsys has ended, only what is there. */
static void *tap_main(void *context)
{
	struct stderr_tap *t = context;
	struct pollfd fds[2] = { { .fd = t->from, .events = POLLIN },
				 { .fd = t->stop[0], .events = POLLIN } };
	char buffer[TAIL];
	bool ended = false;

	for (;;) {
		uint64_t held_ms = (gt_now_ns() - t->began_ns) / NS_PER_MS;
		int left = t->forwarding ? -1 : held_ms >= HOLD_MS ? 0 : (int)(HOLD_MS - held_ms);
		int ready = poll(fds, ended ? 1 : 2, ended ? 0 : left);
		ssize_t n;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0 && ended)
			return NULL;
		if (!ready)
			stop_holding(t);
		if (fds[0].revents) {
			n = read(t->from, buffer, sizeof buffer);
			if (n > 0)
				take(t, buffer, (size_t)n);
			else if (!n || errno != EINTR)
				return NULL;
		}
		ended |= fds[1].revents != 0;
	}
}

/* The last line, without characters that would end our own. */
static const char *last_line(struct stderr_tap *t)
{
	char *line;

	while (t->size && (unsigned char)t->tail[t->size - 1] <= ' ')
		t->size--;
	t->tail[t->size < sizeof t->tail ? t->size : sizeof t->tail - 1] = '\0';
	line = strrchr(t->tail, '\n');
	return line ? line + 1 : t->tail;
}

/* nsys's profile, and how to start it. */
struct job {
	struct stderr_tap tap;
	int tap_in;
	bool is_ours; /* there is no program any more whose output nsys's messages could be */
	const char *else_do; /* what to do without nsys */
	char folder[PATH_MAX], report[PATH_MAX + 32], export[PATH_MAX + 32];
};

static int prepare(void *context, struct gt_error *error)
{
	struct job *job = context;

	(void)error;
	dup2(job->tap_in, STDERR_FILENO);
	if (job->is_ours)
		dup2(job->tap_in, STDOUT_FILENO);
	return 0;
}

static int tap_open(struct job *job, struct gt_error *error)
{
	struct stderr_tap *t = &job->tap;
	int both[2];

	t->size = 0;
	t->forwarding = false;
	t->began_ns = gt_now_ns();
	if (pipe2(both, O_CLOEXEC) || pipe2(t->stop, O_CLOEXEC))
		return gt_error_set(error, -1, "cannot create a pipe: %s", strerror(errno));
	t->from = both[0];
	job->tap_in = both[1];
	if (pthread_create(&t->thread, NULL, tap_main, t))
		return gt_error_set(error, -1, "cannot start a thread");
	return 0;
}

static void tap_close(struct job *job)
{
	struct stderr_tap *t = &job->tap;

	close(job->tap_in);
	(void)!write(t->stop[1], "", 1);
	pthread_join(t->thread, NULL);
	close(t->from);
	close(t->stop[0]);
	close(t->stop[1]);
}

/* Runs nsys; the status of waitpid, or -1 if it cannot be run at all. */
static int run_nsys(struct job *job, char *const *argv, pid_t *pid, struct gt_error *error)
{
	struct gt_launch launch = { .argv = argv, .prepare = prepare, .context = job };
	struct gt_error why = { "" };
	int status = tap_open(job, error);

	if (status)
		return -1;
	status = gt_launch(&launch, pid, &why);
	tap_close(job);
	if (status < 0)
		gt_error_set(error, -1, "%.*s; install Nsight Systems and put nsys on PATH, or %s",
			     (int)strcspn(why.text, ";"), why.text, job->else_do);
	return status;
}

/* Ignores nsys's exit status: if there is a report, it is the program's. */
static bool exists(const char *path)
{
	struct stat st;

	return !stat(path, &st) && st.st_size > 0;
}

static int failed(struct job *job, const char *what, int status, struct gt_error *error)
{
	const char *said = last_line(&job->tap);
	char how[64];

	if (WIFSIGNALED(status))
		snprintf(how, sizeof how, "signal %d", WTERMSIG(status));
	else
		snprintf(how, sizeof how, "exit status %d", WEXITSTATUS(status));
	return gt_error_set(error, -1, "nsys %s failed (%s)%s%s", what, how, *said ? ": " : "",
			    said);
}

static int profile(struct job *job, const struct gt_with_nsys *with, pid_t *pid,
		   struct gt_error *error)
{
	char output[PATH_MAX + 32];
	const char *fixed[] = { "nsys",
				"profile",
				"--trace=cuda,nvtx",
				"--sample=none",
				"--cuda-memory-usage=true",
				with->no_stacks ? "--cudabacktrace=none" :
						  "--cudabacktrace=memory:0",
				"--force-overwrite=true",
				output };
	size_t count = 0, head = sizeof fixed / sizeof *fixed;
	char **argv;
	int status;

	snprintf(output, sizeof output, "--output=%s/profile", job->folder);
	while (with->argv[count])
		count++;
	argv = gt_alloc((head + count + 1) * sizeof *argv);
	memcpy(argv, fixed, sizeof fixed);
	memcpy(argv + head, with->argv, count * sizeof *argv);
	status = run_nsys(job, argv, pid, error);
	free(argv);
	if (status < 0)
		return -1;
	/* older versions call it .qdrep */
	snprintf(job->report, sizeof job->report, "%s/profile.nsys-rep", job->folder);
	if (!exists(job->report))
		snprintf(job->report, sizeof job->report, "%s/profile.qdrep", job->folder);
	if (!exists(job->report))
		return failed(job, "profile", status, error);
	/* it did start: what was held back was no error message */
	stop_holding(&job->tap);
	return status;
}

static int export(struct job *job, struct gt_error *error)
{
	char output[PATH_MAX + 64];
	char *argv[] = { "nsys",      "export", "--type=sqlite", "--force-overwrite=true", output,
			 job->report, NULL };
	pid_t pid;
	int status;

	job->is_ours = true;
	snprintf(job->export, sizeof job->export, "%s/profile.sqlite", job->folder);
	snprintf(output, sizeof output, "--output=%s", job->export);
	status = run_nsys(job, argv, &pid, error);
	if (status < 0)
		return -1;
	return exists(job->export) ? 0 : failed(job, "export", status, error);
}

static int import(struct job *job, const struct gt_with_nsys *with, pid_t pid,
		  struct gt_error *error)
{
	struct gt_import what = { .file = job->export,
				  .info = with->info,
				  .source = "nsys profile",
				  .folder = with->folder(with->context, pid) };
	struct gt_import_result result = { 0 };
	struct gt_folder made;

	if (gt_folder_make(&made, what.folder, error))
		return -1;
	if (!gt_import_run(&what, &result, error))
		return 0;
	gt_folder_undo(&made);
	return -1;
}

/* To another file system: the file appears whole or not at all, as every output. */
static int copy(const char *from, const char *to, struct gt_error *error)
{
	FILE *in = fopen(from, "re");
	struct gt_output output;
	char buffer[1 << 16];
	size_t n;
	int e;

	if (!in)
		return gt_error_set(error, -errno, "cannot read %s: %s", from, strerror(errno));
	e = gt_output_open(&output, to, error);
	if (!e) {
		fchmod(fileno(output.file), 0600); /* private, as the recording is */
		while ((n = fread(buffer, 1, sizeof buffer, in)) > 0)
			fwrite(buffer, 1, n, output.file);
		if (ferror(in)) {
			e = gt_error_set(error, -EIO, "cannot read %s", from);
			gt_output_abandon(&output);
		} else {
			e = gt_output_close(&output, error);
		}
	}
	fclose(in);
	return e;
}

/* Moves it beside the recording, under its name; an existing file becomes NAME.old. */
static bool keep_one(const struct job *job, const char *folder, const char *file)
{
	char to[PATH_MAX + 16], old[PATH_MAX + 32];
	struct gt_error error;
	size_t stem = strlen(folder);
	int e = 0;

	if (stem > 3 && !strcmp(folder + stem - 3, ".gt"))
		stem -= 3;
	snprintf(to, sizeof to, "%.*s%s", (int)stem, folder, strrchr(file, '.'));
	snprintf(old, sizeof old, "%s.old", to);
	if ((rename(to, old) && errno != ENOENT) || (rename(file, to) && errno != EXDEV))
		e = gt_error_set(&error, -errno, "cannot write %s: %s", to, strerror(errno));
	else if (exists(file))
		e = copy(file, to, &error);
	if (e)
		gt_tell("%s; it remains in %s", error.text, job->folder);
	return !e;
}

/* False if something could not be moved, and must stay where it is. */
static bool keep(const struct job *job, const struct gt_with_nsys *with, pid_t pid)
{
	const char *folder = with->folder(with->context, pid);
	bool kept = true;

	if (exists(job->report))
		kept = keep_one(job, folder, job->report);
	if (kept && exists(job->export))
		kept = keep_one(job, folder, job->export);
	return kept;
}

static void remove_job(struct job *job)
{
	char path[PATH_MAX + 32];
	static const char *const files[] = { "profile.nsys-rep", "profile.qdrep", "profile.sqlite",
					     "profile.qdstrm" };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s", job->folder, files[i]);
		unlink(path);
	}
	rmdir(job->folder);
}

static int make_folder(struct job *job, struct gt_error *error)
{
	const char *temporary = getenv("TMPDIR");

	snprintf(job->folder, sizeof job->folder, "%s/gputrack-nsys.XXXXXX",
		 temporary && *temporary ? temporary : "/tmp");
	return mkdtemp(job->folder) ?
		       0 :
		       gt_error_set(
			       error, -1,
			       "cannot create %s: %s; set TMPDIR to a folder with enough space",
			       job->folder, strerror(errno));
}

bool gt_nsys_is_report(const char *file)
{
	const char *dot = strrchr(file, '.');

	return dot && (!strcmp(dot, ".nsys-rep") || !strcmp(dot, ".qdrep"));
}

int gt_nsys_export_make(struct gt_nsys_export *result, const char *report, struct gt_error *error)
{
	struct job *job = gt_alloc(sizeof *job);
	char otherwise[PATH_MAX + 64];
	int e;

	if (access(report, R_OK)) {
		e = gt_error_set(error, -1, "cannot read %s: %s", report, strerror(errno));
		free(job);
		return e;
	}
	snprintf(otherwise, sizeof otherwise,
		 "`nsys export --type sqlite %s` where it is installed", report);
	job->else_do = otherwise;
	snprintf(job->report, sizeof job->report, "%s", report);
	e = make_folder(job, error);
	if (!e && export(job, error)) {
		remove_job(job);
		e = -1;
	}
	if (!e) {
		snprintf(result->folder, sizeof result->folder, "%s", job->folder);
		snprintf(result->file, sizeof result->file, "%s", job->export);
	}
	free(job);
	return e;
}

void gt_nsys_export_remove(const struct gt_nsys_export *result)
{
	unlink(result->file);
	rmdir(result->folder);
}

int gt_with_nsys(struct gt_with_nsys *with, pid_t *pid, struct gt_error *error)
{
	struct job *job = gt_alloc(sizeof *job);
	int status = -1;

	with->program_status = -1;
	job->else_do = "run without --with nsys";
	if (!make_folder(job, error)) {
		status = profile(job, with, pid, error);
		with->program_status = status;
		if (status >= 0 && export(job, error))
			status = -1;
		if (status >= 0 && import(job, with, *pid, error))
			status = -1;
		if (!with->keep || keep(job, with, *pid))
			remove_job(job);
	}
	free(job);
	return status;
}
