/* SPDX-License-Identifier: MIT */
/* make_work.c - a recording with the GPU's work, and managed memory that moves. */
#include "make_recordings.h"
#include "recording_maker.h"

#define GRID 0x7f0000000000ull
#define HALO 0x7f0001000000ull
#define MIB  (1ull << 20)

static void move(struct trace *t, unsigned ms, uint64_t address, enum gt_paging_effect effect,
		 enum gt_paging_cause cause)
{
	gt_lane_paging(t->lane, &(struct gt_paging){ .time_ns = START + ms * MS,
						     .address = address,
						     .amount = 2 * MIB,
						     .effect = effect,
						     .cause = cause });
}

/* A grid that goes to the device and back four times, a halo that goes there once. */
static void move_all(struct trace *t)
{
	for (unsigned i = 0; i < 4; i++) {
		move(t, 200 + 100 * i, GRID, GT_PAGING_TO_DEVICE, GT_PAGING_FAULT);
		move(t, 201 + 100 * i, GRID + 2 * MIB, GT_PAGING_TO_DEVICE, GT_PAGING_SPECULATION);
		move(t, 250 + 100 * i, GRID, GT_PAGING_TO_HOST, GT_PAGING_FAULT);
		move(t, 251 + 100 * i, GRID + 2 * MIB, GT_PAGING_TO_HOST, GT_PAGING_EVICTION);
	}
	move(t, 600, HALO, GT_PAGING_TO_DEVICE, GT_PAGING_REQUESTED);
	gt_lane_paging(t->lane, &(struct gt_paging){ .time_ns = START + 601 * MS,
						     .address = GRID + 4096,
						     .amount = 12,
						     .effect = GT_PAGING_CPU_FAULT });
}

/* The GPU works from 0.2 to 0.55 s, with pauses, and from 0.6 to 0.7 s. */
static void work(struct trace *t)
{
	uint16_t busy = gt_writer_series(
		t->writer,
		&(struct gt_series){ .name = GT_SERIES_GPU_BUSY, .unit = "", .subject = "GPU 0" });
	struct gt_lane *lane = gt_lane_acquire(t->writer, 1, "GPU");

	for (unsigned i = 0; i < 5; i++) {
		gt_lane_sample(lane, busy, START + (200 + 100 * i) * MS, 1);
		gt_lane_sample(lane, busy, START + (250 + 100 * i + 50 * (i == 4)) * MS, 0);
	}
	gt_lane_release(lane);
}

void make_work(void)
{
	struct trace t = { .start_ns = START, .end_ns = START + 2000 * MS };
	uint32_t grid, halo, spare, table, cache;

	folder("work.gt");
	write_info("work.gt", "./bin/work", "exit_status", "0");
	begin(&t, "work.gt", 300, 1, "/app/bin/work", "./bin/work", 10);
	grid = named(&t, "make_grid", "/app/src/grid.cu", 41);
	halo = named(&t, "make_halo", "/app/src/grid.cu", 57);
	spare = named(&t, "make_spare", "/app/src/grid.cu", 63);
	table = named(&t, "make_table", "/app/src/table.cu", 12);
	cache = named(&t, "fill_cache", "/app/src/cache.cu", 99);
	CALL(&t, cuMemAllocManaged, 10, .handle = GRID, .size = 4 * MIB, .stack = grid);
	CALL(&t, cuMemAllocManaged, 20, .handle = HALO, .size = 2 * MIB, .stack = halo);
	CALL(&t, cuMemAllocManaged, 25, .handle = HALO + 4 * MIB, .size = MIB, .stack = halo);
	CALL(&t, cuMemAllocManaged, 30, .handle = HALO + 8 * MIB, .size = 2 * MIB, .stack = spare);
	CALL(&t, cuMemAlloc_v2, 100, .handle = 0x700000000000, .size = 64 * MIB, .stack = table);
	move_all(&t);
	CALL(&t, cuMemAlloc_v2, 650, .handle = 0x710000000000, .size = 256 * MIB, .stack = cache);
	CALL(&t, cuMemFree_v2, 690, .handle = 0x700000000000, .stack = table);
	work(&t);
	end(&t);
}
