/* say.c - the one line that the traced process's stderr may get from us when something failed. */
#include "guest/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/quiet.h"

void gt_say(const char *format, ...)
{
	static const char prefix[] = "gputrack: ";
	char line[1024];
	size_t used = sizeof prefix - 1;
	va_list args;
	int n, saved = errno;

	memcpy(line, prefix, used);
	va_start(args, format);
	n = vsnprintf(line + used, sizeof line - used - 1, format, args);
	va_end(args);
	if (n > 0)
		used += (size_t)n < sizeof line - used - 1 ? (size_t)n : sizeof line - used - 2;
	line[used++] = '\n';
	/* one write, so that it does not mix with the program's lines; without stderr, unheard */
	gt_write_quiet(STDERR_FILENO, line, used, true);
	errno = saved;
}
