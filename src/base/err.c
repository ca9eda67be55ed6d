/* SPDX-License-Identifier: MIT */
/* err.c - one sentence about what went wrong. */
#include "base/err.h"

#include <stdio.h>

int gt_error_set(struct gt_error *error, int code, const char *format, ...)
{
	va_list args;

	if (error) {
		va_start(args, format);
		vsnprintf(error->text, sizeof error->text, format, args);
		va_end(args);
	}
	return code;
}
