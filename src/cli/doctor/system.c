/* SPDX-License-Identifier: MIT */
/* system.c - the machine in a block of text: headings, and what the sections share. */
#include "cli/doctor/system.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"

static const char bar[] = "==============================\n";

bool gt_system_line(const struct gt_system *s, char *out, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	size_t at = (size_t)snprintf(path, sizeof path, "%s", s->root);
	va_list args;
	FILE *file;

	out[0] = '\0';
	if (at >= sizeof path)
		return false;
	va_start(args, format);
	vsnprintf(path + at, sizeof path - at, format, args);
	va_end(args);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(out, (int)size, file))
		out[0] = '\0';
	fclose(file);
	out[strcspn(out, "\n")] = '\0';
	for (size_t end = strlen(out); end && out[end - 1] == ' ';)
		out[--end] = '\0';
	return *out;
}

void gt_system_text(const struct gt_system *s, const char *text)
{
	gt_text_put(s->out, text, UINT32_MAX, GT_CUT_MIDDLE, s->utf8);
}

static void heading(const struct gt_system *s, const char *picture, const char *title)
{
	fprintf(s->out, "%s %s%s\n%s", bar, s->utf8 ? picture : "", title, bar);
}

void gt_system_write(const struct gt_system *s)
{
	heading(s, "🖥️  ", "System & Kernel Info");
	gt_system_host(s);
	fputc('\n', s->out);
	heading(s, "📦 ", "Distribution Info");
	gt_system_distribution(s);
	fputc('\n', s->out);
	heading(s, "💾 ", "Hardware Info");
	gt_system_processor(s);
	fputc('\n', s->out);
	gt_system_memory(s);
	fputc('\n', s->out);
	gt_system_disks(s);
	fputc('\n', s->out);
	heading(s, "🎮 ", "GPU Info");
	gt_system_gpus(s);
}
