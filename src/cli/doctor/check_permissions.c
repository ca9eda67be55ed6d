/* SPDX-License-Identifier: MIT */
/* check_permissions.c - the doctor's look at what this user may do: devices, locked memory. */
#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"
#include "cli/doctor/doctor.h"

/* Where GPUs are opened; whoever may not has no driver that answers. */
/* clang-format off */
static const char *const device_files[] = {
	"/dev/dri/renderD*", "/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/kfd",
};
/* clang-format on */

/* The first device that is there and not ours to use; *seen: some are there. */
static const char *find_closed(glob_t *found, bool *seen)
{
	for (size_t i = 0; i < sizeof device_files / sizeof *device_files; i++)
		glob(device_files[i], i ? GLOB_APPEND : 0, NULL, found);
	*seen = found->gl_pathc;
	for (size_t i = 0; i < found->gl_pathc; i++)
		if (access(found->gl_pathv[i], R_OK | W_OK))
			return found->gl_pathv[i];
	return NULL;
}

static bool check_devices(struct gt_doctor *d)
{
	glob_t found = { 0 };
	struct stat status;
	struct group *group;
	bool seen;
	const char *closed = find_closed(&found, &seen);

	if (closed) {
		gt_doctor_say(d, GT_FINDING_BAD, "GPU devices", "%s may not be used: %s", closed,
			      strerror(errno));
		group = stat(closed, &status) ? NULL : getgrgid(status.st_gid);
		if (group && status.st_gid)
			gt_doctor_remedy(d,
					 "join its group and log in again: sudo usermod -aG %s "
					 "$USER",
					 group->gr_name);
	} else if (seen) {
		gt_doctor_say(d, GT_FINDING_GOOD, "GPU devices", "%zu can be opened, from %s on",
			      found.gl_pathc, found.gl_pathv[0]);
	} else {
		gt_doctor_say(d, GT_FINDING_NOTE, "GPU devices",
			      "no GPU is seen in /dev; drivers for the CPU need none");
	}
	globfree(&found);
	return !closed;
}

static void check_locked(struct gt_doctor *d)
{
	struct rlimit limit;
	char text[GT_FORMAT_MAX];

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		gt_doctor_say(d, GT_FINDING_GOOD, "locked memory", "no limit");
	else
		gt_doctor_say(d, GT_FINDING_NOTE, "locked memory",
			      "at most %s (ulimit -l); drivers pin host memory within it, attach "
			      "needs none of it",
			      gt_format_bytes(text, limit.rlim_cur));
}

bool gt_doctor_permissions(struct gt_doctor *d)
{
	bool works = check_devices(d);

	check_locked(d);
	return works;
}
