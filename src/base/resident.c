/* SPDX-License-Identifier: MIT */
/* resident.c - gives back the memory that only a start-up needed. */
#include "base/resident.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct mapping {
	uintptr_t start, end;
	bool is_of_file; /* private and read-only */
};

/* False for a line that does not begin a mapping. */
static bool read_mapping(struct mapping *m, const char *line)
{
	unsigned long start, end, inode;
	char access[5];

	if (sscanf(line, "%lx-%lx %4s %*x %*s %lu", &start, &end, access, &inode) != 4)
		return false;
	*m = (struct mapping){ .start = start,
			       .end = end,
			       .is_of_file = inode &&
					     (!strcmp(access, "r--p") || !strcmp(access, "r-xp")) };
	return true;
}

void gt_resident_trim(void)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	struct mapping m = { 0 };
	unsigned long own_kb;
	char *line = NULL;
	size_t room = 0;

	while (smaps && getline(&line, &room, smaps) > 0) {
		/* a page that differs from the file, as by a breakpoint, would be lost */
		if (!read_mapping(&m, line) && m.is_of_file &&
		    sscanf(line, "Anonymous: %lu kB", &own_kb) == 1 && !own_kb)
			madvise((void *)m.start, m.end - m.start, MADV_DONTNEED);
	}
	free(line);
	if (smaps)
		fclose(smaps);
	malloc_trim(0);
}
