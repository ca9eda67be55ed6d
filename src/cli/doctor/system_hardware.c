/* SPDX-License-Identifier: MIT */
/* system_hardware.c - the machine's processors, memory, disks and GPUs. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli/doctor/system.h"

#define CPU "/sys/devices/system/cpu/cpu"

enum { LABEL_COLUMNS = 38, CPUS_MAX = 8192 };

static void put_labelled(const struct gt_system *s, const char *label, const char *text)
{
	fprintf(s->out, "%s:%*s", label, LABEL_COLUMNS - (int)strlen(label) - 1, "");
	gt_system_text(s, text);
	fputc('\n', s->out);
}

static void put_count(const struct gt_system *s, const char *label, unsigned count)
{
	char text[32];

	snprintf(text, sizeof text, "%u", count);
	put_labelled(s, label, text);
}

/* The number of CPUs in a list such as 0-3,8. */
static unsigned count_list(const char *list)
{
	unsigned count = 0;

	while (isdigit((unsigned char)*list)) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (last < first || last - first > CPUS_MAX)
			break;
		count += (unsigned)(last - first + 1);
		list = *end == ',' ? end + 1 : end;
	}
	return count;
}

/* The first "key : value" of /proc/cpuinfo. */
static bool read_cpuinfo(const struct gt_system *s, const char *key, char *out, size_t size)
{
	FILE *file = gt_system_open(s, "/proc/cpuinfo");
	size_t length = strlen(key);
	char line[1024], *colon;
	bool found = false;

	while (file && !found && fgets(line, sizeof line, file)) {
		colon = strchr(line, ':');
		if (strncmp(line, key, length) || !colon ||
		    (size_t)(colon - line) != length + strspn(line + length, " \t"))
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
		found = *out;
	}
	if (file)
		fclose(file);
	return found;
}

/* String `number` of those behind the fixed part of a DMI record; "" if it has none. */
static const char *dmi_string(const char *raw, size_t size, unsigned number)
{
	size_t at = size > 1 ? (uint8_t)raw[1] : size;

	while (number > 1 && at < size && raw[at]) {
		at += strnlen(raw + at, size - at) + 1;
		number--;
	}
	return number && at < size && memchr(raw + at, '\0', size - at) ? raw + at : "";
}

/* The firmware's name of the processor, its part number and speed; readable by root only. */
static void put_bios_model(const struct gt_system *s)
{
	enum { VERSION = 0x10, SPEED = 0x16, PART = 0x22 };
	FILE *file = gt_system_open(s, "/sys/firmware/dmi/entries/4-0/raw");
	char raw[1024] = "", text[512];
	const char *part;
	size_t size = 0;
	unsigned mhz;

	if (file) {
		size = fread(raw, 1, sizeof raw, file);
		fclose(file);
	}
	if (size <= PART || (uint8_t)raw[1] <= PART)
		return;
	mhz = (uint8_t)raw[SPEED] | (unsigned)(uint8_t)raw[SPEED + 1] << 8;
	part = dmi_string(raw, size, (uint8_t)raw[PART]);
	snprintf(text, sizeof text, "%s%s%s CPU @ %u.%uGHz",
		 dmi_string(raw, size, (uint8_t)raw[VERSION]), *part ? " " : "", part, mhz / 1000,
		 mhz % 1000 / 100);
	put_labelled(s, "BIOS Model name", text);
}

/* Mean of the processors' current speed in percent of their maximum. */
static void put_scaling(const struct gt_system *s, unsigned cpus)
{
	double now = 0, most = 0;
	char text[64];

	for (unsigned i = 0; i < cpus; i++) {
		char current[32], highest[32];

		if (!gt_system_line(s, current, sizeof current, CPU "%u/cpufreq/scaling_cur_freq",
				    i) ||
		    !gt_system_line(s, highest, sizeof highest, CPU "%u/cpufreq/cpuinfo_max_freq",
				    i))
			continue;
		now += strtod(current, NULL);
		most += strtod(highest, NULL);
	}
	if (most <= 0)
		return;
	snprintf(text, sizeof text, "%.0f%%", 100 * now / most);
	put_labelled(s, "CPU(s) scaling MHz", text);
}

static unsigned count_sockets(const struct gt_system *s, unsigned cpus)
{
	static bool seen[CPUS_MAX];
	unsigned sockets = 0;

	memset(seen, 0, sizeof seen);
	for (unsigned i = 0; i < cpus; i++) {
		char text[32];
		unsigned long number;

		if (!gt_system_line(s, text, sizeof text, CPU "%u/topology/physical_package_id", i))
			continue;
		number = strtoul(text, NULL, 10);
		if (number < CPUS_MAX && !seen[number]) {
			seen[number] = true;
			sockets++;
		}
	}
	return sockets;
}

void gt_system_processor(const struct gt_system *s)
{
	char text[1024], label[64];
	struct utsname u = { .machine = "" };
	unsigned cpus = 0, sockets;

	uname(&u);
	if (gt_system_line(s, text, sizeof text, "/proc/sys/kernel/arch"))
		snprintf(u.machine, sizeof u.machine, "%.*s", (int)sizeof u.machine - 1, text);
	put_labelled(s, "Architecture", u.machine);
	if (gt_system_line(s, text, sizeof text, "/sys/devices/system/cpu/present")) {
		cpus = count_list(text);
		put_count(s, "CPU(s)", cpus);
	}
	if (gt_system_line(s, text, sizeof text, "/sys/devices/system/cpu/online"))
		put_labelled(s, "On-line CPU(s) list", text);
	if (read_cpuinfo(s, "model name", text, sizeof text) ||
	    read_cpuinfo(s, "Model", text, sizeof text))
		put_labelled(s, "Model name", text);
	put_bios_model(s);
	if (gt_system_line(s, text, sizeof text, CPU "0/topology/thread_siblings_list"))
		put_count(s, "Thread(s) per core", count_list(text));
	sockets = count_sockets(s, cpus);
	if (sockets)
		put_count(s, "Socket(s)", sockets);
	put_scaling(s, cpus);
	for (unsigned node = 0; node < 1024; node++)
		if (gt_system_line(s, text, sizeof text, "/sys/devices/system/node/node%u/cpulist",
				   node)) {
			snprintf(label, sizeof label, "NUMA node%u CPU(s)", node);
			put_labelled(s, label, text);
		}
}

/* A size in at most three digits: 125Gi, 7.5Gi, 0B. Rounds down as free does, or up as df. */
static char *format_size(char out[16], double bytes, const char *const units[], bool up)
{
	size_t unit = 0;
	double tenths;

	while (bytes >= 1024 && units[unit + 1]) {
		bytes /= 1024;
		unit++;
	}
	tenths = (double)(uint64_t)(bytes * 10);
	if (up && tenths < bytes * 10)
		tenths++;
	if (!unit || tenths >= 100) {
		double whole = (double)(uint64_t)bytes;

		snprintf(out, 16, "%.0f%s", up && whole < bytes ? whole + 1 : whole, units[unit]);
	} else {
		snprintf(out, 16, "%.1f%s", up ? tenths / 10 : bytes, units[unit]);
	}
	return out;
}

static uint64_t meminfo_kb(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

void gt_system_memory(const struct gt_system *s)
{
	static const char *const units[] = { "B", "Ki", "Mi", "Gi", "Ti", "Pi", NULL };
	FILE *file = gt_system_open(s, "/proc/meminfo");
	char text[8192] = "\n", size[6][16];
	uint64_t total, free_kb, available, swap, swap_free;

	if (file) {
		text[1 + fread(text + 1, 1, sizeof text - 2, file)] = '\0';
		fclose(file);
	}
	total = meminfo_kb(text, "\nMemTotal:");
	free_kb = meminfo_kb(text, "\nMemFree:");
	available = meminfo_kb(text, "\nMemAvailable:");
	swap = meminfo_kb(text, "\nSwapTotal:");
	swap_free = meminfo_kb(text, "\nSwapFree:");
#define SIZE(n, kb) format_size(size[n], (double)(kb)*1024, units, false)
	fprintf(s->out, "%20s%12s%12s%12s%12s%12s\n", "total", "used", "free", "shared",
		"buff/cache", "available");
	fprintf(s->out, "Mem: %15s%12s%12s%12s%12s%12s\n", SIZE(0, total),
		SIZE(1, total > available ? total - available : 0), SIZE(2, free_kb),
		SIZE(3, meminfo_kb(text, "\nShmem:")),
		SIZE(4, meminfo_kb(text, "\nBuffers:") + meminfo_kb(text, "\nCached:") +
				meminfo_kb(text, "\nSReclaimable:")),
		SIZE(5, available));
	fprintf(s->out, "Swap:%15s%12s%12s\n", SIZE(0, swap),
		SIZE(1, swap > swap_free ? swap - swap_free : 0), SIZE(2, swap_free));
#undef SIZE
}

void gt_system_disks(const struct gt_system *s)
{
	static const char *const units[] = { "", "K", "M", "G", "T", "P", NULL };
	const struct gt_disks *d = &s->disks;
	uint64_t room = d->used_bytes + d->available_bytes;
	char size[3][16], percent[16] = "-";

	if (room)
		snprintf(percent, sizeof percent, "%" PRIu64 "%%",
			 (uint64_t)((100 * (unsigned __int128)d->used_bytes + room - 1) / room));
	fprintf(s->out, "%-48s%6s%6s%6s%5s %s\n", "Filesystem", "Size", "Used", "Avail", "Use%",
		"Mounted on");
	fprintf(s->out, "%-48s%6s%6s%6s%5s %s\n", "total",
		format_size(size[0], (double)d->size_bytes, units, true),
		format_size(size[1], (double)d->used_bytes, units, true),
		format_size(size[2], (double)d->available_bytes, units, true), percent, "-");
}

enum { CARDS_MAX = 64, MIB = 1 << 20 };

static void put_nvidia(const struct gt_system *s)
{
	fputs("[NVIDIA GPUs detected]\n", s->out);
	for (unsigned i = 0; i < s->gpu_count; i++) {
		fprintf(s->out, "GPU %u: ", s->gpus[i].index);
		gt_system_text(s, s->gpus[i].name);
		fputs(" (UUID: ", s->out);
		gt_system_text(s, s->gpus[i].uuid);
		fputs(")\n", s->out);
	}
	fputc('\n', s->out);
	for (unsigned i = 0; i < s->gpu_count; i++) {
		const struct gt_nvidia_gpu *g = &s->gpus[i];

		fprintf(s->out, "%u, ", g->index);
		gt_system_text(s, g->name);
		fputs(", ", s->out);
		gt_system_text(s, g->driver);
		fprintf(s->out, ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %u\n",
			g->total_bytes / MIB, g->used_bytes / MIB, g->free_bytes / MIB,
			g->busy_percent);
	}
}

/* Cards with a kernel driver, whether or not an API supports them; NVIDIA's are listed above. */
static unsigned put_cards(const struct gt_system *s, bool anything)
{
	unsigned count = 0;

	for (unsigned i = 0; i < CARDS_MAX; i++) {
		char vendor[32], device[32], driver[128], line[320];

		if (!gt_system_line(s, vendor, sizeof vendor, "/sys/class/drm/card%u/device/vendor",
				    i) ||
		    (s->gpu_count && !strcmp(vendor, "0x10de")))
			continue;
		gt_system_line(s, device, sizeof device, "/sys/class/drm/card%u/device/device", i);
		gt_system_line(s, driver, sizeof driver, "/sys/class/drm/card%u/device/uevent", i);
		if (!count++)
			fprintf(s->out, "%s[DRM cards]\n", anything ? "\n" : "");
		snprintf(line, sizeof line, "card%u: PCI %s:%s, driver %s", i, vendor, device,
			 strncmp(driver, "DRIVER=", 7) ? "unknown" : driver + 7);
		gt_system_text(s, line);
		fputc('\n', s->out);
	}
	return count;
}

/* The lines are clean already, but not for a terminal without UTF-8. */
static void put_others(const struct gt_system *s, bool anything)
{
	const char *at = s->others;

	if (anything)
		fputc('\n', s->out);
	while (*at) {
		const char *end = strchrnul(at, '\n');
		char line[1200];

		snprintf(line, sizeof line, "%.*s", (int)(end - at), at);
		gt_system_text(s, line);
		fputc('\n', s->out);
		at = *end ? end + 1 : end;
	}
}

void gt_system_gpus(const struct gt_system *s)
{
	bool anything = s->gpu_count;

	if (s->gpu_count)
		put_nvidia(s);
	if (*s->others)
		put_others(s, anything);
	anything |= *s->others;
	anything |= put_cards(s, anything) > 0;
	if (!anything)
		fputs("No GPU found\n", s->out);
}
