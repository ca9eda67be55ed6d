/* SPDX-License-Identifier: MIT */
/* test_traced_stacks.c - the stacks of a traced process, and their numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/ebpf/traced_stacks.h"

enum { PROGRAM = 0x400000, LIBRARY = 0x7f0000000000, SIZE = 0x10000, LOW = 0x1000 };

static struct gt_image program = { .number = 1, .low = LOW, .high = LOW + SIZE },
		       library = { .number = 2, .low = LOW, .high = LOW + SIZE },
		       rebuilt = { .number = 3, .low = LOW, .high = LOW + SIZE };
static struct gt_image *list[] = { &program, &library, &rebuilt };
static const struct gt_images images = { .list = list, .count = 3 };

/* A program, and a library that is mapped at an address. */
struct process {
	struct gt_mapped mapped[2];
	struct gt_modules modules;
	struct gt_traced_stacks stacks;
	uint32_t defined;
};

static void load(struct process *p, struct gt_image *image, uint64_t address)
{
	p->mapped[0] = (struct gt_mapped){ .start = PROGRAM, .size = SIZE, .image = &program };
	p->mapped[1] = (struct gt_mapped){ .start = address, .size = SIZE, .image = image };
	p->modules = (struct gt_modules){ .list = p->mapped, .count = 2 };
	gt_traced_stacks_moved(&p->stacks);
}

static uint32_t number_of(struct process *p, const uint64_t *addresses, size_t count)
{
	uint64_t key = addresses[0] * 31 + count;
	uint32_t number = gt_traced_stacks_recent(&p->stacks, key), node;

	if (number)
		return number;
	node = gt_traced_stacks_node(&p->stacks, &p->modules, addresses, count);
	if (!node)
		return 0;
	number = gt_traced_stacks_number(&p->stacks, node);
	if (!number)
		number = ++p->defined;
	gt_traced_stacks_set(&p->stacks, node, key, number);
	return number;
}

static uint32_t through_library(struct process *p, uint64_t base, uint64_t offset)
{
	const uint64_t addresses[] = { base + offset, PROGRAM + 0x100, PROGRAM + 0x200 };

	return number_of(p, addresses, 3);
}

static void a_stack_keeps_its_number_wherever_its_library_is_loaded(void **state)
{
	struct process p = { 0 };
	size_t bytes;
	uint32_t one, two;

	(void)state;
	load(&p, &library, LIBRARY);
	one = through_library(&p, LIBRARY, 0x10);
	two = through_library(&p, LIBRARY, 0x20);
	assert_int_not_equal(one, two);
	bytes = gt_stack_tree_bytes(&p.stacks.tree) + p.stacks.arrays_bytes;
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t base = LIBRARY + i * SIZE;

		load(&p, &library, base);
		assert_int_equal(through_library(&p, base, 0x10), one);
		assert_int_equal(through_library(&p, base, 0x20), two);
	}
	assert_int_equal(gt_stack_tree_bytes(&p.stacks.tree) + p.stacks.arrays_bytes, bytes);
	assert_int_equal(p.defined, 2);
	gt_traced_stacks_fini(&p.stacks);
}

static void other_code_at_the_same_address_is_another_stack(void **state)
{
	struct process p = { 0 };
	struct gt_traced_frame frames[4];
	uint32_t one, two;

	(void)state;
	load(&p, &library, LIBRARY);
	one = through_library(&p, LIBRARY, 0x10);
	load(&p, &rebuilt, LIBRARY);
	two = through_library(&p, LIBRARY, 0x10);
	assert_int_not_equal(one, two);
	/* both still have their frames */
	assert_int_equal(gt_traced_stacks_get(&p.stacks, &images, one, frames, 4), 3);
	assert_ptr_equal(frames[0].image, &library);
	assert_int_equal(frames[0].address, LOW + 0x10);
	assert_ptr_equal(frames[1].image, &program);
	assert_int_equal(frames[1].address, LOW + 0x100);
	assert_int_equal(gt_traced_stacks_get(&p.stacks, &images, two, frames, 2), 2);
	assert_ptr_equal(frames[0].image, &rebuilt);
	assert_int_equal(gt_traced_stacks_get(&p.stacks, &images, 99, frames, 4), 0);
	assert_int_equal(gt_traced_stacks_get(&p.stacks, &images, 0, frames, 4), 0);
	gt_traced_stacks_fini(&p.stacks);
}

static void code_in_no_file_is_known_by_its_address(void **state)
{
	struct process p = { 0 };
	const uint64_t one[] = { 0x10, PROGRAM }, two[] = { 0x20, PROGRAM };
	struct gt_traced_frame frames[2];

	(void)state;
	load(&p, &library, LIBRARY);
	assert_int_not_equal(number_of(&p, one, 2), number_of(&p, two, 2));
	assert_int_equal(gt_traced_stacks_get(&p.stacks, &images, 1, frames, 2), 2);
	assert_null(frames[0].image);
	assert_ptr_equal(frames[1].image, &program);
	gt_traced_stacks_fini(&p.stacks);
}

static void many_stacks_are_told_apart_and_stay_within_their_budget(void **state)
{
	struct gt_stack_budget budget = { .limit_bytes = 8 << 20 };
	struct process p = { .stacks.tree.budget = &budget };
	uint32_t known = 0;

	(void)state;
	load(&p, &library, LIBRARY);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 400000; i++) {
			const uint64_t addresses[] = { LIBRARY + i % SIZE, PROGRAM + i / SIZE };
			uint32_t node = gt_traced_stacks_node(&p.stacks, &p.modules, addresses, 2);
			uint32_t number = gt_traced_stacks_number(&p.stacks, node);

			if (!node)
				continue;
			if (!round) {
				assert_int_equal(number, 0);
				number = ++known;
				gt_traced_stacks_set(&p.stacks, node, i + 1, number);
			}
			assert_int_equal(number, i + 1);
		}
	assert_true(known > 100000 && known < 400000);
	assert_true(budget.refused > 0);
	/* the arrays beside the tree are counted, but grow in steps */
	assert_true(budget.used_bytes < budget.limit_bytes + budget.limit_bytes / 4);
	gt_traced_stacks_fini(&p.stacks);
	assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_keeps_its_number_wherever_its_library_is_loaded),
		cmocka_unit_test(other_code_at_the_same_address_is_another_stack),
		cmocka_unit_test(code_in_no_file_is_known_by_its_address),
		cmocka_unit_test(many_stacks_are_told_apart_and_stay_within_their_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
