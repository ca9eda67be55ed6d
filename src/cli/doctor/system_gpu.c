/* SPDX-License-Identifier: MIT */
/* system_gpu.c - the machine's GPUs: NVIDIA's, other APIs' devices, and what the kernel knows. */
#include <inttypes.h>
#include <string.h>

#include "cli/doctor/system.h"

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

/* What the kernel drives, whether or not an API has a driver for it; NVIDIA's are told above. */
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

/* The lines were cleaned where they were made, but not for a terminal without UTF-8. */
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
