/* SPDX-License-Identifier: MIT */
/* check_config.c - the doctor's look at the configuration: which file, how many settings, mistakes.
 */
#include "cli/config.h"
#include "cli/doctor/doctor.h"

bool gt_doctor_config(struct gt_doctor *d)
{
	size_t count;
	const char *path = gt_config_path(&count), *ignored = gt_config_ignored(),
		   *mistake = gt_config_mistake();

	if (mistake)
		gt_doctor_say(d, GT_FINDING_BAD, "settings", "%s", mistake);
	else if (path || count)
		gt_doctor_say(d, GT_FINDING_GOOD, "settings", "%s, %zu %s in all",
			      path ? path : "GPUTRACK_OPTIONS", count,
			      gt_plural(count, "setting", "settings"));
	else
		gt_doctor_say(d, GT_FINDING_NOTE, "settings",
			      "no file: .gputrackrc here, or ~/.config/gputrack/config");
	if (ignored)
		gt_doctor_remedy(d, "%s", ignored);
	else if (mistake)
		gt_doctor_remedy(d, "correct it; until then the other commands stop at it");
	return !mistake;
}
