/* SPDX-License-Identifier: MIT */
/*
 * make_recordings.c - writes small recordings with the real writer, the same at every run.
 *
 * Times, pids and addresses are invented; modules are files that do not exist, so that frames show
 * module and offset on every machine. Usage: make_recordings FOLDER
 */
#include "make_recordings.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recording_maker.h"

/*
 * A minute of a service: a cache that fills and empties, a list that only grows from the tenth
 * second on, events of which one in ten is never released, allocations at startup that stay, and
 * memory that grows and is released at the end.
 */
static void make_growing(void)
{
	struct trace t = { .base = 0x10000000,
			   .modules = { "/app/bin/service" },
			   .module_count = 1,
			   .start_ns = START,
			   .end_ns = START + 61000 * MS };
	uint32_t cache, list, tick, start, session;
	uint64_t frames[2];

	folder("growing.gt");
	write_info("growing.gt", "./bin/service", "exit_status", "0");
	begin(&t, "growing.gt", 150, 1, "/app/bin/service", "./bin/service", 13);
	cache = STACK(&t, { 0, 0x1100 }, { 0, 0x1000 });
	tick = STACK(&t, { 0, 0x1300 }, { 0, 0x1000 });
	start = STACK(&t, { 0, 0x1400 }, { 0, 0x1000 });
	session = STACK(&t, { 0, 0x1500 }, { 0, 0x1000 });
	frames[0] = t.base + 0x1201;
	frames[1] = gt_writer_text_frame(t.writer, &(struct gt_text_frame){ .function = "train",
									    .file = "/app/train.py",
									    .line = 88 });
	list = gt_writer_stack(t.writer, frames, 2);
	for (unsigned i = 0; i < 8; i++)
		CALL(&t, clCreateBuffer, 10 + i, .handle = 0x1000 + i, .size = 8 << 20,
		     .stack = start);
	for (unsigned i = 0; i < 600; i++) {
		unsigned ms = 100 + i * 100;

		CALL(&t, clCreateBuffer, ms, .handle = 0x10000 + i, .size = 1 << 20,
		     .stack = cache);
		for (unsigned k = 0; i % 50 == 49 && k < 50; k++)
			CALL(&t, clReleaseMemObject, ms + 1, .handle = 0x10000 + i - k,
			     .stack = cache);
		if (ms >= 10000)
			CALL(&t, clCreateBuffer, ms + 2, .handle = 0x20000 + i, .size = 128 << 10,
			     .stack = list);
		CALL(&t, clCreateUserEvent, ms + 3, .handle = 0x30000 + i, .stack = tick);
		if (i % 10)
			CALL(&t, clReleaseEvent, ms + 4, .handle = 0x30000 + i, .stack = tick);
		CALL(&t, clCreateImage, ms + 5, .handle = 0x40000 + i, .size = 4096,
		     .stack = session);
	}
	for (unsigned i = 0; i < 600; i++)
		CALL(&t, clReleaseMemObject, 60500, .handle = 0x40000 + i, .stack = session);
	end(&t);
}

/* Everything is released. */
static void make_clean(void)
{
	struct trace t = { .base = 0x10000000,
			   .modules = { "/app/bin/clean" },
			   .module_count = 1,
			   .start_ns = START,
			   .end_ns = START + 900 * MS };
	uint32_t at;

	folder("clean.gt");
	write_info("clean.gt", "./bin/clean", "exit_status", "0");
	begin(&t, "clean.gt", 100, 1, "/app/bin/clean", "./bin/clean", 11);
	at = STACK(&t, { 0, 0x1100 }, { 0, 0x1200 });
	for (unsigned i = 0; i < 20; i++) {
		CALL(&t, clCreateBuffer, 10 + i * 40, .handle = 0x1000, .size = (i % 7 + 1) << 20,
		     .stack = at);
		CALL(&t, clReleaseMemObject, 30 + i * 40, .handle = 0x1000, .stack = at);
	}
	end(&t);
}

/* Leaks of every kind: with and without bytes, retained, views, host memory, two platforms. */
static void make_leaks(void)
{
	struct trace t = { .base = 0x10000000,
			   .start_ns = START,
			   .end_ns = START + 2400 * MS,
			   .modules = { "/app/bin/demo", "/usr/lib/libOpenCL.so.1",
					"/usr/lib/libc.so.6" },
			   .module_count = 3 };
	uint32_t context, buffer, image, sub, host, tick, keep;

	folder("leaks.gt");
	write_info("leaks.gt", "./bin/demo --size 4", "exit_status", "3");
	begin(&t, "leaks.gt", 200, 1, "/app/bin/demo", "./bin/demo\0--size\0004", 19);
	gt_writer_place(t.writer, 1, GT_OPENCL, "Portable Computing Language");
	gt_writer_place(t.writer, 2, GT_OPENCL, "Intel(R) OpenCL Graphics");
	context = STACK(&t, { 1, 0x500 }, { 0, 0x1000 }, { 2, 0x300 }, { 0, 0x100 });
	buffer = STACK(&t, { 1, 0x600 }, { 0, 0x1111 }, { 0, 0x1200 }, { 0, 0x1300 }, { 2, 0x300 });
	image = STACK(&t, { 0, 0x2111 }, { 0, 0x1300 });
	sub = STACK(&t, { 0, 0x2222 }, { 0, 0x1300 });
	host = STACK(&t, { 0, 0x2333 }, { 0, 0x1300 });
	tick = STACK(&t, { 0, 0x3111 }, { 0, 0x1300 });
	keep = STACK(&t, { 0, 0x4111 }, { 0, 0x1300 });
	CALL(&t, clCreateContext, 10, .handle = 0xc0, .place = 1, .stack = context);
	CALL(&t, clRetainContext, 11, .handle = 0xc0, .stack = keep);
	CALL(&t, clRetainContext, 12, .handle = 0xc0, .stack = keep);
	CALL(&t, clReleaseContext, 13, .handle = 0xc0, .stack = tick);
	for (unsigned i = 0; i < 6; i++)
		CALL(&t, clCreateBuffer, 20 + i, .handle = 0x1000 + i * 0x100, .size = 1 << 20,
		     .owner = 0xc0, .place = 1 + i % 2, .stack = buffer);
	CALL(&t, clReleaseMemObject, 40, .handle = 0x1100, .stack = tick);
	CALL(&t, clCreateImage, 50, .handle = 0x2000, .size = 3000000, .owner = 0xc0, .place = 2,
	     .stack = image);
	CALL(&t, clCreateSubBuffer, 60, .handle = 0x3000, .size = 4096, .owner = 0x1000, .place = 1,
	     .stack = sub);
	CALL(&t, clHostMemAllocINTEL, 70, .handle = 0x4000, .size = 65536, .place = 2,
	     .stack = host);
	CALL(&t, clCreateBuffer, 500, .handle = 0x5000, .size = 64 << 20, .owner = 0xc0, .place = 1,
	     .stack = buffer);
	CALL(&t, clReleaseMemObject, 800, .handle = 0x5000, .stack = tick);
	for (unsigned i = 0; i < 120; i++)
		CALL(&t, clEnqueueNDRangeKernel, 900 + i * 10, .handle = 0x9000 + i * 16,
		     .owner = 0xc0, .stack = tick);
	CALL(&t, clCreateUserEvent, 2399, .handle = 0x8000, .owner = 0xc0); /* no stack */
	end(&t);
}

/* Redundant releases, failures, a death within a call, lost events. */
static void make_mistakes(void)
{
	struct trace t = { .base = 0x10000000,
			   .modules = { "/app/bin/wrong" },
			   .module_count = 1,
			   .start_ns = START,
			   .lost = 12,
			   .lost_stacks = 3 };
	uint32_t made, ended, again, other;

	folder("mistakes.gt");
	write_info("mistakes.gt", "./bin/wrong", "signal", "11");
	begin(&t, "mistakes.gt", 300, 1, "/app/bin/wrong", "./bin/wrong", 11);
	made = STACK(&t, { 0, 0x1100 }, { 0, 0x1200 });
	ended = STACK(&t, { 0, 0x2100 }, { 0, 0x1200 });
	again = STACK(&t, { 0, 0x3100 }, { 0, 0x1200 });
	other = STACK(&t, { 0, 0x4100 }, { 0, 0x1200 });
	CALL(&t, clCreateBuffer, 10, .handle = 0x1000, .size = 4096, .stack = made);
	CALL(&t, clReleaseMemObject, 20, .handle = 0x1000, .stack = ended);
	CALL(&t, clReleaseMemObject, 30, .handle = 0x1000, .stack = again, .failed = 1,
	     .result = -38);
	CALL(&t, clReleaseMemObject, 31, .handle = 0x1000, .stack = again, .failed = 1,
	     .result = -38);
	CALL(&t, clReleaseMemObject, 32, .handle = 0x1000, .stack = other, .failed = 1,
	     .result = -38);
	CALL(&t, clReleaseEvent, 40, .handle = 0x7777, .stack = other);
	for (unsigned i = 0; i < 3; i++)
		CALL(&t, clCreateBuffer, 50 + i, .size = 8ull << 30, .stack = made, .failed = 1,
		     .result = -4);
	CALL(&t, clCreateKernel, 60, .stack = other, .failed = 1, .result = -46);
	CALL(&t, clCreateSampler, 61, .stack = other, .failed = 1, .result = -9999);
	CALL(&t, clCreateBuffer, 70, .handle = 0x1000, .size = 4096, .stack = made);
	CALL(&t, clCreateBuffer, 71, .handle = 0x1000, .size = 8192, .stack = other);
	gt_lane_enter(t.lane,
		      &(struct gt_event){ .function = GT_FN_clReleaseMemObject,
					  .handle = 0x1000,
					  .time_ns = START + 80 * MS,
					  .stack = ended },
		      (const uint64_t[]){ 0x1000 }, 1, NULL);
	end(&t);
}

/* A parent and eight children with the same code, loaded at different addresses. */
static void make_family(void)
{
	folder("family.gt");
	write_info("family.gt", "./bin/family", "exit_status", "0");
	for (uint32_t i = 0; i < 9; i++) {
		struct trace t = { .base = 0x10000000 * (i + 1),
				   .modules = { "/app/bin/family" },
				   .module_count = 1,
				   .start_ns = START + i * 100 * MS,
				   .end_ns = i == 4 ? 0 : START + (i * 100 + 950) * MS };
		uint32_t at;

		begin(&t, "family.gt", 400 + i, i ? 400 : 1, "/app/bin/family", "./bin/family", 12);
		at = STACK(&t, { 0, 0x1100 }, { 0, 0x1200 });
		CALL(&t, clCreateBuffer, i * 100 + 1, .handle = 0x1000, .size = 1 << 20,
		     .stack = at);
		CALL(&t, clCreateBuffer, i * 100 + 50, .handle = 0x2000, .size = i << 16,
		     .stack = at);
		if (i % 2)
			CALL(&t, clReleaseMemObject, i * 100 + 900, .handle = 0x1000, .stack = at);
		end(&t);
	}
}

/* Device memory sampled during the run; a series of another unit is not drawn. */
static void make_sampled(void)
{
	struct trace t = { .base = 0x10000000,
			   .modules = { "/app/bin/sampled" },
			   .module_count = 1,
			   .start_ns = START,
			   .end_ns = START + 900 * MS };
	uint16_t used, files;
	uint32_t at;

	folder("sampled.gt");
	write_info("sampled.gt", "./bin/sampled", "exit_status", "0");
	begin(&t, "sampled.gt", 800, 1, "/app/bin/sampled", "./bin/sampled", 13);
	used = gt_writer_series(t.writer, &(struct gt_series){ .name = "device memory used",
							       .unit = "bytes",
							       .subject = "GPU 0: NVIDIA H200" });
	files = gt_writer_series(
		t.writer,
		&(struct gt_series){ .name = "open files", .unit = "files", .subject = "" });
	at = STACK(&t, { 0, 0x1100 }, { 0, 0x1200 });
	for (unsigned i = 0; i < 8; i++) {
		CALL(&t, clCreateBuffer, 10 + i * 100, .handle = 0x1000 + i, .size = 32 << 20,
		     .stack = at);
		gt_lane_sample(t.lane, used, START + (20 + i * 100) * MS, (450 + 32 * i) << 20);
		gt_lane_sample(t.lane, files, START + (20 + i * 100) * MS, 7);
	}
	end(&t);
}

static void put_identity(const struct trace *t, const char *uid, const char *user,
			 const char *container, const char *pod)
{
	gt_writer_info(t->writer, "uid", uid, strlen(uid));
	gt_writer_info(t->writer, "user", user, strlen(user));
	gt_writer_info(t->writer, "container", container, strlen(container));
	if (*pod)
		gt_writer_info(t->writer, "pod", pod, strlen(pod));
}

/*
 * Recordings of attach: a process that still ran when attach detached, the same after another one
 * had ended, one whose trace does not count all lost events, and one with calls unknown to this
 * gputrack.
 */
static void make_attached(void)
{
	static const struct {
		const char *name, *running, *lost;
		bool is_kept, is_foreign, has_another;
	} made[] = {
		{ .name = "attached.gt", .running = "1", .lost = "0", .is_kept = true },
		{ .name = "outlived.gt",
		  .running = "1",
		  .lost = "0",
		  .is_kept = true,
		  .has_another = true },
		{ .name = "lossy.gt", .running = "0", .lost = "1009", .has_another = true },
		{ .name = "foreign.gt", .running = "0", .lost = "0", .is_foreign = true },
	};

	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		struct trace t = { .base = 0x10000000,
				   .modules = { "/app/bin/service" },
				   .module_count = 1,
				   .start_ns = START,
				   .end_ns = START + 900 * MS };
		struct gt_info *info = begin_info("gputrack attach -p 900");
		uint32_t at;

		t.lost = strcmp(made[i].lost, "0") ? 2 : 0;
		gt_info_set(info, "capture", "attach");
		gt_info_set(info, "running", made[i].running);
		gt_info_set(info, "lost", made[i].lost);
		folder(made[i].name);
		end_info(info, made[i].name);
		begin(&t, made[i].name, 900, 1, "/app/bin/service", "./bin/service", 13);
		if (made[i].is_kept)
			put_identity(&t, "1000", "alice", "4f5e6d7c8b9a0123456789abcdef0123", "");
		at = STACK(&t, { 0, 0x1100 }, { 0, 0x1200 });
		CALL(&t, cuMemAlloc_v2, 10, .handle = 0x1000, .size = 6 << 20, .stack = at);
		CALL(&t, cuMemAlloc_v2, 20, .handle = 0x2000, .size = 2 << 20, .stack = at);
		CALL(&t, cuMemFree_v2, 700, .handle = 0x1000, .stack = at);
		if (made[i].is_foreign)
			CALL(&t, NONE, 750, .handle = 0x3000, .stack = at);
		if (!made[i].is_kept)
			CALL(&t, cuMemFree_v2, 800, .handle = 0x2000, .stack = at);
		else
			gt_writer_info(t.writer, "went_on", "1", 1);
		end(&t);
		if (!made[i].has_another)
			continue;
		/* its losses are its own */
		t.lost = t.lost ? 500 : 0;
		begin(&t, made[i].name, 901, 1, "/app/bin/service", "./bin/service", 13);
		if (made[i].is_kept)
			put_identity(&t, "1001", "bob", "5e6d7c8b9a0123456789abcdef012345",
				     "trainer-0");
		CALL(&t, cuMemAlloc_v2, 10, .handle = 0x1000, .size = 1 << 20);
		if (!made[i].is_kept)
			CALL(&t, cuMemFree_v2, 20, .handle = 0x1000);
		else
			gt_writer_info(t.writer, "residue", "6400 KB, CommandList 6400", 25);
		end(&t);
	}
}

/* Nothing tracked at all; and a tracked process without a relevant call. */
static void make_nothing(void)
{
	struct trace t = { .start_ns = START, .end_ns = START + 5 * MS };

	folder("untracked.gt");
	write_info("untracked.gt", "/bin/true", "exit_status", "0");
	folder("silent.gt");
	write_info("silent.gt", "./bin/silent", "exit_status", "0");
	begin(&t, "silent.gt", 700, 1, "/app/bin/silent", "./bin/silent", 12);
	end(&t);
}

/* Four ranks of one job, and their launcher. */
static void make_ranks(void)
{
	folder("ranks.gt");
	write_info("ranks.gt", "mpirun -n 4 ./solver", "exit_status", "0");
	for (uint32_t i = 0; i < 5; i++) {
		static const char launch[] = "python3\0-u\0launch.py";
		struct trace t = { .start_ns = START + i * MS, .end_ns = START + (500 + i) * MS };
		char rank[16];

		if (i)
			begin(&t, "ranks.gt", 1000 + i, 1000, "/app/bin/solver", "./solver", 8);
		else
			begin(&t, "ranks.gt", 1000, 1, "/usr/bin/python3.11", launch,
			      sizeof launch - 1);
		snprintf(rank, sizeof rank, "%u", i - 1);
		if (i) {
			gt_writer_info(t.writer, "rank", rank, strlen(rank));
			leak(&t, named(&t, "solve", "/app/src/solve.c", 3), i == 3, 4096);
		}
		end(&t);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_recordings FOLDER\n");
		return 2;
	}
	if (chdir(argv[1]))
		die(argv[1]);
	make_clean();
	make_growing();
	make_leaks();
	make_mistakes();
	make_family();
	make_hostile();
	make_damaged();
	make_sampled();
	make_markup();
	make_attached();
	make_nothing();
	make_builds();
	make_many();
	make_ranks();
	make_names();
	make_phases();
	make_held();
	make_work();
	make_touched();
	return 0;
}
