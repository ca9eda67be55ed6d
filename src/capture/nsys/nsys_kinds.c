/* SPDX-License-Identifier: MIT */
/* nsys_kinds.c - Nsight's numbers for kinds of memory and operations, as rows of our table. */
#include "capture/nsys/nsys_kinds.h"

#include <string.h>

struct enum_name {
	const char *ending; /* of the name in the enum table */
	uint8_t value;
};

/* By number, as in all schemas so far; exports before 2022 have no enum tables. */
static const struct enum_name kinds[] = {
	{ "_KIND_PAGEABLE", 0 },       { "_KIND_PINNED", 1 },  { "_KIND_DEVICE", 2 },
	{ "_KIND_ARRAY", 3 },          { "_KIND_MANAGED", 4 }, { "_KIND_DEVICE_STATIC", 5 },
	{ "_KIND_MANAGED_STATIC", 6 }, { "_KIND_UNKNOWN", 7 }, { NULL, 0 },
};

static const struct enum_name operations[] = {
	{ "_ALLOCATION", GT_NSYS_ALLOCATION },
	{ "_DEALLOCATION", GT_NSYS_DEALLOCATION },
	{ NULL, 0 },
};

static const struct enum_name pools[] = {
	{ "_INVALID", GT_NSYS_POOL_OTHER },
	{ "_CREATED", GT_NSYS_POOL_CREATED },
	{ "_DESTROYED", GT_NSYS_POOL_DESTROYED },
	{ "_TRIMMED", GT_NSYS_POOL_OTHER },
	{ NULL, 0 },
};

static const struct {
	enum gt_function_id row[2]; /* by operation */
} rows[GT_NSYS_KINDS] = {
	{ { GT_FN_nsysPageableAllocation, GT_FN_nsysPageableDeallocation } },
	{ { GT_FN_nsysPinnedAllocation, GT_FN_nsysPinnedDeallocation } },
	{ { GT_FN_nsysDeviceAllocation, GT_FN_nsysDeviceDeallocation } },
	{ { GT_FN_nsysArrayAllocation, GT_FN_nsysArrayDeallocation } },
	{ { GT_FN_nsysManagedAllocation, GT_FN_nsysManagedDeallocation } },
	{ { GT_FN_nsysDeviceStaticAllocation, GT_FN_nsysDeviceStaticDeallocation } },
	{ { GT_FN_nsysManagedStaticAllocation, GT_FN_nsysManagedStaticDeallocation } },
	{ { GT_FN_nsysUnknownAllocation, GT_FN_nsysUnknownDeallocation } },
};

static void map_fill(uint8_t *map, uint8_t other, const struct enum_name *words)
{
	memset(map, other, GT_NSYS_ENUM_MAX);
	for (size_t i = 0; words[i].ending; i++)
		map[i] = words[i].value;
}

void gt_nsys_enums_init(struct gt_nsys_enums *enums)
{
	map_fill(enums->kinds, GT_NSYS_KINDS - 1, kinds);
	map_fill(enums->operations, GT_NSYS_NEITHER, operations);
	map_fill(enums->pools, GT_NSYS_POOL_OTHER, pools);
}

static bool ends_in(const char *name, const char *ending)
{
	size_t length = strlen(name), tail = strlen(ending);

	return length >= tail && !strcmp(name + length - tail, ending);
}

void gt_nsys_enums_set(struct gt_nsys_enums *enums, enum gt_nsys_enum which, int64_t number,
		       const char *name)
{
	const struct enum_name *words = which == GT_NSYS_ENUM_KIND      ? kinds :
					which == GT_NSYS_ENUM_OPERATION ? operations :
									  pools;
	uint8_t *map = which == GT_NSYS_ENUM_KIND      ? enums->kinds :
		       which == GT_NSYS_ENUM_OPERATION ? enums->operations :
							 enums->pools;

	if (number < 0 || number >= GT_NSYS_ENUM_MAX || !name)
		return;
	for (; words->ending; words++)
		if (ends_in(name, words->ending))
			map[number] = words->value;
}

static uint8_t map_get(const uint8_t *map, uint8_t other, int64_t number)
{
	return number < 0 || number >= GT_NSYS_ENUM_MAX ? other : map[number];
}

enum gt_function_id gt_nsys_memory_row(const struct gt_nsys_enums *enums, int64_t kind,
				       int64_t operation)
{
	uint8_t op = map_get(enums->operations, GT_NSYS_NEITHER, operation);
	uint8_t k = map_get(enums->kinds, GT_NSYS_KINDS - 1, kind);

	return op == GT_NSYS_NEITHER ? GT_FN_NONE : rows[k].row[op];
}

enum gt_function_id gt_nsys_pool_row(const struct gt_nsys_enums *enums, int64_t operation)
{
	switch ((enum gt_nsys_pool)map_get(enums->pools, GT_NSYS_POOL_OTHER, operation)) {
	case GT_NSYS_POOL_CREATED: return GT_FN_nsysPoolCreated;
	case GT_NSYS_POOL_DESTROYED: return GT_FN_nsysPoolDestroyed;
	case GT_NSYS_POOL_OTHER: break;
	}
	return GT_FN_NONE;
}
