/* SPDX-License-Identifier: MIT */
/* seeds.c - writes small valid inputs for fuzzers to start from: TRACES INFOS LEGENDS */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/info.h"
#include "trace/legend.h"
#include "trace/reader.h"
#include "trace/writer.h"

static const char *folder;

static void die(const char *what, int error)
{
	fprintf(stderr, "seeds: %s: %s\n", what, strerror(error));
	exit(1);
}

/* Two modules; each later call unloads them and maps them the other way round. */
static void modules(struct gt_writer *w, void *context)
{
	static const uint8_t id[20] = { 0xde, 0xad, 0xbe, 0xef };
	unsigned *round = context;
	struct gt_module m = { .size = 0x10000,
			       .build_id = id,
			       .build_id_size = sizeof id,
			       .file_size = 12345,
			       .mtime_ns = -1 };

	if (!round)
		return;
	for (unsigned i = 0; *round && i < 2; i++)
		gt_writer_unload(w, 2 * (*round - 1) + i);
	for (unsigned i = 0; i < 2; i++) {
		m.path = i ? "/usr/lib/libsomething.so.1" : "/usr/bin/program";
		m.start = m.bias = 0x400000 + 0x10000 * (i ^ (*round & 1));
		gt_writer_module(w, 2 * *round + i, &m);
	}
	++*round;
}

static struct gt_writer *start(const char *name, unsigned *round)
{
	struct gt_writer_options options = {
		.pid = 4242, .ppid = 1, .modules = modules, .context = round
	};
	struct gt_writer *w;
	char path[4096];
	int e;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	unlink(path);
	e = gt_writer_open(&w, path, &options);
	if (e)
		die(path, -e);
	gt_writer_info(w, "program", "/usr/bin/program", 16);
	gt_writer_info(w, "command", "program\0--fast", 15);
	return w;
}

static void end(struct gt_writer *w)
{
	gt_writer_end(w);
	gt_writer_free(w);
}

/* Leaves the trace as a killed process does, without its reserved space. */
static void kill_it(struct gt_writer *w, const char *name)
{
	struct gt_trace_header h;
	struct gt_error error;
	char path[4096];

	gt_writer_free(w);
	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (gt_trace_header_read(&h, path, &error) || truncate(path, (off_t)h.blocks_end))
		die(path, errno);
}

static uint32_t stack_at(struct gt_writer *w, uint64_t address)
{
	uint64_t frames[] = { address, 0x400123, 0x410456, 0x7f0000000000 };

	return gt_writer_stack(w, frames, 4);
}

static void event(struct gt_lane *lane, uint16_t function, uint64_t handle, uint32_t stack)
{
	static uint64_t time_ns = 1000000000;
	struct gt_event e = {
		.time_ns = time_ns += 1000, .handle = handle, .stack = stack, .function = function
	};

	if (gt_functions[function].effect == GT_CREATE) {
		e.size = handle * 64;
		e.owner = 0x10;
		e.place = 1;
	}
	gt_lane_event(lane, &e);
}

static void write_kinds(const char *name)
{
	unsigned round = 0;
	struct gt_writer *w = start(name, &round);
	struct gt_lane *lane = gt_lane_acquire(w, 4242, "main");
	struct gt_event failed = { .time_ns = 2000000000,
				   .function = GT_FN_clCreateBuffer,
				   .size = 1 << 30,
				   .result = -61,
				   .failed = 1 };

	gt_writer_place(w, 1, GT_OPENCL, "Portable Computing Language");
	for (uint16_t fn = 1; fn < GT_FN_COUNT; fn += 7)
		event(lane, fn, 0x1000 + 8u * fn, stack_at(w, 0x400000 + fn));
	event(lane, GT_FN_clCreateBuffer, 0x100, stack_at(w, 0x400777));
	event(lane, GT_FN_clRetainMemObject, 0x100, 0);
	event(lane, GT_FN_clReleaseMemObject, 0x100, 0);
	event(lane, GT_FN_clReleaseMemObject, 0x100, 0);
	event(lane, GT_FN_clReleaseMemObject, 0x100, stack_at(w, 0x410777));
	failed.phase = gt_writer_phase(w, 0, &(struct gt_range){ "train", "domain", "category" });
	failed.phase = gt_writer_phase(w, failed.phase, &(struct gt_range){ .name = "step" });
	gt_lane_event(lane, &failed);
	gt_lane_release(lane);
	end(w);
}

/* The same bytes, to be read by the rules of another version. */
static void set_version(const char *name, uint32_t version)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	fd = open(path, O_WRONLY);
	if (fd < 0 || pwrite(fd, &version, sizeof version,
			     offsetof(struct gt_trace_header, version)) != sizeof version)
		die(path, errno);
	close(fd);
}

static void write_lanes(void)
{
	struct gt_writer *w = start("lanes.trace", NULL);
	struct gt_lane *lanes[3];

	for (uint32_t i = 0; i < 3; i++)
		lanes[i] = gt_lane_acquire(w, 4242 + i, "worker");
	for (uint64_t i = 0; i < 1800; i++) /* enough to fill blocks */
		event(lanes[i % 3], i & 4 ? GT_FN_clReleaseEvent : GT_FN_clCreateUserEvent,
		      0x5000 + i % 4, stack_at(w, i % 8));
	end(w);
}

static void write_reuse(void)
{
	unsigned round = 0;
	struct gt_writer *w = start("reuse.trace", &round);
	struct gt_lane *lane = gt_lane_acquire(w, 4242, "main");

	for (uint64_t i = 0; i < 5; i++) {
		event(lane, GT_FN_clSVMAlloc, 0x9000 + i, stack_at(w, 0x400100));
		gt_writer_forget_stacks(w);
	}
	end(w);
}

static void write_killed(void)
{
	struct gt_writer *w = start("killed.trace", NULL);
	struct gt_lane *lane = gt_lane_acquire(w, 4242, "main");
	struct gt_event inside = { .time_ns = 3000000000,
				   .handle = 0x100,
				   .function = GT_FN_clReleaseContext };

	event(lane, GT_FN_clCreateContext, 0x100, stack_at(w, 1));
	inside.stack = stack_at(w, 2);
	gt_lane_enter(lane, &inside, NULL, 0, NULL);
	kill_it(w, "killed.trace");
}

static void write_texts(void)
{
	const struct gt_text_frame python = {
		.function = "train", .file = "/src/train.py", .line = 88, .module = "python3"
	};
	const struct gt_series used = { "device memory used", "bytes", "GPU 0" };
	const struct gt_work copy = { .kind = GT_WORK_COPY, .function = "cuMemcpyAsync" };
	const struct gt_touched copied[] = { { 0x7f0000000000, 4096, GT_WRITES },
					     { 0x7f0000200000, 4096, GT_READS } };
	struct gt_writer *w = start("texts.trace", NULL);
	struct gt_lane *lane = gt_lane_acquire(w, 4242, "main");
	uint64_t frames[] = { 0x400123, gt_writer_text_frame(w, &python) };

	event(lane, GT_FN_clCreateContext, 0x100, gt_writer_stack(w, frames, 2));
	gt_lane_sample(lane, gt_writer_series(w, &used), 2000000000, 1 << 30);
	gt_lane_sample(lane, gt_writer_series(w, &used), 2100000000, -1);
	gt_lane_paging(lane, &(struct gt_paging){ .time_ns = 2200000000,
						  .address = 0x7f0000000000,
						  .amount = 1 << 21,
						  .effect = GT_PAGING_TO_DEVICE,
						  .cause = GT_PAGING_FAULT });
	for (int i = 0; i < 4; i++)
		gt_lane_touch(lane, gt_writer_work(w, &copy), GT_WORK_COPY, 2200000000,
			      &(struct gt_naming){ .ranges = copied, .count = 2 });
	end(w);
}

/* More places and series than any machine has devices. */
static void write_many(void)
{
	struct gt_writer *w = start("many.trace", NULL);
	struct gt_lane *lane = gt_lane_acquire(w, 4242, "main");
	struct gt_event e = { .time_ns = 4000000000, .function = GT_FN_clCreateBuffer, .size = 64 };
	char name[32];

	for (uint16_t i = 1; i <= 90; i++) {
		snprintf(name, sizeof name, "device %u", i);
		gt_writer_place(w, i, GT_OPENCL, name);
		e.place = i;
		e.handle = 0x100u + i;
		gt_lane_event(lane, &e);
		gt_lane_sample(lane, gt_writer_series(w, &(struct gt_series){ name, "bytes", "" }),
			       e.time_ns += 1000, i);
	}
	end(w);
}

static void write_infos(const char *into)
{
	struct gt_info *info = gt_info_new();
	struct gt_error error;
	char path[4096];

	gt_info_set(info, "gputrack", "1.0");
	gt_info_set(info, "command", "program --fast");
	gt_info_setf(info, "started", "%d", 12345);
	snprintf(path, sizeof path, "%s/info", into);
	if (gt_info_write(info, path, &error))
		die(error.text, 0);
	gt_info_free(info);
}

static void write_ends(const char *into)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof path, "%s/ends", into);
	out = fopen(path, "we");
	if (!out)
		die(path, errno);
	fputs(GT_ENDS_MAGIC "1.trace 5000000000\n2-2.trace 7\n1.trace 6000000000\n", out);
	fclose(out);
}

static void write_legend(const char *into)
{
	static const uint8_t id[20] = { 0xde, 0xad };
	static const struct gt_legend_name list[] = {
		{ .function = "inner", .file = "/src/a.c", .line = 12, .inlined = true },
		{ .function = "outer" },
	};
	struct gt_legend *names = gt_legend_new();
	struct gt_error error;
	char path[4096];

	gt_legend_add(names, "/usr/bin/program", id, sizeof id, 0x1234, list, 2);
	gt_legend_add(names, "/usr/lib/libsomething.so.1", NULL, 0, 0x10, list, 1);
	snprintf(path, sizeof path, "%s/legend", into);
	if (gt_legend_write(names, path, &error))
		die(error.text, 0);
	gt_legend_free(names);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fputs("usage: seeds TRACES INFOS LEGENDS\n", stderr);
		return 2;
	}
	for (int i = 1; i <= 3; i++)
		if (mkdir(argv[i], 0777) && errno != EEXIST)
			die(argv[i], errno);
	folder = argv[1];
	end(start("empty.trace", NULL));
	write_kinds("kinds.trace");
	write_kinds("version-1.trace");
	set_version("version-1.trace", GT_TRACE_VERSION_OLDEST);
	write_lanes();
	write_reuse();
	write_killed();
	write_texts();
	write_many();
	write_infos(argv[2]);
	write_ends(argv[2]);
	write_legend(argv[3]);
	return 0;
}
