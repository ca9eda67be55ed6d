/* SPDX-License-Identifier: MIT */
/* test_json.c - the JSON writer: valid, UTF-8, streaming. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

struct document {
	struct gt_json json;
	char *text;
	size_t size;
	FILE *file;
};

static struct gt_json *open_document(struct document *d)
{
	d->file = open_memstream(&d->text, &d->size);
	gt_json_begin(&d->json, d->file);
	return &d->json;
}

static void assert_document(struct document *d, const char *expected)
{
	gt_json_finish(&d->json);
	fclose(d->file);
	assert_string_equal(d->text, expected);
	free(d->text);
}

static void an_empty_document_is_an_object(void **state)
{
	struct document d;

	(void)state;
	open_document(&d);
	assert_document(&d, "{}\n");
}

static void values_are_separated_and_indented(void **state)
{
	struct document d;
	struct gt_json *j = open_document(&d);

	(void)state;
	gt_json_uint(j, "most", UINT64_MAX);
	gt_json_int(j, "least", INT64_MIN);
	gt_json_bool(j, "yes", true);
	gt_json_null(j, "none");
	gt_json_hex(j, "handle", 0x1f);
	gt_json_array(j, "list");
	gt_json_uint(j, NULL, 1);
	gt_json_uint(j, NULL, 2);
	gt_json_end(j);
	gt_json_array(j, "empty");
	gt_json_end(j);
	assert_document(&d, "{\n\t\"most\": 18446744073709551615,\n"
			    "\t\"least\": -9223372036854775808,\n"
			    "\t\"yes\": true,\n\t\"none\": null,\n\t\"handle\": \"0x1f\",\n"
			    "\t\"list\": [\n\t\t1,\n\t\t2\n\t],\n\t\"empty\": []\n}\n");
}

static void a_one_line_container_keeps_its_members_on_one_line(void **state)
{
	struct document d;
	struct gt_json *j = open_document(&d);

	(void)state;
	gt_json_array(j, "rows");
	for (int i = 0; i < 2; i++) {
		gt_json_line(j, NULL);
		gt_json_array(j, "inner");
		gt_json_line(j, NULL);
		gt_json_int(j, "a", i);
		gt_json_end(j);
		gt_json_end(j);
		gt_json_end(j);
	}
	gt_json_end(j);
	gt_json_int(j, "after", 1);
	assert_document(&d, "{\n\t\"rows\": [\n\t\t{\"inner\": [{\"a\": 0}]},\n"
			    "\t\t{\"inner\": [{\"a\": 1}]}\n"
			    "\t],\n\t\"after\": 1\n}\n");
}

static void members_are_rendered_apart_and_put_into_a_line(void **state)
{
	struct document d;
	struct gt_json *j = open_document(&d), part;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	(void)state;
	gt_json_begin_members(&part, file);
	gt_json_array(&part, "stack");
	for (int i = 0; i < 2; i++) {
		gt_json_line(&part, NULL);
		gt_json_text(&part, "name", "<a>");
		gt_json_end(&part);
	}
	gt_json_end(&part);
	gt_json_us(&part, "us", 1000007);
	gt_json_finish(&part);
	fclose(file);
	assert_string_equal(text, "\"stack\": [{\"name\": \"<a>\"}, {\"name\": \"<a>\"}], "
				  "\"us\": 1000.007");
	gt_json_line(j, "first");
	gt_json_members(j, text, size);
	gt_json_uint(j, "after", 1);
	gt_json_end(j);
	gt_json_line(j, "last");
	gt_json_uint(j, "before", 1);
	gt_json_members(j, text, size);
	gt_json_members(j, text, 0);
	assert_document(&d,
			"{\n\t\"first\": {\"stack\": [{\"name\": \"<a>\"}, {\"name\": \"<a>\"}], "
			"\"us\": 1000.007, \"after\": 1},\n\t\"last\": {\"before\": 1, \"stack\": "
			"[{\"name\": \"<a>\"}, {\"name\": \"<a>\"}], \"us\": 1000.007}\n}\n");
	free(text);
}

static void any_bytes_become_valid_strings(void **state)
{
	struct document d;
	struct gt_json *j = open_document(&d);

	(void)state;
	gt_json_text(j, "quote", "a\"b\\c/d");
	gt_json_text(j, "control", "\033[0m\n\t\r\x01\x7f");
	gt_json_text(j, "utf8", "é日💩");
	gt_json_text(j, "bad",
		     "\xff"
		     "a\xc0\xaf"
		     "b\xed\xa0\x80"
		     "c\xe2\x82");
	gt_json_text(j, "tricky", "\xc2\x9b\xe2\x80\xae");
	gt_json_text(j, "key \"x\"", NULL);
	assert_document(&d, "{\n\t\"quote\": \"a\\\"b\\\\c/d\",\n"
			    "\t\"control\": \"\\u001b[0m\\n\\t\\u000d\\u0001\\u007f\",\n"
			    "\t\"utf8\": \"é日💩\",\n"
			    "\t\"bad\": \"\uFFFDa\uFFFD\uFFFDb\uFFFD\uFFFD\uFFFDc\uFFFD\uFFFD\",\n"
			    "\t\"tricky\": \"\\u009b\\u202e\",\n"
			    "\t\"key \\\"x\\\"\": null\n}\n");
}

/* Short texts, long ones, and those that are neither, with and without what has to be escaped. */
static void texts_of_any_length_are_written_whole(void **state)
{
	char text[200], expected[300];

	(void)state;
	for (size_t length = 0; length < sizeof text; length++)
		for (int is_plain = 0; is_plain < 2; is_plain++) {
			struct document d;
			struct gt_json *j = open_document(&d);
			bool has_quote = length && !is_plain;

			memset(text, 'x', length);
			text[length] = '\0';
			if (has_quote)
				text[length - 1] = '"';
			gt_json_text(j, text, text);
			snprintf(expected, sizeof expected, "%.*s%s", (int)(length - has_quote),
				 text, has_quote ? "\\\"" : "");
			gt_json_finish(&d.json);
			fclose(d.file);
			assert_int_equal(d.size, 2 * strlen(expected) + 12);
			assert_memory_equal(d.text, "{\n\t\"", 4);
			assert_memory_equal(d.text + 4, expected, strlen(expected));
			assert_memory_equal(d.text + 4 + strlen(expected), "\": \"", 4);
			assert_memory_equal(d.text + 8 + strlen(expected), expected,
					    strlen(expected));
			assert_string_equal(d.text + 8 + 2 * strlen(expected), "\"\n}\n");
			free(d.text);
		}
}

static void text_in_html_cannot_close_its_element(void **state)
{
	struct document d;
	struct gt_json *j = open_document(&d);

	(void)state;
	j->in_html = true;
	gt_json_text(j, "a", "</script><!--&\xe2\x80\xa8");
	gt_json_text(j, "<b>", "");
	assert_document(&d, "{\n\t\"a\": \"\\u003c/script\\u003e\\u003c!--\\u0026\\u2028\",\n"
			    "\t\"\\u003cb\\u003e\": \"\"\n}\n");
}

static void bytes_are_encoded_as_base64(void **state)
{
	struct document d;
	struct gt_json *j = open_document(&d);

	(void)state;
	gt_json_base64(j, "0", "", 0);
	gt_json_base64(j, "1", "\xff", 1);
	gt_json_base64(j, "2", "\x00\x10", 2);
	gt_json_base64(j, "3", "Man", 3);
	gt_json_base64(j, "4", "Many", 4);
	assert_document(&d, "{\n\t\"0\": \"\",\n\t\"1\": \"/w==\",\n\t\"2\": \"ABA=\",\n"
			    "\t\"3\": \"TWFu\",\n\t\"4\": \"TWFueQ==\"\n}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_document_is_an_object),
		cmocka_unit_test(values_are_separated_and_indented),
		cmocka_unit_test(a_one_line_container_keeps_its_members_on_one_line),
		cmocka_unit_test(members_are_rendered_apart_and_put_into_a_line),
		cmocka_unit_test(any_bytes_become_valid_strings),
		cmocka_unit_test(texts_of_any_length_are_written_whole),
		cmocka_unit_test(text_in_html_cannot_close_its_element),
		cmocka_unit_test(bytes_are_encoded_as_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
