/* SPDX-License-Identifier: MIT */
/* check_recordings.c - the doctor's look at this folder: can a recording be written here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/format.h"
#include "cli/doctor/doctor.h"

bool gt_doctor_recordings(struct gt_doctor *d)
{
	char name[] = "gputrack-doctor.XXXXXX", room[GT_FORMAT_MAX] = "unknown room";
	struct statvfs fs;

	if (!mkdtemp(name)) {
		gt_doctor_say(d, GT_FINDING_BAD, "this folder",
			      "recordings cannot be written here: %s", strerror(errno));
		gt_doctor_remedy(d, "give another place: gputrack run -o FOLDER/NAME.gt ...");
		return false;
	}
	rmdir(name);
	if (!statvfs(".", &fs))
		gt_format_bytes(room, (uint64_t)fs.f_bavail * fs.f_frsize);
	gt_doctor_say(d, GT_FINDING_GOOD, "this folder", "recordings can be written here, %s free",
		      room);
	return true;
}
