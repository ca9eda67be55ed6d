/* SPDX-License-Identifier: MIT */
/*
 * ledger.c - the cost of a live handle: bytes, and time to enter and leave the ledger, with few and
 * many alive; and that the time of a summary does not depend on them. Prints Markdown.
 *
 * Two ledgers are measured: struct gt_live is what a traced process holds, struct gt_ledger is
 * what a report replays into. Sites stay at SITES, however many resources they hold.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/process.h"
#include "ledger/ledger.h"

enum {
	SITES = 1000,
	TOP = 10,
	ROUNDS = 5,
	PAIRS = 200000,  /* create + destroy pairs of a round */
	SUMMARIES = 200, /* of a round */
	SETTLED = 10000, /* below this many handles one chunk, taken whole, weighs too much */
	HANDLE_STEP = 0x140,
	BYTES_NEEDED = 150, /* of memory for each handle, with room to spare */
};

static const uint64_t handles_from = UINT64_C(0x7f0000000000);
static const uint64_t sizes[] = { 100000, 1000000, 10000000 };

enum { SIZE_COUNT = sizeof sizes / sizeof *sizes };

/* ns of each round */
struct samples {
	double ns[ROUNDS];
};

struct result {
	uint64_t handles;
	double live_bytes, live_bytes_most; /* per handle: when all are in, and at worst */
	double fill_ns;                     /* per creation, from none to all */
	struct samples live_pair, ledger_pair, summary;
};

static struct gt_event creation(uint64_t i)
{
	return (struct gt_event){ .function = GT_FN_clCreateBuffer,
				  .time_ns = i,
				  .tid = 1,
				  .handle = handles_from + i * HANDLE_STEP,
				  .size = 4096,
				  .place = 1,
				  .stack = 1 + (uint32_t)(gt_mix64(i) % SITES) };
}

static struct gt_event destruction(uint64_t i)
{
	return (struct gt_event){ .function = GT_FN_clReleaseMemObject,
				  .time_ns = i,
				  .tid = 1,
				  .handle = handles_from + i * HANDLE_STEP,
				  .stack = 1 };
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double min_of(struct samples *s)
{
	qsort(s->ns, ROUNDS, sizeof s->ns[0], by_value);
	return s->ns[0];
}

static double median_of(struct samples *s)
{
	qsort(s->ns, ROUNDS, sizeof s->ns[0], by_value);
	return s->ns[ROUNDS / 2];
}

static void fill_live(struct gt_live *l, struct result *r)
{
	uint64_t begun = gt_now_ns();

	for (uint64_t i = 0; i < r->handles; i++) {
		struct gt_event e = creation(i);
		double bytes;

		gt_live_apply(l, &e, 0, NULL, NULL);
		if (i < SETTLED)
			continue;
		bytes = (double)gt_live_bytes(l) / (double)(i + 1);
		if (bytes > r->live_bytes_most)
			r->live_bytes_most = bytes;
	}
	r->fill_ns = (double)(gt_now_ns() - begun) / (double)r->handles;
	if (l->count != r->handles) {
		fprintf(stderr, "ledger: %zu of %" PRIu64 " handles are alive\n", l->count,
			r->handles);
		exit(1);
	}
	r->live_bytes = (double)gt_live_bytes(l) / (double)l->count;
}

/* A random live handle ends and is created again: the number alive stays the same. */
static uint64_t pick(uint64_t handles, uint64_t turn)
{
	return gt_mix64(turn) % handles;
}

static double live_pairs(struct gt_live *l, uint64_t handles, uint64_t turn)
{
	uint64_t begun = gt_now_ns();

	for (uint64_t i = 0; i < PAIRS; i++) {
		uint64_t which = pick(handles, turn * PAIRS + i);
		struct gt_event end = destruction(which), born = creation(which);

		gt_live_apply(l, &end, 0, NULL, NULL);
		gt_live_apply(l, &born, 0, NULL, NULL);
	}
	return (double)(gt_now_ns() - begun) / PAIRS;
}

static double ledger_pairs(struct gt_ledger *l, uint64_t handles, uint64_t turn)
{
	uint64_t begun = gt_now_ns();

	for (uint64_t i = 0; i < PAIRS; i++) {
		uint64_t which = pick(handles, turn * PAIRS + i);
		struct gt_event end = destruction(which), born = creation(which);

		gt_ledger_apply(l, &end, 0);
		gt_ledger_apply(l, &born, 0);
	}
	return (double)(gt_now_ns() - begun) / PAIRS;
}

static int by_bytes(const void *a, const void *b)
{
	const struct gt_site *x = *(const struct gt_site *const *)a;
	const struct gt_site *y = *(const struct gt_site *const *)b;

	return x->bytes_live > y->bytes_live ? -1 : x->bytes_live < y->bytes_live;
}

/* Totals and the largest call sites, found as the views find them. */
static uint64_t summarize(const struct gt_ledger *l)
{
	static const struct gt_site *list[SITES];
	struct gt_tally total = gt_ledger_total(l);
	uint64_t sum = total.live + total.bytes_live;

	for (size_t i = 0; i < l->site_count; i++)
		list[i] = &l->sites[i];
	qsort(list, l->site_count, sizeof *list, by_bytes);
	for (size_t i = 0; i < TOP; i++)
		sum += list[i]->bytes_live;
	return sum;
}

static double summaries(const struct gt_ledger *l)
{
	uint64_t begun = gt_now_ns();
	static volatile uint64_t kept __attribute__((unused));

	for (int i = 0; i < SUMMARIES; i++)
		kept += summarize(l);
	return (double)(gt_now_ns() - begun) / SUMMARIES;
}

static void measure(struct result *r)
{
	struct gt_ledger *ledger;
	struct gt_live live = { 0 };

	fill_live(&live, r);
	for (uint64_t i = 0; i < ROUNDS; i++)
		r->live_pair.ns[i] = live_pairs(&live, r->handles, i);
	gt_live_fini(&live);

	ledger = gt_ledger_new();
	for (uint64_t i = 0; i < r->handles; i++) {
		struct gt_event e = creation(i);

		gt_ledger_apply(ledger, &e, 0);
	}
	if (ledger->site_count != SITES) {
		fprintf(stderr, "ledger: %zu sites, not %d\n", ledger->site_count, SITES);
		exit(1);
	}
	for (uint64_t i = 0; i < ROUNDS; i++) {
		r->ledger_pair.ns[i] = ledger_pairs(ledger, r->handles, i);
		r->summary.ns[i] = summaries(ledger);
	}
	gt_ledger_free(ledger);
}

static bool fits_memory(uint64_t handles)
{
	uint64_t have = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return handles * BYTES_NEEDED < have;
}

static void print_rows(struct result *results, size_t count)
{
	double pair = min_of(&results[0].ledger_pair), summary = min_of(&results[0].summary);

	puts("| handles alive | bytes per handle | at worst | goal | ns per creation, filling "
	     "| create + destroy in the program, ns: min | median | in a report, ns: min | median "
	     "| × first | summary, µs: min | median | × first | goal |\n"
	     "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
	for (size_t i = 0; i < count; i++) {
		struct result *r = &results[i];

		printf("| %" PRIu64 " | %.1f | %.1f | 64 | %.0f | %.0f | %.0f | %.0f | %.0f "
		       "| %.2f | %.1f | %.1f | %.2f | 1 |\n",
		       r->handles, r->live_bytes, r->live_bytes_most, r->fill_ns,
		       min_of(&r->live_pair), median_of(&r->live_pair), min_of(&r->ledger_pair),
		       median_of(&r->ledger_pair), min_of(&r->ledger_pair) / pair,
		       min_of(&r->summary) / 1e3, median_of(&r->summary) / 1e3,
		       min_of(&r->summary) / summary);
	}
}

int main(void)
{
	struct result results[SIZE_COUNT] = { 0 };
	size_t count = 0;

	for (; count < SIZE_COUNT && fits_memory(sizes[count]); count++) {
		results[count].handles = sizes[count];
		measure(&results[count]);
	}
	if (!count) {
		fprintf(stderr, "ledger: not enough memory\n");
		return 1;
	}
	print_rows(results, count);
	printf("\nThe handles are buffers from %d call sites. Each pair destroys one live buffer, "
	       "picked at random, and creates it again. A summary is the totals and the %d biggest "
	       "call sites. Minimum and median of %d rounds.\n",
	       SITES, TOP, ROUNDS);
	if (count < SIZE_COUNT)
		printf("%" PRIu64 " handles would not fit the memory of this machine.\n",
		       sizes[count]);
	return 0;
}
