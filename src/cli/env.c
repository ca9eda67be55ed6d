/* SPDX-License-Identifier: MIT */
/* env.c - gputrack env: the variables with which programs load our libraries by themselves. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/launch.h"

/* clang-format off */
static const struct gt_option options[] = {
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_env_syntax = {
	.name = "env",
	.summary = "print the variables with which programs load gputrack by themselves",
	.operands = "[levelzero] [opencl] [cuda]",
	.about = "Prints commands for the shell: after eval \"$(gputrack env levelzero)\", Level "
		 "Zero "
		 "programs find gputrack's layer first, and the variables of Level Zero's own "
		 "resource "
		 "tracker (ZE_ENABLE_VALIDATION_LAYER, ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER, "
		 "ZEL_SYSTEM_RESOURCE_TRACKER_CSV) start gputrack's. Without them nothing is "
		 "tracked. "
		 "`gputrack run` needs none of this.",
	.options = options,
};

/* How each API is led to its door. */
static const struct door {
	const char *api, *file, *variable;
	bool is_folder; /* the variable lists folders, separated by colons */
	bool is_list;   /* … or files */
	bool is_last;   /* of the list, if it is there: others may have to come first */
} doors[] = {
	{ .api = "levelzero",
	  .file = "levelzero/libze_validation_layer.so.1",
	  .variable = "LD_LIBRARY_PATH",
	  .is_folder = true },
	{ .api = "opencl",
	  .file = "libgputrack_opencl.so",
	  .variable = "OPENCL_LAYERS",
	  .is_list = true },
	{ .api = "cuda",
	  .file = "libgputrack_preload.so",
	  .variable = "LD_PRELOAD",
	  .is_last = true },
	{ .api = "cuda", .file = "libgputrack_cuda.so", .variable = "CUDA_INJECTION64_PATH" },
};

static void put_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	putchar('\'');
}

/* Behind what is set, and not twice. The loader takes no names with blanks and colons. */
static int put_last(const char *variable, const char *path)
{
	if (strpbrk(path, " \t\n:"))
		return gt_fail("env: %s has a blank or a colon in its name, which %s cannot hold: "
			       "install gputrack elsewhere",
			       path, variable);
	printf("case \":$%s:\" in *:", variable);
	put_quoted(path);
	printf(":*) ;; *) export %s=\"${%s:+$%s:}\"", variable, variable, variable);
	put_quoted(path);
	puts(" ;; esac");
	return GT_EXIT_DONE;
}

/* "export NAME='FOLDER'${NAME:+:"$NAME"}": what is set already stays behind ours. */
static int put_door(const struct door *door)
{
	char path[PATH_MAX];

	/* not built for every processor */
	if (door->is_last && !gt_doors_find(path, sizeof path, door->file))
		return GT_EXIT_DONE;
	if (!gt_doors_find(path, sizeof path, door->file))
		return gt_fail(
			"env: %s is missing beside this gputrack, so %s programs cannot load "
			"it: install all of gputrack",
			door->file, door->api);
	if (door->is_last)
		return put_last(door->variable, path);
	if (door->is_folder)
		*strrchr(path, '/') = '\0';
	printf("export %s=", door->variable);
	put_quoted(path);
	if (door->is_folder || door->is_list)
		printf("${%s:+:\"$%s\"}", door->variable, door->variable);
	putchar('\n');
	return GT_EXIT_DONE;
}

static bool is_asked_for(const struct door *door, int count, char **names)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(names[i], door->api))
			return true;
	return !count;
}

int gt_cmd_env(int argc, char **argv)
{
	int status, first = gt_options_parse(&gt_env_syntax, NULL, argc, argv, &status);

	if (first < 0)
		return status;
	for (int i = first; i < argc; i++) {
		size_t k = 0;

		while (k < sizeof doors / sizeof *doors && strcmp(doors[k].api, argv[i]))
			k++;
		if (k == sizeof doors / sizeof *doors)
			return gt_syntax_wrong(&gt_env_syntax,
					       "'%s' is no API: use levelzero, opencl or cuda",
					       argv[i]);
	}
	status = GT_EXIT_DONE;
	for (size_t i = 0; i < sizeof doors / sizeof *doors && !status; i++)
		if (is_asked_for(&doors[i], argc - first, argv + first))
			status = put_door(&doors[i]);
	return status;
}
