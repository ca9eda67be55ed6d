/* SPDX-License-Identifier: MIT */
/* test_recording.h - for tests of recordings: folders of processes that write traces. */
#pragma once

#include <inttypes.h>

#include "test_writer.h"

#include "base/process.h"
#include "trace/recording.h"

/* A process of a recording: its library addresses and its open trace. */
struct process {
	uint64_t base;    /* address randomisation */
	uint8_t build_id; /* of the library */
	bool told;
	struct gt_writer *writer;
	struct gt_lane *lane;
	uint32_t pid;
};

static inline void tell_modules(struct gt_writer *w, void *context)
{
	struct process *p = context;
	struct gt_module program = { .start = p->base,
				     .size = 0x1000,
				     .bias = p->base,
				     .path = "/bin/p",
				     .build_id = (const uint8_t *)"pppp",
				     .build_id_size = 4 };
	struct gt_module library = { .start = p->base + 0x5000,
				     .size = 0x1000,
				     .bias = p->base + 0x5000,
				     .path = "/lib/l.so",
				     .build_id = &p->build_id,
				     .build_id_size = 1 };

	if (p->told)
		return;
	p->told = true;
	/* in another order in every other process: numbers must not matter */
	gt_writer_module(w, 0, p->pid % 2 ? &program : &library);
	gt_writer_module(w, 1, p->pid % 2 ? &library : &program);
}

static inline const char *fresh_folder(void)
{
	const char *path = fresh_path("recording.gt");

	assert_int_equal(mkdir(path, 0700), 0);
	return path;
}

static inline void start_process(struct process *p, const char *folder, uint32_t pid)
{
	struct gt_writer_options options = {
		.pid = pid, .ppid = 1, .modules = tell_modules, .context = p
	};
	char path[256];

	*p = (struct process){ .pid = pid, .base = 0x7f0000000000 + pid * 0x100000, .build_id = 1 };
	snprintf(path, sizeof path, "%s/%u.trace", folder, pid);
	assert_int_equal(gt_writer_open(&p->writer, path, &options), 0);
	p->lane = gt_lane_acquire(p->writer, pid, "main");
}

/* A stack through the program and its library; `depth` distinguishes stacks. */
static inline uint32_t stack_of(struct process *p, uint64_t depth)
{
	uint64_t frames[] = { p->base + 0x5000 + depth, p->base + 0x10, 0x42 };

	return gt_writer_stack(p->writer, frames, 3);
}

static inline void add(struct process *p, struct events *all, uint64_t time_ns, uint64_t handle)
{
	struct gt_event e = { .time_ns = time_ns,
			      .handle = handle,
			      .tid = p->pid,
			      .stack = stack_of(p, 1),
			      .function = GT_FN_clCreateUserEvent };

	gt_lane_event(p->lane, &e);
	if (all)
		add_event(all, &e);
}

static inline struct gt_recording *open_recording(const char *path, uint32_t pid)
{
	struct gt_recording_options options = { .pid = pid };
	struct gt_recording *r;
	struct gt_error error = { "" };

	if (gt_recording_open(&r, path, pid ? &options : NULL, &error))
		fail_msg("%s", error.text);
	return r;
}

/* Three processes whose events alternate; the last one starts after the others. */
static inline const char *write_three(struct events *all)
{
	const char *folder = fresh_folder();
	struct process p[3];
	uint64_t now;

	*all = (struct events){ 0 };
	start_process(&p[0], folder, 11);
	start_process(&p[1], folder, 12);
	now = gt_now_ns();
	for (uint64_t i = 0; i < 100; i++)
		add(&p[i % 2], all, now + i, i);
	while (gt_now_ns() < now + 200)
		continue;
	start_process(&p[2], folder, 13);
	now = gt_now_ns();
	for (uint64_t i = 0; i < 99; i++)
		add(&p[i % 3], all, now + i, i);
	for (size_t i = 0; i < 3; i++)
		end_writer(p[i].writer);
	return folder;
}
