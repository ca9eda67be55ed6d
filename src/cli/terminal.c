/* SPDX-License-Identifier: MIT */
/* terminal.c - what can be shown where the output goes: colours, width, characters, progress. */
#include "cli/terminal.h"

#include <langinfo.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/format.h"
#include "base/process.h"

enum { WIDTH_DEFAULT = 80, WIDTH_MAX = 300 };

/* clang-format off */
const char *const gt_color_names[] = {
	[GT_COLOR_AUTO] = "auto", [GT_COLOR_ALWAYS] = "always", [GT_COLOR_NEVER] = "never", NULL,
};
/* clang-format on */

static bool wants_color(FILE *out, enum gt_color color)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (color != GT_COLOR_AUTO)
		return color == GT_COLOR_ALWAYS;
	return isatty(fileno(out)) && !(no_color && *no_color) && term && strcmp(term, "dumb");
}

/* What the environment says; 0: nothing. */
static uint64_t width_given(void)
{
	const char *columns = getenv("COLUMNS");
	uint64_t given;

	return columns && gt_count_parse(columns, &given) ? given : 0;
}

static unsigned width_of(FILE *out)
{
	uint64_t given = width_given();
	struct winsize size;

	if (given)
		;
	else if (isatty(fileno(out)) && !ioctl(fileno(out), TIOCGWINSZ, &size) && size.ws_col)
		given = size.ws_col;
	else
		given = WIDTH_DEFAULT;
	return given < GT_PAGE_MIN ? GT_PAGE_MIN : given > WIDTH_MAX ? WIDTH_MAX : (unsigned)given;
}

struct gt_style gt_terminal_style(FILE *out, enum gt_color color)
{
	static char directory[PATH_MAX];

	if (!getcwd(directory, sizeof directory))
		directory[0] = '\0';
	return (struct gt_style){
		.color = wants_color(out, color),
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
		.width = width_of(out),
		.whole = !width_given() && !isatty(fileno(out)),
		.directory = directory,
	};
}

static uint64_t began_ns, shown_ns;

void gt_progress_tick(uint64_t events)
{
	uint64_t now = gt_now_ns();
	char text[GT_FORMAT_MAX];

	if (!began_ns)
		began_ns = now;
	if (now - began_ns < 1000000000u || now - shown_ns < 200000000u || !isatty(STDERR_FILENO))
		return;
	shown_ns = now;
	fprintf(stderr, "\rgputrack: read %s events", gt_format_count(text, events));
}

void gt_progress_end(void)
{
	if (shown_ns)
		fputs("\r\033[K", stderr);
	began_ns = shown_ns = 0;
}
