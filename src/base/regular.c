/* SPDX-License-Identifier: MIT */
/* regular.c - files of a recording's folder, where others may have put something else. */
#include "base/regular.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *gt_regular_open(const char *path, off_t most)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *in = NULL;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= most)
		in = fdopen(fd, "r");
	if (fd >= 0 && !in)
		close(fd);
	return in;
}
