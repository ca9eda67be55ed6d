/* SPDX-License-Identifier: MIT */
/* live_totals.c - how much is alive in the traced process, and how much was at most. */
#include "tracker/live_totals.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { KEPT = 256 };

/* From one mark to the next. */
struct period {
	uint64_t from_ns;
	int64_t most;
};

/* Signed: what was created before the first mark ends uncounted, and a sum may lag behind. */
static struct total {
	_Atomic int64_t now, most; /* most: of the last period */
	/* those that every later one is below, so that each is the answer for its mark */
	struct period periods[KEPT];
	size_t count;
} totals[GT_LIVE_SUMS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void raise_most(struct total *t, int64_t now)
{
	int64_t most = atomic_load_explicit(&t->most, memory_order_relaxed);

	while (now > most && !atomic_compare_exchange_weak(&t->most, &most, now))
		;
}

static void change(enum gt_live_sum sum, int64_t by)
{
	struct total *t = &totals[sum];
	int64_t now = atomic_fetch_add_explicit(&t->now, by, memory_order_relaxed) + by;

	if (by > 0)
		raise_most(t, now);
}

static void change_all(const struct gt_entry *entry, int64_t sign)
{
	enum gt_kind kind = gt_entry_kind(entry);

	change(GT_LIVE_COUNT, sign);
	if (gt_kinds[kind].habits & GT_POOLED)
		change(GT_LIVE_BLOCKS, sign * (int64_t)entry->size);
	else if (gt_kind_on_device(kind))
		change(GT_LIVE_DEVICE, sign * (int64_t)entry->size);
}

void gt_live_totals_add(const struct gt_entry *entry)
{
	change_all(entry, 1);
}

void gt_live_totals_remove(const struct gt_entry *entry)
{
	change_all(entry, -1);
}

static uint64_t at_least_zero(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

uint64_t gt_live_totals_get(enum gt_live_sum sum)
{
	return at_least_zero(atomic_load(&totals[sum].now));
}

/* Takes the last period's peak so far into the list; earlier ones that it reaches are dropped. */
static void update(struct total *t)
{
	struct period *last = &t->periods[t->count - 1];

	last->most = atomic_load(&t->most);
	while (t->count > 1 && t->periods[t->count - 2].most <= last->most) {
		/* whoever asks for the dropped one finds this, which began later */
		t->periods[t->count - 2] = *last;
		t->count--;
		last--;
	}
}

static void begin(struct total *t, uint64_t now_ns)
{
	if (t->count)
		update(t);
	/* in between are marks that nobody is likely to ask for any more */
	if (t->count == KEPT) {
		memmove(&t->periods[KEPT / 2], &t->periods[KEPT / 2 + 1],
			(KEPT / 2 - 1) * sizeof *t->periods);
		t->count--;
	}
	t->periods[t->count++] = (struct period){ .from_ns = now_ns };
	atomic_store(&t->most, atomic_load(&t->now));
	/* what was born in between */
	raise_most(t, atomic_load(&t->now));
}

void gt_live_totals_mark(uint64_t now_ns)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < GT_LIVE_SUMS; i++)
		begin(&totals[i], now_ns);
	pthread_mutex_unlock(&lock);
}

uint64_t gt_live_totals_peak(enum gt_live_sum sum, uint64_t since_ns)
{
	struct total *t = &totals[sum];
	int64_t most;

	pthread_mutex_lock(&lock);
	most = atomic_load(&t->now);
	if (t->count)
		update(t);
	for (size_t i = t->count; i-- > 0 && t->periods[i].from_ns >= since_ns;)
		if (t->periods[i].most > most)
			most = t->periods[i].most;
	pthread_mutex_unlock(&lock);
	return at_least_zero(most);
}

void gt_live_totals_restart(void)
{
	pthread_mutex_init(&lock, NULL);
	for (int i = 0; i < GT_LIVE_SUMS; i++) {
		atomic_store(&totals[i].now, 0);
		atomic_store(&totals[i].most, 0);
		totals[i].count = 0;
	}
}
