/* SPDX-License-Identifier: MIT */
/* test_cfi.c - rules from call frame information; hostile input yields none. */
#include "capture/ebpf/cfi.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { START = 0x1000, RBP = GT_FRAME, FAR = GT_REGISTERS };

static const uint8_t saved[] = GT_SAVED;

/* Encoded instructions. */
struct text {
	uint8_t bytes[4096];
	size_t size;
};

static void put(struct text *t, uint8_t byte)
{
	assert_true(t->size < sizeof t->bytes);
	t->bytes[t->size++] = byte;
}

static void put_number(struct text *t, uint64_t v)
{
	t->size = (size_t)(gt_put_varint(t->bytes + t->size, v) - t->bytes);
}

/* Appends an instruction and its operands; a negative one ends the list. */
static void say(struct text *t, int byte, ...)
{
	va_list operands;

	put(t, (uint8_t)byte);
	va_start(operands, byte);
	for (long v; (v = va_arg(operands, long)) >= 0;)
		put_number(t, (uint64_t)v);
	va_end(operands);
}

/* As x86-64 begins: the CFA is the stack pointer + 8, the return address is at CFA - 8. */
static struct text usual(void)
{
	struct text t = { .size = 0 };

	say(&t, DW_CFA_def_cfa, (long)GT_STACK, 8l, -1l);
	say(&t, DW_CFA_offset | GT_RETURN, 1l, -1l);
	return t;
}

/* Copied to the heap, so that a sanitizer sees reads past the end. */
static bool learn_of(struct gt_cfi_rule *rule, const struct text *initial, const struct text *own,
		     uint64_t address)
{
	uint8_t *a = malloc(initial->size ? initial->size : 1);
	uint8_t *b = malloc(own->size ? own->size : 1);
	bool known;

	memcpy(a, initial->bytes, initial->size);
	memcpy(b, own->bytes, own->size);
	known = gt_cfi_rule_init(
		rule,
		&(struct gt_cfi_code){ .initial = { .at = a, .end = a + initial->size },
				       .own = { .at = b, .end = b + own->size },
				       .code_factor = 1,
				       .data_factor = -8,
				       .start = START },
		address);
	free(a);
	free(b);
	return known;
}

static bool is_understood(const struct text *own)
{
	struct text initial = usual();
	struct gt_cfi_rule rule;
	bool known = learn_of(&rule, &initial, own, START + 100);

	gt_cfi_rule_fini(&rule);
	return known;
}

static void each_address_gets_its_own_rule(void **state)
{
	struct text initial = usual(), own = { .size = 0 };
	struct gt_cfi_rule rule;

	say(&own, DW_CFA_advance_loc | 1, -1l); /* push %rbp */
	say(&own, DW_CFA_def_cfa_offset, 16l, -1l);
	say(&own, DW_CFA_offset | RBP, 2l, -1l);
	say(&own, DW_CFA_advance_loc | 3, -1l); /* mov %rsp, %rbp */
	say(&own, DW_CFA_def_cfa_register, (long)RBP, -1l);
	say(&own, DW_CFA_remember_state, -1l);
	put(&own, DW_CFA_advance_loc1);
	put(&own, 40); /* pop %rbp */
	say(&own, DW_CFA_def_cfa, (long)GT_STACK, 8l, -1l);
	say(&own, DW_CFA_restore | RBP, -1l);
	say(&own, DW_CFA_advance_loc | 1, -1l); /* ret */
	say(&own, DW_CFA_restore_state, -1l);

	assert_true(learn_of(&rule, &initial, &own, START));
	assert_int_equal(rule.cfa_how, GT_CFI_REGISTER);
	assert_int_equal(rule.cfa, GT_CFI_RSP);
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(rule.how[GT_CFI_RETURN], GT_CFI_AT_CFA);
	assert_int_equal(rule.value[GT_CFI_RETURN], -8);
	assert_int_equal(rule.how[RBP], GT_CFI_SAME);
	assert_int_equal(rule.how[0], GT_CFI_UNDEFINED);
	assert_int_equal(rule.how[saved[2]], GT_CFI_SAME);

	assert_true(learn_of(&rule, &initial, &own, START + 3));
	assert_int_equal(rule.cfa_offset, 16);
	assert_int_equal(rule.how[RBP], GT_CFI_AT_CFA);
	assert_int_equal(rule.value[RBP], -16);

	assert_true(learn_of(&rule, &initial, &own, START + 43));
	assert_int_equal(rule.cfa, RBP);
	assert_true(learn_of(&rule, &initial, &own, START + 44));
	assert_int_equal(rule.cfa, GT_CFI_RSP);
	assert_int_equal(rule.how[RBP], GT_CFI_SAME);
	assert_true(learn_of(&rule, &initial, &own, START + 45));
	assert_int_equal(rule.cfa, RBP);
	assert_int_equal(rule.how[RBP], GT_CFI_AT_CFA);
}

/* elfutils allocates 16 bytes for each register number up to the largest one used. */
static void unknown_register_numbers_are_skipped(void **state)
{
	static const int with_offset[] = { DW_CFA_offset_extended, DW_CFA_offset_extended_sf,
					   DW_CFA_val_offset, DW_CFA_val_offset_sf,
					   DW_CFA_GNU_negative_offset_extended };
	static const int alone[] = { DW_CFA_restore_extended, DW_CFA_undefined, DW_CFA_same_value };
	static const long numbers[] = { FAR, 255, 134000000, INT32_MAX, INT64_MAX };

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct text initial = usual(), own = { .size = 0 };
		struct gt_cfi_rule rule;

		for (size_t k = 0; k < sizeof with_offset / sizeof *with_offset; k++)
			say(&own, with_offset[k], numbers[i], 3l, -1l);
		for (size_t k = 0; k < sizeof alone / sizeof *alone; k++)
			say(&own, alone[k], numbers[i], -1l);
		say(&own, DW_CFA_register, numbers[i], numbers[i], -1l);
		say(&own, DW_CFA_expression, numbers[i], 0l, -1l);
		say(&own, DW_CFA_val_expression, numbers[i], 0l, -1l);
		say(&own, DW_CFA_offset | RBP, 2l, -1l);
		assert_true(learn_of(&rule, &initial, &own, START));
		assert_null(rule.expressions);
		assert_int_equal(rule.value[RBP], -16);
		assert_int_equal(rule.value[GT_CFI_RETURN], -8);
	}
}

static void a_frame_based_on_an_unrecorded_register_is_unknown(void **state)
{
	static const int instructions[] = { DW_CFA_def_cfa, DW_CFA_def_cfa_sf };
	struct text own;

	for (size_t i = 0; i < 2; i++) {
		own = (struct text){ .size = 0 };
		say(&own, instructions[i], 134000000l, 8l, -1l);
		assert_false(is_understood(&own));
	}
	own = (struct text){ .size = 0 };
	say(&own, DW_CFA_def_cfa_register, 134000000l, -1l);
	assert_false(is_understood(&own));
}

static void remembered_states_are_bounded(void **state)
{
	struct text own = { .size = 0 };

	for (int i = 0; i < 4; i++)
		say(&own, DW_CFA_remember_state, -1l);
	assert_true(is_understood(&own));
	for (int i = 0; i < 4000; i++)
		say(&own, DW_CFA_remember_state, -1l);
	assert_false(is_understood(&own));
	own = (struct text){ .size = 0 };
	say(&own, DW_CFA_restore_state, -1l);
	assert_false(is_understood(&own));
}

static void unknown_instructions_are_refused(void **state)
{
	for (int byte = 0; byte < 0x40; byte++) {
		struct text own = { .size = 0 };

		say(&own, byte, 1l, 1l, 1l, 1l, 1l, 1l, 1l, 1l, 1l, -1l);
		/* set_loc, vendors' and what nobody defined; restore_state has nothing to restore
		 */
		if (byte == DW_CFA_set_loc || byte == DW_CFA_restore_state ||
		    (byte > DW_CFA_val_expression && byte != DW_CFA_GNU_args_size &&
		     byte != DW_CFA_GNU_negative_offset_extended))
			assert_false(is_understood(&own));
	}
}

static void initial_instructions_may_neither_advance_nor_restore(void **state)
{
	static const uint8_t instructions[] = { DW_CFA_advance_loc | 1, DW_CFA_restore | 6 };

	for (size_t i = 0; i < sizeof instructions; i++) {
		struct text initial = usual(), own = { .size = 0 };
		struct gt_cfi_rule rule;

		put(&initial, instructions[i]);
		assert_false(learn_of(&rule, &initial, &own, START));
	}
}

static void impossible_stack_offsets_are_refused(void **state)
{
	static const long far[] = { INT32_MAX, 1l << 40, INT64_MAX };

	for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
		struct text own = { .size = 0 }, cfa = { .size = 0 };

		say(&own, DW_CFA_offset | RBP, far[i], -1l);
		assert_false(is_understood(&own));
		say(&cfa, DW_CFA_def_cfa_offset, far[i] + (i == 0), -1l);
		assert_false(is_understood(&cfa));
	}
}

static void advancing_past_the_last_address_is_refused(void **state)
{
	struct text initial = usual(), own = { .size = 0 };
	struct gt_cfi_rule rule;

	say(&own, DW_CFA_advance_loc | 63, -1l);
	assert_false(gt_cfi_rule_init(
		&rule,
		&(struct gt_cfi_code){
			.initial = { .at = initial.bytes, .end = initial.bytes + initial.size },
			.own = { .at = own.bytes, .end = own.bytes + own.size },
			.code_factor = UINT64_MAX / 2,
			.data_factor = -8,
			.start = START },
		START));
	assert_false(gt_cfi_rule_init(
		&rule,
		&(struct gt_cfi_code){
			.initial = { .at = initial.bytes, .end = initial.bytes + initial.size },
			.own = { .at = own.bytes, .end = own.bytes + own.size },
			.code_factor = 1,
			.data_factor = -8,
			.start = UINT64_MAX },
		UINT64_MAX));
}

static void expressions_up_to_a_size_limit_are_stored(void **state)
{
	struct text initial = usual();
	struct gt_cfi_rule rule;

	for (size_t size = 254; size <= 256; size++) {
		struct text own = { .size = 0 };
		bool known;

		say(&own, DW_CFA_expression, (long)RBP, (long)size, -1l);
		for (size_t i = 0; i < size; i++)
			put(&own, DW_OP_nop);
		say(&own, DW_CFA_def_cfa_expression, 2l, -1l);
		say(&own, DW_OP_breg0 + 7, 32l, -1l);
		known = learn_of(&rule, &initial, &own, START);
		assert_int_equal(known, size < 256);
		if (!known)
			continue;
		struct gt_bytes cfa = gt_cfi_rule_expression(&rule, rule.cfa);
		struct gt_bytes rbp = gt_cfi_rule_expression(&rule, rule.value[RBP]);

		assert_int_equal(rule.cfa_how, GT_CFI_EXPRESSION);
		assert_int_equal(gt_bytes_left(&cfa), 2);
		assert_memory_equal(cfa.at, "\x77\x20", 2);
		assert_int_equal(rule.how[RBP], GT_CFI_AT_EXPRESSION);
		assert_int_equal(gt_bytes_left(&rbp), size);
		gt_cfi_rule_fini(&rule);
	}
}

static void truncated_instructions_are_not_read_past_their_end(void **state)
{
	struct text initial = usual(), own = { .size = 0 };
	struct gt_cfi_rule rule;

	say(&own, DW_CFA_offset_extended, 3000l, 3000l, -1l);
	say(&own, DW_CFA_expression, (long)RBP, 3l, 1l, 1l, 1l, -1l);
	say(&own, DW_CFA_def_cfa_sf, (long)GT_STACK, 300l, -1l);
	put(&own, DW_CFA_advance_loc4);
	for (int i = 0; i < 4; i++)
		put(&own, 0);
	for (size_t whole = own.size; own.size > 0; own.size--)
		if (learn_of(&rule, &initial, &own, START + own.size % (whole + 1)))
			gt_cfi_rule_fini(&rule);
	for (own.size = 0; initial.size > 0; initial.size--)
		if (learn_of(&rule, &initial, &own, START))
			gt_cfi_rule_fini(&rule);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_address_gets_its_own_rule),
		cmocka_unit_test(unknown_register_numbers_are_skipped),
		cmocka_unit_test(a_frame_based_on_an_unrecorded_register_is_unknown),
		cmocka_unit_test(remembered_states_are_bounded),
		cmocka_unit_test(unknown_instructions_are_refused),
		cmocka_unit_test(initial_instructions_may_neither_advance_nor_restore),
		cmocka_unit_test(impossible_stack_offsets_are_refused),
		cmocka_unit_test(advancing_past_the_last_address_is_refused),
		cmocka_unit_test(expressions_up_to_a_size_limit_are_stored),
		cmocka_unit_test(truncated_instructions_are_not_read_past_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
