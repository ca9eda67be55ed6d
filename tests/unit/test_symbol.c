/* SPDX-License-Identifier: MIT */
/* test_symbol.c - addresses become functions, files and lines, and only the right ones. */
#include "test_symbol.h"

#include <malloc.h>

static void inlined_frames_come_innermost_first(void **state)
{
	/* clang-format off */
	static const char *const libraries[] = {
		"libinline.so", "libinline4.so", "libcompressed.so", "libdwo.so",
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		struct subject s = subject_at(fixture(libraries[i]));

		assert_outer_is_known(&s, libraries[i]);
		gt_symbolizer_free(s.symbolizer);
	}
}

static void static_functions_have_file_and_line(void **state)
{
	struct subject s = subject_at(fixture("libinline.so"));

	(void)state;
	resolve(&s, call_site("libinline.so", "reveal"));
	assert_int_equal(s.count, 1);
	assert_string_equal(s.frames[0].function, "hidden");
	assert_int_equal(s.frames[0].line, line_of("libinline.so", "hidden_line"));
	assert_false(s.frames[0].inlined);
	gt_symbolizer_free(s.symbolizer);
}

static void cxx_names_keep_scopes_and_lose_parameters(void **state)
{
	static const struct {
		const char *call, *name;
	} cases[] = {
		{ .call = "call_constructor", .name = "shapes::box<char, 7>::box" },
		{ .call = "call_template", .name = "shapes::box<double, 3>::store" },
		{ .call = "call_helper", .name = "shapes::(anonymous namespace)::helper" },
		{ .call = "call_lambda",
		  .name = "shapes::crate::pack::(anonymous class)::operator()" },
		{ .call = "call_draw", .name = "shapes::(anonymous namespace)::merged" },
	};
	struct subject s = subject_at(fixture("libshapes.so"));

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		resolve(&s, call_site("libshapes.so", cases[i].call));
		assert_string_equal(s.frames[0].function, cases[i].name);
		assert_ends_with(s.frames[0].file, "/shapes.cc");
	}
	assert_int_equal(s.count, 2);
	assert_true(s.frames[0].inlined);
	assert_string_equal(s.frames[1].function, "shapes::draw");
	gt_symbolizer_free(s.symbolizer);
}

static void cxx_names_are_found_in_the_symbol_table_too(void **state)
{
	struct subject s = subject_at(fixture("libshapesnames.so"));

	(void)state;
	resolve(&s, call_site("libshapes.so", "call_template"));
	assert_string_equal(s.frames[0].function, "shapes::box<double, 3>::store");
	resolve(&s, call_site("libshapes.so", "call_helper"));
	assert_string_equal(s.frames[0].function, "shapes::(anonymous namespace)::helper");
	gt_symbolizer_free(s.symbolizer);
}

static void a_symbol_table_provides_names_without_lines(void **state)
{
	struct subject s = subject_at(fixture("libnames.so"));

	(void)state;
	assert_int_equal(state_of(&s), GT_SYMBOL_NAMES);
	resolve(&s, call_site("libinline.so", "reveal"));
	assert_string_equal(s.frames[0].function, "hidden");
	assert_null(s.frames[0].file);
	resolve(&s, call_site("libinline.so", "outer"));
	assert_int_equal(s.count, 1);
	assert_string_equal(s.frames[0].function, "outer");
	gt_symbolizer_free(s.symbolizer);
}

static void a_stripped_library_still_names_its_exports(void **state)
{
	struct subject s = subject_at(fixture("libstripped.so"));

	(void)state;
	assert_int_equal(state_of(&s), GT_SYMBOL_NAMES);
	resolve(&s, call_site("libinline.so", "outer"));
	assert_string_equal(s.frames[0].function, "outer");
	assert_nothing_known(&s, call_site("libinline.so", "reveal"));
	gt_symbolizer_free(s.symbolizer);
}

/* The value of a symbol, as an ELF virtual address. */
static uint64_t symbol_value(const char *path, const char *name)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *section = NULL;
	uint64_t value = 0;
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data = elf_getdata(section, NULL);

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 0; gelf_getsym(data, i, &symbol); i++)
			if (!strcmp(elf_strptr(elf, header.sh_link, symbol.st_name), name))
				value = symbol.st_value;
	}
	elf_end(elf);
	close(fd);
	assert_true(value != 0);
	return value;
}

static void a_program_at_a_fixed_address_resolves(void **state)
{
	struct subject s = subject_at(fixture("program"));

	(void)state;
	resolve(&s, symbol_value(fixture("program"), "landmark"));
	assert_string_equal(s.frames[0].function, "landmark");
	assert_ends_with(s.frames[0].file, "/program.c");
	assert_true(s.frames[0].line > 0);
	gt_symbolizer_free(s.symbolizer);
}

static void a_stripped_program_leaves_module_and_offset(void **state)
{
	struct subject s = subject_at(fixture("programstripped"));

	(void)state;
	assert_int_equal(state_of(&s), GT_SYMBOL_NONE);
	assert_nothing_known(&s, symbol_value(fixture("program"), "landmark"));
	gt_symbolizer_free(s.symbolizer);
}

/* A few kilobytes that expand to 2^40 functions and 16 million ranges (circles.s). */
static void circular_debug_information_is_walked_once(void **state)
{
	struct subject s = subject_at(fixture("libcircles.so"));

	(void)state;
	resolve(&s, 0x1010);
	assert_int_equal(s.count, 1);
	assert_string_equal(s.frames[0].function, "landmark");
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < 64 << 20);
	gt_symbolizer_free(s.symbolizer);
}

static void addresses_outside_the_module_are_unknown(void **state)
{
	struct subject s = subject_at(fixture("libinline.so"));

	(void)state;
	assert_nothing_known(&s, 0);
	assert_nothing_known(&s, UINT64_MAX);
	assert_nothing_known(&s, UINT64_C(1) << 47);
	gt_symbolizer_free(s.symbolizer);
}

static void a_second_query_returns_the_same_frames(void **state)
{
	struct subject s = subject_at(fixture("libinline.so"));
	uint64_t address = call_site("libinline.so", "outer");
	const struct gt_frame *first;

	(void)state;
	resolve(&s, address);
	first = s.frames;
	for (uint64_t i = 0; i < 100000; i++)
		resolve(&s, i);
	resolve(&s, address);
	assert_ptr_equal(s.frames, first);
	assert_string_equal(first[2].function, "outer");
	gt_symbolizer_free(s.symbolizer);
}

static void one_module_has_one_index(void **state)
{
	static const uint8_t ids[2][4] = { { 1, 2, 3, 4 }, { 1, 2, 3, 5 } };
	struct gt_symbol_module module = { .path = "/a", .build_id = ids[0], .build_id_size = 4 };
	struct gt_symbolizer *s;
	int first, other;

	(void)state;
	assert_int_equal(gt_symbolizer_new(&s, NULL), 0);
	first = gt_symbolizer_module(s, &module);
	assert_int_equal(gt_symbolizer_module(s, &module), first);
	module.build_id = ids[1];
	other = gt_symbolizer_module(s, &module);
	assert_int_not_equal(other, first);
	module.path = "/b";
	assert_int_not_equal(gt_symbolizer_module(s, &module), other);
	module.build_id_size = 1 << 20;
	assert_int_equal(gt_symbolizer_module(s, &module), -EINVAL);
	assert_string_equal(gt_symbolizer_path(s, other), "/a");
	gt_symbolizer_free(s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_frames_come_innermost_first),
		cmocka_unit_test(static_functions_have_file_and_line),
		cmocka_unit_test(cxx_names_keep_scopes_and_lose_parameters),
		cmocka_unit_test(cxx_names_are_found_in_the_symbol_table_too),
		cmocka_unit_test(a_symbol_table_provides_names_without_lines),
		cmocka_unit_test(a_stripped_library_still_names_its_exports),
		cmocka_unit_test(a_program_at_a_fixed_address_resolves),
		cmocka_unit_test(a_stripped_program_leaves_module_and_offset),
		cmocka_unit_test(circular_debug_information_is_walked_once),
		cmocka_unit_test(addresses_outside_the_module_are_unknown),
		cmocka_unit_test(a_second_query_returns_the_same_frames),
		cmocka_unit_test(one_module_has_one_index),
	};

	if (!find_fixtures(argc, argv))
		return 99;
	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
