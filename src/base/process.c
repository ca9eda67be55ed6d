/* SPDX-License-Identifier: MIT */
/* process.c - the host's boot, the state of a process, and this process's rank in a parallel job.
 */
#include "base/process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/small_printf.h"
#include "base/table_memory.h"

/* Words of /proc/PID/stat, counted from the state, which follows the name. */
enum { PPID_WORD = 1, FLAGS_WORD = 6, START_WORD = 19, EXIT_WORD = 49 };

enum { TEXT_MAX = 1024 };
enum { FLAG_EXITING = 4 }; /* PF_EXITING: set before the kernel closes the files */

static const char *word(const char *at, int number)
{
	while (at && number--) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	return at;
}

static bool parse(struct gt_process_state *state, const char *text)
{
	/* the name, in brackets, may be anything */
	const char *name_end = strrchr(text, ')'), *status;

	if (!name_end || name_end[1] != ' ')
		return false;
	status = word(name_end + 2, EXIT_WORD);
	if (!status)
		return false;
	state->ppid = (uint32_t)strtoul(word(name_end + 2, PPID_WORD), NULL, 10);
	state->has_ended = strchr("ZXx", name_end[2]);
	state->is_ending = state->has_ended ||
			   strtoul(word(name_end + 2, FLAGS_WORD), NULL, 10) & FLAG_EXITING;
	state->start_ticks = strtoull(word(name_end + 2, START_WORD), NULL, 10);
	state->exit_status = (int)strtol(status, NULL, 10);
	return true;
}

bool gt_process_state_read(struct gt_process_state *state, uint32_t pid)
{
	char path[32], *text = gt_table_alloc(TEXT_MAX); /* a traced process's stack may be small */
	bool is_read = false;
	ssize_t n;
	int fd;

	gt_snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
	fd = text ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);
	if (fd >= 0)
		close(fd);
	if (n > 0) {
		text[n] = '\0';
		is_read = parse(state, text);
	}
	gt_table_free(text);
	return is_read;
}

uint64_t gt_process_start_ns(uint32_t pid)
{
	uint64_t booted = gt_clock_ns(CLOCK_REALTIME) - gt_clock_ns(CLOCK_BOOTTIME);
	struct gt_process_state state;

	if (!gt_process_state_read(&state, pid) || state.has_ended)
		return 0;
	return booted + state.start_ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
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
