/* SPDX-License-Identifier: MIT */
/* process.c - the host's boot, when a process began, and this process's rank in a parallel job. */
#include "base/process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The start time is the 20th word after the name. */
enum { START_WORD = 20 };

uint64_t gt_process_start_ns(uint32_t pid)
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

static char boot_id[40];

static void read_boot_id(void)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, boot_id, sizeof boot_id - 1);

	if (fd >= 0)
		close(fd);
	boot_id[n > 0 ? n : 0] = '\0';
	boot_id[strcspn(boot_id, "\n")] = '\0';
}

const char *gt_boot_id(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_boot_id);
	return boot_id;
}

enum { DIGITS_MAX = 10 };

const char *gt_job_rank(void)
{
	/* a name with other uses counts only where `with` is set too */
	/* clang-format off */
	static const struct {
		const char *rank, *with;
	} launchers[] = {
		{ "OMPI_COMM_WORLD_RANK", NULL }, { "PMIX_RANK", NULL }, { "PMI_RANK", NULL },
		{ "MV2_COMM_WORLD_RANK", NULL },  { "PALS_RANKID", NULL },
		{ "JSM_NAMESPACE_RANK", NULL },   { "FLUX_TASK_RANK", NULL },
		{ "ALPS_APP_PE", NULL },          { "SLURM_PROCID", "SLURM_STEP_ID" },
		{ "RANK", "WORLD_SIZE" },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
		const char *rank = secure_getenv(launchers[i].rank);
		size_t size = rank ? strlen(rank) : 0;

		if (size && size <= DIGITS_MAX && strspn(rank, "0123456789") == size &&
		    (!launchers[i].with || secure_getenv(launchers[i].with)))
			return rank;
	}
	return NULL;
}
