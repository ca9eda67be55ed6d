/* SPDX-License-Identifier: MIT */
/* kept_files.c - programs and libraries that are no longer at their path, for the names in a
 * report. */
#include "cli/attach/kept_files.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* Makes a link to a descriptor, and the folders above it. */
static void link_to(int fd, const char *path)
{
	char target[64], *copy = gt_strdup(path);

	for (char *slash = copy + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(copy, 0700);
		*slash = '/';
	}
	free(copy);
	snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
	(void)!symlink(target, path);
}

static void keep(struct gt_kept_files *k, const struct gt_image *image, const char *recorded)
{
	char path[PATH_MAX + 128], *at = path;
	int fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return;
	GT_GROW(k->fds, k->count, k->room);
	k->fds[k->count++] = fd;
	/* as gt_module_locate searches: by path, or by build id */
	snprintf(path, sizeof path, "%s%.4000s", k->folder, recorded);
	link_to(fd, path);
	if (image->build_id_size < 2)
		return;
	at += sprintf(at, "%s/.build-id/%02x/", k->folder, image->build_id[0]);
	for (size_t i = 1; i < image->build_id_size; i++)
		at += sprintf(at, "%02x", image->build_id[i]);
	link_to(fd, path);
}

void gt_kept_files_take(struct gt_kept_files *k, struct gt_tracer *tracer)
{
	const struct gt_images *images = gt_tracer_images(tracer);

	for (size_t i = 0; i < images->count; i++) {
		struct gt_image *image = images->list[i];

		if (image->fd < 0 || gt_image_is_reachable(image))
			continue;
		if (!*k->folder) {
			snprintf(k->folder, sizeof k->folder, "/tmp/gputrack-files.XXXXXX");
			if (!mkdtemp(k->folder)) {
				k->folder[0] = '\0';
				return;
			}
			k->search[0] = k->folder;
		}
		keep(k, image, gt_image_path(image, 0));
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	remove(path);
	return 0;
}

void gt_kept_files_fini(struct gt_kept_files *k)
{
	if (*k->folder)
		nftw(k->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	for (size_t i = 0; i < k->count; i++)
		close(k->fds[i]);
	free(k->fds);
}
