/* driver.c - what only the Level Zero driver knows of a resource. */
#include <string.h>

#include "capture/levelzero/levelzero.h"

static ze_result_t (*address_range)(ze_context_handle_t context, const void *ptr, void **base,
				    size_t *size);

void gt_ze_take_address_range(void *function)
{
	memcpy(&address_range, &function, sizeof function);
}

/* Memory opened from another process: the call does not say how much it is. */
static uint64_t size_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	size_t size = 0;
	void *base;

	if (row == GT_FN_zeMemOpenIpcHandle && address_range &&
	    address_range((ze_context_handle_t)(uintptr_t)call->argv[0], (void *)(uintptr_t)handle, &base,
			  &size))
		size = 0;
	return size;
}

const struct gt_call_door gt_ze_door = { .size = size_of };
