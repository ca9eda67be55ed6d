/* SPDX-License-Identifier: MIT */
/* pool_calls.c - reports of allocators above the driver (api/pool.def), seen from outside. */
#include "capture/ebpf/pool_calls.h"

#include <string.h>

/* An argument of its own type, from the word that it was passed in. */
#define FROM_WORD(id, pair) FROM_WORD_(id, UNWRAP pair)
#define FROM_WORD_(...)     FROM_WORD__(__VA_ARGS__)
#define FROM_WORD__(id, type, name)                                                                \
	({                                                                                         \
		type value;                                                                        \
		memcpy(&value, &argv[id##__##name], sizeof value);                                 \
		value;                                                                             \
	})

/* clang-format off */
#define REPORT(id, symbol, args, ...) REPORT_(id, (__VA_ARGS__), UNWRAP args)
#define REPORT_(id, columns, ...)                                                             \
	static struct gt_pool_report columns_##id(PARAMS(__VA_ARGS__))                        \
	{                                                                                     \
		return (struct gt_pool_report)GT_POOL_COLUMNS columns;                        \
	}                                                                                     \
	static struct gt_pool_report read_##id(const uint64_t *argv)                          \
	{                                                                                     \
		return columns_##id(FOLD(FROM_WORD, id, __VA_ARGS__));                        \
	}
#include "api/pool.def"

static const struct {
	const char *symbol;
	struct gt_pool_report (*read)(const uint64_t *argv);
	enum gt_function_id function;
} reports[] = {
#define REPORT(id, symbol, ...) { symbol, read_##id, GT_FN_##id },
#include "api/pool.def"
};
/* clang-format on */

enum { REPORTS = sizeof reports / sizeof *reports };

enum gt_function_id gt_pool_function(const char *symbol)
{
	for (size_t i = 0; i < REPORTS; i++)
		if (!strcmp(reports[i].symbol, symbol))
			return reports[i].function;
	return GT_FN_NONE;
}

bool gt_pool_is_for_cpu(enum gt_function_id function)
{
	return function == GT_FN_torch_cpu_new || function == GT_FN_torch_cpu_delete;
}

bool gt_pool_read(struct gt_pool_report *report, enum gt_function_id function, const uint64_t *argv)
{
	for (size_t i = 0; i < REPORTS; i++)
		if (reports[i].function == function) {
			*report = reports[i].read(argv);
			return true;
		}
	return false;
}
