/* SPDX-License-Identifier: MIT */
/*
 * fuzz_cfi.c - any bytes as call frame information, found by an index in them and without one, and
 * stacks unwound by it.
 *
 * The first three bytes say, in words, where the index is and where the section begins and ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/ebpf/cfi.h"
#include "capture/ebpf/modules.h"
#include "capture/ebpf/unwind.h"
#include "capture/ebpf/unwind_make.h"
#include "fuzz.h"

enum { START = 0x1000, ADDRESSES = 24, STACK_BYTES = 512 };

static void check(const struct gt_cfi_rule *rule)
{
	FUZZ_CHECK(rule->cfa_how == GT_CFI_REGISTER || rule->cfa_how == GT_CFI_EXPRESSION);
	if (rule->cfa_how == GT_CFI_REGISTER)
		FUZZ_CHECK(rule->cfa >= 0 && rule->cfa < GT_CFI_REGISTERS);
	for (int i = 0; i < GT_CFI_REGISTERS; i++) {
		FUZZ_CHECK(rule->how[i] <= GT_CFI_EXPRESSION);
		if (rule->how[i] == GT_CFI_REGISTER)
			FUZZ_CHECK(rule->value[i] >= 0 && rule->value[i] < GT_CFI_REGISTERS);
	}
}

static uint16_t number_of(void *context, const struct gt_rule *rule)
{
	FUZZ_CHECK(rule->how <= GT_RULE_SIGNAL && rule->fp_how <= GT_FP_LEAF);
	return (uint16_t)++ * (size_t *)context;
}

/* The rows are in order, whatever the table says. */
static void make_rows(struct gt_cfi_table *t)
{
	static struct gt_row rows[GT_CHUNK_ROWS];
	size_t numbers = 0, count = gt_rows_make(t, START, rows, number_of, &numbers);

	FUZZ_CHECK(count >= 1 && count <= GT_CHUNK_ROWS && !rows[0].at);
	for (size_t i = 1; i < count; i++)
		FUZZ_CHECK(rows[i].at > rows[i - 1].at);
}

static void ask(struct gt_image *image)
{
	struct gt_mapped mapped = { .size = UINT64_MAX, .image = image };
	struct gt_modules modules = { .list = &mapped, .count = 1 };
	struct gt_cfi_table *t = gt_cfi_table_new(image);
	struct gt_probe_stack from = { .other_count = 0 };
	uint64_t frames[8];
	uint8_t stack[STACK_BYTES];
	struct gt_cfi_rule rule;

	for (size_t i = 0; i < sizeof stack; i++)
		stack[i] = (uint8_t)(i * 7);
	for (uint64_t i = 0; i < ADDRESSES; i++) {
		for (unsigned k = 0; k < GT_PROBE_REGISTERS; k++)
			from.registers[k] = 0x7fff0000 + k * 8;
		from.registers[GT_CFI_RETURN] = START + i * 8 + 1;
		FUZZ_CHECK(gt_unwind_copy(&modules, &from, stack, sizeof stack, frames, 8) <= 8);
		if (!t || !gt_cfi_table_find(t, &rule, START + i * 8))
			continue;
		check(&rule);
		gt_cfi_rule_fini(&rule);
	}
	make_rows(t);
	gt_unwind_table_free(image->unwind);
	image->unwind = NULL;
	gt_cfi_table_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t index, begin, end;
	struct gt_image image;

	if (size < 4)
		return 0;
	index = data[0] * UINT64_C(4);
	begin = data[1] * UINT64_C(4);
	end = data[2] * UINT64_C(4);
	image = (struct gt_image){
		.fd = open(fuzz_file(data, size), O_RDONLY | O_CLOEXEC),
		.segments = { { .size = size } },
		.segment_count = 1,
		.cfi = { .offset = begin, .address = begin, .size = end - begin },
		.cfi_index = { .offset = index, .address = index, .size = size - index }
	};
	FUZZ_CHECK(image.fd >= 0);
	ask(&image);
	image.cfi_index.size = 0;
	ask(&image);
	close(image.fd);
	return 0;
}
