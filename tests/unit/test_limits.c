/* SPDX-License-Identifier: MIT */
/* test_limits.c - words for kinds, sizes with units, and limits made of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/format.h"
#include "judge/growing.h"
#include "judge/limits.h"

static bool names(const char *word, enum gt_api api, enum gt_kind kind)
{
	struct gt_select s = { 0 };

	assert_true(gt_select_add(&s, word, strlen(word)));
	return s.has[api][kind];
}

static void words_select_kinds(void **state)
{
	struct gt_select s = { 0 };

	(void)state;
	assert_true(names("event", GT_OPENCL, GT_EVENT));
	assert_true(names("events", GT_LEVELZERO, GT_EVENT));
	assert_true(names("Event", GT_CUDA, GT_EVENT));
	assert_false(names("event", GT_OPENCL, GT_EVENT_POOL));
	assert_true(names("opencl.event", GT_OPENCL, GT_EVENT));
	assert_false(names("opencl.event", GT_LEVELZERO, GT_EVENT));
	assert_true(names("device-memory", GT_LEVELZERO, GT_DEVICE_MEMORY));
	assert_true(names("memory", GT_OPENCL, GT_BUFFER));
	assert_true(names("memory", GT_OPENCL, GT_HOST_MEMORY));
	assert_false(names("memory", GT_OPENCL, GT_SUBBUFFER));
	assert_true(names("object", GT_OPENCL, GT_CONTEXT));
	assert_false(names("object", GT_OPENCL, GT_BUFFER));
	assert_true(names("cl_mem", GT_OPENCL, GT_PIPE));
	assert_false(names("cl_mem", GT_OPENCL, GT_EVENT));
	assert_true(names("any", GT_CUDA, GT_GRAPH));
	assert_true(names("levelzero", GT_LEVELZERO, GT_FENCE));
	assert_false(names("levelzero", GT_OPENCL, GT_EVENT));
	assert_false(gt_select_add(&s, "evnt", 4));
	assert_false(gt_select_add(&s, "", 0));
	assert_false(gt_select_add(&s, "opencl.", 7));
	assert_false(gt_select_add(&s, ".event", 6));
	assert_memory_equal(&s, &(struct gt_select){ 0 }, sizeof s);
}

/* Some kinds share a name, so a reader cannot distinguish them either. */
static void every_kind_has_a_word(void **state)
{
	(void)state;
	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++) {
			struct gt_select s = { 0 };
			char word[96];

			gt_select_word(word, sizeof word, (enum gt_api)api, (enum gt_kind)kind);
			assert_true(gt_select_add(&s, word, strlen(word)));
			assert_true(s.has[api][kind]);
			for (int a = 0; a < GT_API_COUNT; a++)
				for (int k = 0; k < GT_KIND_COUNT; k++)
					if (s.has[a][k]) {
						assert_int_equal(a, api);
						assert_string_equal(gt_kinds[k].name,
								    gt_kinds[kind].name);
					}
		}
}

static void sizes_have_units(void **state)
{
	static const struct {
		const char *text;
		bool good, in_bytes;
		uint64_t value;
	} cases[] = {
		{ "10", true, false, 10 },
		{ "10B", true, true, 10 },
		{ "1KiB", true, true, 1024 },
		{ "3M", true, true, 3 << 20 },
		{ "2GiB", true, true, 2ull << 30 },
		{ "1TiB", true, true, 1ull << 40 },
		{ "18446744073709551615", true, false, UINT64_MAX },
		{ "18446744073709551616", false, false, 0 },
		{ "16777216TiB", false, false, 0 },
		{ "", false, false, 0 },
		{ "MiB", false, false, 0 },
		{ "1MB", false, false, 0 },
		{ "1.5MiB", false, false, 0 },
		{ "-1", false, false, 0 },
		{ "1 MiB", false, false, 0 },
		{ "00000000000000000000000000000000000001", false, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t value = 0;
		bool in_bytes = false;

		assert_int_equal(
			gt_size_parse(cases[i].text, strlen(cases[i].text), &value, &in_bytes),
			cases[i].good);
		if (cases[i].good) {
			assert_int_equal(value, cases[i].value);
			assert_int_equal(in_bytes, cases[i].in_bytes);
		}
	}
}

static void limits_are_read(void **state)
{
	struct gt_limits l;
	struct gt_error error;

	(void)state;
	assert_int_equal(gt_limits_parse(&l, "memory>1MiB,event>10,cl_mem>=5,any", &error), 0);
	assert_int_equal(l.count, 4);
	assert_true(l.list[0].in_bytes);
	assert_int_equal(l.list[0].most, 1 << 20);
	assert_false(l.list[1].in_bytes);
	assert_int_equal(l.list[1].most, 10);
	assert_int_equal(l.list[2].most, 4);
	assert_int_equal(l.list[3].most, 0);
	assert_string_equal(l.list[2].text, "cl_mem>=5");
	gt_limits_fini(&l);
	assert_int_equal(gt_limits_parse(&l, "residue>100KiB,Residue", &error), 0);
	assert_true(l.list[0].of_residue && l.list[1].of_residue);
	assert_int_equal(l.list[0].most, 100 << 10);
	assert_memory_equal(&l.list[0].what, &(struct gt_select){ 0 }, sizeof l.list[0].what);
	gt_limits_fini(&l);
}

static void mistakes_are_located(void **state)
{
	static const struct {
		const char *spec, *says;
	} cases[] = {
		{ "", "character 1," },
		{ "event,evnt>1", "character 7, 'evnt'" },
		{ "event>", "character 6, '>'" },
		{ "event>1,", "character 9," },
		{ "memory>10", "character 7, '>10'" },
		{ "residue>10", "character 8, '>10'" },
		{ "event>=0", "character 6, '>=0'" },
		{ "event<1", "character 1, 'event<1'" },
		{ "event>1MB", "character 6, '>1MB'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gt_limits l;
		struct gt_error error = { "" };

		assert_int_not_equal(gt_limits_parse(&l, cases[i].spec, &error), 0);
		assert_non_null(strstr(error.text, cases[i].says));
		assert_int_equal(l.count, 0);
	}
}

static void rates_of_growth_are_read(void **state)
{
	static const struct {
		const char *text;
		double bytes, resources;
	} cases[] = {
		{ "any", 0, 0 },
		{ "64KiB/s", 65536, -1 },
		{ "36MB/h", 10000, -1 },
		{ "10/min", -1, 10 / 60.0 },
		{ "6K/min,86400/day", 1024 * 6 / 60.0, 1 },
		{ "0B/s", 0, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gt_growth_limit l;
		struct gt_error error = { "" };

		assert_int_equal(gt_growth_limit_parse(&l, cases[i].text, &error), 0);
		assert_true(fabs(l.bytes_per_second - cases[i].bytes) < 1e-9);
		assert_true(fabs(l.resources_per_second - cases[i].resources) < 1e-9);
	}
}

static void wrong_rates_are_refused(void **state)
{
	static const char *const wrong[] = { "",        "1MiB",    "1MiB/", "/s",   "fast",
					     "1MB/y",   "1XB/s",   "-1/s",  "1/s,", "1/s,2",
					     "1MiBB/s", "any,1/s", "1KKB/s" };

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct gt_growth_limit l;
		struct gt_error error = { "" };

		assert_int_not_equal(gt_growth_limit_parse(&l, wrong[i], &error), 0);
		assert_true(*error.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_select_kinds),
		cmocka_unit_test(every_kind_has_a_word),
		cmocka_unit_test(sizes_have_units),
		cmocka_unit_test(limits_are_read),
		cmocka_unit_test(mistakes_are_located),
		cmocka_unit_test(rates_of_growth_are_read),
		cmocka_unit_test(wrong_rates_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
