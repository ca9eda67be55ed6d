/* doctor.h - the doctor's findings: one line each, with a remedy where something is missing. */
#pragma once

#include "view/page.h"

enum gt_finding { GT_FINDING_GOOD, GT_FINDING_BAD, GT_FINDING_NOTE };

struct gt_doctor {
	struct gt_page page;
};

/* What a check looked at (our word) and what it found (anybody's words). */
void gt_doctor_say(struct gt_doctor *d, enum gt_finding finding, const char *what,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));
/* What to do about the finding above. */
void gt_doctor_remedy(struct gt_doctor *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Loader, drivers, door, self-test; true when OpenCL programs can be tracked. */
bool gt_doctor_opencl(struct gt_doctor *d);
/* The same for CUDA. */
bool gt_doctor_cuda(struct gt_doctor *d);
/* The same for Level Zero. */
bool gt_doctor_levelzero(struct gt_doctor *d);
