/* SPDX-License-Identifier: MIT */
/* small_printf.h - printf for the traced process: the C library's takes 2 KB of the stack. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

/*
 * As snprintf, with these conversions: %s %c %d %u %x %%; with l or z before d, u and x; with the
 * flags + and 0, a width of zeroes, and a precision of %s, also as *. Any other ends the text.
 */
int gt_snprintf(char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int gt_vsnprintf(char *out, size_t size, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));
