/* SPDX-License-Identifier: MIT */
/*
 * overlay_align.c - nvidia-smi's log aligned with another clock: by real time, else by its shape.
 *
 * The first change in a log is the context, or another program: it is not the first allocation.
 * Where the clocks do not help, the log is therefore shifted to where it correlates best with the
 * recorded memory.
 */
#include <math.h>
#include <stdio.h>

#include "plot/picture.h"
#include "plot/scale.h"

enum { POINTS = 128, SHIFTS_LEAST = 1000, SHIFTS_MOST = 4000, REFINED = 20 };

#define LIKE   0.5  /* shapes that correlate less have nothing in common */
#define SURE   0.9  /* from here on it is said to be sure … */
#define MARGIN 0.05 /* … if no other shift is as good */
#define NONE   -2.0

/* The value that holds at x; of the first point before it. */
static double value_at(const struct gt_trail *t, double x)
{
	size_t low = 0, high = t->count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (gt_trail_x(t, middle) <= x)
			low = middle;
		else
			high = middle;
	}
	return gt_trail_value(t, low, 0);
}

/* Both, where they overlap. */
struct shapes {
	const struct gt_trail *usage, *log;
	double end_s, log_end_s;
	double recorded[POINTS]; /* the usage at equal steps */
};

/* Pearson's correlation, from -1 to 1, of the log shifted by this; NONE: one of them is flat. */
static double correlation(const struct shapes *s, double shift)
{
	double x = 0, y = 0, xx = 0, yy = 0, xy = 0, n = 0, spread;

	for (int i = 0; i < POINTS; i++) {
		double time = s->end_s * i / (POINTS - 1), a = s->recorded[i], b;

		if (time - shift < 0 || time - shift > s->log_end_s)
			continue;
		b = value_at(s->log, time - shift);
		x += a;
		y += b;
		xx += a * a;
		yy += b * b;
		xy += a * b;
		n++;
	}
	spread = (n * xx - x * x) * (n * yy - y * y);
	return n >= 8 && spread > 0 ? (n * xy - x * y) / sqrt(spread) : NONE;
}

struct fit {
	double shift, best, second; /* second: of the shifts that are clearly others */
};

static struct fit best_shift(const struct shapes *s)
{
	double shorter = fmin(s->end_s, s->log_end_s), low = shorter / 2 - s->log_end_s;
	double range = s->end_s - shorter / 2 - low;
	double wanted = range / (s->end_s / 64);
	int steps = (int)fmin(fmax(wanted, SHIFTS_LEAST), SHIFTS_MOST);
	struct fit f = { .best = NONE, .second = NONE };
	double fits[SHIFTS_MOST + 1];

	for (int i = 0; i <= steps; i++) {
		fits[i] = correlation(s, low + range * i / steps);
		if (fits[i] > f.best) {
			f.best = fits[i];
			f.shift = low + range * i / steps;
		}
	}
	for (int i = 0; i <= steps; i++)
		if (fabs(low + range * i / steps - f.shift) > s->end_s / 10)
			f.second = fmax(f.second, fits[i]);
	for (double step = range / steps; step > 1e-4 && step > s->end_s * 1e-5;
	     step /= REFINED / 2)
		for (int i = -REFINED; i <= REFINED; i++) {
			double shift = f.shift + step * i / REFINED, r = correlation(s, shift);

			if (r > f.best) {
				f.best = r;
				f.shift = shift;
			}
		}
	return f;
}

/* True when the shapes have something in common. */
static bool align_shapes(struct gt_overlay *o, const char *why, const struct gt_trail *usage)
{
	struct shapes s = {
		.usage = usage, .log = &o->log->used, .end_s = o->end_s, .log_end_s = o->log->last_s
	};
	char shift[GT_REAL_MAX], r[GT_REAL_MAX];
	struct fit f;

	if (!usage->count || !s.log->count || !(s.end_s > 0) || !(s.log_end_s > 0))
		return false;
	for (int i = 0; i < POINTS; i++)
		s.recorded[i] = value_at(usage, s.end_s * i / (POINTS - 1));
	f = best_shift(&s);
	if (f.best < LIKE)
		return false;
	o->how = GT_ALIGN_SHAPE;
	o->shift_s = f.shift;
	snprintf(o->text, sizeof o->text,
		 "%s: nvidia-smi is shifted by %s%s s, where the shapes fit best (correlation %s, "
		 "%s)",
		 why, f.shift < 0 ? "-" : "+", gt_real_format(shift, fabs(f.shift), 3),
		 gt_real_format(r, f.best, 2),
		 f.best < SURE              ? "not sure" :
		 f.best - f.second < MARGIN ? "not sure: other shifts fit as well" :
					      "sure");
	return true;
}

void gt_overlay_align(struct gt_overlay *o, double start_s, double end_s,
		      const struct gt_trail *usage)
{
	const struct gt_smi_log *log = o->log;
	double shift = log->start_s - start_s;
	const char *why = start_s > 0 ? "the clocks do not overlap" : "start time unknown";
	char text[GT_REAL_MAX];

	o->end_s = end_s;
	/* times that do not overlap come from another day or another time zone */
	if (start_s > 0 && shift <= end_s && shift + log->last_s >= 0) {
		o->how = GT_ALIGN_CLOCKS;
		o->shift_s = shift;
		snprintf(o->text, sizeof o->text,
			 "clocks aligned: the nvidia-smi log begins %s s %s the recording",
			 gt_real_format(text, fabs(shift), 3), shift < 0 ? "before" : "after");
		return;
	}
	if (align_shapes(o, why, usage))
		return;
	o->how = GT_ALIGN_START;
	o->shift_s = 0;
	snprintf(o->text, sizeof o->text,
		 "%s, and the shapes have nothing in common: both begin at 0 here, which says "
		 "nothing",
		 why);
}
