/* SPDX-License-Identifier: MIT */
/* arguments.c - the arguments of functions, as their rows have them. */
#include "api/arguments.h"

#include <string.h>

#include "api/functions.h"

#define TEXT(...) #__VA_ARGS__

/* "(cl_context, context), (cl_mem_flags, flags), (size_t, size)" */
static const char *const lists[GT_FN_COUNT] = {
#define FN(fn, ret, args, ...) [GT_FN_##fn] = TEXT args,
#define ALSO(...)
#include "api/apis.def"
#undef FN
#undef ALSO
};

static bool is_number(const char *type, size_t size)
{
	static const char *const types[] = { "size_t",   "uint32_t", "uint64_t",     "int",
					     "unsigned", "cl_uint",  "unsigned int", "cl_bool" };

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strlen(types[i]) == size && !memcmp(types[i], type, size))
			return true;
	return false;
}

struct gt_argument gt_argument_of(uint16_t function, size_t number)
{
	const char *at = function < GT_FN_COUNT && lists[function] ? lists[function] : "";
	size_t type_size, name_size;

	for (; number && at; number--) {
		at = strchr(at, ')');
		at = at ? strchr(at, '(') : NULL;
	}
	if (!at || *at++ != '(')
		return (struct gt_argument){ .name = "" };
	type_size = strcspn(at, ",");
	name_size = at[type_size] ? strcspn(at + type_size + 2, ")") : 0;
	return (struct gt_argument){ .name = name_size ? at + type_size + 2 : "",
				     .name_size = name_size,
				     .is_number = is_number(at, type_size) };
}
