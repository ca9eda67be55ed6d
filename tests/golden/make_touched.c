/* SPDX-License-Identifier: MIT */
/* make_touched.c - a recording with GPU work: `gputrack run --touches`. */
#include "make_recordings.h"

#include "recording_maker.h"

static void touch(struct trace *t, uint32_t work, enum gt_work_kind kind, unsigned ms,
		  struct gt_touched range)
{
	gt_lane_touch(t->lane, work, kind, START + ms * MS,
		      &(struct gt_naming){ &range, range.access ? 1 : 0, false });
}

static uint32_t work(struct trace *t, enum gt_work_kind kind, const char *function,
		     const char *name, bool is_blind)
{
	return gt_writer_work(t->writer, &(struct gt_work){ .kind = kind,
							    .function = function,
							    .name = name,
							    .is_blind = is_blind });
}

/*
 * A cache that nothing uses, a log that is only written, weights that are held for long after their
 * last use, a block with an unseen graph in its life, and one that another process may use.
 */
void make_touched(void)
{
	static const struct gt_touched none;
	struct trace t = { .start_ns = START, .end_ns = START + 10000 * MS };
	uint32_t launch, copy, set, graph, share;

	folder("touched.gt");
	write_info("touched.gt", "./infer", "exit_status", "0");
	begin(&t, "touched.gt", 300, 1, "/app/bin/infer", "./infer", 7);
	gt_writer_info(t.writer, "touches", "1", 1);
	launch = work(&t, GT_WORK_LAUNCH, "cuLaunchKernel", "gemm", false);
	copy = work(&t, GT_WORK_COPY, "cuMemcpyHtoDAsync_v2", "", false);
	set = work(&t, GT_WORK_SET, "cuMemsetD8Async", "", false);
	graph = work(&t, GT_WORK_GRAPH, "cuGraphLaunch", "", true);
	share = work(&t, GT_WORK_SHARE, "cuIpcGetMemHandle", "", false);
	/* ends before anything unseen begins */
	CALL(&t, cuMemAlloc_v2, 100, .handle = 0x7f0001000000, .size = 64 << 20,
	     .stack = named(&t, "make_cache", "/app/src/cache.c", 12));
	CALL(&t, cuMemAlloc_v2, 110, .handle = 0x7f0010000000, .size = 8 << 20,
	     .stack = named(&t, "log_steps", "/app/src/log.c", 33));
	CALL(&t, cuMemAlloc_v2, 120, .handle = 0x7f0020000000, .size = 256 << 20,
	     .stack = named(&t, "load_weights", "/app/src/model.c", 71));
	CALL(&t, cuMemAlloc_v2, 130, .handle = 0x7f0040000000, .size = 1 << 20,
	     .stack = named(&t, "share", "/app/src/ring.c", 5));
	CALL(&t, cuMemAllocManaged, 140, .handle = 0x7f0050000000, .size = 1 << 20,
	     .stack = named(&t, "config", "/app/src/config.c", 8));
	touch(&t, copy, GT_WORK_COPY, 200,
	      (struct gt_touched){ 0x7f0020000000, 256 << 20, GT_WRITES });
	touch(&t, set, GT_WORK_SET, 210, (struct gt_touched){ 0x7f0010000000, 8 << 20, GT_WRITES });
	touch(&t, share, GT_WORK_SHARE, 220, (struct gt_touched){ 0x7f0040000000, 0, 3 });
	for (unsigned i = 0; i < 5; i++)
		touch(&t, launch, GT_WORK_LAUNCH, 300 + i * 100,
		      (struct gt_touched){ 0x7f0020000000 + 4096 * i, 0, 3 });
	CALL(&t, cuMemFree_v2, 7000, .handle = 0x7f0001000000);
	CALL(&t, cuMemFree_v2, 7010, .handle = 0x7f0010000000);
	CALL(&t, cuMemFree_v2, 8000, .handle = 0x7f0020000000);
	CALL(&t, cuMemAlloc_v2, 8100, .handle = 0x7f0060000000, .size = 2 << 20,
	     .stack = named(&t, "capture", "/app/src/graph.c", 90));
	touch(&t, graph, GT_WORK_GRAPH, 8200, none);
	CALL(&t, cuMemFree_v2, 9000, .handle = 0x7f0060000000);
	CALL(&t, cuMemFree_v2, 9100, .handle = 0x7f0050000000);
	end(&t);
}
