/* SPDX-License-Identifier: MIT */
/* test_cfi_files.c - call frame information found in files; hostile files yield none. */
#include "capture/ebpf/cfi.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/ebpf/modules.h"
#include "capture/ebpf/unwind.h"

enum { START = 0x1000 };

/*
 * A file with only .eh_frame and .eh_frame_hdr, loaded at its offsets: one common entry and two
 * functions of 0x40 bytes, at START and START + 0x80.
 */
struct file {
	uint8_t bytes[4096];
	struct gt_image image;
};

enum {
	SHARED = 0x100,
	FIRST = 0x120,
	SECOND = 0x140,
	SECTION_END = 0x164,
	INDEX = 0x200,
	INDEX_SIZE = 12 + 16,
	FILE_SIZE = 0x400
};

static void put_word(struct file *f, size_t at, uint32_t word)
{
	memcpy(f->bytes + at, &word, sizeof word);
}

static void put_function(struct file *f, size_t at, uint32_t start, uint32_t size)
{
	put_word(f, at, 0x1c);
	put_word(f, at + 4, (uint32_t)(at + 4 - SHARED));
	put_word(f, at + 8, start - (uint32_t)(at + 8)); /* from here */
	put_word(f, at + 12, size);
	f->bytes[at + 16] = 0; /* no augmentation */
	memcpy(f->bytes + at + 17, (uint8_t[]){ DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 16 },
	       3);
}

static void make_file(struct file *f)
{
	static const uint8_t shared[] = { 1,
					  'z',
					  'R',
					  0,
					  1,
					  0x78,
					  GT_RETURN,
					  1,
					  DW_EH_PE_pcrel | DW_EH_PE_sdata4,
					  DW_CFA_def_cfa,
					  GT_STACK,
					  8,
					  DW_CFA_offset | GT_RETURN,
					  1 };
	static const uint8_t index[] = { 1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4,
					 DW_EH_PE_datarel | DW_EH_PE_sdata4 };

	*f = (struct file){
		.image = { .fd = memfd_create("cfi", MFD_CLOEXEC),
			   .segments = { { .size = FILE_SIZE } },
			   .segment_count = 1,
			   .cfi = { .offset = SHARED,
				    .address = SHARED,
				    .size = SECTION_END - SHARED },
			   .cfi_index = { .offset = INDEX, .address = INDEX, .size = INDEX_SIZE } }
	};
	put_word(f, SHARED, 0x1c);
	memcpy(f->bytes + SHARED + 8, shared, sizeof shared);
	put_function(f, FIRST, START, 0x40);
	put_function(f, SECOND, START + 0x80, 0x40);
	memcpy(f->bytes + INDEX, index, sizeof index);
	put_word(f, INDEX + 4, (uint32_t)SHARED - (INDEX + 4));
	put_word(f, INDEX + 8, 2);
	put_word(f, INDEX + 12, START - INDEX);
	put_word(f, INDEX + 16, (uint32_t)FIRST - INDEX);
	put_word(f, INDEX + 20, START + 0x80 - INDEX);
	put_word(f, INDEX + 24, (uint32_t)SECOND - INDEX);
	assert_true(f->image.fd >= 0);
}

static void end_file(struct file *f)
{
	close(f->image.fd);
}

/* The offset of the CFA at this address; 0 if unknown. */
static int offset_at(struct file *f, uint64_t address)
{
	struct gt_cfi_table *t;
	struct gt_cfi_rule rule;
	int offset = 0;

	assert_int_equal(pwrite(f->image.fd, f->bytes, FILE_SIZE, 0), FILE_SIZE);
	t = gt_cfi_table_new(&f->image);
	if (t && gt_cfi_table_find(t, &rule, address)) {
		offset = rule.cfa_offset;
		gt_cfi_rule_fini(&rule);
	}
	gt_cfi_table_free(t);
	return offset;
}

static void check_good(struct file *f)
{
	/* clang-format off */
	static const struct { uint64_t address; int offset; } places[] = {
		{ 0, 0 }, { START - 1, 0 }, { START, 8 }, { START + 3, 8 }, { START + 4, 16 },
		{ START + 0x3f, 16 }, { START + 0x40, 0 }, { START + 0x7f, 0 }, { START + 0x80, 8 },
		{ START + 0xbf, 16 }, { START + 0xc0, 0 }, { UINT64_MAX, 0 } };
	/* clang-format on */

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		assert_int_equal(offset_at(f, places[i].address), places[i].offset);
}

static void a_function_is_found_through_the_index(void **state)
{
	struct file f;

	make_file(&f);
	f.image.cfi.size = 0;
	check_good(&f);
	end_file(&f);
}

static void a_function_is_found_without_an_index(void **state)
{
	struct file f;

	make_file(&f);
	f.image.cfi_index.size = 0;
	check_good(&f);
	make_file(&f);
	f.bytes[INDEX + 3] = DW_EH_PE_omit;
	check_good(&f);
	f.image.cfi.size = 0;
	assert_int_equal(offset_at(&f, START), 0);
	end_file(&f);
}

static void bad_lengths_and_pointers_find_nothing(void **state)
{
	static const uint32_t words[] = { 0, 1, 3, 0x7fffffff, 0x80000000, 0xfffffff0, UINT32_MAX };
	static const size_t places[] = { SHARED, SHARED + 4, FIRST, FIRST + 4 };

	for (int by_index = 0; by_index < 2; by_index++) {
		for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
			for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
				struct file f;

				make_file(&f);
				*(by_index ? &f.image.cfi.size : &f.image.cfi_index.size) = 0;
				put_word(&f, places[k], words[i]);
				/* 0 after the length is what makes a shared entry */
				assert_int_equal(offset_at(&f, START),
						 places[k] == SHARED + 4 && !words[i] ? 8 : 0);
				end_file(&f);
			}
		}
	}
}

static void an_index_longer_than_its_file_is_cut_at_the_end_of_the_file(void **state)
{
	struct file f;

	make_file(&f);
	put_word(&f, INDEX + 8, UINT32_MAX);
	assert_int_equal(offset_at(&f, START), 8);
	f.image.cfi_index.size = UINT64_MAX;
	offset_at(&f, START);
	f.image.cfi_index.offset = UINT64_MAX - 3;
	offset_at(&f, START);
	end_file(&f);
}

static void unsupported_common_entries_are_refused(void **state)
{
	/* clang-format off */
	static const struct { size_t at; uint8_t byte; } changes[] = {
		{ 8, 2 }, { 8, 4 }, { 9, 'e' }, { 10, 'X' }, { 14, GT_RETURN + 1 },
		{ 15, 0xff }, { 16, 0xff },
		{ 16, DW_EH_PE_indirect | 0x1b }, { 16, DW_EH_PE_funcrel | DW_EH_PE_sdata4 },
		{ 17, 0x3f } };
	/* clang-format on */

	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		struct file f;

		make_file(&f);
		f.bytes[SHARED + changes[i].at] = changes[i].byte;
		assert_int_equal(offset_at(&f, START), 0);
		memset(f.bytes + SHARED + 9, 'z', 0x17);
		assert_int_equal(offset_at(&f, START), 0);
		end_file(&f);
	}
}

static void a_file_truncated_while_in_use_yields_nothing(void **state)
{
	struct gt_cfi_table *t;
	struct gt_cfi_rule rule;
	struct file f;

	make_file(&f);
	assert_int_equal(offset_at(&f, START), 8);
	t = gt_cfi_table_new(&f.image);
	assert_non_null(t);
	assert_true(gt_cfi_table_find(t, &rule, START));
	for (off_t size = INDEX; size >= 0; size--) {
		assert_int_equal(ftruncate(f.image.fd, size), 0);
		assert_false(gt_cfi_table_find(t, &rule, START));
	}
	gt_cfi_table_free(t);
	end_file(&f);
}

/* Every bit of every byte: any answer is fine, a crash is not. */
static void flipped_bits_do_no_harm(void **state)
{
	for (size_t bit = SHARED * 8; bit < (INDEX + INDEX_SIZE) * 8; bit++) {
		struct file f;

		make_file(&f);
		f.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		offset_at(&f, START + 5);
		f.image.cfi_index.size = 0;
		offset_at(&f, START + 5);
		end_file(&f);
	}
}

/* The caller of a frame at START whose CFA is `expression`, on a stack of counting words. */
static uint64_t caller_by(const uint8_t *expression, size_t size)
{
	struct gt_probe_stack from = { .registers = {
					       [GT_CFI_RSP] = 0x7000, [GT_RETURN] = START + 6 } };
	uint64_t stack[32];
	struct gt_mapped mapped = { .size = UINT64_MAX };
	struct gt_modules modules = { .list = &mapped, .count = 1 };
	uint64_t frames[2] = { 0, 0 };
	struct file f;

	for (size_t i = 0; i < 32; i++)
		stack[i] = i * 8 + 0x7000;
	make_file(&f);
	f.bytes[FIRST + 17] = DW_CFA_def_cfa_expression;
	f.bytes[FIRST + 18] = (uint8_t)size;
	assert_true(size < 12);
	memcpy(f.bytes + FIRST + 19, expression, size);
	mapped.image = &f.image;
	assert_int_equal(offset_at(&f, START), 8);
	gt_unwind_copy(&modules, &from, (uint8_t *)stack, sizeof stack, frames, 2);
	gt_unwind_table_free(f.image.unwind);
	end_file(&f);
	return frames[1];
}

/* Where they say a CFA: arm64 has them for frames of vectors alone, which have frame pointers. */
static void expressions_are_evaluated(void **state)
{
	/* clang-format off */
	static const struct { const char *code; size_t size; uint64_t caller; } all[] = {
		{ "\x77\x18", 2, 0x7010 },                     /* rsp + 24; the address 8 below */
		{ "\x77\x08\x3f\x23\x09\x22", 6, 0x7018 },     /* rsp + 8 + (15 + 9) */
		{ "\x77\x10\x06", 3, 0x7008 },                 /* what lies at rsp + 16 */
		{ "\x77\x78\x06", 3, 0 },                      /* below the copy */
		{ "\x92\x07\x20", 3, 0x7018 },
		{ "\x92\x80\x80\x40\x20", 5, 0 },              /* a register of number 1,048,576 */
		{ "\x22", 1, 0 },                              /* nothing to add */
		{ "\x13", 1, 0 },
		{ "", 0, 0 },
		{ "\x77", 1, 0 },                              /* cut */
		{ "\x0e\x01", 2, 0 },
		{ "\x77\x20\x2f\xfd\xff", 5, 0 },              /* goes back: never followed */
	};
	/* clang-format on */

	for (size_t i = 0; i < (GT_RECORD_IS_LOW ? 0 : sizeof all / sizeof *all); i++)
		assert_int_equal(caller_by((const uint8_t *)all[i].code, all[i].size),
				 all[i].caller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_found_through_the_index),
		cmocka_unit_test(a_function_is_found_without_an_index),
		cmocka_unit_test(bad_lengths_and_pointers_find_nothing),
		cmocka_unit_test(an_index_longer_than_its_file_is_cut_at_the_end_of_the_file),
		cmocka_unit_test(unsupported_common_entries_are_refused),
		cmocka_unit_test(a_file_truncated_while_in_use_yields_nothing),
		cmocka_unit_test(flipped_bits_do_no_harm),
		cmocka_unit_test(expressions_are_evaluated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
