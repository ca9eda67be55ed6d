/* SPDX-License-Identifier: MIT */
/* test_writer.h - for tests of src/trace: random events, traces as bytes. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/layout.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include "test_random.h"
#include "test_scratch.h"

/* A path without a file; valid until the fourth call after it. */
static inline const char *fresh_path(const char *name)
{
	static char paths[4][128];
	static unsigned count;
	char *path = paths[count % 4];

	snprintf(path, sizeof paths[0], "%s/%u-%s", scratch, count++, name);
	unlink(path);
	return path;
}

/* A random event of any row, with values often at the ends of their ranges. */
static inline struct gt_event random_event(uint64_t *state, uint64_t time_ns, uint32_t tid)
{
	/* addresses of arm64, too: of 39, 48 and 52 bits, with a tag */
	static const uint64_t ends[] = { 0,
					 1,
					 127,
					 128,
					 UINT32_MAX,
					 INT64_MAX,
					 UINT64_MAX,
					 0x7ffffff000,
					 0xfffffffff000,
					 0xffffffffff000,
					 0xb400ffff80001000 };
	enum { ENDS = sizeof ends / sizeof *ends };
	uint64_t dice = random_word(state);
	struct gt_event e = { .time_ns = time_ns,
			      .tid = tid,
			      .function = (uint16_t)(1 + random_word(state) % (GT_FN_COUNT - 1)) };

	e.handle = dice % 4 ? 0x7f0000000000 + dice % 65536 * 16 : ends[dice / 4 % ENDS];
	if (gt_functions[e.function].effect == GT_CREATE) {
		e.size = dice & 1024 ? ends[dice / 2048 % ENDS] : dice % 100000;
		e.owner = dice & 512 ? ends[dice / 4096 % ENDS] : 0x7f1000000000 + dice % 16 * 64;
		e.place = (uint16_t)(dice & 256 ? dice : dice % 3);
	} else if (dice % 16 == 1) { /* as imports tell of an end */
		e.size = ends[dice / 2048 % ENDS];
		e.place = (uint16_t)(dice % 5);
	}
	if (dice % 8 == 0) {
		e.failed = 1;
		e.result = (int32_t)(dice & 64 ? dice >> 32 : dice % 100 - 100);
	}
	if (dice >> 40 & 1) { /* likewise of a call */
		e.duration_ns = 1 + (dice >> 41) % 100000;
		e.start_ns = dice >> 60 ? time_ns - (dice >> 41) % 1000 : ends[dice / 8 % ENDS];
	}
	return e;
}

#define assert_same_event(a, b) assert_same_event_((a), (b), __FILE__, __LINE__)

static inline void assert_same_event_(const struct gt_event *a, const struct gt_event *b,
				      const char *file, int line)
{
	bool same = a->time_ns == b->time_ns && a->handle == b->handle && a->size == b->size &&
		    a->owner == b->owner && a->stack == b->stack && a->tid == b->tid &&
		    a->function == b->function && a->place == b->place && a->result == b->result &&
		    a->failed == b->failed && a->unfinished == b->unfinished &&
		    a->start_ns == b->start_ns && a->duration_ns == b->duration_ns;

	_assert_true(same, "events are the same", file, line);
}

struct events {
	struct gt_event *list;
	size_t count, room;
};

static inline void add_event(struct events *all, const struct gt_event *e)
{
	if (all->count == all->room) {
		all->room = all->room ? all->room * 2 : 64;
		all->list = realloc(all->list, all->room * sizeof *all->list);
	}
	all->list[all->count++] = *e;
}

/* All events of a trace that must open; `damage` receives a copy of the damage text, or "". */
static inline struct events read_events(const char *path, char damage[256])
{
	struct events all = { 0 };
	struct gt_reader *r;
	struct gt_error error = { "" };
	struct gt_event e;

	if (gt_reader_open(&r, path, &error))
		fail_msg("%s", error.text);
	while (gt_reader_next(r, &e) > 0)
		add_event(&all, &e);
	if (damage)
		snprintf(damage, 256, "%s", gt_reader_damage(r) ? gt_reader_damage(r) : "");
	else if (gt_reader_damage(r))
		fail_msg("%s", gt_reader_damage(r));
	gt_reader_close(r);
	return all;
}

static inline void assert_same_events(const struct events *wanted, const struct events *got)
{
	assert_int_equal(wanted->count, got->count);
	for (size_t i = 0; i < wanted->count; i++)
		assert_same_event(&wanted->list[i], &got->list[i]);
}

/* Writes random events and adds them to `all`. */
static inline void write_many(struct gt_lane *lane, struct events *all, uint64_t *seed,
			      unsigned count)
{
	while (count--) {
		struct gt_event e = random_event(seed, 1000 + all->count, 9);

		gt_lane_event(lane, &e);
		add_event(all, &e);
	}
}

/* The trace holds exactly these events, in this order, and is not damaged. */
static inline void assert_trace_holds(const char *path, const struct events *wanted)
{
	struct events got = read_events(path, NULL);

	assert_same_events(wanted, &got);
	free(got.list);
}

static inline struct gt_writer *open_writer(const char *path)
{
	struct gt_writer_options options = {
		.pid = 4242, .ppid = 1, .start_ns = 50, .start_real_ns = 60
	};
	struct gt_writer *w;

	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	return w;
}

static inline void end_writer(struct gt_writer *w)
{
	gt_writer_end(w);
	gt_writer_free(w);
}

/* Our descriptor of the file, or -1. */
static inline int find_descriptor(const char *path)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	char link[64], target[256];
	int found = -1;

	while ((entry = readdir(folder))) {
		ssize_t n;

		snprintf(link, sizeof link, "/proc/self/fd/%.20s", entry->d_name);
		n = readlink(link, target, sizeof target - 1);
		target[n > 0 ? n : 0] = '\0';
		if (!strcmp(target, path))
			found = atoi(entry->d_name);
	}
	closedir(folder);
	return found;
}

/* A trace as bytes, to be changed and written elsewhere. */
struct image {
	uint8_t *data;
	size_t size;
};

static inline struct image load_image(const char *path)
{
	struct image image;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && !fstat(fd, &st));
	image.size = (size_t)st.st_size;
	image.data = malloc(image.size ? image.size : 1);
	assert_int_equal(read(fd, image.data, image.size), image.size);
	close(fd);
	return image;
}

static inline void save_image(const char *path, const struct image *image)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, image->data, image->size), image->size);
	close(fd);
}

static inline struct gt_trace_header *header_of(const struct image *image)
{
	return (struct gt_trace_header *)image->data;
}

/* The n-th block of a lane. */
static inline struct gt_block_header *block_of(const struct image *image, uint32_t lane, uint32_t n)
{
	size_t at = header_of(image)->header_size;

	while (at + sizeof(struct gt_block_header) <= image->size) {
		struct gt_block_header *b = (struct gt_block_header *)(image->data + at);

		if (b->magic == GT_BLOCK_MAGIC && b->lane == lane && b->sequence == n)
			return b;
		if (!b->size)
			break;
		at += b->size;
	}
	fail_msg("lane %u has no block %u", lane, n);
	return NULL;
}

/* Adds bytes to an unsealed block, before or after its records. */
static inline void prepend(struct gt_block_header *b, const void *bytes, size_t size)
{
	uint8_t *records = (uint8_t *)(b + 1);

	assert_true(!b->hash && sizeof *b + b->used + size <= b->size);
	memmove(records + size, records, b->used);
	memcpy(records, bytes, size);
	b->used += (uint32_t)size;
}

static inline void append(struct gt_block_header *b, const void *bytes, size_t size)
{
	assert_true(!b->hash && sizeof *b + b->used + size <= b->size);
	memcpy((uint8_t *)(b + 1) + b->used, bytes, size);
	b->used += (uint32_t)size;
}
