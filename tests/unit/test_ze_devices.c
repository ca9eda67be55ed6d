/* SPDX-License-Identifier: MIT */
/* test_ze_devices.c - which Level Zero device a resource is on, as seen from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "capture/ebpf/ze_devices.h"

enum { FIRST = 0x1000, SECOND = 0x2000, TILE_0 = 0x3000, TILE_1 = 0x4000, STRANGER = 0x5000 };

static struct gt_ze_devices *devices;
static struct gt_places places;

static void list(enum gt_probe_asked asked, uint64_t of, uint64_t first, uint64_t second)
{
	const uint64_t array[] = { first, second };
	struct gt_probe_call c = {
		.row = GT_PROBE_ASKED + asked, .array = 2, .array_count = 2, .words = { of }
	};

	gt_ze_devices_take(&devices, &c, array);
}

static void describe(uint64_t device, uint32_t type, const char *name)
{
	struct gt_probe_call c = { .row = GT_PROBE_ASKED + GT_ASKED_DEVICE_NAME,
				   .words = { device },
				   .copies = { type } };

	memcpy(&c.copies[1], name, strnlen(name, GT_ZE_DEVICE_NAME));
	gt_ze_devices_take(&devices, &c, NULL);
}

static const char *place_of(uint64_t device)
{
	uint64_t argv[GT_ARGS_MAX] = { [zeMemAllocDevice__hDevice] = device };
	uint16_t place = gt_ze_devices_place(devices, &places, GT_FN_zeMemAllocDevice, argv);

	return place ? gt_places_get(&places, place)->name : "";
}

static int forget(void **state)
{
	(void)state;
	gt_ze_devices_free(devices);
	devices = NULL;
	places = (struct gt_places){ 0 };
	return 0;
}

static void devices_have_the_numbers_of_their_lists(void **state)
{
	(void)state;
	assert_string_equal(place_of(FIRST), "");
	list(GT_ASKED_DEVICES, 1, FIRST, SECOND);
	assert_string_equal(place_of(FIRST), "Level Zero device 0");
	describe(FIRST, GT_ZE_GPU, "Arc");
	describe(SECOND, GT_ZE_NPU, "a name that is longer than what there is room for");
	assert_string_equal(place_of(FIRST), "GPU 0: Arc");
	assert_string_equal(place_of(SECOND), "NPU 1: a name that is longer than what there i");
	assert_string_equal(place_of(STRANGER), "");
}

static void sub_devices_have_the_number_of_the_whole(void **state)
{
	(void)state;
	list(GT_ASKED_SUB_DEVICES, SECOND, TILE_0, TILE_1);
	describe(TILE_1, GT_ZE_GPU, "Max");
	assert_string_equal(place_of(TILE_1), "");
	list(GT_ASKED_DEVICES, 1, FIRST, SECOND);
	assert_string_equal(place_of(TILE_1), "GPU 1.1: Max");
	assert_string_equal(place_of(TILE_0), "Level Zero device 1.0");
}

static void questions_that_failed_say_nothing(void **state)
{
	const uint64_t array[] = { FIRST };
	struct gt_probe_call c = { .row = GT_PROBE_ASKED + GT_ASKED_DEVICES, .array = 1, .ret = 1 };

	(void)state;
	gt_ze_devices_take(&devices, &c, array);
	assert_null(devices);
	/* nor those about OpenCL */
	c = (struct gt_probe_call){ .row = GT_PROBE_ASKED + GT_ASKED_PLATFORMS, .array = 1 };
	gt_ze_devices_take(&devices, &c, array);
	assert_null(devices);
	/* a name that could not be read */
	list(GT_ASKED_DEVICES, 1, FIRST, SECOND);
	c = (struct gt_probe_call){ .row = GT_PROBE_ASKED + GT_ASKED_DEVICE_NAME,
				    .words = { FIRST },
				    .copies = { GT_ZE_GPU },
				    .unread = 2 };
	gt_ze_devices_take(&devices, &c, NULL);
	assert_string_equal(place_of(FIRST), "Level Zero device 0");
}

static void a_process_may_ask_without_end(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 1000; i++)
		list(GT_ASKED_DEVICES, 1, i << 16, i << 16 | 1);
	assert_string_equal(place_of(1 << 16), "Level Zero device 0");
	assert_string_equal(place_of(1000 << 16), "");
}

/* As in the tables: "((ze_context_handle_t, hContext), …)". */
static const struct {
	enum gt_function_id id;
	const char *args;
} rows[] = {
#define FN(fn, ret, args, ...) { GT_FN_##fn, #args },
#define ALSO(...)
#include "api/apis.def"
#undef FN
#undef ALSO
};

static bool creates(enum gt_function_id id)
{
	const struct gt_function *fn = &gt_functions[id];
	bool found = false;

	do
		found |= fn->effect == GT_CREATE;
	while (++fn < gt_functions + GT_FN_COUNT && fn->also);
	return found;
}

static void every_function_that_is_given_a_device_is_known(void **state)
{
	size_t known = 0;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *at = strstr(rows[i].args, "(ze_device_handle_t, ");
		uint8_t argument = gt_ze_device_argument(rows[i].id), index = 0;

		if (!at || !creates(rows[i].id)) {
			assert_int_equal(argument, GT_ZE_NO_DEVICE);
			continue;
		}
		for (const char *c = rows[i].args + 1; c < at; c++)
			index += *c == '(';
		assert_int_equal(argument, index);
		known++;
	}
	assert_true(known >= 18);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(devices_have_the_numbers_of_their_lists, forget),
		cmocka_unit_test_teardown(sub_devices_have_the_number_of_the_whole, forget),
		cmocka_unit_test_teardown(questions_that_failed_say_nothing, forget),
		cmocka_unit_test_teardown(a_process_may_ask_without_end, forget),
		cmocka_unit_test(every_function_that_is_given_a_device_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
