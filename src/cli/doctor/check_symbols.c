/* SPDX-License-Identifier: MIT */
/* check_symbols.c - the doctor's look at symbols: can functions, files and lines be found. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor/doctor.h"
#include "symbol/symbol.h"

/* Of the first object that dl_iterate_phdr gives, which is the program itself. */
static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1;
}

/* Looks ourselves up: what works for this program works for others. */
static bool check_lookup(struct gt_doctor *d)
{
	struct gt_symbolizer *symbolizer;
	const struct gt_frame *frames;
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	uint64_t bias = 0;
	int module;

	path[length > 0 ? length : 0] = '\0';
	if (gt_symbolizer_new(&symbolizer, NULL)) {
		gt_doctor_say(d, GT_FINDING_BAD, "look-up", "symbols cannot be looked up");
		return false;
	}
	dl_iterate_phdr(take_bias, &bias);
	module = gt_symbolizer_module(symbolizer, &(struct gt_symbol_module){ .path = path });
	if (module < 0 ||
	    !gt_symbolizer_resolve(symbolizer, module, (uint64_t)(uintptr_t)gt_cmd_doctor - bias,
				   &frames) ||
	    !frames[0].function || strcmp(frames[0].function, "gt_cmd_doctor"))
		gt_doctor_say(d, GT_FINDING_NOTE, "look-up",
			      "this gputrack is stripped, so looking itself up could not be tried");
	else if (frames[0].line)
		gt_doctor_say(d, GT_FINDING_GOOD, "look-up",
			      "functions, files and lines are found");
	else
		gt_doctor_say(d, GT_FINDING_GOOD, "look-up",
			      "functions are found; this gputrack has no line numbers to try");
	gt_symbolizer_free(symbolizer);
	return true;
}

static void check_debuginfod(struct gt_doctor *d)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (!library) {
		gt_doctor_say(d, GT_FINDING_NOTE, "debuginfod",
			      "libdebuginfod.so.1 is not installed");
		gt_doctor_remedy(d, "only for report --debuginfod: apt install libdebuginfod1");
	} else if (!urls || !*urls) {
		gt_doctor_say(d, GT_FINDING_NOTE, "debuginfod",
			      "no servers: DEBUGINFOD_URLS is not set");
		gt_doctor_remedy(d, "only for report --debuginfod: set it to your distribution's "
				    "server");
	} else {
		gt_doctor_say(d, GT_FINDING_GOOD, "debuginfod", "asked on report --debuginfod: %s",
			      urls);
	}
}

bool gt_doctor_symbols(struct gt_doctor *d)
{
	bool works = check_lookup(d);

	check_debuginfod(d);
	return works;
}
