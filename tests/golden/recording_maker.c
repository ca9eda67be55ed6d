/* SPDX-License-Identifier: MIT */
/* recording_maker.c - helpers to write a small recording, the same at every run. */
#include "recording_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/layout.h"

#define START_REAL 1772366400000000000ull /* 2026-03-01T12:00:00Z */

void die(const char *what)
{
	fprintf(stderr, "make_recordings: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Module n is at base + n MiB and 1 MiB long. */
static void define_modules(struct gt_writer *w, void *context)
{
	static const uint8_t build_id[] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };
	struct trace *t = context;

	for (int i = 0; !t->modules_written && i < t->module_count; i++)
		gt_writer_module(w, (uint32_t)i,
				 &(struct gt_module){ .start = t->base + ((uint64_t)i << 20),
						      .size = 1 << 20,
						      .bias = t->base + ((uint64_t)i << 20),
						      .path = t->modules[i],
						      .build_id = build_id,
						      .build_id_size = sizeof build_id });
	t->modules_written = true;
}

void folder(const char *name)
{
	if (mkdir(name, 0777) && errno != EEXIST)
		die(name);
}

void begin(struct trace *t, const char *recording, uint32_t pid, uint32_t ppid, const char *program,
	   const char *command, size_t size)
{
	struct gt_writer_options options = { .pid = pid,
					     .ppid = ppid,
					     .modules = t->define ? t->define : define_modules,
					     .context = t->define ? t->define_context : t,
					     .start_ns = t->start_ns,
					     .start_real_ns = START_REAL + (t->start_ns - START) };
	int e;

	snprintf(t->path, sizeof t->path, "%s/%u.trace", recording, pid);
	unlink(t->path);
	e = gt_writer_open(&t->writer, t->path, &options);
	if (e) {
		errno = -e;
		die(t->path);
	}
	gt_writer_info(t->writer, "program", program, strlen(program));
	gt_writer_info(t->writer, "command", command, size);
	t->lane = gt_lane_acquire(t->writer, pid, "main");
}

void end(struct trace *t)
{
	struct gt_trace_header h;
	int fd;

	if (t->end_ns)
		gt_writer_end(t->writer);
	gt_writer_free(t->writer);
	fd = open(t->path, O_RDWR);
	if (fd < 0 || pread(fd, &h, sizeof h, 0) != sizeof h)
		die(t->path);
	h.end_ns = t->end_ns;
	if (t->state)
		h.state = t->state;
	h.error = t->error;
	h.lost = t->lost;
	h.lost_stacks = t->lost_stacks;
	if (pwrite(fd, &h, sizeof h, 0) != sizeof h)
		die(t->path);
	close(fd);
}

uint32_t stack(struct trace *t, size_t count, const uint32_t pairs[][2])
{
	uint64_t frames[16];

	for (size_t i = 0; i < count; i++)
		frames[i] = t->base + ((uint64_t)pairs[i][0] << 20) + pairs[i][1] + 1;
	return gt_writer_stack(t->writer, frames, count);
}

uint32_t named(struct trace *t, const char *function, const char *file, uint32_t line)
{
	uint64_t frames[] = {
		gt_writer_text_frame(t->writer, &(struct gt_text_frame){ .function = function,
									 .file = file,
									 .module = "/app/bin/game",
									 .line = line }),
		gt_writer_text_frame(t->writer, &(struct gt_text_frame){ .function = "main",
									 .file = "/app/src/main.c",
									 .module = "/app/bin/game",
									 .line = 20 }),
	};

	return gt_writer_stack(t->writer, frames, 2);
}

void leak(struct trace *t, uint32_t at, unsigned count, uint64_t size)
{
	static uint64_t handle = 0x1000;

	for (unsigned i = 0; i < count; i++, handle += 16) {
		uint64_t ms = (handle >> 4) % 500;

		if (size)
			CALL(t, clCreateBuffer, ms, .handle = handle, .size = size, .stack = at);
		else
			CALL(t, clCreateUserEvent, ms, .handle = handle, .stack = at);
	}
}

struct gt_info *begin_info(const char *command)
{
	struct gt_info *info = gt_info_new();

	gt_info_set(info, "gputrack", "0.1.0");
	gt_info_set(info, "command", command);
	gt_info_set(info, "directory", "/app");
	gt_info_set(info, "host", "lab3");
	gt_info_set(info, "started", "2026-03-01T12:00:00+0000");
	gt_info_set(info, "duration_ns", "2500000000");
	return info;
}

void end_info(struct gt_info *info, const char *recording)
{
	struct gt_error error;
	char path[4096];

	snprintf(path, sizeof path, "%s/info", recording);
	if (gt_info_write(info, path, &error)) {
		fprintf(stderr, "make_recordings: %s\n", error.text);
		exit(1);
	}
	gt_info_free(info);
}

void write_info(const char *recording, const char *command, const char *end_key,
		const char *end_value)
{
	struct gt_info *info = begin_info(command);

	gt_info_set(info, end_key, end_value);
	end_info(info, recording);
}
