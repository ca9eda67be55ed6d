/* settings.h - what the traced process was asked to do, from its environment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gt_settings {
	const char *recording; /* folder to record into, absolute; NULL: do not record */
	uint32_t stack_depth;  /* frames to keep; 0: no stacks */
};

/*
 * Read once. GPUTRACK_RECORDING names the folder, GPUTRACK_STACKS the depth (0 to 256, default 64).
 * A setuid program's environment says nothing.
 */
const struct gt_settings *gt_settings_get(void);
