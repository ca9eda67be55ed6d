/* SPDX-License-Identifier: MIT */
/* process.c - what the kernel tells of a process by its number. */
#include "base/process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* The start is the 20th word behind the name. */
enum { START_WORD = 20 };

uint64_t gt_process_began_ns(uint32_t pid)
{
	uint64_t booted = gt_clock_ns(CLOCK_REALTIME) - gt_clock_ns(CLOCK_BOOTTIME);
	char path[32], text[1024], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* the name, in brackets, may be anything; the state follows it */
	at = strrchr(text, ')');
	if (!at || at[1] != ' ' || strchr("ZXx", at[2]))
		return 0;
	for (int i = 0; at && i < START_WORD; i++)
		at = strchr(at + 1, ' ');
	return at ? booted + strtoull(at, NULL, 10) *
				       (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK)) :
		    0;
}
