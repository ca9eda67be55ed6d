/* SPDX-License-Identifier: MIT */
/* residue_sums.c - driver residue: what the calls on destroyed handles left in the process. */
#include "tracker/residue_sums.h"

#include <pthread.h>
#include <stdatomic.h>

#include "tracker/malloc_use.h"

enum {
	POWERS = 40,
	FEW = 16,            /* up to so many handles, each after the first must leave memory */
	FEWEST = 4,          /* nobody can say that something goes on */
	EACH_OF_FEW = 4096,  /* the least that each of few handles leaves, in bytes */
	EACH_OF_MANY = 2048, /* … and of many, on average */
	/* malloc's cache of each thread counts as handed out, and may take long to fill */
	CACHE_OF_MALLOC = 256 << 10,
};

/* Bytes left by destroyed handles of a label. */
struct label_sum {
	int64_t mapped, used;     /* memory that is mapped and not free; that is in use */
	uint64_t handles;         /* measured */
	int64_t least;            /* that one of the first few left, the first excepted */
	int64_t at_power[POWERS]; /* left by the first 1, 2, 4, … handles */
	int64_t leak_kb;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct label_sum sums[GT_LABEL_COUNT];

/* Written under the lock, read by every row of the CSV. */
static _Atomic int64_t total_kb;

/*
 * Memory that the driver kept was both mapped and touched, if not by the same call. A page touched
 * for the first time in memory mapped earlier is no leak, nor is code that was paged in, nor
 * address space that was only reserved.
 */
static int64_t left_by(const struct label_sum *sum)
{
	int64_t bytes = sum->mapped < sum->used ? sum->mapped : sum->used;

	return bytes > 0 ? bytes : 0;
}

/* What `handles` handles left, if each left as much as `count` of them did. */
static int64_t extrapolate(int64_t bytes, uint64_t count, uint64_t handles)
{
	return bytes <= 0 ? 0 : (int64_t)((double)bytes / (double)count * (double)handles);
}

/* The part of it that goes on. */
static int64_t leak_of(const struct label_sum *sum)
{
	int64_t left = left_by(sum), leak, before;
	uint64_t n = sum->handles, half;
	int power;

	if (n < FEWEST)
		return 0;
	if (n < FEW) {
		leak = sum->least < EACH_OF_FEW ? 0 : sum->least * (int64_t)n;
		return leak < left ? leak : left;
	}
	/* as much as in the last half, or the half before it: whichever left less */
	power = 62 - __builtin_clzll(n);
	half = 1ULL << power;
	if (power >= POWERS)
		return 0;
	leak = extrapolate(left - sum->at_power[power], n - half, n);
	before = extrapolate(sum->at_power[power] - sum->at_power[power - 1], half / 2, n);
	if (before < leak)
		leak = before;
	if (leak > left)
		leak = left;
	return leak < (int64_t)n * EACH_OF_MANY && leak < CACHE_OF_MALLOC ? 0 : leak;
}

static void count_handle(struct label_sum *sum, int64_t before)
{
	int64_t left = left_by(sum);
	uint64_t n = ++sum->handles;

	if (n == 2 || (n > 2 && n < FEW && left - before < sum->least))
		sum->least = left - before;
	if (!(n & (n - 1)) && 63 - __builtin_clzll(n) < POWERS)
		sum->at_power[63 - __builtin_clzll(n)] = left;
}

/*
 * Pages that the program itself touched disappear with the handle, and the process shrinks by them.
 * That must not offset what the driver kept, unless more was unmapped than mapped.
 */
static int64_t without_touched(int64_t used, int64_t mapped, uint64_t bytes)
{
	if (used >= 0 || mapped < 0)
		return used;
	used += (int64_t)bytes;
	return used < 0 ? 0 : used < mapped ? used : mapped;
}

/* Bytes that calls have mapped or touched, and that malloc does not hold free now. */
struct kept {
	int64_t mapped, used;
};

/*
 * Memory of malloc's that was free before and is in use now was kept, too, although the process has
 * not grown. Where other threads use malloc, they may be the cause.
 */
static struct kept kept_by(const struct gt_cost *calls)
{
	int64_t free = (int64_t)calls->free_16 * 16;

	return (struct kept){
		.mapped = (int64_t)calls->data_kb * 1024 - free,
		.used = (int64_t)calls->anon_kb * 1024 - (calls->crowded && free < 0 ? 0 : free),
	};
}

/*
 * What a destroyed handle left; false if that is not known. Only if every call on it was bracketed
 * by readings of malloc's figures do they say what all of them together kept. Otherwise the last
 * call tells: what it alone adds to the process stays, because the calls before did not give memory
 * back.
 */
static bool measure(struct kept *kept, const struct gt_ending *ending, const struct gt_cost *last)
{
	struct gt_cost all = ending->cost;

	if (all.uncertain || last->uncertain)
		return false;
	all.data_kb += last->data_kb;
	all.anon_kb += last->anon_kb;
	all.free_16 += last->free_16;
	all.crowded |= last->crowded;
	if (!gt_malloc_use_is_known() || (last->era && last->era == all.era)) {
		*kept = kept_by(&all);
		kept->used = without_touched(kept->used, kept->mapped, ending->gone.size);
		return true;
	}
	if (!last->era)
		return false;
	*kept = kept_by(last);
	if (kept->mapped <= 0 || kept->used <= 0)
		*kept = (struct kept){ 0 };
	return true;
}

void gt_residue_add(struct gt_ending *ending, const struct gt_cost *last)
{
	enum gt_label label = (enum gt_label)gt_kinds[gt_entry_kind(&ending->gone)].label;
	struct label_sum *sum = &sums[label];
	struct gt_left *left = &ending->left;
	int64_t before, leak_kb;
	struct kept kept;

	*left = (struct gt_left){ 0 };
	if (!measure(&kept, ending, last))
		return;
	left->size_kb = ending->cost.size_kb + last->size_kb;
	left->kept_kb = (kept.mapped < kept.used ? kept.mapped : kept.used) / 1024;
	if (kept.mapped > 0 && kept.used > 0)
		gt_malloc_use_watch();
	pthread_mutex_lock(&lock);
	before = left_by(sum);
	leak_kb = sum->leak_kb;
	sum->mapped += kept.mapped;
	sum->used += kept.used;
	count_handle(sum, before);
	sum->leak_kb = leak_of(sum) / 1024;
	left->label_kb = sum->leak_kb;
	left->has_grown = sum->leak_kb > leak_kb;
	atomic_fetch_add(&total_kb, sum->leak_kb - leak_kb);
	pthread_mutex_unlock(&lock);
}

int64_t gt_residue_kb(enum gt_label label)
{
	int64_t kb;

	pthread_mutex_lock(&lock);
	kb = sums[label].leak_kb;
	pthread_mutex_unlock(&lock);
	return kb;
}

int64_t gt_residue_once_kb(enum gt_label label)
{
	int64_t kb;

	pthread_mutex_lock(&lock);
	kb = left_by(&sums[label]) / 1024 - sums[label].leak_kb;
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
		sums[i] = (struct label_sum){ 0 };
	atomic_store(&total_kb, 0);
}
