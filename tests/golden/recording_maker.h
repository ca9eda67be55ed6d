/* SPDX-License-Identifier: MIT */
/* recording_maker.h - helpers to write a small recording, the same at every run. */
#pragma once

#include "trace/info.h"
#include "trace/writer.h"

#define MS    1000000ull
#define START 5000000000000ull /* of the first process, on the monotonic clock */

enum { MODULES_MAX = 8 };

/* One process being written. */
struct trace {
	char path[4096];
	struct gt_writer *writer;
	struct gt_lane *lane;
	uint64_t base; /* where its modules begin */
	const char *modules[MODULES_MAX];
	int module_count;
	bool modules_written;
	/* defines other modules than those; NULL: those */
	void (*define)(struct gt_writer *w, void *context);
	void *define_context;
	uint64_t start_ns, end_ns; /* end 0: it never ended */
	uint32_t state, error;
	uint64_t lost, lost_stacks;
};

void die(const char *what);
void folder(const char *name);

/* `command` is `size` bytes: arguments with NUL bytes between them. */
void begin(struct trace *t, const char *recording, uint32_t pid, uint32_t ppid, const char *program,
	   const char *command, size_t size);
/* Header values that only a real end would set are invented. */
void end(struct trace *t);

/* A stack from (module, offset) pairs, innermost first; offsets are those of the calls. */
uint32_t stack(struct trace *t, size_t count, const uint32_t pairs[][2]);

#define STACK(t, ...)                                                                              \
	stack(t, sizeof((const uint32_t[][2]){ __VA_ARGS__ }) / sizeof(uint32_t[2]),               \
	      (const uint32_t[][2]){ __VA_ARGS__ })

/* An event this many milliseconds after START. */
#define CALL(t, fn, ms, ...)                                                                       \
	gt_lane_event((t)->lane, &(struct gt_event){ .function = GT_FN_##fn,                       \
						     .time_ns = START + (ms)*MS,                   \
						     __VA_ARGS__ })

/* A stack of two text frames: a function and its caller. */
uint32_t named(struct trace *t, const char *function, const char *file, uint32_t line);
/* This many resources that stay alive; events if `bytes` is 0. */
void leak(struct trace *t, uint32_t at, unsigned count, uint64_t size);

/* Writes the lines that every `info` has; the caller adds its own. */
struct gt_info *begin_info(const char *command);
void end_info(struct gt_info *info, const char *recording);
void write_info(const char *recording, const char *command, const char *end_key,
		const char *end_value);
