/* SPDX-License-Identifier: MIT */
/* residue_sums.c - driver residue: what the calls on destroyed handles left in the process. */
#include "tracker/residue_sums.h"

#include <pthread.h>
#include <stdatomic.h>

/* What destroyed handles left, by label. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	int64_t anon_kb, size_kb;
} sums[GT_LABEL_COUNT];

/* Written under the lock, read by every row of the CSV. */
static _Atomic int64_t total_kb;

/*
 * Memory that the driver kept was both mapped and touched, if not by the same call. A page touched
 * for the first time in memory mapped earlier is no leak, nor is code that was paged in, nor
 * address space that was only reserved.
 */
static int64_t residue_of(enum gt_label label)
{
	int64_t anon_kb = sums[label].anon_kb, size_kb = sums[label].size_kb;
	int64_t kb = anon_kb < size_kb ? anon_kb : size_kb;

	return kb > 0 ? kb : 0;
}

/*
 * Pages that the program itself touched disappear with the handle, and the process shrinks by them.
 * That must not offset what the driver kept, unless more was unmapped than mapped.
 */
static int64_t without_touched(int64_t anon_kb, int64_t size_kb, uint64_t bytes)
{
	if (anon_kb >= 0 || size_kb < 0)
		return anon_kb;
	anon_kb += (int64_t)(bytes / 1024);
	return anon_kb < 0 ? 0 : anon_kb < size_kb ? anon_kb : size_kb;
}

void gt_residue_add(struct gt_ending *ending, const struct gt_cost *last)
{
	enum gt_label label = (enum gt_label)gt_kinds[gt_entry_kind(&ending->gone)].label;
	struct gt_left *left = &ending->left;
	int64_t before;

	*left = (struct gt_left){ 0 };
	if (ending->cost.uncertain || last->uncertain)
		return;
	left->size_kb = ending->cost.size_kb + last->size_kb;
	left->anon_kb = without_touched(ending->cost.anon_kb + last->anon_kb, left->size_kb,
					ending->gone.size);
	if (!left->size_kb && !left->anon_kb)
		return;
	pthread_mutex_lock(&lock);
	before = residue_of(label);
	sums[label].anon_kb += left->anon_kb;
	sums[label].size_kb += left->size_kb;
	left->label_kb = residue_of(label);
	left->has_grown = left->label_kb > before;
	atomic_fetch_add(&total_kb, left->label_kb - before);
	pthread_mutex_unlock(&lock);
}

int64_t gt_residue_kb(enum gt_label label)
{
	int64_t kb;

	pthread_mutex_lock(&lock);
	kb = residue_of(label);
	pthread_mutex_unlock(&lock);
	return kb;
}

int64_t gt_residue_total_kb(void)
{
	return atomic_load_explicit(&total_kb, memory_order_relaxed);
}

void gt_residue_restart(void)
{
	pthread_mutex_init(&lock, NULL);
	for (int i = 0; i < GT_LABEL_COUNT; i++)
		sums[i].anon_kb = sums[i].size_kb = 0;
	atomic_store(&total_kb, 0);
}
