/* SPDX-License-Identifier: MIT */
/* err.h - a sentence on what went wrong, carried from where it is known to where it is printed. */
#pragma once

#include <stdarg.h>

/* Room for a sentence with a path in it; longer texts are cut. */
struct gt_error {
	char text[512];
};

/* Fills `error` (which may be NULL) and gives `code` back, so that a caller can return it. */
int gt_error_set(struct gt_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
