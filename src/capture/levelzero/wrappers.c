/* SPDX-License-Identifier: MIT */
/* wrappers.c - one wrapper per function of the dispatch tables, and the slots they go into. */
#include <string.h>

#include "capture/levelzero/levelzero.h"

/* catches a wrapper that no line of slots.def uses */
#pragma GCC diagnostic error "-Wunused-function"

#define FN(fn, ret, args, effect, kind, handle, size, owner)                                       \
	GT_CHECK_ROW(fn, ret, args, size)                                                          \
	FN_(fn, ret, UNWRAP args)
#define FN_(...) FN__(__VA_ARGS__)
#define FN__(fn, ret, ...)                                                                         \
	static GT_TYPE_##ret (*next_##fn)(PARAMS(__VA_ARGS__));                                    \
	GT_WRAP(&gt_ze_door, ret, fn, next_##fn, __VA_ARGS__)
#define ALSO(...)
#include "api/levelzero.def"
#include "api/levelzero_tools.def"
#undef FN
#undef ALSO

static ze_result_t (*next_zeDriverGetExtensionFunctionAddress)(ze_driver_handle_t driver,
							       const char *name, void **address);

static ze_result_t wrap_zeDriverGetExtensionFunctionAddress(ze_driver_handle_t driver,
							    const char *name, void **address)
{
	ze_result_t e = next_zeDriverGetExtensionFunctionAddress(driver, name, address);

	if (e == ZE_RESULT_SUCCESS && name && address && *address)
		gt_ze_wrap_address(name, address);
	return e;
}

static ze_result_t (*next_zeDeviceGet)(ze_driver_handle_t driver, uint32_t *count,
				       ze_device_handle_t *list);
static ze_result_t (*next_zeDeviceGetSubDevices)(ze_device_handle_t device, uint32_t *count,
						 ze_device_handle_t *list);

/*
 * How many of a list are there: `room` as the program has it, and `have` as the driver says. Given
 * more room than there are devices, Intel's driver leaves the list and its length as they are.
 */
static uint32_t listed(const uint32_t *room, uint32_t have)
{
	return *room < have ? *room : have;
}

static ze_result_t wrap_zeDeviceGet(ze_driver_handle_t driver, uint32_t *count,
				    ze_device_handle_t *list)
{
	ze_result_t e = next_zeDeviceGet(driver, count, list);
	uint32_t have = 0;

	if (!e && count && list && !next_zeDeviceGet(driver, &have, NULL))
		gt_ze_devices_listed(list, listed(count, have), NULL);
	return e;
}

static ze_result_t wrap_zeDeviceGetSubDevices(ze_device_handle_t device, uint32_t *count,
					      ze_device_handle_t *list)
{
	ze_result_t e = next_zeDeviceGetSubDevices(device, count, list);
	uint32_t have = 0;

	if (!e && count && list && !next_zeDeviceGetSubDevices(device, &have, NULL))
		gt_ze_devices_listed(list, listed(count, have), device);
	return e;
}

static const struct slot {
	const char *table;
	uint32_t index, minor;
	void *wrapper, *next; /* next: a pointer to the function pointer below */
} slots[] = {
#define SLOT(table, index, minor, fn)                                                              \
	{ #table, index, minor, (void *)wrap_##fn, (void *)&next_##fn },
#include "capture/levelzero/slots.def"
#undef SLOT
};

void gt_ze_wrap_table(const char *table, ze_api_version_t version, void **functions)
{
	for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
		const struct slot *s = &slots[i];
		void **function = &functions[s->index];

		/* a table may come again, with our wrappers in it */
		if (strcmp(s->table, table) || (uint32_t)version < ZE_MAKE_VERSION(1, s->minor) ||
		    !*function || *function == s->wrapper)
			continue;
		memcpy(s->next, function, sizeof *function);
		*function = s->wrapper;
	}
}
