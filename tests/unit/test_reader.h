/* SPDX-License-Identifier: MIT */
/* test_reader.h - for tests of the reader: traces with modules, a small one of everything. */
#pragma once

#include "test_writer.h"

/* The modules that the callback reports next. */
static struct {
	int unload; /* -1: nothing */
	bool map;
	uint32_t number;
	struct gt_module module;
} script;

static inline void tell_modules(struct gt_writer *w, void *context)
{
	if (script.unload >= 0)
		gt_writer_unload(w, (uint32_t)script.unload);
	if (script.map)
		gt_writer_module(w, script.number++, &script.module);
	script.unload = -1;
	script.map = false;
}

static inline struct gt_writer *open_with_modules(const char *path)
{
	struct gt_writer_options options = { .pid = 1, .start_ns = 50, .modules = tell_modules };
	struct gt_writer *w;

	memset(&script, 0, sizeof script);
	script.unload = -1;
	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	return w;
}

static inline void map_module(uint64_t start, uint64_t bias, const char *module_path)
{
	static const uint8_t id[] = { 1, 2, 3, 4 };

	script.map = true;
	script.module = (struct gt_module){ .start = start,
					    .size = 0x1000,
					    .bias = bias,
					    .path = module_path,
					    .build_id = id,
					    .build_id_size = 4,
					    .file_size = 77,
					    .mtime_ns = -5 };
}

static inline struct gt_reader *open_reader(const char *path)
{
	struct gt_reader *r;
	struct gt_error error = { "" };

	if (gt_reader_open(&r, path, &error))
		fail_msg("%s", error.text);
	return r;
}

/*
 * Events that are missing from the trace, by their times, which are unique, lie in the gap that it
 * admits. Returns the gap's end; 0: none.
 */
static inline uint64_t assert_gap_explains(const char *path, const struct events *all)
{
	struct gt_reader *r = open_reader(path);
	uint64_t first, last;
	struct events got = { 0 };
	struct gt_event e;
	size_t next = 0;

	while (gt_reader_next(r, &e) > 0)
		add_event(&got, &e);
	gt_reader_gap(r, &first, &last);
	for (size_t i = 0; i < all->count; i++) {
		bool is_there = next < got.count && got.list[next].time_ns == all->list[i].time_ns;

		next += is_there;
		if (!is_there)
			assert_in_range(all->list[i].time_ns, first, last);
	}
	assert_int_equal(next, got.count);
	free(got.list);
	gt_reader_close(r);
	return last;
}

/* A small trace of one or two lanes with every kind of record. The caller frees `all`. */
static inline const char *write_small(struct events *all, uint32_t lane_count, bool end)
{
	const char *path = fresh_path("small.trace");
	struct gt_writer *w = open_with_modules(path);
	struct gt_lane *lanes[2];
	uint64_t seed = 5;

	*all = (struct events){ 0 };
	gt_writer_info(w, "program", "/bin/true", 9);
	map_module(0x10000, 0, "/bin/true");
	for (uint32_t i = 0; i < lane_count; i++)
		lanes[i] = gt_lane_acquire(w, 70 + i, "worker");
	for (uint64_t i = 0; i < 60; i++) {
		uint64_t frames[] = { 0x10000 + i % 5, 0x10500 };
		struct gt_event e = random_event(&seed, 1000 + i, 70 + i % lane_count);

		e.stack = gt_writer_stack(w, frames, 2);
		gt_lane_event(lanes[i % lane_count], &e);
		add_event(all, &e);
	}
	if (end)
		gt_writer_end(w);
	gt_writer_free(w);
	return path;
}
