/* SPDX-License-Identifier: MIT */
/* test_reader_damage.c - truncated, changed and foreign files are detected and do no harm. */
#include <malloc.h>

#include "test_reader.h"

/* Events of one thread in `got` are the first of its events in `all`. */
static void assert_prefixes(const struct events *all, const struct events *got)
{
	size_t next[2] = { 0 };

	for (size_t i = 0; i < got->count; i++) {
		uint32_t tid = got->list[i].tid;
		size_t *at = &next[tid - 70];

		while (*at < all->count && all->list[*at].tid != tid)
			++*at;
		assert_true(*at < all->count);
		assert_same_event(&got->list[i], &all->list[(*at)++]);
	}
}

/* Terabytes of zeros, followed by a block of the highest possible lane. */
static void a_hole_costs_neither_time_nor_memory(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, 1, "main");
	struct gt_event e = { .time_ns = 100, .handle = 7, .function = GT_FN_clCreateBuffer };
	struct gt_block_header far = { .magic = GT_BLOCK_MAGIC,
				       .size = GT_BLOCK_MIN,
				       .lane = (1 << 24) - 1 };
	off_t end = (off_t)1 << 42;
	struct gt_trace_header h;
	struct gt_reader *r;
	struct gt_error error;
	int fd;

	gt_lane_event(lane, &e);
	end_writer(w);
	fd = open(path, O_RDWR);
	assert_int_equal(pread(fd, &h, sizeof h, 0), sizeof h);
	h.blocks_end = (uint64_t)end;
	assert_int_equal(pwrite(fd, &h, sizeof h, 0), sizeof h);
	if (ftruncate(fd, end) || pwrite(fd, &far, sizeof far, end - GT_BLOCK_MIN) != sizeof far) {
		close(fd);
		skip(); /* a file system for small files */
	}
	close(fd);
	assert_int_equal(gt_reader_open(&r, path, &error), 0);
	assert_int_equal(gt_reader_next(r, &e), 1);
	assert_int_equal(e.handle, 7);
	assert_int_equal(gt_reader_next(r, &e), 0);
	assert_non_null(gt_reader_damage(r));
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < 16 << 20);
	gt_reader_close(r);
}

/*
 * Cuts the file shorter and shorter: it opens, or is refused with one error. Each lane yields
 * fewer and fewer of its events, always the first ones.
 */
static void check_every_cut(uint32_t lane_count, bool end)
{
	struct events all;
	const char *path = write_small(&all, lane_count, end);
	struct gt_trace_header h;
	struct gt_error error;
	struct stat st;
	size_t last = all.count;
	int step = lane_count == 1 && end ? 1 : 7; /* each byte once is enough */

	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	assert_int_equal(stat(path, &st), 0);
	/* reserved room is all zeroes: a look at its ends will do */
	for (off_t size = st.st_size; size > (off_t)h.blocks_end + 64; size -= 1021) {
		assert_int_equal(truncate(path, size), 0);
		assert_trace_holds(path, &all);
	}
	for (off_t size = (off_t)h.blocks_end + (end ? 0 : 64); size >= 0; size -= step) {
		struct gt_reader *r;
		struct events got;
		char damage[256];

		assert_int_equal(truncate(path, size), 0);
		error.text[0] = '\0';
		if (size < (off_t)sizeof h) {
			assert_true(gt_reader_open(&r, path, &error) < 0);
			assert_true(error.text[0]);
			continue;
		}
		got = read_events(path, damage);
		assert_true(got.count <= (lane_count == 1 ? last : all.count));
		assert_prefixes(&all, &got);
		assert_gap_explains(path, &all);
		assert_true((size < (off_t)h.blocks_end) == !!damage[0]);
		last = got.count;
		free(got.list);
	}
	assert_int_equal(last, 0);
	free(all.list);
}

static void a_truncated_trace_reads_up_to_the_cut(void **state)
{
	check_every_cut(1, true);
}

static void a_truncated_running_trace_reads_up_to_the_cut(void **state)
{
	check_every_cut(1, false);
}

static void each_lane_of_a_truncated_trace_reads_up_to_the_cut(void **state)
{
	check_every_cut(2, true);
}

/* The header lacks the end of the blocks, as if the writer was killed before storing it. */
static void a_truncated_block_is_detected_without_the_header(void **state)
{
	struct events all, got;
	const char *path = write_small(&all, 1, false);
	struct gt_trace_header h;
	struct gt_error error;
	char damage[256];
	off_t size;
	int fd;

	(void)state;
	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	size = (off_t)h.blocks_end;
	h.blocks_end = h.header_size;
	fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, &h, sizeof h, 0), sizeof h);
	close(fd);
	assert_trace_holds(path, &all);
	/* between two records too, where nothing else would tell */
	do {
		assert_int_equal(truncate(path, --size), 0);
		got = read_events(path, damage);
		free(got.list);
		assert_true(got.count == all.count || damage[0]);
		assert_gap_explains(path, &all);
		assert_gap_explains(path, &all);
	} while (got.count + 5 > all.count);
	free(all.list);
}

/* One lane, so that its prefix is a prefix of the trace; its first blocks are sealed. */
static const char *write_sealed(struct events *all)
{
	const char *path = fresh_path("sealed.trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane;
	uint64_t seed = 10;

	*all = (struct events){ 0 };
	gt_writer_info(w, "program", "/bin/true", 9);
	lane = gt_lane_acquire(w, 70, "main");
	for (uint64_t i = 0; i < 700; i++) {
		struct gt_event e = random_event(&seed, 1000 + i, 70);

		gt_lane_event(lane, &e);
		add_event(all, &e);
	}
	end_writer(w);
	return path;
}

static void check_flip(const struct image *image, void *at, const struct events *all)
{
	static const char *path;
	struct events got;
	char damage[256];

	if (!path)
		path = strdup(fresh_path("flipped.trace"));
	*(uint8_t *)at ^= 0x10;
	save_image(path, image);
	*(uint8_t *)at ^= 0x10;
	got = read_events(path, damage);
	assert_true(damage[0]);
	assert_true(got.count < all->count);
	assert_prefixes(all, &got);
	assert_int_equal(assert_gap_explains(path, all), UINT64_MAX);
	free(got.list);
}

static void flipped_bytes_in_a_sealed_block_are_detected(void **state)
{
	struct events all;
	const char *path = write_sealed(&all);
	struct image image = load_image(path);
	struct gt_block_header *b = block_of(&image, 1, 0);

	assert_true(b->hash);
	for (uint32_t i = 0; i < b->used; i += 3)
		check_flip(&image, (uint8_t *)(b + 1) + i, &all);
	for (size_t i = 0; i < sizeof b->hash; i++)
		check_flip(&image, (uint8_t *)&b->hash + i, &all);
	check_flip(&image, &b->used, &all);
	check_flip(&image, &b->sequence, &all);
	free(image.data);
	free(all.list);
}

/* Any changed byte: no crash, no endless loop, some result. */
static void no_changed_byte_crashes_the_reader(void **state)
{
	struct events all;
	const char *path = write_small(&all, 2, false);
	struct gt_trace_header h;
	struct gt_error error;
	int fd;

	assert_int_equal(gt_trace_header_read(&h, path, &error), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	for (off_t at = 0; at < (off_t)h.blocks_end; at += at % 4096 < 2000 ? 1 : 512) {
		struct gt_reader *r;
		struct gt_event e;
		uint8_t byte, changed;
		size_t count = 0;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		changed = (uint8_t)(byte ^ (at % 2 ? 0xff : 0x80));
		assert_int_equal(pwrite(fd, &changed, 1, at), 1);
		if (!gt_reader_open(&r, path, &error)) {
			while (gt_reader_next(r, &e) > 0)
				assert_true(count++ < 100000);
			gt_reader_close(r);
		}
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
	free(all.list);
}

static void refuse(const void *data, size_t size, int code, const char *reason)
{
	const char *path = fresh_path("refused");
	struct image image = { (uint8_t *)data, size };
	struct gt_error error = { "" };
	struct gt_reader *r;

	save_image(path, &image);
	assert_int_equal(gt_reader_open(&r, path, &error), code);
	assert_non_null(strstr(error.text, reason));
	assert_non_null(strstr(error.text, path));
}

static void files_that_are_not_traces_are_refused_with_a_message(void **state)
{
	struct gt_trace_header h = { .magic = GT_TRACE_MAGIC, .version = 0, .header_size = 4096 };
	char room[GT_TRACE_HEADER + GT_BLOCK_MIN] = "";
	struct gt_error error = { "" };
	struct gt_reader *r;

	refuse("", 0, -ENODATA, "is empty");
	refuse(room, sizeof room, -ENODATA, "is empty");
	memcpy(room + GT_TRACE_HEADER, "GTBK", 4);
	refuse(room, sizeof room, -EINVAL, "not a gputrack trace");
	refuse("x", 1, -EINVAL, "too short");
	refuse(&h, sizeof h - 1, -EINVAL, "too short");
	refuse(&h, sizeof h, -EPROTO, "older gputrack (trace version 0");
	h.version = GT_TRACE_VERSION + 1;
	refuse(&h, sizeof h, -EPROTO, "newer gputrack (trace version 3");
	h.version = GT_TRACE_VERSION;
	h.header_size = 8;
	refuse(&h, sizeof h, -EINVAL, "damaged header");
	h.header_size = UINT32_MAX;
	refuse(&h, sizeof h, -EINVAL, "damaged header");
	h.magic[0] = 'X';
	refuse(&h, sizeof h, -EINVAL, "not a gputrack trace");
	assert_int_equal(gt_reader_open(&r, scratch, &error), -EINVAL);
	assert_non_null(strstr(error.text, "not a regular file"));
	assert_int_equal(gt_reader_open(&r, fresh_path("none"), NULL), -ENOENT);
}

static void claimed_sizes_and_counts_cost_no_memory(void **state)
{
	struct image image = { calloc(1, 64 << 10), 64 << 10 };
	struct gt_trace_header *h = header_of(&image);
	struct gt_block_header *b = (struct gt_block_header *)(image.data + GT_TRACE_HEADER);
	const char *path = fresh_path("trace");
	struct events got;
	char damage[256];

	memcpy(h->magic, GT_TRACE_MAGIC, sizeof h->magic);
	h->version = GT_TRACE_VERSION;
	h->header_size = GT_TRACE_HEADER;
	*b = (struct gt_block_header){ .magic = GT_BLOCK_MAGIC,
				       .size = GT_BLOCK_MIN,
				       .lane = (1 << 24) - 1 };
	save_image(path, &image);
	got = read_events(path, damage);
	assert_int_equal(got.count, 0);
	assert_true(damage[0]);
	free(got.list);
	*b = (struct gt_block_header){ .magic = GT_BLOCK_MAGIC,
				       .size = 0xfffff000,
				       .used = 0xffffff00 };
	save_image(path, &image);
	got = read_events(path, damage);
	assert_true(damage[0]);
	free(got.list);
	free(image.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_truncated_trace_reads_up_to_the_cut),
		cmocka_unit_test(a_truncated_running_trace_reads_up_to_the_cut),
		cmocka_unit_test(each_lane_of_a_truncated_trace_reads_up_to_the_cut),
		cmocka_unit_test(a_truncated_block_is_detected_without_the_header),
		cmocka_unit_test(a_hole_costs_neither_time_nor_memory),
		cmocka_unit_test(flipped_bytes_in_a_sealed_block_are_detected),
		cmocka_unit_test(no_changed_byte_crashes_the_reader),
		cmocka_unit_test(files_that_are_not_traces_are_refused_with_a_message),
		cmocka_unit_test(claimed_sizes_and_counts_cost_no_memory),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
