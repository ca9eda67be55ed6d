/* SPDX-License-Identifier: MIT */
/* test_sink.c - bytes collected in a buffer: all of them arrive, in order, in whole pieces. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/sink.h"

struct written {
	struct gt_sink sink;
	char *text;
	size_t size;
	FILE *file;
};

static struct gt_sink *open_sink(struct written *w)
{
	w->file = open_memstream(&w->text, &w->size);
	gt_sink_init(&w->sink, w->file);
	return &w->sink;
}

static void close_sink(struct written *w)
{
	gt_sink_fini(&w->sink);
	fclose(w->file);
}

static void numbers_are_written_as_printf_does(void **state)
{
	static const uint64_t numbers[] = {
		0,     1,          9,         10,         11,
		99,    100,        101,       999,        1000,
		12345, UINT32_MAX, INT64_MAX, 15,         16,
		0xff,  4096,       1u << 31,  UINT64_MAX, (uint64_t)INT64_MAX + 1
	};
	char expected[128];

	(void)state;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct written w;
		struct gt_sink *s = open_sink(&w);

		gt_sink_uint(s, numbers[i]);
		gt_sink_char(s, ' ');
		gt_sink_int(s, (int64_t)numbers[i]);
		gt_sink_char(s, ' ');
		gt_sink_int(s, (int64_t)(0 - numbers[i]));
		gt_sink_char(s, ' ');
		gt_sink_hex(s, numbers[i]);
		close_sink(&w);
		snprintf(expected, sizeof expected,
			 "%" PRIu64 " %" PRId64 " %" PRId64 " 0x%" PRIx64, numbers[i],
			 (int64_t)numbers[i], (int64_t)(0 - numbers[i]), numbers[i]);
		assert_string_equal(w.text, expected);
		free(w.text);
	}
}

/* Pieces of all sizes around that of the buffer, so that each way to cross its end is taken. */
static void pieces_of_any_size_arrive_in_order(void **state)
{
	static const size_t sizes[] = {
		1, GT_SINK_BYTES - 1, GT_SINK_BYTES,         GT_SINK_BYTES + 1, 3,
		0, 2 * GT_SINK_BYTES, 3 * GT_SINK_BYTES + 7, GT_SINK_BYTES - 12
	};
	struct written w;
	struct gt_sink *s = open_sink(&w);
	char *piece = malloc(4 * GT_SINK_BYTES);
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (size_t k = 0; k < sizes[i]; k++)
			piece[k] = (char)('a' + (at + k) % 23);
		gt_sink_put(s, piece, sizes[i]);
		at += sizes[i];
		gt_sink_char(s, (char)('a' + at++ % 23));
	}
	close_sink(&w);
	assert_int_equal(w.size, at);
	for (size_t i = 0; i < at; i++)
		if (w.text[i] != (char)('a' + i % 23))
			fail_msg("byte %zu of %zu is wrong", i, at);
	free(w.text);
	free(piece);
}

/* What is in the stream before the end is a multiple of the buffer: file systems count on it. */
static void only_whole_buffers_are_written_before_the_end(void **state)
{
	struct written w;
	struct gt_sink *s = open_sink(&w);
	char piece[1000] = { 0 };

	(void)state;
	for (size_t i = 0; i < 3 * GT_SINK_BYTES / sizeof piece; i++) {
		gt_sink_put(s, piece, sizeof piece);
		fflush(w.file);
		assert_int_equal(w.size % GT_SINK_BYTES, 0);
	}
	assert_true(w.size >= 2 * GT_SINK_BYTES);
	close_sink(&w);
	free(w.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_written_as_printf_does),
		cmocka_unit_test(pieces_of_any_size_arrive_in_order),
		cmocka_unit_test(only_whole_buffers_are_written_before_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
