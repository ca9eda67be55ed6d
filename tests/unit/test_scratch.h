/* SPDX-License-Identifier: MIT */
/* test_scratch.h - for tests that write files: one folder per test program, removed at its end. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

static char scratch[] = "/tmp/gputrack-test.XXXXXX";

static inline int make_scratch(void **state)
{
	(void)state;
	return mkdtemp(scratch) ? 0 : -1;
}

static inline int remove_scratch(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", scratch);
	return system(command);
}
