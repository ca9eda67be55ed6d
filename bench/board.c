/* SPDX-License-Identifier: MIT */
/* board.c - ten million live pointers on the board: bytes each, and the cost of a query. */
#include <stdio.h>
#include <stdlib.h>

#include "base/process.h"
#include "ledger/board.h"

enum { SITES = 200, LOOKS = 100 };

static void create(struct gt_board *b, uint16_t process, uint64_t i)
{
	gt_board_apply(b,
		       &(struct gt_event){ .time_ns = i,
					   .handle = 0x7f0000000000 + i * 512,
					   .size = 256 + i % 4096,
					   .stack = (uint32_t)(i % SITES) + 1,
					   .function = GT_FN_cuMemAlloc_v2 },
		       process);
}

/* The queries of a summary. */
static double look(struct gt_board *b, uint16_t process)
{
	const struct gt_board_site *sites[10];
	const struct gt_entry *biggest[10];
	uint64_t begun = gt_now_ns();
	size_t found = 0;

	for (int i = 0; i < LOOKS; i++) {
		gt_board_tick(b, gt_now_ns());
		found += gt_board_sites(b, process, GT_BOARD_BY_BYTES, sites, 10);
		found += gt_board_biggest(b, process, biggest, 10);
		found += gt_board_oldest(b, process) != NULL;
		found += gt_board_total(b).live != 0;
	}
	if (!found)
		abort();
	return (double)(gt_now_ns() - begun) / LOOKS / 1000;
}

int main(void)
{
	static const uint64_t stops[] = { 10000, 100000, 1000000, 10000000 };
	struct gt_board *b = gt_board_new();
	uint16_t process = gt_board_add(b, 1, "bench", 0);
	uint64_t i = 0;

	puts("| live pointers | bytes each | an event, ns | a summary, µs |");
	puts("|--:|--:|--:|--:|");
	for (size_t s = 0; s < sizeof stops / sizeof *stops; s++) {
		uint64_t begun = gt_now_ns(), first = i;
		size_t entries, bytes;
		double each;

		for (; i < stops[s]; i++)
			create(b, process, i);
		each = (double)(gt_now_ns() - begun) / (double)(i - first);
		bytes = gt_board_bytes(b, &entries);
		printf("| %llu | %.1f | %.0f | %.0f |\n", (unsigned long long)entries,
		       (double)bytes / (double)entries, each, look(b, process));
	}
	gt_board_free(b);
	return 0;
}
