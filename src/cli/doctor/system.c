/* SPDX-License-Identifier: MIT */
/* system.c - the machine as a block of text: kernel, firmware and distribution. */
#include "cli/doctor/system.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/text.h"

static const char bar[] = "==============================\n";

FILE *gt_system_open(const struct gt_system *s, const char *path)
{
	char whole[PATH_MAX];

	snprintf(whole, sizeof whole, "%s%s", s->root, path);
	return fopen(whole, "re");
}

bool gt_system_line(const struct gt_system *s, char *out, size_t size, const char *format, ...)
{
	char path[512];
	va_list args;
	FILE *file;

	out[0] = '\0';
	va_start(args, format);
	vsnprintf(path, sizeof path, format, args);
	va_end(args);
	file = gt_system_open(s, path);
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

enum { LABEL_COLUMNS = 16, DAY_S = 86400 };

static void put_labelled(const struct gt_system *s, const char *label, const char *text)
{
	fprintf(s->out, "%*s: ", LABEL_COLUMNS, label);
	gt_system_text(s, text);
	fputc('\n', s->out);
}

static void copy_unquoted(char *out, size_t size, const char *value)
{
	size_t length = strlen(value);
	bool quoted = length >= 2 && value[0] == '"' && value[length - 1] == '"';

	snprintf(out, size, "%.*s", (int)(length - 2 * quoted), value + quoted);
}

/* The value of KEY=VALUE or KEY="VALUE" in os-release. */
static bool read_release(const struct gt_system *s, const char *key, char *out, size_t size)
{
	static const char *const places[] = { "/etc/os-release", "/usr/lib/os-release" };
	size_t length = strlen(key);
	bool found = false;
	char line[512];

	for (size_t i = 0; i < 2 && !found; i++) {
		FILE *file = gt_system_open(s, places[i]);

		while (file && !found && fgets(line, sizeof line, file)) {
			line[strcspn(line, "\n")] = '\0';
			if (strncmp(line, key, length) || line[length] != '=')
				continue;
			found = true;
			copy_unquoted(out, size, line + length + 1);
		}
		if (file)
			fclose(file);
	}
	return found;
}

/* "7month 4w", as systemd formats ages. */
static void format_age(char *out, size_t size, time_t seconds)
{
	/* clang-format off */
	static const struct { const char *unit; long s; } units[] = {
		{ "y", 31557600 }, { "month", 2629800 }, { "w", 604800 }, { "d", DAY_S },
	};
	/* clang-format on */
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		long count = (long)seconds / units[i].s;

		seconds -= count * units[i].s;
		if (count && used < size)
			used += (size_t)snprintf(out + used, size - used, "%s%ld%s",
						 used ? " " : "", count, units[i].unit);
	}
	if (!used)
		snprintf(out, size, "0");
}

/* MM/DD/YYYY, as the firmware has it. */
static void put_firmware_date(const struct gt_system *s, const char *date)
{
	struct tm day = { .tm_hour = 0 };
	char text[64];
	time_t then;

	if (!strptime(date, "%m/%d/%Y", &day)) {
		put_labelled(s, "Firmware Date", date);
		return;
	}
	then = timegm(&day);
	gmtime_r(&then, &day);
	/* English whatever the locale: the block is compared between machines */
	snprintf(text, sizeof text, "%.3s %04d-%02d-%02d",
		 &"SunMonTueWedThuFriSat"[3 * day.tm_wday], day.tm_year + 1900, day.tm_mon + 1,
		 day.tm_mday);
	put_labelled(s, "Firmware Date", text);
	if (s->today < then)
		return;
	format_age(text, sizeof text, s->today - then);
	put_labelled(s, "Firmware Age", text);
}

static void read_kernel(const struct gt_system *s, struct utsname *u)
{
	char text[256];

	if (uname(u))
		*u = (struct utsname){ .sysname = "Linux" };
	if (gt_system_line(s, text, sizeof text, "/proc/sys/kernel/osrelease"))
		snprintf(u->release, sizeof u->release, "%.*s", (int)sizeof u->release - 1, text);
	if (gt_system_line(s, text, sizeof text, "/proc/sys/kernel/version"))
		snprintf(u->version, sizeof u->version, "%.*s", (int)sizeof u->version - 1, text);
	if (gt_system_line(s, text, sizeof text, "/proc/sys/kernel/arch"))
		snprintf(u->machine, sizeof u->machine, "%.*s", (int)sizeof u->machine - 1, text);
}

void gt_system_host(const struct gt_system *s)
{
	/* clang-format off */
	static const struct { const char *label, *file; } board[] = {
		{ "Hardware Vendor", "sys_vendor" }, { "Hardware Model", "product_name" },
		{ "Firmware Version", "bios_version" },
	};
	/* clang-format on */
	struct utsname u;
	char text[512];

	read_kernel(s, &u);
	snprintf(text, sizeof text, "%s %s %s", u.sysname, u.release, u.version);
	gt_system_text(s, text);
	for (int i = 0; i < 3; i++) { /* machine, processor, platform: the same on Linux */
		fputc(' ', s->out);
		gt_system_text(s, u.machine);
	}
	fputs(" GNU/Linux\n\n", s->out);
	if (read_release(s, "PRETTY_NAME", text, sizeof text))
		put_labelled(s, "Operating System", text);
	snprintf(text, sizeof text, "%s %s", u.sysname, u.release);
	put_labelled(s, "Kernel", text);
	put_labelled(s, "Architecture",
		     !strcmp(u.machine, "x86_64")  ? "x86-64" :
		     !strcmp(u.machine, "aarch64") ? "arm64" :
						     u.machine);
	for (size_t i = 0; i < sizeof board / sizeof *board; i++)
		if (gt_system_line(s, text, sizeof text, "/sys/class/dmi/id/%s", board[i].file))
			put_labelled(s, board[i].label, text);
	if (gt_system_line(s, text, sizeof text, "/sys/class/dmi/id/bios_date"))
		put_firmware_date(s, text);
}

/* Everything in os-release except web addresses, the colour and the logo's name. */
static bool is_shown(const char *line)
{
	const char *equals = strchr(line, '=');

	return equals && line[0] != '#' && strncmp(line, "LOGO=", 5) &&
	       strncmp(line, "ANSI_COLOR=", 11) &&
	       !(equals - line >= 4 && !strncmp(equals - 4, "_URL", 4));
}

void gt_system_distribution(const struct gt_system *s)
{
	FILE *file = gt_system_open(s, "/etc/os-release");
	char line[512];

	if (!file)
		file = gt_system_open(s, "/usr/lib/os-release");
	if (!file) {
		fputs("(no os-release)\n", s->out);
		return;
	}
	while (fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!is_shown(line))
			continue;
		gt_system_text(s, line);
		fputc('\n', s->out);
	}
	fclose(file);
}
