/* SPDX-License-Identifier: MIT */
/* import.c - `gputrack import`: an Nsight Systems export or a snapshot becomes a recording. */
#include "cli/import.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/text.h"
#include "base/tool.h"
#include "cli/cli.h"
#include "cli/folder.h"
#include "cli/forward.h"
#include "cli/output.h"
#include "cli/run/with_nsys.h"
#include "capture/snapshot/snapshot.h"
#ifdef GT_HAS_NSYS
#include "capture/nsys/nsys.h"
#endif

struct settings {
	const char *output;
	bool quiet;
};

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "output", .letter = 'o', .type = GT_OPTION_TEXT, .argument = "NAME.gt",
	  .at = offsetof(struct settings, output),
	  .help = "write the recording to this folder (default: FILE's name with .gt, in the "
		  "current folder); an existing recording is kept as NAME.gt.old" },
	{ .name = "quiet", .letter = 'q', .type = GT_OPTION_FLAG,
	  .at = offsetof(struct settings, quiet),
	  .local = GT_LOCAL_YES, .help = "do not print a summary" },
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_import_syntax = {
	.name = "import",
	.summary = "convert an Nsight Systems export or a PyTorch snapshot to a recording",
	.operands = "FILE.sqlite|FILE.nsys-rep|FILE.pickle",
	.about = "Converts the SQLite export of an Nsight Systems profile (`nsys export --type "
		 "sqlite`) to a recording for all other commands. A report, FILE.nsys-rep, is "
		 "exported first: that needs nsys. FILE is not changed. Profile "
		 "with `nsys profile --cuda-memory-usage=true --cudabacktrace=memory:0`: without "
		 "the first option there are no allocations, without the second only some have "
		 "call stacks.\n\nA memory snapshot of PyTorch, FILE.pickle or FILE.pickle.gz as "
		 "torch.cuda.memory._dump_snapshot writes it, becomes a recording with the pool's "
		 "blocks and their Python lines. It is read as plain data: nothing in it is "
		 "executed.",
	.options = options,
};

void gt_import_line(struct gt_import_lines *lines, const char *format, ...)
{
	size_t left = (size_t)(lines->end - lines->at);
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(lines->at, left, format, args);
	va_end(args);
	if (n > 0)
		lines->at += (size_t)n < left ? (size_t)n : left - 1;
}

#ifdef GT_HAS_NSYS

static const char *const tracking_names[] = {
	[GT_NSYS_TRACKING_UNKNOWN] = "unknown",
	[GT_NSYS_TRACKING_OFF] = "off",
	[GT_NSYS_TRACKING_ON] = "on",
};

/* What the views need of the profile, in `info`. */
static void set_info(const struct gt_nsys_import *n, struct gt_info *info)
{
	const struct gt_nsys_profile *p = &n->profile;
	char key[32];

	gt_info_set(info, "nsys", p->product);
	gt_info_set(info, "nsys_schema", p->schema);
	gt_info_set(info, "nsys_tracking", tracking_names[p->tracking]);
	gt_info_setf(info, "out_of_order", "%llu", (unsigned long long)n->out_of_order);
	gt_info_setf(info, "skipped_rows", "%llu", (unsigned long long)n->skipped);
	gt_info_setf(info, "duration_ns", "%llu", (unsigned long long)n->duration_ns);
	if (p->has_offset)
		gt_info_setf(info, "utc_offset_s", "%lld", (long long)p->utc_offset_s);
	for (size_t i = 0; i < p->note_count; i++) {
		snprintf(key, sizeof key, "nsys_note_%zu", i);
		gt_info_set(info, key, p->notes[i]);
	}
	if (n->calls)
		gt_info_set(info, "nsys_calls", n->calls);
	if (n->calls_by_phase)
		gt_info_set(info, "nsys_calls_by_phase", n->calls_by_phase);
}

/* What memory events say; without any, what is known all the same. */
static void describe_memory(const struct gt_nsys_import *n, struct gt_import_lines *lines)
{
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX], c[GT_FORMAT_MAX], d[GT_FORMAT_MAX];

	if (n->calls) {
		gt_import_line(lines, "no memory events: only calls are counted, %s\n",
			       n->profile.tracking == GT_NSYS_TRACKING_ON ?
				       "although memory tracking was on" :
				       "profile with --cuda-memory-usage=true to record memory");
		return;
	}
	gt_import_line(lines, "%s %s and %s %s of %u %s\n", gt_format_count(a, n->allocations),
		       gt_plural(n->allocations, "allocation", "allocations"),
		       gt_format_count(b, n->frees), gt_plural(n->frees, "free", "frees"),
		       n->processes, gt_plural(n->processes, "process", "processes"));
	gt_import_line(lines,
		       "%s with a call stack, %s with the driver function's name, %s with neither",
		       gt_format_count(a, n->valid), gt_format_count(b, n->driver),
		       gt_format_count(c, n->invalid));
	if (n->named)
		gt_import_line(lines, " (%s of these with the runtime function's name)",
			       gt_format_count(d, n->named));
	gt_import_line(lines, "\n");
}

static void describe(const struct gt_nsys_import *n, struct gt_import_result *result)
{
	struct gt_import_lines lines = { result->text, result->text + sizeof result->text };
	char text[GT_FORMAT_MAX];

	describe_memory(n, &lines);
	if (n->failed)
		gt_import_line(&lines, "%s failed %s\n", gt_format_count(text, n->failed),
			       gt_plural(n->failed, "call", "calls"));
	if (n->in_phase)
		gt_import_line(&lines, "%s of all these in NVTX ranges: report --by phase\n",
			       gt_format_count(text, n->in_phase));
	if (n->paging)
		gt_import_line(&lines, "%s %s of unified memory\n",
			       gt_format_count(text, n->paging),
			       gt_plural(n->paging, "migration or page fault",
					 "migrations and page faults"));
	if (n->out_of_order)
		gt_import_line(&lines, "%s %s out of order and sorted\n",
			       gt_format_count(text, n->out_of_order),
			       gt_plural(n->out_of_order, "row was", "rows were"));
	if (n->skipped)
		gt_import_line(&lines, "%s %s invalid and skipped\n",
			       gt_format_count(text, n->skipped),
			       gt_plural(n->skipped, "row was", "rows were"));
	if (!n->valid && !n->calls)
		gt_import_line(&lines,
			       "no call stacks: profile with --cudabacktrace=memory:0 to record "
			       "them\n");
}

int gt_import_run(const struct gt_import *import, struct gt_import_result *result,
		  struct gt_error *error)
{
	struct gt_nsys_import n = { .file = import->file,
				    .folder = import->folder,
				    .tick = gt_progress_tick,
				    .stop = &gt_stopped };
	char whole[PATH_MAX], started[GT_FORMAT_MAX];
	int e = gt_nsys_run(&n, error);

	gt_progress_end();
	if (e)
		return e;
	gt_info_set(import->info, "imported",
		    import->source                ? import->source :
		    realpath(import->file, whole) ? whole :
						    import->file);
	if (!*gt_info_get(import->info, "command") && *n.profile.command)
		gt_info_set(import->info, "command", n.profile.command);
	if (!*gt_info_get(import->info, "started") && n.profile.start_real_ns)
		gt_info_set(import->info, "started",
			    gt_format_moment(started, n.profile.start_real_ns));
	set_info(&n, import->info);
	describe(&n, result);
	free(n.calls);
	free(n.calls_by_phase);
	return 0;
}
#else
int gt_import_run(const struct gt_import *import, struct gt_import_result *result,
		  struct gt_error *error)
{
	(void)result;
	return gt_error_set(error, -ENOTSUP,
			    "cannot import %s: this gputrack was built without SQLite; rebuild it "
			    "with -Dnsys=enabled",
			    import->file);
}
#endif

/* The file's name in the current folder, with the suffix .gt. */
static void name_recording(char *out, size_t size, const char *file)
{
	static const char *const ends[] = { ".sqlite", ".nsys-rep", ".qdrep",
					    ".gz",     ".pickle",   ".pkl" };
	const char *name = gt_path_name(file);
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (length > strlen(ends[i]) &&
		    !memcmp(name + length - strlen(ends[i]), ends[i], strlen(ends[i])))
			length -= strlen(ends[i]);
	snprintf(out, size, "%.*s.gt", (int)length, name);
}

static int import(const char *file, const char *folder, struct gt_import_result *result,
		  struct gt_error *error)
{
	bool is_report = gt_nsys_is_report(file), is_snapshot = !is_report && gt_snapshot_is(file);
	struct gt_import what = { .file = file, .folder = folder };
	struct gt_nsys_export export;
	struct gt_folder made;
	int e = is_report ? gt_nsys_export_make(&export, file, error) : 0;

	if (e)
		return e;
	what.info = gt_info_new();
	if (is_report) {
		what.file = export.file;
		what.source = file;
	}
	e = gt_folder_make(&made, folder, error);
	if (e)
		goto free_info;
	gt_info_set(what.info, "gputrack", GT_VERSION);
	e = is_snapshot ? gt_import_snapshot(&what, result, error) :
			  gt_import_run(&what, result, error);
	if (!e)
		e = gt_run_info_write(what.info, folder, error);
	if (e)
		gt_folder_undo(&made);
	else
		gt_folder_commit(folder);
free_info:
	gt_info_free(what.info);
	if (is_report)
		gt_nsys_export_remove(&export);
	return e;
}

static void put_name(const char *name)
{
	gt_text_put(stdout, name, UINT32_MAX, GT_CUT_START, gt_is_utf8());
}

int gt_cmd_import(int argc, char **argv)
{
	struct settings s = { 0 };
	struct gt_import_result result = { "" };
	struct gt_error error;
	char folder[PATH_MAX], *line, *rest;
	int status, first = gt_options_parse(&gt_import_syntax, &s, argc, argv, &status);

	if (first < 0)
		return status;
	if (argc - first != 1)
		return gt_syntax_wrong(&gt_import_syntax, argc == first ?
								  "needs a file: FILE.sqlite, "
								  "FILE.nsys-rep or FILE.pickle" :
								  "takes one file");
	if (s.output)
		snprintf(folder, sizeof folder, "%s", s.output);
	else
		name_recording(folder, sizeof folder, argv[first]);
	gt_path_trim_slashes(folder);
	gt_stop_unless_ignored(SIGINT);
	gt_stop_unless_ignored(SIGTERM);
	gt_stop_unless_ignored(SIGHUP);
	if (import(argv[first], folder, &result, &error))
		return gt_fail("%s", error.text);
	if (s.quiet)
		return GT_EXIT_DONE;
	fputs("imported into ", stdout);
	put_name(folder);
	putchar('\n');
	for (line = strtok_r(result.text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		printf("  %s\n", line);
	printf("next:\n  %s report ", gt_tool_name());
	put_name(folder);
	putchar('\n');
	return GT_EXIT_DONE;
}
