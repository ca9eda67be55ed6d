/* SPDX-License-Identifier: MIT */
/* format.h - numbers for people: sizes in binary units, counts, spans and moments of time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for any of the texts below. */
enum { GT_FORMAT_MAX = 48 };

/* Each writes into `out`, of GT_FORMAT_MAX bytes, and returns it. */

char *gt_format_bytes(char *out, uint64_t bytes);    /* "812 B", "1.00 MiB", "1,023 KiB" */
char *gt_format_count(char *out, uint64_t count);    /* "1,234,567" */
char *gt_format_span(char *out, uint64_t time_ns);   /* "0.012 s", "75.3 s", "3 h 12 min" */
char *gt_format_moment(char *out, uint64_t real_ns); /* "2026-03-01T12:00:00+01:00", local */
char *gt_format_hex(char *out, uint64_t value);      /* "0x1f" */

/* The digits alone, without a NUL, for what is written millions of times; return their number. */
enum { GT_DIGITS_MAX = 20 };
size_t gt_digits_decimal(char *out, uint64_t value);
size_t gt_digits_hex(char *out, uint64_t value);

/* A number as a person types it: digits only. False when it is not one, or too large. */
bool gt_count_parse(const char *text, uint64_t *out);
/* Digits with an optional decimal point. False for anything else. */
bool gt_decimal_parse(const char *text, double *out);
/*
 * Digits with an optional unit after them (B, KiB, MiB, GiB, TiB, or K, M, G, T for the same),
 * `text` of `size` bytes. *in_bytes: there was a unit.
 */
bool gt_size_parse(const char *text, size_t size, uint64_t *out, bool *in_bytes);

/* A number from a file as an integer, clamped to its range; 0 for NaN. */
static inline uint64_t gt_whole(double number)
{
	return number >= 0x1p64 ? UINT64_MAX : number > 0 ? (uint64_t)number : 0;
}
