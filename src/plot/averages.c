/* SPDX-License-Identifier: MIT */
/* averages.c - the average of a column over groups of rows, in bounded memory. */
#include "plot/averages.h"

/* Merges each two groups into one. */
static void merge(struct gt_averages *a)
{
	for (size_t i = 0; i < GT_AVERAGES_MOST; i += 2) {
		a->groups[i / 2] = a->groups[i];
		a->groups[i / 2].sum += a->groups[i + 1].sum;
		a->groups[i / 2].count += a->groups[i + 1].count;
	}
	a->count = GT_AVERAGES_MOST / 2;
	a->rows_each *= 2;
}

void gt_averages_add(struct gt_averages *a, double x, double value)
{
	if (!a->rows_each)
		a->rows_each = 1;
	if (!a->count || a->groups[a->count - 1].count == a->rows_each) {
		if (a->count == GT_AVERAGES_MOST)
			merge(a);
		a->groups[a->count].x = x;
		a->groups[a->count].sum = 0;
		a->groups[a->count++].count = 0;
	}
	a->groups[a->count - 1].sum += value;
	a->groups[a->count - 1].count++;
}
