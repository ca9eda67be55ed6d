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

static const struct {
	const struct enum_name *names;
	uint8_t other; /* for numbers without a name */
} defaults[GT_NSYS_ENUM_COUNT] = {
	[GT_NSYS_ENUM_KIND] = { kinds, GT_NSYS_KINDS - 1 },
	[GT_NSYS_ENUM_OPERATION] = { operations, GT_NSYS_NEITHER },
	[GT_NSYS_ENUM_POOL] = { pools, GT_NSYS_POOL_OTHER },
};

void gt_nsys_enums_init(struct gt_nsys_enums *enums)
{
	for (int which = 0; which < GT_NSYS_ENUM_COUNT; which++) {
		const struct enum_name *names = defaults[which].names;

		memset(enums->values[which], defaults[which].other, GT_NSYS_ENUM_MAX);
		for (size_t i = 0; names[i].ending; i++)
			enums->values[which][i] = names[i].value;
	}
}

static bool ends_in(const char *name, const char *ending)
{
	size_t length = strlen(name), tail = strlen(ending);

	return length >= tail && !strcmp(name + length - tail, ending);
}

void gt_nsys_enums_set(struct gt_nsys_enums *enums, enum gt_nsys_enum which, int64_t number,
		       const char *name)
{
	if (number < 0 || number >= GT_NSYS_ENUM_MAX || !name)
		return;
	for (const struct enum_name *n = defaults[which].names; n->ending; n++)
		if (ends_in(name, n->ending))
			enums->values[which][number] = n->value;
}

static uint8_t value_of(const struct gt_nsys_enums *enums, enum gt_nsys_enum which, int64_t number)
{
	return number < 0 || number >= GT_NSYS_ENUM_MAX ? defaults[which].other :
							  enums->values[which][number];
}

enum gt_function_id gt_nsys_memory_row(const struct gt_nsys_enums *enums, int64_t kind,
				       int64_t operation)
{
	uint8_t op = value_of(enums, GT_NSYS_ENUM_OPERATION, operation);
	uint8_t k = value_of(enums, GT_NSYS_ENUM_KIND, kind);

	return op == GT_NSYS_NEITHER ? GT_FN_NONE : rows[k].row[op];
}

enum gt_function_id gt_nsys_pool_row(const struct gt_nsys_enums *enums, int64_t operation)
{
	switch ((enum gt_nsys_pool)value_of(enums, GT_NSYS_ENUM_POOL, operation)) {
	case GT_NSYS_POOL_CREATED: return GT_FN_nsysPoolCreated;
	case GT_NSYS_POOL_DESTROYED: return GT_FN_nsysPoolDestroyed;
	case GT_NSYS_POOL_OTHER: break;
	}
	return GT_FN_NONE;
}
