/* SPDX-License-Identifier: MIT */
/* local_time.c - wall-clock time as the recorded machine had it: that of nvidia-smi's logs. */
#include "replay/local_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS 1000000000ull

const char *gt_local_time(char out[GT_LOCAL_TIME], const struct gt_recording *r, uint64_t time_ns)
{
	const char *offset = gt_recording_info(r, "utc_offset_s");
	uint64_t real_ns = gt_recording_start_real_ns(r);
	time_t seconds;
	struct tm tm;
	char text[32];

	if (!real_ns)
		return strcpy(out, "-");
	real_ns += time_ns - gt_recording_start_ns(r);
	seconds = (time_t)(real_ns / SECOND_NS) + (*offset ? atoll(offset) : 0);
	if (!(*offset ? gmtime_r(&seconds, &tm) : localtime_r(&seconds, &tm)) ||
	    !strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S", &tm))
		return strcpy(out, "-");
	snprintf(out, GT_LOCAL_TIME, "%s.%06u", text, (unsigned)(real_ns % SECOND_NS / 1000));
	return out;
}
