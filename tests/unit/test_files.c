/* SPDX-License-Identifier: MIT */
/* test_files.c - files that claim too many sections are refused before opening. */
#include "base/files.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { SECTIONS_AT = 128 };

static bool is_bounded(const void *file, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	bool bounded;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, file, size), size);
	bounded = gt_elf_is_bounded(fd);
	close(fd);
	return bounded;
}

struct wide {
	Elf64_Ehdr head;
	uint8_t gap[SECTIONS_AT - sizeof(Elf64_Ehdr)];
	Elf64_Shdr first;
};

struct narrow {
	Elf32_Ehdr head;
	uint8_t gap[SECTIONS_AT - sizeof(Elf32_Ehdr)];
	Elf32_Shdr first;
};

static const unsigned char wide_ident[EI_NIDENT] = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB };

static struct wide wide_file(uint16_t sections, uint64_t more)
{
	struct wide f = { .head = { .e_shoff = SECTIONS_AT, .e_shnum = sections },
			  .first = { .sh_size = more } };

	memcpy(f.head.e_ident, wide_ident, sizeof wide_ident);
	return f;
}

static void as_many_sections_as_the_header_can_count_are_accepted(void **state)
{
	struct wide f = wide_file(UINT16_MAX, UINT64_MAX);

	assert_true(is_bounded(&f, sizeof f));
	f.head.e_phnum = PN_XNUM - 1;
	assert_true(is_bounded(&f, sizeof f));
	f.head.e_phnum = PN_XNUM;
	assert_false(is_bounded(&f, sizeof f));
}

static void more_sections_are_accepted_up_to_a_limit(void **state)
{
	/* clang-format off */
	static const struct { uint64_t more; bool bounded; } all[] = {
		{ 0, true }, { 70000, true }, { 1 << 17, true }, { (1 << 17) + 1, false },
		{ 4000000, false }, { UINT64_MAX, false } };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct wide f = wide_file(0, all[i].more);
		struct narrow n = { .head = { .e_shoff = SECTIONS_AT },
				    .first = { .sh_size = (uint32_t)all[i].more } };

		assert_int_equal(is_bounded(&f, sizeof f), all[i].bounded);
		memcpy(n.head.e_ident, wide_ident, sizeof wide_ident);
		n.head.e_ident[EI_CLASS] = ELFCLASS32;
		assert_int_equal(is_bounded(&n, sizeof n), all[i].bounded);
		/* the other way round */
		f.head.e_ident[EI_DATA] = ELFDATA2MSB;
		f.head.e_shoff = __builtin_bswap64(SECTIONS_AT);
		f.first.sh_size = __builtin_bswap64(all[i].more);
		assert_int_equal(is_bounded(&f, sizeof f), all[i].bounded);
	}
}

static void truncated_and_foreign_files_are_not_judged_here(void **state)
{
	struct wide f = wide_file(0, UINT64_MAX);

	for (size_t size = 0; size < sizeof f; size++)
		assert_true(is_bounded(&f, size));
	f.head.e_shoff = UINT64_MAX;
	assert_true(is_bounded(&f, sizeof f));
	f = wide_file(0, UINT64_MAX);
	f.head.e_ident[EI_CLASS] = 3;
	assert_true(is_bounded(&f, sizeof f));
	assert_true(is_bounded("#!/bin/sh\n", 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_sections_as_the_header_can_count_are_accepted),
		cmocka_unit_test(more_sections_are_accepted_up_to_a_limit),
		cmocka_unit_test(truncated_and_foreign_files_are_not_judged_here),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
