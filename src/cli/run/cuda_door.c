/* SPDX-License-Identifier: MIT */
/*
 * cuda_door.c - which of the two ways into CUDA a program gets.
 *
 * Directly: a small library is preloaded. Through CUPTI: the driver loads the door. Both are
 * prepared, so that a child which was started without the preload is tracked as well; where the
 * preload is in a process, the door does not ask for CUPTI. Nsight Compute refuses programs that
 * CUPTI's variable is set for: around us it is left out, within the preloaded library removes it.
 */
#include "cli/run/cuda_door.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/launch.h"

#define DRIVER "libcuda.so.1"

const char *const gt_cuda_way_names[] = { "auto", "direct", "cupti", NULL };
const char *const gt_pools_wanted_names[] = { "auto", "gpu", "cpu", "none", NULL };

static void set(const char *name, const char *value)
{
	if (setenv(name, value, 1))
		gt_memory_check(NULL);
}

/* Other preloads keep their place: some must be the first (AddressSanitizer's). */
static void set_last(const char *name, const char *ours)
{
	const char *old = getenv(name);
	char *list;

	if (old && strstr(old, ours))
		return;
	if (asprintf(&list, "%s%s%s", old ? old : "", old && *old ? ":" : "", ours) < 0)
		gt_memory_check(NULL);
	set(name, list);
	free(list);
}

static bool is_on_path(const char *path)
{
	char file[PATH_MAX];

	while (path && *path) {
		size_t length = strcspn(path, ":;");

		snprintf(file, sizeof file, "%.*s%s" DRIVER, (int)length, path, length ? "/" : "");
		if (!access(file, R_OK))
			return true;
		path += length + (path[length] != '\0');
	}
	return false;
}

/* The loader's cache holds the names of all libraries in its folders. */
static bool is_in_cache(void)
{
	static const char name[] = DRIVER;
	int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
	bool found = false;
	struct stat st;
	void *bytes;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_size > 0) {
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes != MAP_FAILED) {
			found = memmem(bytes, (size_t)st.st_size, name, sizeof name);
			munmap(bytes, (size_t)st.st_size);
		}
	}
	close(fd);
	return found;
}

bool gt_cuda_is_installed(void)
{
	return is_on_path(getenv("LD_LIBRARY_PATH")) || is_in_cache();
}

/* The driver loads only one such library: one that is already set stays. */
static void open_cupti(const char *path, bool is_only_way)
{
	const char *other = getenv("CUDA_INJECTION64_PATH");

	if (!other || !*other || !strcmp(other, path))
		set("CUDA_INJECTION64_PATH", path);
	else if (is_only_way)
		gt_tell("CUDA_INJECTION64_PATH is already set, so CUDA is not tracked: "
			"unset it to track CUDA");
}

/* The pools above the driver are seen by the preloaded library alone. */
static void open_pools(enum gt_pools_wanted pools, bool is_preloaded)
{
	bool is_asked_for = pools == GT_POOLS_GPU || pools == GT_POOLS_CPU;

	set("GPUTRACK_POOLS", gt_pools_wanted_names[pools == GT_POOLS_AUTO ? GT_POOLS_GPU : pools]);
	if (is_asked_for && !is_preloaded)
		gt_tell("the blocks of memory pools are not tracked: they need the direct way "
			"into CUDA (--cuda-door)");
}

bool gt_cuda_open_door(enum gt_cuda_way way, enum gt_pools_wanted pools)
{
	char door[PATH_MAX], preload[PATH_MAX];
	bool direct;

	if (!gt_doors_find(door, sizeof door, "libgputrack_cuda.so"))
		return false;
	direct = way != GT_CUDA_CUPTI_WAY &&
		 gt_doors_find(preload, sizeof preload, "libgputrack_preload.so") &&
		 (way == GT_CUDA_DIRECT_WAY || pools == GT_POOLS_GPU || pools == GT_POOLS_CPU ||
		  gt_cuda_is_installed());
	if (way == GT_CUDA_DIRECT_WAY && !direct)
		gt_tell("CUDA is tracked through CUPTI: this build has no libgputrack_preload.so");
	if (direct) {
		set_last("LD_PRELOAD", preload);
		/* it ends programs that have it in a library, and another library before that */
		set_last("ASAN_OPTIONS", "verify_asan_link_order=0");
	}
	open_pools(pools, direct);
	if (!direct || !getenv("NV_NSIGHT_INJECTION_PORT_BASE"))
		open_cupti(door, !direct);
	return true;
}
