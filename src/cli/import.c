/* SPDX-License-Identifier: MIT */
/* import.c - `gputrack import`: an Nsight Systems export becomes a recording. */
#include "cli/import.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/text.h"
#include "base/tool.h"
#include "cli/cli.h"
#include "cli/folder.h"
#include "cli/output.h"
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
	.summary = "convert an Nsight Systems export to a recording",
	.operands = "FILE.sqlite",
	.about = "Converts the SQLite export of an Nsight Systems profile (`nsys export --type "
		 "sqlite`) to a recording for all other commands. FILE is not changed. Profile "
		 "with `nsys profile --cuda-memory-usage=true --cudabacktrace=memory:0`: without "
		 "the first option there are no allocations, without the second only some have "
		 "call stacks.",
	.options = options,
};

#ifdef GT_HAS_NSYS
/* Describes the import, for the user and in `info`. */
static void describe(const struct gt_nsys_import *n, struct gt_info *info,
		     struct gt_import_result *result)
{
	char allocations[GT_FORMAT_MAX], frees[GT_FORMAT_MAX], text[3][GT_FORMAT_MAX];
	size_t used;

	gt_info_set(info, "nsys", n->product);
	gt_info_set(info, "nsys_schema", n->schema);
	gt_info_setf(info, "out_of_order", "%llu", (unsigned long long)n->out_of_order);
	gt_info_setf(info, "skipped_rows", "%llu", (unsigned long long)n->skipped);
	gt_info_setf(info, "duration_ns", "%llu", (unsigned long long)n->duration_ns);
	used = (size_t)snprintf(
		result->text, sizeof result->text,
		"%s %s and %s %s of %u %s\n"
		"%s with a call stack, %s with the driver function's name, %s with neither\n",
		gt_format_count(allocations, n->allocations),
		gt_plural(n->allocations, "allocation", "allocations"),
		gt_format_count(frees, n->frees), gt_plural(n->frees, "free", "frees"),
		n->processes, gt_plural(n->processes, "process", "processes"),
		gt_format_count(text[0], n->valid), gt_format_count(text[1], n->driver),
		gt_format_count(text[2], n->invalid));
	if (n->out_of_order)
		used += (size_t)snprintf(result->text + used, sizeof result->text - used,
					 "%s %s out of order and sorted\n",
					 gt_format_count(text[0], n->out_of_order),
					 gt_plural(n->out_of_order, "row was", "rows were"));
	if (n->skipped)
		used += (size_t)snprintf(result->text + used, sizeof result->text - used,
					 "%s %s invalid and skipped\n",
					 gt_format_count(text[0], n->skipped),
					 gt_plural(n->skipped, "row was", "rows were"));
	if (!n->valid)
		snprintf(result->text + used, sizeof result->text - used,
			 "no call stacks: profile with --cudabacktrace=memory:0 to record them\n");
}

int gt_import_run(const struct gt_import *import, struct gt_import_result *result,
		  struct gt_error *error)
{
	struct gt_nsys_import n = { .file = import->file,
				    .folder = import->folder,
				    .tick = gt_progress_tick };
	char whole[PATH_MAX], started[GT_FORMAT_MAX];
	int e = gt_nsys_run(&n, error);

	gt_progress_end();
	if (e)
		return e;
	gt_info_set(import->info, "imported",
		    import->source                ? import->source :
		    realpath(import->file, whole) ? whole :
						    import->file);
	if (!*gt_info_get(import->info, "command") && *n.command)
		gt_info_set(import->info, "command", n.command);
	if (!*gt_info_get(import->info, "started") && n.start_real_ns)
		gt_info_set(import->info, "started", gt_format_moment(started, n.start_real_ns));
	describe(&n, import->info, result);
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

/* The export's name in the current folder, with the suffix .gt. */
static void name_recording(char *out, size_t size, const char *file)
{
	const char *name = gt_path_name(file);
	size_t length = strlen(name);

	if (length > 7 && !strcmp(name + length - 7, ".sqlite"))
		length -= 7;
	snprintf(out, size, "%.*s.gt", (int)length, name);
}

static int import(const char *file, const char *folder, struct gt_import_result *result,
		  struct gt_error *error)
{
	struct gt_import what = { .file = file, .folder = folder, .info = gt_info_new() };
	struct gt_folder made;
	int e = gt_folder_make(&made, folder, error);

	if (e)
		goto free_info;
	gt_info_set(what.info, "gputrack", GT_VERSION);
	e = gt_import_run(&what, result, error);
	if (!e)
		e = gt_run_info_write(what.info, folder, error);
	if (e)
		gt_folder_undo(&made);
	else
		gt_folder_commit(folder);
free_info:
	gt_info_free(what.info);
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
								  "needs an export, FILE.sqlite" :
								  "takes one export");
	if (s.output)
		snprintf(folder, sizeof folder, "%s", s.output);
	else
		name_recording(folder, sizeof folder, argv[first]);
	gt_path_trim_slashes(folder);
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
