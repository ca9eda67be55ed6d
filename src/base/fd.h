/* fd.h - descriptors of ours in somebody else's process. */
#pragma once

#include <fcntl.h>
#include <unistd.h>

/* Out of the way of programs that count on low numbers. */
enum { GT_FD_FIRST = 500 };

/* The same file under a high number, if one can be had; the low one is closed then. */
static inline int gt_fd_aside(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, GT_FD_FIRST);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}
