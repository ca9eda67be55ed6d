/* SPDX-License-Identifier: MIT */
/* share.h - what the stand-in driver and libnvidia-ml share: the file FAKE_NVML_SHARE. */
#pragma once

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct fake_share {
	_Atomic uint64_t bytes;    /* that the driver has given out on GPU 0 */
	_Atomic uint64_t pid;      /* of the process that has them */
	_Atomic uint64_t readings; /* how often somebody asked */
};

/* NULL where the environment names no file. */
static inline struct fake_share *fake_share_open(void)
{
	const char *path = getenv("FAKE_NVML_SHARE");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *page = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, 4096))
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return page == MAP_FAILED ? NULL : page;
}

/* Waits until somebody has asked three times more what is in use: two periods have passed. */
static inline void fake_share_be_seen(struct fake_share *share)
{
	uint64_t before = share ? atomic_load(&share->readings) : 0;

	for (int i = 0; share && atomic_load(&share->readings) < before + 3 && i < 2000; i++)
		usleep(10000);
}
