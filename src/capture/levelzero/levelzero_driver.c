/* SPDX-License-Identifier: MIT */
/* levelzero_driver.c - what only the Level Zero driver knows of a resource. */
#include <string.h>

#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>

#include "api/levelzero_image.h"
#include "capture/levelzero/levelzero.h"

static ze_result_t (*address_range)(ze_context_handle_t context, const void *ptr, void **base,
				    size_t *size);

static ze_result_t (*image_memory)(ze_image_handle_t image,
				   ze_image_memory_properties_exp_t *memory);

/* Sysman, which the program must have enabled with ZES_ENABLE_SYSMAN=1. */
static ze_result_t (*get_drivers)(uint32_t *count, ze_driver_handle_t *drivers);
static ze_result_t (*get_devices)(ze_driver_handle_t driver, uint32_t *count,
				  ze_device_handle_t *devices);
static ze_result_t (*get_modules)(zes_device_handle_t device, uint32_t *count,
				  zes_mem_handle_t *modules);
static ze_result_t (*get_state)(zes_mem_handle_t module, zes_mem_state_t *state);

enum { DRIVERS_MAX = 4, DEVICES_MAX = 16, MODULES_MAX = 16 };

/*
 * Lists the drivers; returns their number, which is asked for first: given more room than there are
 * devices, Intel's driver leaves the rest of the list and its length as they are.
 */
static uint32_t list_drivers(ze_driver_handle_t list[DRIVERS_MAX])
{
	uint32_t count = 0;

	if (!get_drivers || get_drivers(&count, NULL))
		return 0;
	if (count > DRIVERS_MAX)
		count = DRIVERS_MAX;
	return count && !get_drivers(&count, list) ? count : 0;
}

/* The same for the devices of a driver. */
static uint32_t list_devices(ze_driver_handle_t driver, ze_device_handle_t list[DEVICES_MAX])
{
	uint32_t count = 0;

	if (!get_devices || get_devices(driver, &count, NULL))
		return 0;
	if (count > DEVICES_MAX)
		count = DEVICES_MAX;
	return count && !get_devices(driver, &count, list) ? count : 0;
}

/* Adds the bytes used on one device; false when the driver does not know. */
static bool add_used(ze_device_handle_t device, int64_t *used)
{
	zes_mem_handle_t modules[MODULES_MAX];
	uint32_t count = MODULES_MAX;
	bool is_known = false;

	if (get_modules((zes_device_handle_t)device, &count, modules))
		return false;
	for (uint32_t i = 0; i < count && i < MODULES_MAX; i++) {
		zes_mem_state_t state = { .stype = ZES_STRUCTURE_TYPE_MEM_STATE };

		if (!get_state(modules[i], &state)) {
			*used += (int64_t)(state.size - state.free);
			is_known = true;
		}
	}
	return is_known;
}

static int64_t device_memory_used(void)
{
	ze_driver_handle_t drivers[DRIVERS_MAX];
	ze_device_handle_t devices[DEVICES_MAX];
	uint32_t driver_count;
	int64_t used = 0;
	bool is_known = false;

	if (!get_modules || !get_state)
		return -1;
	driver_count = list_drivers(drivers);
	for (uint32_t d = 0; d < driver_count; d++) {
		uint32_t count = list_devices(drivers[d], devices);

		for (uint32_t i = 0; i < count; i++)
			is_known |= add_used(devices[i], &used);
	}
	return is_known ? used : -1;
}

/* The functions with which we ask the driver, and the slots of the tables that contain them. */
static const struct query {
	const char *getter;
	uint32_t index, minor;
	void *to;
} queries[] = {
	{ "zeGetMemProcAddrTable", 5, 0, &address_range },
	{ "zeGetImageExpProcAddrTable", 0, 2, &image_memory },
	{ "zeGetDriverProcAddrTable", 0, 0, &get_drivers },
	{ "zeGetDeviceProcAddrTable", 0, 0, &get_devices },
	{ "zeGetDeviceProcAddrTable", 2, 0, &gt_ze_get_properties },
	{ "zesGetDeviceProcAddrTable", 16, 0, &get_modules },
	{ "zesGetMemoryProcAddrTable", 1, 0, &get_state },
};

_Static_assert(offsetof(ze_device_dditable_t, pfnGetProperties) == 2 * sizeof(void *), "slot");
_Static_assert(offsetof(zes_device_dditable_t, pfnEnumMemoryModules) == 16 * sizeof(void *),
	       "slot");
_Static_assert(offsetof(zes_memory_dditable_t, pfnGetState) == sizeof(void *), "slot");

void gt_ze_take_queries(const char *getter, ze_api_version_t version, void *const *functions)
{
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
		const struct query *q = &queries[i];

		if (!strcmp(q->getter, getter) && (uint32_t)version >= ZE_MAKE_VERSION(1, q->minor))
			memcpy(q->to, &functions[q->index], sizeof *functions);
	}
	gt_guest_set_device_query(device_memory_used);
}

/* Memory opened from another process: the call does not state its size. */
static uint64_t memory_size(ze_context_handle_t context, void *ptr)
{
	size_t size = 0;
	void *base;

	return address_range && !address_range(context, ptr, &base, &size) ? size : 0;
}

#define IS(ours, theirs)                                                                           \
	_Static_assert((int)(ours) == (int)(theirs), "api/levelzero_image.h: " #theirs)
IS(GT_ZE_IMAGE_1D, ZE_IMAGE_TYPE_1D);
IS(GT_ZE_IMAGE_1D_ARRAY, ZE_IMAGE_TYPE_1DARRAY);
IS(GT_ZE_IMAGE_2D, ZE_IMAGE_TYPE_2D);
IS(GT_ZE_IMAGE_2D_ARRAY, ZE_IMAGE_TYPE_2DARRAY);
IS(GT_ZE_IMAGE_3D, ZE_IMAGE_TYPE_3D);
IS(GT_ZE_IMAGE_BUFFER, ZE_IMAGE_TYPE_BUFFER);
/* the rows of its table, by their numbers */
IS(15, ZE_IMAGE_FORMAT_LAYOUT_NV12);
IS(26, ZE_IMAGE_FORMAT_LAYOUT_Y216);
IS(35, ZE_IMAGE_FORMAT_LAYOUT_I420);
IS(42, ZE_IMAGE_FORMAT_LAYOUT_BRGP);

/*
 * True for an image of memory that the program has allocated itself (ze_image_pitched_exp_desc_t,
 * spec 1.9), whose bytes are counted there.
 */
static bool is_of_memory(const ze_image_desc_t *desc)
{
	enum { PITCHED_IMAGE_DESC = 0x0002001f, CHAIN_MAX = 16 };
	const ze_base_desc_t *next = desc->pNext;

	for (int i = 0; next && i < CHAIN_MAX; i++, next = next->pNext)
		if ((uint32_t)next->stype == PITCHED_IMAGE_DESC)
			return true;
	return false;
}

/* The driver is asked for pitches, if it has the extension. */
static uint64_t image_size(const ze_image_desc_t *desc, ze_image_handle_t image)
{
	ze_image_memory_properties_exp_t memory = {
		.stype = ZE_STRUCTURE_TYPE_IMAGE_MEMORY_EXP_PROPERTIES,
	};
	bool is_known = image_memory && !image_memory(image, &memory);

	if (!desc || is_of_memory(desc))
		return 0;
	return gt_ze_image_bytes(
		&(struct gt_ze_image){ .type = desc->type,
				       .layout = desc->format.layout,
				       .width = desc->width,
				       .height = desc->height,
				       .depth = desc->depth,
				       .array_levels = desc->arraylevels },
		is_known ? &(struct gt_ze_image_memory){ .size = memory.size,
							 .row_pitch = memory.rowPitch,
							 .slice_pitch = memory.slicePitch } :
			   NULL);
}

static uint64_t size_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	if (row == GT_FN_zeMemOpenIpcHandle || row == GT_FN_zexMemOpenIpcHandles)
		return memory_size((ze_context_handle_t)(uintptr_t)call->argv[0],
				   (void *)(uintptr_t)handle);
	if (row == GT_FN_zeImageCreate)
		return image_size(
			(const ze_image_desc_t *)(uintptr_t)call->argv[zeImageCreate__desc],
			(ze_image_handle_t)(uintptr_t)handle);
	return 0;
}

const struct gt_call_door gt_ze_door = { .size = size_of, .place = gt_ze_place_of };
