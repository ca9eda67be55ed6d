/* SPDX-License-Identifier: MIT */
/*
 * context.c - contexts, and residency, which host memory always has.
 */
#include "fake.h"

#include "tables.h"

struct context {
	struct object base;
};

static ze_result_t context_new(ze_driver_handle_t driver, const ze_context_desc_t *desc,
			       ze_context_handle_t *out)
{
	NEED(driver_check(driver));
	NEED_POINTER(desc);
	NEED_POINTER(out);
	*out = (ze_context_handle_t)object_new(KIND_CONTEXT, struct context);
	return *out ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

/* Made once by the driver itself; no program may destroy it, none does. */
ze_context_handle_t context_default(void)
{
	static _Atomic(struct context *) the_one;
	struct context *known = atomic_load(&the_one);
	struct context *mine;

	if (known)
		return (ze_context_handle_t)known;
	mine = object_new(KIND_CONTEXT, struct context);
	if (!mine)
		return NULL;
	if (!atomic_compare_exchange_strong(&the_one, &known, mine)) {
		object_free(mine, KIND_CONTEXT);
		return (ze_context_handle_t)known;
	}
	/* the driver's, not the program's */
	object_count(KIND_CONTEXT, -1);
	return (ze_context_handle_t)mine;
}

ze_result_t ZE_APICALL fake_zeContextCreate(ze_driver_handle_t driver,
					    const ze_context_desc_t *desc, ze_context_handle_t *out)
{
	ENTER(zeContextCreate);
	return context_new(driver, desc, out);
}

ze_result_t ZE_APICALL fake_zeContextCreateEx(ze_driver_handle_t driver,
					      const ze_context_desc_t *desc, uint32_t device_count,
					      ze_device_handle_t *devices, ze_context_handle_t *out)
{
	ENTER(zeContextCreateEx);
	for (uint32_t i = 0; devices && i < device_count; i++)
		NEED(device_check(devices[i]));
	return context_new(driver, desc, out);
}

ze_result_t ZE_APICALL fake_zeContextDestroy(ze_context_handle_t context)
{
	ENTER(zeContextDestroy);
	return object_free(context, KIND_CONTEXT);
}

ze_result_t ZE_APICALL fake_zeContextGetStatus(ze_context_handle_t context)
{
	ENTER(zeContextGetStatus);
	return object_check(context, KIND_CONTEXT);
}

ze_result_t ZE_APICALL fake_zeContextSystemBarrier(ze_context_handle_t context,
						   ze_device_handle_t device)
{
	ENTER(zeContextSystemBarrier);
	return place_check(context, device);
}

ze_result_t ZE_APICALL fake_zeContextMakeMemoryResident(ze_context_handle_t context,
							ze_device_handle_t device, void *ptr,
							size_t size)
{
	ENTER(zeContextMakeMemoryResident);
	(void)size;
	NEED_POINTER(ptr);
	return place_check(context, device);
}

ze_result_t ZE_APICALL fake_zeContextEvictMemory(ze_context_handle_t context,
						 ze_device_handle_t device, void *ptr, size_t size)
{
	ENTER(zeContextEvictMemory);
	(void)size;
	NEED_POINTER(ptr);
	return place_check(context, device);
}

ze_result_t ZE_APICALL fake_zeContextMakeImageResident(ze_context_handle_t context,
						       ze_device_handle_t device,
						       ze_image_handle_t image)
{
	ENTER(zeContextMakeImageResident);
	NEED(object_check(image, KIND_IMAGE));
	return place_check(context, device);
}

ze_result_t ZE_APICALL fake_zeContextEvictImage(ze_context_handle_t context,
						ze_device_handle_t device, ze_image_handle_t image)
{
	ENTER(zeContextEvictImage);
	NEED(object_check(image, KIND_IMAGE));
	return place_check(context, device);
}
