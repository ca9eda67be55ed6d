/* doctor.c - gputrack doctor: what can be tracked here, what is missing and how to get it. */
#include "cli/doctor.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/format.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/system.h"
#include "cli/terminal.h"
#include "symbol/symbol.h"

enum { WHAT_COLUMN = 2, FOUND_COLUMN = 22 };

struct settings {
	bool system;
};

static const struct gt_option options[] = {
	{ .name = "system", .letter = 's', .type = GT_OPTION_FLAG,
	  .at = offsetof(struct settings, system),
	  .help = "describe the machine instead: kernel, distribution, processors, memory, disks, "
		  "GPUs with driver and memory, for reports and questions" },
	{ 0 },
};

const struct gt_usage gt_doctor_usage = {
	.name = "doctor",
	.summary = "tell what can be tracked here, and what is missing",
	.about = "Looks at what is installed, tries it, and tells what can be tracked on this "
		 "machine, what is missing, and how to get it. Exit status 0 when at least one "
		 "API can be tracked, 1 otherwise.",
	.options = options,
};

static const struct {
	const char *utf8, *ascii;
	enum gt_paint paint;
} marks[] = {
	[GT_FINDING_GOOD] = { "✔", "+", GT_GREEN },
	[GT_FINDING_BAD] = { "✘", "x", GT_RED },
	[GT_FINDING_NOTE] = { "·", "-", GT_DIM },
};

void gt_doctor_say(struct gt_doctor *d, enum gt_finding finding, const char *what,
		   const char *format, ...)
{
	struct gt_page *p = &d->page;
	char text[PATH_MAX + 256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	gt_page_name(p, marks[finding].paint,
		     p->style.utf8 ? marks[finding].utf8 : marks[finding].ascii, 1);
	gt_page_tab(p, WHAT_COLUMN);
	gt_page_put(p, GT_BOLD, "%s", what);
	gt_page_tab(p, FOUND_COLUMN);
	gt_page_wrap(p, GT_PLAIN, FOUND_COLUMN, "%s", text);
}

void gt_doctor_remedy(struct gt_doctor *d, const char *format, ...)
{
	char text[PATH_MAX + 256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	gt_page_wrap(&d->page, GT_YELLOW, FOUND_COLUMN, "%s", text);
}

/* Of the first object that dl_iterate_phdr gives, which is the program itself. */
static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1;
}

/* Looks ourselves up: what works for this program works for others. */
static void check_symbols(struct gt_doctor *d)
{
	struct gt_symbolizer *symbolizer;
	const struct gt_frame *frames;
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	uint64_t bias = 0;
	int module;

	path[length > 0 ? length : 0] = '\0';
	if (gt_symbolizer_new(&symbolizer, NULL)) {
		gt_doctor_say(d, GT_FINDING_BAD, "symbols", "cannot be looked up");
		return;
	}
	dl_iterate_phdr(take_bias, &bias);
	module = gt_symbolizer_module(symbolizer, &(struct gt_symbol_module){ .path = path });
	if (module < 0 ||
	    !gt_symbolizer_resolve(symbolizer, module, (uint64_t)(uintptr_t)gt_cmd_doctor - bias,
				   &frames) ||
	    !frames[0].function || strcmp(frames[0].function, "gt_cmd_doctor"))
		gt_doctor_say(d, GT_FINDING_NOTE, "symbols",
			      "this gputrack is stripped, so looking itself up could not be tried");
	else if (frames[0].line)
		gt_doctor_say(d, GT_FINDING_GOOD, "symbols",
			      "functions, files and lines are found");
	else
		gt_doctor_say(d, GT_FINDING_GOOD, "symbols",
			      "functions are found; this gputrack has no line numbers to try");
	gt_symbolizer_free(symbolizer);
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
	} else {
		gt_doctor_say(d, GT_FINDING_GOOD, "debuginfod", "asked on report --debuginfod: %s",
			      urls);
	}
}

static void check_folder(struct gt_doctor *d)
{
	char name[] = "gputrack-doctor.XXXXXX", room[GT_FORMAT_MAX] = "unknown room";
	struct statvfs fs;

	if (!mkdtemp(name)) {
		gt_doctor_say(d, GT_FINDING_BAD, "recordings",
			      "cannot be written in this folder: %s", strerror(errno));
		gt_doctor_remedy(d, "give another place: gputrack run -o FOLDER/NAME.gt ...");
		return;
	}
	rmdir(name);
	if (!statvfs(".", &fs))
		gt_format_bytes(room, (uint64_t)fs.f_bavail * fs.f_frsize);
	gt_doctor_say(d, GT_FINDING_GOOD, "recordings", "can be written in this folder, %s free",
		      room);
}

static void check_config(struct gt_doctor *d)
{
	size_t count;
	const char *path = gt_config_path(&count), *ignored = gt_config_ignored();

	if (gt_config_mistake())
		gt_doctor_say(d, GT_FINDING_BAD, "configuration", "%s", gt_config_mistake());
	else if (path || count)
		gt_doctor_say(d, GT_FINDING_GOOD, "configuration", "%s, %zu %s in all",
			      path ? path : "GPUTRACK_OPTIONS", count,
			      gt_plural(count, "setting", "settings"));
	else
		gt_doctor_say(d, GT_FINDING_NOTE, "configuration",
			      "no file: .gputrackrc here, or ~/.config/gputrack/config");
	if (ignored)
		gt_doctor_remedy(d, "%s", ignored);
}

static void say_system(struct gt_doctor *d)
{
	struct utsname u;

	if (!uname(&u))
		gt_doctor_say(d, GT_FINDING_NOTE, "gputrack", GT_VERSION " on %s %s, %s", u.sysname,
			      u.release, u.machine);
}

static int describe_system(const struct gt_style *style)
{
	struct gt_system *system = gt_alloc(sizeof *system);

	*system = (struct gt_system){ .out = stdout, .utf8 = style->utf8, .root = "",
				      .today = time(NULL) };
	gt_system_look(system);
	gt_system_write(system);
	free(system);
	return GT_EXIT_DONE;
}

int gt_cmd_doctor(int argc, char **argv)
{
	static const char *const later[] = { "eBPF" };
	struct gt_style style;
	struct gt_doctor d = { 0 };
	struct settings s = { 0 };
	const char *names[3];
	size_t count = 0;
	int status, first = gt_options_parse(&gt_doctor_usage, &s, argc, argv, &status);

	if (first < 0)
		return status;
	style = gt_terminal_style(stdout, GT_COLOR_AUTO);
	if (s.system)
		return describe_system(&style);
	gt_page_init(&d.page, stdout, &style);
	say_system(&d);
	if (gt_doctor_opencl(&d))
		names[count++] = "OpenCL";
	if (gt_doctor_levelzero(&d))
		names[count++] = "Level Zero";
	if (gt_doctor_cuda(&d))
		names[count++] = "CUDA";
	for (size_t i = 0; i < sizeof later / sizeof *later; i++)
		gt_doctor_say(&d, GT_FINDING_NOTE, later[i], "not in this version");
	check_symbols(&d);
	check_debuginfod(&d);
	check_folder(&d);
	check_config(&d);
	gt_page_end(&d.page);
	if (count)
		gt_page_wrap(&d.page, GT_GREEN, 0,
			     "%s%s%s%s%s programs can be tracked: gputrack run ./program", names[0],
			     count == 3 ? ", " : count == 2 ? " and " : "", count > 1 ? names[1] : "",
			     count > 2 ? " and " : "", count > 2 ? names[2] : "");
	else
		gt_page_wrap(&d.page, GT_RED, 0,
			     "Nothing can be tracked here yet: see the remedies above");
	return count ? GT_EXIT_DONE : GT_EXIT_FAILED;
}
