/* SPDX-License-Identifier: MIT */
/* test_unwind_make.c - the BPF programs' rows say what the call frame information says. */
#include "capture/ebpf/unwind_make.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/ebpf/unwind.h"

enum { RBP = GT_FRAME, SAVED = GT_RECORD_IS_LOW ? 19 : 3 };

/* The rules that were asked for, by number. */
struct numbers {
	struct gt_rule list[1 << 16];
	size_t count;
};

static uint16_t number_of(void *context, const struct gt_rule *rule)
{
	struct numbers *n = context;

	for (size_t i = 0; i < n->count; i++)
		if (!memcmp(&n->list[i], rule, sizeof *rule))
			return (uint16_t)i;
	n->list[n->count] = *rule;
	return (uint16_t)n->count++;
}

static struct gt_rule rule_in(const struct numbers *n, const struct gt_row *rows, size_t count,
			      uint64_t offset)
{
	size_t at = 0;

	while (at + 1 < count && rows[at + 1].at <= offset)
		at++;
	return n->list[rows[at].rule];
}

/* The image of this process that has an address. */
static struct gt_mapped *find_module(struct gt_modules *m, struct gt_images *images,
				     const void *code)
{
	images->keep_open = true;
	gt_modules_look(m, images, (uint32_t)getpid());
	for (size_t i = 0; i < m->count; i++)
		if ((uint64_t)(uintptr_t)code - m->list[i].start < m->list[i].size)
			return &m->list[i];
	return NULL;
}

/* Every address of a piece of libc, and of this program. */
static void rows_say_what_the_tables_say(void **state)
{
	const void *places[] = { (void *)(uintptr_t)qsort, (void *)(uintptr_t)number_of };
	struct numbers *numbers = calloc(1, sizeof *numbers);
	struct gt_row *rows = calloc(GT_CHUNK_ROWS, sizeof *rows);

	for (size_t i = 0; i < 2; i++) {
		struct gt_images images = { 0 };
		struct gt_modules modules = { 0 };
		struct gt_mapped *at = find_module(&modules, &images, places[i]);
		struct gt_cfi_table *t;
		size_t count, known = 0, copied = 0;
		uint64_t from;

		assert_non_null(at);
		t = gt_unwind_cfi(at->image);
		assert_non_null(t);
		gt_cfi_table_hold(t, true);
		from = ((uint64_t)(uintptr_t)places[i] - at->bias) & ~(uint64_t)0xfff;
		count = gt_rows_make(t, from, rows, number_of, numbers);
		assert_true(count > 1 && rows[0].at == 0);
		for (size_t k = 1; k < count; k++)
			assert_true(rows[k].at > rows[k - 1].at);
		for (uint64_t k = 0; k < GT_SHARD_BYTES; k += i ? 1 : 3) {
			struct gt_cfi_rule rule;
			bool has = gt_cfi_table_find(t, &rule, from + k);
			struct gt_rule is = gt_rule_of(has ? &rule : NULL);
			struct gt_rule row = rule_in(numbers, rows, count, k);

			if (memcmp(&is, &row, sizeof is))
				fail_msg("at %#llx", (unsigned long long)(from + k));
			known += has;
			copied += is.how == GT_RULE_COPY;
			if (has)
				gt_cfi_rule_fini(&rule);
		}
		assert_true(known > 1000);
		assert_true(copied < known / 50);
		gt_modules_fini(&modules);
		gt_images_fini(&images);
	}
	free(rows);
	free(numbers);
}

/* System calls that have read, so far. */
static unsigned long reads(void)
{
	FILE *file = fopen("/proc/self/io", "re");
	unsigned long count = 0;
	char line[64];

	while (file && fgets(line, sizeof line, file))
		sscanf(line, "syscr: %lu", &count);
	if (file)
		fclose(file);
	return count;
}

/* All of libc's, 64 KiB at a time: its index is not read entry by entry. */
static void tables_are_read_in_few_calls(void **state)
{
	struct numbers *numbers = calloc(1, sizeof *numbers);
	struct gt_row *rows = calloc(GT_CHUNK_ROWS, sizeof *rows);
	struct gt_images images = { 0 };
	struct gt_modules modules = { 0 };
	/* a function that no sanitizer replaces */
	struct gt_mapped *at =
		find_module(&modules, &images, (void *)(uintptr_t)gnu_get_libc_version);
	struct gt_cfi_table *t = gt_unwind_cfi(at->image);
	unsigned long before;
	size_t count = 0;

	gt_cfi_table_hold(t, true);
	before = reads();
	if (!before)
		skip();
	for (uint64_t from = 0; from < at->size; from += GT_SHARD_BYTES)
		count += gt_rows_make(t, from, rows, number_of, numbers);
	assert_true(count > 5000);
	assert_in_range(reads() - before, 0, count / 20);
	gt_modules_fini(&modules);
	gt_images_fini(&images);
	free(rows);
	free(numbers);
}

/* As compilers make it: the CFA is the stack pointer + 16, two words are saved below it. */
static struct gt_cfi_rule usual(void)
{
	struct gt_cfi_rule r = { .cfa_how = GT_CFI_REGISTER, .cfa = GT_CFI_RSP, .cfa_offset = 16 };

	r.how[GT_CFI_RSP] = GT_CFI_CFA_PLUS;
	r.how[GT_CFI_RETURN] = GT_CFI_AT_CFA;
	r.value[GT_CFI_RETURN] = -8;
	r.how[RBP] = GT_CFI_AT_CFA;
	r.value[RBP] = -16;
	return r;
}

/* With the expression as its CFA. */
static struct gt_rule with_expression(const uint8_t *bytes, uint8_t size)
{
	struct gt_cfi_rule r = usual();
	uint8_t memory[64] = { size };

	memcpy(memory + 1, bytes, size);
	r.cfa_how = GT_CFI_EXPRESSION;
	r.cfa = 0;
	r.expressions = memory;
	return gt_rule_of(&r);
}

static void usual_rules_are_known(void **state)
{
	struct gt_cfi_rule r = usual();
	struct gt_rule is = gt_rule_of(&r);

	assert_int_equal(is.how, GT_RULE_SP);
	assert_int_equal(is.offset, 16);
	assert_int_equal(is.fp_how, GT_FP_AT_CFA);
	assert_int_equal(is.fp, -16);
	r.cfa = RBP;
	r.how[RBP] = GT_CFI_SAME;
	is = gt_rule_of(&r);
	assert_int_equal(is.how, GT_RULE_FP);
	assert_int_equal(is.fp_how, GT_FP_SAME);
	r.how[GT_CFI_RETURN] = GT_CFI_UNDEFINED;
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_END);
	assert_int_equal(gt_rule_of(NULL).how, GT_RULE_NONE);
}

static void linkers_and_aligned_stacks_have_rules(void **state)
{
	static const uint8_t plt[] = { DW_OP_breg7, 8,         DW_OP_breg16, 0,
				       DW_OP_lit15, DW_OP_and, DW_OP_lit11,  DW_OP_ge,
				       DW_OP_lit3,  DW_OP_shl, DW_OP_plus };
	static const uint8_t aligned[] = { DW_OP_breg6, 0x78, DW_OP_deref };
	static const uint8_t saved[] = { DW_OP_breg7, 0x30, DW_OP_deref, DW_OP_plus_uconst, 8 };
	struct gt_rule is = with_expression(plt, sizeof plt);

	if (GT_RECORD_IS_LOW)
		skip();
	assert_int_equal(is.how, GT_RULE_PLT);
	assert_int_equal(is.offset, 8);
	assert_int_equal(is.add, 11);
	is = with_expression(aligned, sizeof aligned);
	assert_int_equal(is.how, GT_RULE_AT_FP);
	assert_int_equal(is.offset, -8);
	is = with_expression(saved, sizeof saved);
	assert_int_equal(is.how, GT_RULE_AT_SP);
	assert_int_equal(is.offset, 48);
	assert_int_equal(is.add, 8);
	for (uint8_t size = 0; size < sizeof plt; size++)
		assert_int_equal(with_expression(plt, size).how, GT_RULE_COPY);
}

static void what_is_too_much_is_left_to_the_tool(void **state)
{
	struct gt_cfi_rule r = usual();

	r.cfa = SAVED;
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_COPY);
	r = usual();
	r.value[GT_CFI_RETURN] = -16;
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_COPY);
	r = usual();
	r.how[RBP] = GT_CFI_REGISTER;
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_COPY);
	r = usual();
	r.how[GT_CFI_RSP] = GT_CFI_SAME;
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_COPY);
}

/* Where a call leaves the return address in a register. */
static void what_is_saved_lies_side_by_side_or_nothing_is(void **state)
{
	uint8_t memory[] = { 2, DW_OP_breg7, 8 };
	struct gt_cfi_rule r = usual();

	if (!GT_RECORD_IS_LOW)
		skip();
	r.value[GT_CFI_RETURN] = -72;
	r.value[RBP] = -80;
	assert_int_equal(gt_rule_of(&r).fp_how, GT_FP_AT_CFA);
	assert_int_equal(gt_rule_of(&r).fp, -80);
	r.value[RBP] = -88;
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_COPY);
	r.how[RBP] = GT_CFI_SAME;
	assert_int_equal(gt_rule_of(&r).fp_how, GT_FP_SAME);
	assert_int_equal(gt_rule_of(&r).fp, -80);
	r.how[GT_CFI_RETURN] = GT_CFI_SAME;
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_SP);
	assert_int_equal(gt_rule_of(&r).fp_how, GT_FP_LEAF);
	r.how[RBP] = GT_CFI_AT_CFA;
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_COPY);
	r = usual();
	r.value[GT_CFI_RETURN] = INT32_MIN;
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_COPY);
	/* a frame of vectors */
	r = usual();
	r.cfa_how = GT_CFI_EXPRESSION;
	r.cfa = 0;
	r.expressions = memory;
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_NONE);
	r.is_signal = true;
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_SIGNAL);
}

static void a_signal_frame_is_the_kernels(void **state)
{
	/* rsp + 160 dereferenced; rsp + 168; rsp + 120: each after its length */
	uint8_t memory[] = { 4,    DW_OP_breg7, 0xa0, 1,           DW_OP_deref, 3, DW_OP_breg7,
			     0xa8, 1,           3,    DW_OP_breg7, 0xf8,        0 };
	struct gt_cfi_rule r = { .is_signal = true,
				 .cfa_how = GT_CFI_EXPRESSION,
				 .expressions = memory };

	if (GT_RECORD_IS_LOW)
		skip();
	r.how[GT_CFI_RETURN] = GT_CFI_AT_EXPRESSION;
	r.value[GT_CFI_RETURN] = 5;
	r.how[RBP] = GT_CFI_AT_EXPRESSION;
	r.value[RBP] = 9;
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_SIGNAL);
	memory[7]++; /* elsewhere */
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_COPY);
	r = usual();
	r.is_signal = true;
	assert_int_equal(gt_rule_of(&r).how, GT_RULE_COPY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_say_what_the_tables_say),
		cmocka_unit_test(tables_are_read_in_few_calls),
		cmocka_unit_test(usual_rules_are_known),
		cmocka_unit_test(linkers_and_aligned_stacks_have_rules),
		cmocka_unit_test(what_is_too_much_is_left_to_the_tool),
		cmocka_unit_test(what_is_saved_lies_side_by_side_or_nothing_is),
		cmocka_unit_test(a_signal_frame_is_the_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
