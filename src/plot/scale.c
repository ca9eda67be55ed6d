/* SPDX-License-Identifier: MIT */
/* scale.c - axes with round numbers, and how numbers are formatted. */
#include "plot/scale.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

enum { DECIMALS_MOST = 9 };

/* The smallest of 1, 2, 5 times a power of ten that covers `span` in so many steps. */
static void set_step(struct gt_scale *s, double span, unsigned ticks)
{
	static const double rounds[] = { 1, 2, 5, 10 };
	double rough = span / (ticks ? ticks : 1), power = pow(10, floor(log10(rough)));
	int exponent;

	s->step = 10 * power;
	for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++)
		if (rounds[i] * power >= rough * (1 - 1e-9)) {
			s->step = rounds[i] * power;
			break;
		}
	exponent = (int)floor(log10(s->step) + 1e-9);
	s->decimals = exponent < 0 ? -exponent : 0;
	if (s->decimals > DECIMALS_MOST)
		s->decimals = DECIMALS_MOST;
}

struct gt_scale gt_scale_values(double low, double high, unsigned ticks, double least)
{
	struct gt_scale s = { .low = low < 0 ? low : 0, .high = high > 0 ? high : 0 };

	if (s.low == s.high)
		s.high = 1;
	set_step(&s, fmax(s.high - s.low, least * ticks), ticks);
	s.low = floor(s.low / s.step + 1e-9) * s.step;
	s.high = ceil(s.high / s.step - 1e-9) * s.step;
	return s;
}

struct gt_scale gt_scale_span(double low, double high, unsigned ticks)
{
	struct gt_scale s = { .low = low, .high = high };

	/* a single point is centred; huge numbers need a margin that their precision can express */
	if (high - low <= fabs(high) * 1e-12) {
		double around = fabs(low) > 1e9 ? fabs(low) * 1e-6 : 0.5;

		s.low = low - around;
		s.high = low + around;
		ticks = 1;
	}
	set_step(&s, s.high - s.low, ticks);
	return s;
}

struct gt_time_unit gt_time_unit_for(double span_s)
{
	static const struct {
		struct gt_time_unit unit;
		double up_to_s;
	} units[] = {
		{ { "ms", 0.001 }, 2 },          { { "s", 1 }, 20.0 * 60 },
		{ { "min", 60 }, 5.0 * 3600 },   { { "h", 3600 }, 4.0 * 86400 },
		{ { "days", 86400 }, INFINITY },
	};
	size_t i = 0;

	while (span_s >= units[i].up_to_s && i + 1 < sizeof units / sizeof *units)
		i++;
	return units[i].unit;
}

double gt_scale_first(const struct gt_scale *s)
{
	return ceil(s->low / s->step - 1e-6) * s->step;
}

double gt_scale_share(const struct gt_scale *s, double value)
{
	return (value - s->low) / (s->high - s->low);
}

int gt_real_decimals(double value)
{
	double size = fabs(value);

	return size >= 100 || size == 0 ? 0 :
	       size >= 10               ? 1 :
	       size >= 0.1              ? 2 :
	       size >= 0.001            ? 4 :
					  6;
}

char *gt_real_format(char *out, double value, int decimals)
{
	char whole[GT_FORMAT_MAX], digits[64], *point;
	bool negative = value < 0;

	if (!(fabs(value) < 1e15)) {
		snprintf(out, GT_REAL_MAX, "%.3g", value);
		return out;
	}
	snprintf(digits, sizeof digits, "%.*f", decimals, fabs(value));
	/* never -0.00 */
	if (!digits[strspn(digits, "0.")])
		negative = false;
	point = strchr(digits, '.');
	if (point)
		*point = '\0';
	gt_format_count(whole, (uint64_t)strtoull(digits, NULL, 10));
	snprintf(out, GT_REAL_MAX, "%s%s%s%s", negative ? "-" : "", whole, point ? "." : "",
		 point ? point + 1 : "");
	return out;
}
