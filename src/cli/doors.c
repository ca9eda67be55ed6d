/* SPDX-License-Identifier: MIT */
/* doors.c - where the libraries are that go into the traced program. */
#include "cli/doors.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From the installed program to the folder of the doors; Meson says. */
#ifndef GT_DOORS_FROM_PROGRAM
#define GT_DOORS_FROM_PROGRAM "."
#endif

bool gt_doors_find(char *out, size_t size, const char *file)
{
	static const char *const places[] = { ".", GT_DOORS_FROM_PROGRAM };
	char folder[PATH_MAX], place[2 * PATH_MAX], whole[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);

	if (n <= 0)
		return false;
	folder[n] = '\0';
	slash = strrchr(folder, '/');
	if (!slash)
		return false;
	*slash = '\0';
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		int used;

		/* without the dots, for those who read it */
		snprintf(place, sizeof place, "%s/%s", folder, places[i]);
		if (!realpath(place, whole))
			continue;
		used = snprintf(out, size, "%s/%s", whole, file);
		if (used > 0 && (size_t)used < size && !access(out, R_OK))
			return true;
	}
	return false;
}
