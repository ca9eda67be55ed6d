/* SPDX-License-Identifier: MIT */
/* test_text.c - untrusted names cannot harm a terminal or a table. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/function_name.h"
#include "base/text.h"

/* The output of gt_text_put; *used is the number of columns it returns. */
static char *put(const char *text, unsigned columns, enum gt_cut where, bool utf8, unsigned *used)
{
	char *out = NULL;
	size_t size;
	FILE *file = open_memstream(&out, &size);

	*used = gt_text_put(file, text, columns, where, utf8);
	fclose(file);
	return out;
}

static void assert_put(const char *text, unsigned columns, bool utf8, const char *expected)
{
	unsigned used;
	char *out = put(text, columns, GT_CUT_MIDDLE, utf8, &used);

	assert_string_equal(out, expected);
	assert_true(used <= columns);
	free(out);
}

static void assert_tsv(const char *text, const char *expected)
{
	char *out = NULL;
	size_t size;
	FILE *file = open_memstream(&out, &size);

	gt_tsv_put(file, text);
	fclose(file);
	assert_string_equal(out, expected);
	free(out);
}

static void assert_csv(const char *text, const char *expected)
{
	char *out = NULL;
	size_t size;
	FILE *file = open_memstream(&out, &size);

	gt_csv_put(file, text);
	fclose(file);
	assert_string_equal(out, expected);
	free(out);
}

static void only_valid_utf8_counts_as_a_character(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		uint32_t code;
	} cases[] = {
		{ "a", 1, 'a' },
		{ "\xc3\xa9", 2, 0xe9 },
		{ "\xe2\x82\xac", 3, 0x20ac },
		{ "\xf0\x9f\x92\xa9", 4, 0x1f4a9 },
		{ "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
		{ "\xff", 1, GT_UTF8_BAD },
		{ "\x80", 1, GT_UTF8_BAD },
		{ "\xc0\xaf", 1, GT_UTF8_BAD },
		{ "\xe0\x80\xaf", 1, GT_UTF8_BAD },
		{ "\xed\xa0\x80", 1, GT_UTF8_BAD },
		{ "\xf4\x90\x80\x80", 1, GT_UTF8_BAD },
		{ "\xe2\x82", 1, GT_UTF8_BAD },
		{ "\xf0\x9f\x92", 1, GT_UTF8_BAD },
		{ "\xc3(", 1, GT_UTF8_BAD },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t code;

		assert_int_equal(gt_utf8_next(cases[i].bytes, &code), cases[i].length);
		assert_int_equal(code, cases[i].code);
	}
}

static void terminal_control_characters_are_escaped(void **state)
{
	(void)state;
	assert_put("\033[31mred\007", 99, true, "\\x1b[31mred\\x07");
	assert_put("a\tb\nc\r\x7f", 99, true, "a\\x09b\\x0ac\\x0d\\x7f");
	assert_put("\xc2\x9b"
		   "2J",
		   99, true, "\\xc2\\x9b2J"); /* CSI in one character */
	assert_put("\xe2\x80\xae"
		   "exe",
		   99, true, "\\xe2\\x80\\xaeexe"); /* right to left */
	assert_put("\xff\xfe", 99, true, "\\xff\\xfe");
}

static void plain_names_are_unchanged(void **state)
{
	(void)state;
	assert_put("", 0, true, "");
	assert_put("make_buffer", 11, true, "make_buffer");
	assert_put("größe 日本", 99, true, "größe 日本");
	assert_put("größe", 99, false, "gr\\xc3\\xb6\\xc3\\x9fe");
}

static void long_names_lose_their_middle(void **state)
{
	(void)state;
	assert_put("abcdefghij", 10, true, "abcdefghij");
	assert_put("abcdefghij", 7, true, "abc…hij");
	assert_put("abcdefghij", 7, false, "ab...ij");
	assert_put("abcdefghij", 1, true, "a");
	assert_put("abcdefghij", 0, true, "");
	assert_put("日本語日本語", 7, true, "日…語");
}

static void assert_brief(const char *name, const char *expected)
{
	char *brief = gt_function_abbreviate(name, false);

	assert_string_equal(brief, expected);
	free(brief);
}

static void template_arguments_are_abbreviated_first(void **state)
{
	(void)state;
	assert_brief(
		"std::vector<gpu::Buffer<float>, std::allocator<x> >::emplace_back<int*&, int>",
		"std::vector<...>::emplace_back<...>");
	assert_brief("f<(anonymous namespace)::T, (E)3>", "f<...>");
	assert_brief("f<void (*)(std::map<int, int>)>::g", "f<...>::g");
	assert_brief("f<decltype (a->b), ((c)>(d))>::g", "f<...>::g");
	assert_brief("f<(1<2), int>::g", "f<...>::g");
	assert_brief("f<((1)>(2)), int>::g", "f<...>::g");
	assert_brief("f<char [4], {1, 2}>::g", "f<...>::g");
	assert_brief("f<&(A::operator<), B>::g", "f<...>::g");
	assert_brief("f<&A::operator->, B>::g", "f<...>::g");
	assert_brief("f[abi:cxx11]<char, int>", "f[abi:cxx11]<...>");
	assert_brief("main()::{lambda(auto:1)#1}::operator()<long, int>",
		     "main()::{lambda(auto:1)#1}::operator()<...>");
	assert_brief("A::operator std::vector<long, int>", "A::operator std::vector<...>");
	assert_brief("core::ptr::drop_in_place::<alloc::vec::Vec<u8>>",
		     "core::ptr::drop_in_place::<...>");
	assert_brief("größe<日本語, int>::größe", "größe<...>::größe");
}

static void operators_and_other_brackets_are_not_template_arguments(void **state)
{
	/* clang-format off */
	static const char *const whole[] = {
		"", "main", "f<int>", "f<A>::g<B>", "operator<", "A::operator<<",
		"A::operator<=", "A::operator<=>", "operator<<=", "A::operator>", "A::operator>>",
		"operator>=", "operator>>=", "A::operator->", "A::operator->*", "operator-",
		"A::operator()", "main()::<lambda(int, long)>::operator()", "<lambda>", "<module>",
		"a::<unnamed struct>::b", "f<int, long", "f<(int, long>", "f>", "->", "operator",
		"f<<<<<<<<", "int, long>", "<<<<<<<<<",
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		assert_brief(whole[i], whole[i]);
	assert_brief("operator< <A, B, C>", "operator< <...>");
	assert_brief("operator<< <std::char_traits<char> >", "operator<< <...>");
	assert_brief("A<B, C, D>::operator-><long, int>", "A<...>::operator-><...>");
	assert_brief("A<B, C, D>::operator<=><long, int>", "A<...>::operator<=><...>");
	assert_brief("my_operator<long, int>", "my_operator<...>");
	assert_brief("operators<long, int>", "operators<...>");
	assert_brief("<alloc::Vec<T, A> as core::Drop>::drop",
		     "<alloc::Vec<...> as core::Drop>::drop");
	assert_brief("main()::<lambda(std::vector<int, long>)>",
		     "main()::<lambda(std::vector<...>)>");
}

static void functions_without_arguments_to_drop_are_cut(void **state)
{
	static const struct {
		unsigned columns;
		bool utf8;
		const char *expected;
	} cases[] = {
		{ 25, true, "Pool<float, int>::acquire" }, { 24, true, "Pool<…>::acquire" },
		{ 16, true, "Pool<…>::acquire" },          { 15, true, "Pool<…>…acquire" },
		{ 24, false, "Pool<...>::acquire" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		unsigned used;
		char *out = put("Pool<float, int>::acquire", cases[i].columns, GT_CUT_FUNCTION,
				cases[i].utf8, &used);

		assert_string_equal(out, cases[i].expected);
		assert_true(used <= cases[i].columns);
		free(out);
	}
}

static void long_paths_lose_their_start(void **state)
{
	unsigned used;
	char *out = put("/home/me/src/file.c:12", 10, GT_CUT_START, true, &used);

	(void)state;
	assert_string_equal(out, "…file.c:12");
	assert_int_equal(used, 10);
	free(out);
}

/* For any bytes and width: no more columns than allowed, no control characters. */
static void random_bytes_fit_any_width_and_stay_escaped(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		char text[40], *out;
		unsigned used, columns = (unsigned)round % 30;
		size_t length = (size_t)round % (sizeof text - 1);

		for (size_t i = 0; i < length; i++) {
			random = random * 1664525u + 1013904223u;
			text[i] = (char)(random >> 24 ? random >> 24 : 1);
		}
		text[length] = '\0';
		out = put(text, columns, (enum gt_cut)(round % 3), round % 2, &used);
		assert_true(used <= columns);
		assert_int_equal(used, gt_text_columns(out, true));
		for (const char *c = out; *c; c++)
			assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
		free(out);
	}
}

static void a_tsv_field_stays_one_field(void **state)
{
	(void)state;
	assert_tsv("plain", "plain");
	assert_tsv("a\tb\nc\\d", "a\\tb\\nc\\\\d");
	assert_tsv("\033[0m\r\x01", "\\x1b[0m\\x0d\\x01");
	assert_tsv("é\xff\xc2\x9b", "é\\xff\\xc2\\x9b");
}

static void a_csv_field_stays_one_field(void **state)
{
	(void)state;
	assert_csv("", "");
	assert_csv("plain text", "plain text");
	assert_csv("a,b", "\"a,b\"");
	assert_csv("say \"hi\"", "\"say \"\"hi\"\"\"");
	assert_csv(" a", "\" a\"");
	assert_csv("a\nb\r\033[0m", "a\\x0ab\\x0d\\x1b[0m");
	assert_csv("é\xff", "é\\xff");
}

static void assert_written(void (*write)(FILE *out, const char *text), const char *text,
			   const char *expected)
{
	char *said = NULL;
	size_t size;
	FILE *out = open_memstream(&said, &size);

	write(out, text);
	fclose(out);
	assert_string_equal(said, expected);
	free(said);
}

static void a_csv_field_never_becomes_a_formula(void **state)
{
	(void)state;
	assert_written(gt_csv_put_safe, "=1+1", "'=1+1");
	assert_written(gt_csv_put_safe, "+a", "'+a");
	assert_written(gt_csv_put_safe, "-a,b", "\"'-a,b\"");
	assert_written(gt_csv_put_safe, "@SUM(A1)", "'@SUM(A1)");
	assert_written(gt_csv_put_safe, "a=b", "a=b");
}

static void xml_can_contain_any_name(void **state)
{
	(void)state;
	assert_written(gt_xml_put, "plain é", "plain é");
	assert_written(gt_xml_put, "<a b=\"c\">&'", "&#60;a b=&#34;c&#34;&#62;&#38;&#39;");
	assert_written(gt_xml_put, "a\n\t\rb", "a&#10;&#9;&#13;b");
	assert_written(gt_xml_put, "\001\033\177", "\xef\xbf\xbd\xef\xbf\xbd&#127;");
	assert_written(gt_xml_put, "\xff\xef\xbf\xbe", "\xef\xbf\xbd\xef\xbf\xbd");
	assert_written(gt_xml_put, "\xe2\x80\xae", "&#8238;");
}

static void a_uri_can_contain_any_path(void **state)
{
	(void)state;
	assert_written(gt_uri_put, "/src/a-b_c.~1/d.c", "/src/a-b_c.~1/d.c");
	assert_written(gt_uri_put, "a b%?#\\\n:é", "a%20b%25%3F%23%5C%0A%3A%C3%A9");
}

static void sanitized_copies_are_utf8_without_control_characters(void **state)
{
	char *repaired = gt_utf8_repair("a\xff\033\xe2\x80\xae"), *tame;

	(void)state;
	assert_string_equal(repaired, "a\xef\xbf\xbd\033\xe2\x80\xae");
	tame = gt_text_sanitize("a\xff\033\n\xe2\x80\xae"
				"é");
	assert_string_equal(tame, "a\xef\xbf\xbd?\n?é");
	free(repaired);
	free(tame);
}

static void paths_split_into_folder_and_name(void **state)
{
	(void)state;
	assert_string_equal(gt_path_name("/usr/lib/libc.so.6"), "libc.so.6");
	assert_string_equal(gt_path_name("libc.so.6"), "libc.so.6");
	assert_string_equal(gt_path_name("/usr/lib/"), "/usr/lib/");
	assert_string_equal(gt_path_name(""), "");
	assert_int_equal(gt_path_folder_size("/usr/lib/libc.so.6"), 9);
	assert_int_equal(gt_path_folder_size("libc.so.6"), 0);
	assert_int_equal(gt_path_folder_size("/usr/lib/"), 9);
	assert_true(gt_text_begins("libcuda.so.1", "libcuda.so"));
	assert_false(gt_text_begins("libcuda", "libcuda.so"));
}

static void trailing_slashes_are_removed_from_paths(void **state)
{
	static const char *const rows[][2] = {
		{ "a.gt/", "a.gt" }, { "/a/b.gt///", "/a/b.gt" },
		{ "a", "a" },        { "/", "/" },
		{ "//", "/" },       { "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char path[64];

		strcpy(path, rows[i][0]);
		gt_path_trim_slashes(path);
		assert_string_equal(path, rows[i][1]);
	}
}

static void a_path_is_tidied_in_place(void **state)
{
	static const struct {
		const char *given, *wanted;
	} rows[] = {
		{ "/w/build/../src/demo.c", "/w/src/demo.c" },
		{ "/w/b/c/../../src/./demo.c", "/w/src/demo.c" },
		{ "../src/demo.c", "../src/demo.c" },
		{ "a/../../b.c", "../b.c" },
		{ "./x.c", "x.c" },
		{ "/w/build//../src/x.c", "/w/src/x.c" },
		{ "//w//x.c", "/w/x.c" },
		{ "/plain.c", "/plain.c" },
		{ "..", ".." },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char path[64];

		strcpy(path, rows[i].given);
		gt_path_normalize(path);
		assert_string_equal(path, rows[i].wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trailing_slashes_are_removed_from_paths),
		cmocka_unit_test(a_path_is_tidied_in_place),
		cmocka_unit_test(only_valid_utf8_counts_as_a_character),
		cmocka_unit_test(terminal_control_characters_are_escaped),
		cmocka_unit_test(plain_names_are_unchanged),
		cmocka_unit_test(long_names_lose_their_middle),
		cmocka_unit_test(template_arguments_are_abbreviated_first),
		cmocka_unit_test(operators_and_other_brackets_are_not_template_arguments),
		cmocka_unit_test(functions_without_arguments_to_drop_are_cut),
		cmocka_unit_test(long_paths_lose_their_start),
		cmocka_unit_test(random_bytes_fit_any_width_and_stay_escaped),
		cmocka_unit_test(a_tsv_field_stays_one_field),
		cmocka_unit_test(a_csv_field_stays_one_field),
		cmocka_unit_test(a_csv_field_never_becomes_a_formula),
		cmocka_unit_test(xml_can_contain_any_name),
		cmocka_unit_test(a_uri_can_contain_any_path),
		cmocka_unit_test(sanitized_copies_are_utf8_without_control_characters),
		cmocka_unit_test(paths_split_into_folder_and_name),
	};

	/* widths of characters are the locale's */
	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
