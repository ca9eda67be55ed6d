/* driver.c - what only the Level Zero driver knows of a resource. */
#include <string.h>

#include "capture/levelzero/levelzero.h"

static ze_result_t (*address_range)(ze_context_handle_t context, const void *ptr, void **base,
				    size_t *size);

static ze_result_t (*image_memory)(ze_image_handle_t image,
				   ze_image_memory_properties_exp_t *memory);

void gt_ze_take_questions(const char *table, ze_api_version_t version, void *const *functions)
{
	enum { MEM_GET_ADDRESS_RANGE = 5, IMAGE_EXP_GET_MEMORY_PROPERTIES = 0 };

	if (!strcmp(table, "Mem"))
		memcpy(&address_range, &functions[MEM_GET_ADDRESS_RANGE], sizeof *functions);
	if (!strcmp(table, "ImageExp") && (uint32_t)version >= ZE_MAKE_VERSION(1, 2))
		memcpy(&image_memory, &functions[IMAGE_EXP_GET_MEMORY_PROPERTIES],
		       sizeof *functions);
}

/* Memory opened from another process: the call does not say how much it is. */
static uint64_t memory_size(ze_context_handle_t context, void *ptr)
{
	size_t size = 0;
	void *base;

	return address_range && !address_range(context, ptr, &base, &size) ? size : 0;
}

/* Where the driver has the extension; an image without it counts no bytes. */
static uint64_t image_size(ze_image_handle_t image)
{
	ze_image_memory_properties_exp_t memory = {
		.stype = ZE_STRUCTURE_TYPE_IMAGE_MEMORY_EXP_PROPERTIES,
	};

	return image_memory && !image_memory(image, &memory) ? memory.size : 0;
}

static uint64_t size_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	if (row == GT_FN_zeMemOpenIpcHandle)
		return memory_size((ze_context_handle_t)(uintptr_t)call->argv[0],
				   (void *)(uintptr_t)handle);
	return row == GT_FN_zeImageCreate ? image_size((ze_image_handle_t)(uintptr_t)handle) : 0;
}

const struct gt_call_door gt_ze_door = { .size = size_of };
