/* SPDX-License-Identifier: MIT */
/* test_bytes.c - encoding is exact, values round trip, and reads stay in bounds. */
#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct gt_bytes bytes_of(const void *data, size_t size)
{
	return (struct gt_bytes){ .at = data, .end = (const uint8_t *)data + size };
}

static void a_varint_stores_seven_bits_per_byte_low_bits_first(void **state)
{
	uint8_t at[GT_VARINT_MAX];

	assert_ptr_equal(gt_put_varint(at, 300), at + 2);
	assert_memory_equal(at, "\xac\x02", 2);
	assert_ptr_equal(gt_put_varint(at, 0), at + 1);
	assert_memory_equal(at, "\0", 1);
}

static void check_varint(uint64_t v, size_t size)
{
	uint8_t at[GT_VARINT_MAX + 1];
	struct gt_bytes b;

	memset(at, 0x55, sizeof at);
	assert_int_equal(gt_put_varint(at, v) - at, size);
	assert_int_equal(at[size], 0x55);
	b = bytes_of(at, size);
	assert_true(gt_get_varint(&b) == v);
	assert_false(b.bad);
	assert_int_equal(gt_bytes_left(&b), 0);
}

static void varints_round_trip_at_every_boundary(void **state)
{
	check_varint(0, 1);
	for (unsigned bits = 7; bits < 64; bits += 7) {
		check_varint(((uint64_t)1 << bits) - 1, bits / 7);
		check_varint((uint64_t)1 << bits, bits / 7 + 1);
	}
	for (unsigned bits = 0; bits < 64; bits++)
		check_varint((uint64_t)1 << bits, bits / 7 + 1);
	check_varint(UINT64_MAX, GT_VARINT_MAX);
	check_varint(UINT64_MAX - 1, GT_VARINT_MAX);
}

static void a_truncated_varint_is_bad(void **state)
{
	uint8_t at[GT_VARINT_MAX];
	size_t size = (size_t)(gt_put_varint(at, UINT64_MAX) - at);

	for (size_t some = 0; some < size; some++) {
		/* in memory of its own, so that a sanitizer sees a read past it */
		uint8_t *copy = malloc(some ? some : 1);
		struct gt_bytes b = bytes_of(copy, some);

		memcpy(copy, at, some);
		assert_true(gt_get_varint(&b) == 0);
		assert_true(b.bad);
		assert_ptr_equal(b.at, b.end);
		free(copy);
	}
}

static void a_varint_of_more_than_64_bits_is_bad(void **state)
{
	static const char *const wide[] = {
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x01",
		"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	};

	for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
		struct gt_bytes b = bytes_of(wide[i], 11);

		assert_true(gt_get_varint(&b) == 0);
		assert_true(b.bad);
		assert_true(gt_get_varint(&b) == 0);
	}
}

static void signed_numbers_use_the_dwarf_encoding(void **state)
{
	/* clang-format off */
	static const struct { const char *bytes; size_t size; int64_t value; } all[] = {
		{ "\x00", 1, 0 }, { "\x02", 1, 2 }, { "\x7e", 1, -2 }, { "\x3f", 1, 63 },
		{ "\x40", 1, -64 }, { "\xff\x00", 2, 127 }, { "\x81\x7f", 2, -127 },
		{ "\x80\x01", 2, 128 }, { "\x80\x7f", 2, -128 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 10, INT64_MAX },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, INT64_MIN },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct gt_bytes b = bytes_of(all[i].bytes, all[i].size);

		assert_true(gt_get_signed(&b) == all[i].value);
		assert_false(b.bad);
		b = bytes_of(all[i].bytes, all[i].size - 1);
		assert_true(gt_get_signed(&b) == 0);
		assert_true(b.bad);
	}
}

static void fixed_size_numbers_are_little_endian(void **state)
{
	static const char data[] = "\x01\x02\x03\x04\x05\x06\x07\xff";
	struct gt_bytes b = bytes_of(data, 8);

	assert_true(gt_get_fixed(&b, 8) == UINT64_C(0xff07060504030201));
	assert_true(gt_get_fixed(&b, 0) == 0);
	assert_false(b.bad);
	b = bytes_of(data, 3);
	assert_int_equal(gt_get_fixed(&b, 2), 0x0201);
	assert_int_equal(gt_get_fixed(&b, 2), 0);
	assert_true(b.bad);
	assert_int_equal(gt_get_fixed(&b, 1), 0);
}

static void zigzag_encodes_values_near_zero_as_small_numbers(void **state)
{
	static const int64_t values[] = { 0, -1, 1, -2, 2 };

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		assert_int_equal(gt_zigzag(values[i]), i);
		assert_true(gt_unzigzag(i) == values[i]);
	}
	assert_true(gt_zigzag(INT64_MAX) == UINT64_MAX - 1);
	assert_true(gt_zigzag(INT64_MIN) == UINT64_MAX);
	assert_true(gt_unzigzag(UINT64_MAX) == INT64_MIN);
	assert_true(gt_unzigzag(UINT64_MAX - 1) == INT64_MAX);
}

static void differences_round_trip_even_across_wraparound(void **state)
{
	static const uint64_t half = (uint64_t)1 << 63;
	const uint64_t ends[] = { 0,
				  1,
				  0x7fff,
				  half - 2,
				  half - 1,
				  half,
				  half + 1,
				  UINT64_MAX - 1,
				  UINT64_MAX,
				  0x7f0000000000,
				  0xdeadbeefcafebabe };
	size_t count = sizeof ends / sizeof *ends;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			assert_true(gt_advance(ends[i], gt_delta(ends[i], ends[j])) == ends[j]);
	/* one step across the end is as small as any other */
	assert_int_equal(gt_delta(UINT64_MAX, 0), 2);
	assert_int_equal(gt_delta(0, UINT64_MAX), 1);
}

static void a_blob_is_returned_in_place_with_its_length(void **state)
{
	static const char data[] = "\x03"
				   "abc"
				   "\x00"
				   "\x01"
				   "d";
	struct gt_bytes b = bytes_of(data, sizeof data - 1);
	size_t size;

	assert_ptr_equal(gt_get_blob(&b, &size), data + 1);
	assert_int_equal(size, 3);
	assert_non_null(gt_get_blob(&b, &size));
	assert_int_equal(size, 0);
	assert_ptr_equal(gt_get_blob(&b, &size), data + 6);
	assert_int_equal(size, 1);
	assert_false(b.bad);
	assert_int_equal(gt_bytes_left(&b), 0);
	assert_null(gt_get_blob(&b, &size));
	assert_true(b.bad);
}

static void a_blob_longer_than_the_input_is_bad(void **state)
{
	static const uint64_t lengths[] = { 4, 5, UINT32_MAX, SIZE_MAX, UINT64_MAX };

	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		uint8_t data[GT_VARINT_MAX + 3];
		uint8_t *at = gt_put_varint(data, lengths[i]);
		struct gt_bytes b = bytes_of(data, (size_t)(at + 3 - data));
		size_t size = 99;

		memset(at, 7, 3);
		assert_null(gt_get_blob(&b, &size));
		assert_int_equal(size, 0);
		assert_true(b.bad);
	}
}

static void after_an_error_reads_return_zero_and_do_not_advance(void **state)
{
	static const char data[] = "\x09"
				   "\x05"
				   "\x01";
	struct gt_bytes b = bytes_of(data, 3);
	const uint8_t *at;
	size_t size;

	assert_null(gt_get_blob(&b, &size));
	at = b.at;
	assert_true(gt_get_varint(&b) == 0);
	assert_null(gt_get_blob(&b, &size));
	assert_true(b.bad);
	assert_ptr_equal(b.at, at);
}

/* Random reads of random bytes: `at` never passes `end` and never moves back. */
static void bounded_reads_stop_at_the_end(void **state)
{
	srandom(1);
	for (int round = 0; round < 20000; round++) {
		size_t size = (size_t)random() % 24, length;
		uint8_t *data = malloc(size ? size : 1);
		struct gt_bytes b = bytes_of(data, size);

		for (size_t i = 0; i < size; i++)
			data[i] = (uint8_t)(random() % 3 ? random() % 8 : random());
		while (gt_bytes_left(&b) && !b.bad) {
			const uint8_t *before = b.at, *blob = NULL;

			if (random() % 2)
				gt_get_varint(&b);
			else
				blob = gt_get_blob(&b, &length);
			assert_true(b.at >= before && b.at <= b.end);
			assert_true(b.bad || b.at > before);
			if (blob)
				assert_true(blob >= data && blob + length <= data + size);
		}
		free(data);
	}
}

static void a_hash_depends_on_every_byte_and_on_the_length(void **state)
{
	uint8_t data[33] = { 0 };

	for (size_t size = 0; size < sizeof data; size++) {
		uint64_t hash = gt_hash_bytes(data, size);

		assert_true(hash != gt_hash_bytes(data, size + 1));
		for (size_t i = 0; i < size; i++) {
			data[i] ^= 0x80;
			assert_true(hash != gt_hash_bytes(data, size));
			data[i] ^= 0x80;
		}
	}
}

static void mixing_keeps_keys_distinct(void **state)
{
	/* its steps can each be undone, so no two keys meet; a sample of neighbours shows a slip */
	for (uint64_t i = 0; i < 1000; i++)
		for (uint64_t j = i + 1; j < i + 50; j++)
			assert_true(gt_mix64(i) != gt_mix64(j));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_varint_stores_seven_bits_per_byte_low_bits_first),
		cmocka_unit_test(varints_round_trip_at_every_boundary),
		cmocka_unit_test(a_truncated_varint_is_bad),
		cmocka_unit_test(a_varint_of_more_than_64_bits_is_bad),
		cmocka_unit_test(signed_numbers_use_the_dwarf_encoding),
		cmocka_unit_test(fixed_size_numbers_are_little_endian),
		cmocka_unit_test(zigzag_encodes_values_near_zero_as_small_numbers),
		cmocka_unit_test(differences_round_trip_even_across_wraparound),
		cmocka_unit_test(a_blob_is_returned_in_place_with_its_length),
		cmocka_unit_test(a_blob_longer_than_the_input_is_bad),
		cmocka_unit_test(after_an_error_reads_return_zero_and_do_not_advance),
		cmocka_unit_test(bounded_reads_stop_at_the_end),
		cmocka_unit_test(a_hash_depends_on_every_byte_and_on_the_length),
		cmocka_unit_test(mixing_keeps_keys_distinct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
