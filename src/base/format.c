/* SPDX-License-Identifier: MIT */
/* format.c - numbers for people: sizes in binary units, counts, spans and moments of time. */
#include "base/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

char *gt_format_count(char *out, uint64_t count)
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%" PRIu64, count), at = 0;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

/* Three significant digits; 1,000 to 1,023 of a unit have four, as 0.98 of the next has two. */
char *gt_format_bytes(char *out, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	char number[GT_FORMAT_MAX];
	double value = (double)bytes;
	size_t unit = 0;

	/* a value that would round to 1,024 is 1.00 of the next unit */
	while (value >= (unit ? 1023.5 : 1024) && unit + 1 < sizeof units / sizeof *units) {
		value /= 1024;
		unit++;
	}
	if (!unit || value >= 999.5)
		gt_format_count(number, (uint64_t)(value + 0.5));
	else
		snprintf(number, sizeof number, "%.*f", (value < 9.995) + (value < 99.95), value);
	snprintf(out, GT_FORMAT_MAX, "%.24s %s", number, units[unit]);
	return out;
}

char *gt_format_span(char *out, uint64_t time_ns)
{
	uint64_t seconds = time_ns / 1000000000u, minutes = (seconds + 30) / 60;
	double exact = (double)time_ns / 1e9;

	if (seconds < 600)
		snprintf(out, GT_FORMAT_MAX, "%.*f s", 1 + (exact < 9.9995) + (exact < 99.995),
			 exact);
	else if (minutes < 60)
		snprintf(out, GT_FORMAT_MAX, "%" PRIu64 " min %02" PRIu64 " s", seconds / 60,
			 seconds % 60);
	else if (minutes < 48 * 60)
		snprintf(out, GT_FORMAT_MAX, "%" PRIu64 " h %02" PRIu64 " min", minutes / 60,
			 minutes % 60);
	else
		snprintf(out, GT_FORMAT_MAX, "%" PRIu64 " d %02" PRIu64 " h", minutes / 1440,
			 minutes / 60 % 24);
	return out;
}

char *gt_format_moment(char *out, uint64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000u);
	struct tm local;
	size_t length;

	if (!localtime_r(&seconds, &local) ||
	    !(length = strftime(out, GT_FORMAT_MAX, "%FT%T%z", &local)))
		return strcpy(out, "?");
	/* +0100 -> +01:00, as in ISO 8601 */
	memmove(out + length - 1, out + length - 2, 3);
	out[length - 2] = ':';
	return out;
}

static size_t digit_count(uint64_t value)
{
	/* the least number of more digits than its index */
	static const uint64_t least[] = {
		0,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
		1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 10000000000000000000u,
	};
	/* by the number of bits, times the logarithm of 2: one too small, or right */
	size_t digits = (size_t)(64 - __builtin_clzll(value | 1)) * 1233 >> 12;

	return digits + (value >= least[digits]);
}

size_t gt_digits_decimal(char *out, uint64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	size_t count = digit_count(value), at;

	for (at = count; value >= 100; value /= 100)
		memcpy(out + (at -= 2), pairs + 2 * (value % 100), 2);
	if (value >= 10)
		memcpy(out, pairs + 2 * value, 2);
	else
		*out = (char)('0' + value);
	return count;
}

size_t gt_digits_hex(char *out, uint64_t value)
{
	size_t count = value ? (size_t)(67 - __builtin_clzll(value)) / 4 : 1;

	for (size_t at = count; at--; value >>= 4)
		out[at] = "0123456789abcdef"[value & 15];
	return count;
}

char *gt_format_hex(char *out, uint64_t value)
{
	out[0] = '0';
	out[1] = 'x';
	out[2 + gt_digits_hex(out + 2, value)] = '\0';
	return out;
}

bool gt_count_parse(const char *text, uint64_t *out)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		unsigned digit = (unsigned)(*text - '0');

		if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*out = value;
	return true;
}

bool gt_decimal_parse(const char *text, double *out)
{
	size_t whole = strspn(text, "0123456789"), point = text[whole] == '.',
	       part = point ? strspn(text + whole + 1, "0123456789") : 0;

	/* no signs, exponents or words, which strtod would accept */
	if (!(whole + part) || text[whole + point + part] || whole + part > 30)
		return false;
	*out = strtod(text, NULL);
	return true;
}

bool gt_size_parse(const char *text, size_t size, uint64_t *out, bool *in_bytes)
{
	static const char units[] = "KMGT";
	size_t digits = 0;
	char number[32];
	const char *unit;

	while (digits < size && text[digits] >= '0' && text[digits] <= '9')
		digits++;
	if (digits >= sizeof number)
		return false;
	memcpy(number, text, digits);
	number[digits] = '\0';
	if (!gt_count_parse(number, out))
		return false;
	text += digits;
	size -= digits;
	*in_bytes = size > 0;
	if (!size || (size == 1 && *text == 'B'))
		return true;
	unit = memchr(units, *text, sizeof units - 1);
	if (!unit || (size != 1 && !(size == 3 && !memcmp(text + 1, "iB", 2))))
		return false;
	return !__builtin_mul_overflow(*out, (uint64_t)1 << 10 * (unit - units + 1), out);
}
