/* SPDX-License-Identifier: MIT */
/* check_features.c - what this gputrack was built with; Meson hands the rows over. */
#include "cli/doctor/doctor.h"

#include "built_features.h"

struct feature {
	const char *name;
	bool is_in;
	const char *option, *needs; /* what switches it on, and what that asks for */
};

static const struct feature features[] = { GT_FEATURE_ROWS };

bool gt_doctor_features(struct gt_doctor *d)
{
	for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
		const struct feature *f = &features[i];

		gt_doctor_say(d, f->is_in ? GT_FINDING_GOOD : GT_FINDING_NOTE, f->name, "%s",
			      f->is_in ? "yes" : "left out of this build");
		if (!f->is_in)
			gt_doctor_remedy(d, "rebuild with -D%s=enabled; needs %s", f->option,
					 f->needs);
	}
	return true;
}
