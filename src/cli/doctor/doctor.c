/* SPDX-License-Identifier: MIT */
/* doctor.c - gputrack doctor: what can be tracked here, what is missing and how to get it. */
#include "cli/doctor/doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <time.h>

#include "base/mem.h"
#include "base/tool.h"
#include "cli/cli.h"
#include "cli/doctor/system.h"
#include "cli/output.h"

enum { MARK_COLUMN = 2, WHAT_COLUMNS = 15, SCHEMA = 1 };

static bool has_program(const struct gt_doctor *d)
{
	return d->program;
}

/* In the order of the report. */
static const struct gt_check checks[] = {
	{ .name = "program", .look = gt_doctor_program, .applies = has_program, .must = true },
	{ .name = "OpenCL", .look = gt_doctor_opencl, .is_api = true },
	{ .name = "Level Zero", .look = gt_doctor_levelzero, .is_api = true },
	{ .name = "CUDA", .look = gt_doctor_cuda, .is_api = true },
#ifdef GT_HAVE_EBPF
	{ .name = "attach", .look = gt_doctor_attach },
#endif
	{ .name = "symbols", .look = gt_doctor_symbols },
	{ .name = "permissions", .look = gt_doctor_permissions },
	{ .name = "recordings", .look = gt_doctor_recordings },
	{ .name = "configuration", .look = gt_doctor_config },
	{ .name = "built in", .look = gt_doctor_features },
};

enum { CHECK_COUNT = sizeof checks / sizeof *checks };

struct settings {
	bool json, system;
	const char *program;
	int color;
};

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "program", .argument = "FILE", .type = GT_OPTION_TEXT, AT(program),
	  .help = "also check this program: whether it can be tracked, and whether its functions, "
		  "files and lines can be resolved" },
	{ .name = "json", .type = GT_OPTION_FLAG, AT(json),
	  .local = GT_LOCAL_YES,
	  .help = "write the findings as JSON" },
	{ .name = "system", .letter = 's', .type = GT_OPTION_FLAG, AT(system),
	  .local = GT_LOCAL_YES,
	  .help = "describe the machine instead, for bug reports: kernel, distribution, "
		  "processors, memory, disks, GPUs with driver and memory" },
	GT_COLOR_OPTION(AT(color)),
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_doctor_syntax = {
	.name = "doctor",
	.summary = "check what can be tracked here and what is missing",
	.about = "Finds and tests what is installed, and shows what can be tracked on this "
		 "machine, what is missing, and how to get it. Exit status 0 if at least one API "
		 "can be tracked, and the program if one was named; 1 otherwise.",
	.options = options,
	.shows_config = true,
};

static const struct {
	const char *utf8, *ascii, *word;
	enum gt_paint paint;
} marks[] = {
	[GT_FINDING_GOOD] = { "✓", "ok", "good", GT_GREEN },
	[GT_FINDING_BAD] = { "✗", "no", "bad", GT_RED },
	[GT_FINDING_NOTE] = { "–", "-", "note", GT_DIM },
};

static void write_text(struct gt_doctor *d)
{
	struct gt_printer *p = &d->page;
	bool utf8 = p->style.utf8;
	enum gt_finding finding = d->pending.finding;
	unsigned what_column, found_column;

	what_column = MARK_COLUMN + (utf8 ? 2 : 3);
	found_column = what_column + WHAT_COLUMNS;
	gt_print_tab(p, MARK_COLUMN);
	gt_print_put(p, marks[finding].paint, "%s",
		     utf8 ? marks[finding].utf8 : marks[finding].ascii);
	gt_print_tab(p, what_column);
	gt_print_put(p, GT_PLAIN, "%s", d->pending.what);
	gt_print_tab(p, found_column);
	gt_print_wrap(p, finding == GT_FINDING_NOTE ? GT_DIM : GT_PLAIN, found_column, "%s",
		      d->pending.text);
	if (!*d->pending.remedy)
		return;
	gt_print_tab(p, found_column);
	gt_print_put(p, GT_YELLOW, utf8 ? "→" : "->");
	gt_print_tab(p, p->column + 1);
	gt_print_wrap(p, GT_YELLOW, p->column, "%s", d->pending.remedy);
}

static void write_json(struct gt_doctor *d)
{
	gt_json_line(d->json, NULL);
	gt_json_text(d->json, "finding", marks[d->pending.finding].word);
	gt_json_text(d->json, "what", d->pending.what);
	gt_json_text(d->json, "text", d->pending.text);
	gt_json_text(d->json, "remedy", *d->pending.remedy ? d->pending.remedy : NULL);
	gt_json_end(d->json);
}

/* Writes the pending finding, with its remedy if there is one. */
static void flush_finding(struct gt_doctor *d)
{
	if (!d->pending.is_there)
		return;
	d->pending.is_there = false;
	(d->json ? write_json : write_text)(d);
	fflush(d->page.out); /* the next check may take a while */
}

void gt_doctor_say(struct gt_doctor *d, enum gt_finding finding, const char *what,
		   const char *format, ...)
{
	va_list args;

	flush_finding(d);
	d->pending.is_there = true;
	d->pending.finding = finding;
	d->pending.remedy[0] = '\0';
	snprintf(d->pending.what, sizeof d->pending.what, "%s", what);
	va_start(args, format);
	vsnprintf(d->pending.text, sizeof d->pending.text, format, args);
	va_end(args);
}

void gt_doctor_remedy(struct gt_doctor *d, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(d->pending.remedy, sizeof d->pending.remedy, format, args);
	va_end(args);
}

static bool look(struct gt_doctor *d, const struct gt_check *check)
{
	bool works;

	if (d->json) {
		gt_json_object(d->json, NULL);
		gt_json_text(d->json, "section", check->name);
		gt_json_array(d->json, "findings");
	} else {
		gt_print_end(&d->page);
		gt_print_put(&d->page, GT_BOLD, "%s", check->name);
		gt_print_end(&d->page);
	}
	works = check->look(d);
	flush_finding(d);
	if (d->json) {
		gt_json_end(d->json);
		gt_json_bool(d->json, "works", works);
		gt_json_end(d->json);
	}
	return works;
}

static void begin(struct gt_doctor *d)
{
	long page_kb = sysconf(_SC_PAGESIZE) / 1024;
	struct utsname u = { 0 };

	uname(&u);
	if (!d->json) {
		gt_print_put(&d->page, GT_PLAIN, "gputrack " GT_VERSION " on %s %s, %s", u.sysname,
			     u.release, u.machine);
		if (page_kb != 4)
			gt_print_put(&d->page, GT_PLAIN, ", pages of %ld KiB", page_kb);
		gt_print_end(&d->page);
		return;
	}
	gt_json_begin(d->json, d->page.out);
	gt_json_uint(d->json, "schema", SCHEMA);
	gt_json_text(d->json, "gputrack", GT_VERSION);
	gt_json_text(d->json, "system", u.sysname);
	gt_json_text(d->json, "release", u.release);
	gt_json_text(d->json, "machine", u.machine);
	gt_json_array(d->json, "sections");
}

/* "OpenCL, Level Zero and CUDA" */
static void list_apis(char *out, size_t size, const bool *works)
{
	size_t left = 0, listed = 0;

	out[0] = '\0';
	for (size_t i = 0; i < CHECK_COUNT; i++)
		left += works[i];
	for (size_t i = 0; i < CHECK_COUNT; i++) {
		size_t used = strlen(out);

		if (!works[i])
			continue;
		snprintf(out + used, size - used, "%s%s",
			 !listed   ? "" :
			 left == 1 ? " and " :
				     ", ",
			 checks[i].name);
		listed++;
		left--;
	}
}

static bool conclude(struct gt_doctor *d, const bool *works)
{
	char list[256];

	list_apis(list, sizeof list, works);
	if (d->json) {
		gt_json_end(d->json);
		gt_json_array(d->json, "tracked");
		for (size_t i = 0; i < CHECK_COUNT; i++)
			if (works[i])
				gt_json_text(d->json, NULL, checks[i].name);
		gt_json_end(d->json);
		gt_json_finish(d->json);
		return *list;
	}
	gt_print_end(&d->page);
	if (*list)
		gt_print_wrap(&d->page, GT_GREEN, 0, "%s programs can be tracked: %s run ./program",
			      list, gt_tool_name());
	else
		gt_print_wrap(&d->page, GT_RED, 0,
			      "Nothing can be tracked here yet: see the remedies above");
	return *list;
}

static int describe_system(const struct gt_style *style)
{
	struct gt_system *system = gt_alloc(sizeof *system);

	*system = (struct gt_system){
		.out = stdout, .utf8 = style->utf8, .root = "", .today = time(NULL)
	};
	gt_system_look(system);
	gt_system_write(system);
	free(system);
	return GT_EXIT_DONE;
}

int gt_cmd_doctor(int argc, char **argv)
{
	struct settings s = { 0 };
	struct gt_style style;
	struct gt_json json;
	struct gt_doctor *d;
	bool works[CHECK_COUNT] = { false }, good = true;
	int status, first = gt_options_parse(&gt_doctor_syntax, &s, argc, argv, &status);

	if (first < 0)
		return status;
	if (s.system && (s.json || s.program))
		return gt_syntax_wrong(&gt_doctor_syntax, "--system excludes --json and --program");
	style = gt_terminal_style(stdout, s.color);
	if (s.system)
		return describe_system(&style);
	d = gt_alloc(sizeof *d);
	d->program = s.program;
	d->json = s.json ? &json : NULL;
	gt_print_init(&d->page, stdout, &style);
	begin(d);
	for (size_t i = 0; i < CHECK_COUNT; i++) {
		if (checks[i].applies && !checks[i].applies(d))
			continue;
		works[i] = look(d, &checks[i]);
		good &= works[i] || !checks[i].must;
		works[i] &= checks[i].is_api;
	}
	good &= conclude(d, works);
	free(d);
	return good ? GT_EXIT_DONE : GT_EXIT_FAILED;
}
