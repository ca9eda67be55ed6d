/* SPDX-License-Identifier: MIT */
/* site_floors.c - the least that each call site held in each of a bounded number of time steps. */
#include "ledger/site_floors.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ledger/time_series.h"

void gt_site_floors_fini(struct gt_site_floors *f)
{
	free(f->sites);
	free(f->changed);
	free(f->rows);
	*f = (struct gt_site_floors){ 0 };
}

void gt_site_floors_flush(struct gt_site_floors *f)
{
	for (size_t i = 0; i < f->changed_count; i++) {
		const struct gt_floor_now *now = &f->sites[f->changed[i]];

		GT_GROW(f->rows, f->row_count, f->row_room);
		f->rows[f->row_count++] = (struct gt_floor_row){
			.site = f->changed[i], .step = f->step, .low = now->low, .last = now->last
		};
	}
	f->changed_count = 0;
	f->turn++;
}

/* Makes steps longer by a power of two, and of the rows of a site in such a step one. */
static void join_steps(struct gt_site_floors *f, unsigned power)
{
	uint32_t *newest = gt_alloc((f->site_count + 1) * sizeof *newest); /* by site: row + 1 */
	size_t count = 0;

	for (size_t i = 0; i < f->row_count; i++) {
		struct gt_floor_row row = f->rows[i], *before = NULL;

		row.step = (uint32_t)((uint64_t)row.step >> power);
		if (newest[row.site])
			before = &f->rows[newest[row.site] - 1];
		if (before && before->step == row.step) {
			before->low = row.low < before->low ? row.low : before->low;
			before->last = row.last;
		} else {
			f->rows[count++] = row;
			newest[row.site] = (uint32_t)count;
		}
	}
	f->row_count = count;
	f->step_ns <<= power;
	free(newest);
}

void gt_site_floors_next_step(struct gt_site_floors *f)
{
	uint64_t time = f->now_ns - f->start_ns;
	unsigned power = 0;

	if (!f->turn)
		f->step_ns = GT_FIRST_STEP_NS;
	if (time > GT_TIME_SERIES_MAX_NS)
		time = GT_TIME_SERIES_MAX_NS;
	gt_site_floors_flush(f);
	while (time / (f->step_ns << power) >= GT_FLOOR_STEPS)
		power++;
	if (power)
		join_steps(f, power);
	f->step = (uint32_t)(time / f->step_ns);
	f->step_end_ns = time < GT_TIME_SERIES_MAX_NS ? (f->step + 1) * f->step_ns : UINT64_MAX;
}

void gt_site_floors_begin_site(struct gt_site_floors *f, uint32_t site)
{
	GT_REACH(f->sites, f->site_count, site);
	GT_GROW(f->changed, f->changed_count, f->changed_room);
	f->changed[f->changed_count++] = site;
	f->sites[site].turn = f->turn;
	f->sites[site].low = f->sites[site].last;
}

void gt_site_floors_end(struct gt_site_floors *f, size_t least_rows)
{
	uint32_t *rows_of;
	size_t count = 0;

	gt_site_floors_flush(f);
	rows_of = gt_alloc((f->site_count + 1) * sizeof *rows_of);
	for (size_t i = 0; i < f->row_count; i++)
		rows_of[f->rows[i].site]++;
	for (size_t i = 0; i < f->row_count; i++)
		if (rows_of[f->rows[i].site] >= least_rows)
			f->rows[count++] = f->rows[i];
	f->row_count = f->row_room = count;
	f->rows = gt_realloc(f->rows, (count + 1) * sizeof *f->rows);
	free(rows_of);
	free(f->sites);
	f->sites = NULL;
	f->site_count = 0;
	free(f->changed);
	f->changed = NULL;
	f->changed_room = 0;
}

uint32_t *gt_site_floors_by_site(const struct gt_site_floors *f, size_t sites, uint32_t **ends)
{
	uint32_t *order = gt_alloc((f->row_count + 1) * sizeof *order), sum = 0;

	*ends = gt_alloc((sites + 1) * sizeof **ends);
	for (size_t i = 0; i < f->row_count; i++)
		(*ends)[f->rows[i].site]++;
	for (size_t site = 0; site < sites; site++) {
		uint32_t count = (*ends)[site];

		(*ends)[site] = sum;
		sum += count;
	}
	/* each begin becomes the end */
	for (size_t i = 0; i < f->row_count; i++)
		order[(*ends)[f->rows[i].site]++] = (uint32_t)i;
	return order;
}
