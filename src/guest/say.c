/* SPDX-License-Identifier: MIT */
/* say.c - the one line that the traced process's stderr may get from us when something failed. */
#include "guest/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/guest_file.h"

/* The controls beyond ASCII, in UTF-8: U+0080 to U+009F. */
static bool is_c1(const char *at)
{
	return (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] >= 0x80 &&
	       (unsigned char)at[1] < 0xa0;
}

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
	/* names of files come from outside; a terminal must not obey them */
	for (size_t i = sizeof prefix - 1; i < used; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f || is_c1(line + i))
			line[i] = '?';
	line[used++] = '\n';
	/* one write, so that it does not mix with the program's lines; without stderr, unheard */
	gt_write_without_signals(STDERR_FILENO, line, used, true);
	errno = saved;
}
