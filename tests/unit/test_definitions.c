/* SPDX-License-Identifier: MIT */
/* test_definitions.c - finding the module of a frame among very many modules. */
#include "trace/reader.h"

#include "test_writer.h"

enum { PAYLOAD_MAX = GT_STACK_FRAMES_MAX * GT_VARINT_MAX };

static void add_record(struct gt_definitions *d, uint64_t tag, const uint8_t *payload, size_t size)
{
	uint8_t record[2 * GT_VARINT_MAX + PAYLOAD_MAX];
	uint8_t *at = gt_put_varint(gt_put_varint(record, tag), size);

	memcpy(at, payload, size);
	assert_true(gt_definitions_add(d, record, (size_t)(at - record) + size));
}

static void add_module(struct gt_definitions *d, uint64_t start, uint64_t size)
{
	const uint64_t values[] = { d->module_count,
				    start,
				    size,
				    start /* its bias */,
				    0 /* no path, build id, … */,
				    0,
				    0,
				    0 };
	uint8_t payload[sizeof values / sizeof *values * GT_VARINT_MAX], *at = payload;

	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		at = gt_put_varint(at, values[i]);
	add_record(d, GT_DEF_MODULE, payload, (size_t)(at - payload));
}

static void unload(struct gt_definitions *d, uint64_t number)
{
	uint8_t payload[GT_VARINT_MAX];

	add_record(d, GT_DEF_UNLOAD, payload, (size_t)(gt_put_varint(payload, number) - payload));
}

/* `count` frames at equal distances, starting at an address. */
static void add_stack(struct gt_definitions *d, uint64_t address, uint64_t apart, size_t count)
{
	uint8_t payload[PAYLOAD_MAX], *at = gt_put_varint(payload, gt_delta(0, address));

	for (size_t i = 1; i < count; i++)
		at = gt_put_varint(at, gt_delta(0, apart));
	add_record(d, GT_DEF_STACK, payload, (size_t)(at - payload));
}

/* The outermost frame of the latest stack. */
static struct gt_trace_frame last_frame(const struct gt_definitions *d)
{
	struct gt_trace_frame frames[GT_STACK_FRAMES_MAX];
	size_t count = gt_definitions_stack(d, (uint32_t)d->stack_count, frames);

	assert_true(count > 0);
	return frames[count - 1];
}

/* The module of a frame at this address in a stack defined now. */
static uint32_t module_at(struct gt_definitions *d, uint64_t address)
{
	add_stack(d, address, 0, 1);
	return last_frame(d).module;
}

/* Comparing each frame with each module would take 10^11 steps: minutes. */
static void a_hundred_thousand_modules_are_fast(void **state)
{
	enum { MODULES = 100000, STACKS = 4000, SIZE = 0x1000 };
	struct gt_definitions d = { 0 };

	for (uint64_t i = 0; i < MODULES; i++)
		add_module(&d, i * 2 * SIZE, SIZE);
	for (uint64_t i = 0; i < STACKS; i++) {
		/* behind the last, between two, in one */
		add_stack(&d, (uint64_t)2 * MODULES * SIZE + i, 16, GT_STACK_FRAMES_MAX - 2);
		assert_int_equal(last_frame(&d).module, GT_NO_MODULE);
		assert_int_equal(module_at(&d, i * 2 * SIZE + SIZE), GT_NO_MODULE);
		assert_int_equal(module_at(&d, i * 2 * SIZE + 5), i);
		assert_int_equal(last_frame(&d).address, 5);
	}
	gt_definitions_free(&d);
}

/* A module, a stack and an unload in turn, so that no index can be built once for all. */
static void modules_loaded_and_unloaded_between_stacks_are_fast(void **state)
{
	enum { MODULES = 100000, SIZE = 0x1000, LIVE = 50000 };
	struct gt_definitions d = { 0 };

	for (uint64_t i = 0; i < MODULES; i++) {
		/* every other one lies over what its neighbours have */
		add_module(&d, i % LIVE * SIZE, (1 + i % 2) * SIZE);
		assert_int_equal(module_at(&d, i % LIVE * SIZE), i);
		if (i % 3 == 0)
			unload(&d, i);
		assert_int_equal(module_at(&d, i % LIVE * SIZE), i % 3 ? i : GT_NO_MODULE);
		add_stack(&d, UINT64_MAX / 2, 1, 16);
	}
	gt_definitions_free(&d);
}

static void the_last_mapped_module_wins_until_it_is_unloaded(void **state)
{
	struct gt_definitions d = { 0 };

	add_module(&d, 0x1000, 0x3000);
	add_module(&d, 0x2000, 0x1000);
	assert_int_equal(module_at(&d, 0x1fff), 0);
	assert_int_equal(module_at(&d, 0x2000), 1);
	assert_int_equal(module_at(&d, 0x2fff), 1);
	assert_int_equal(module_at(&d, 0x3000), 0);
	/* what lay below it is gone: two files cannot be mapped at one address */
	unload(&d, 1);
	assert_int_equal(module_at(&d, 0x2000), GT_NO_MODULE);
	assert_int_equal(module_at(&d, 0x3000), 0);
	add_module(&d, 0x2000, 0x1000);
	unload(&d, 0);
	assert_int_equal(module_at(&d, 0x2000), 2);
	assert_int_equal(module_at(&d, 0x1000), GT_NO_MODULE);
	gt_definitions_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hundred_thousand_modules_are_fast),
		cmocka_unit_test(modules_loaded_and_unloaded_between_stacks_are_fast),
		cmocka_unit_test(the_last_mapped_module_wins_until_it_is_unloaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
