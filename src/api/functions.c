/* SPDX-License-Identifier: MIT */
/* functions.c - the rows of the .def files as tables. */
#include "api/functions.h"

#include <string.h>

#include "base/bytes.h"

/* A row's handle, size or owner column as a struct gt_ref; `argc` stands for no argument. */
#define REF_IN(n)               GT_IN, n, argc, argc, argc, 0
#define REF_INSIDE(n)           GT_IN, n, argc, argc, argc, 0, .inside = true
#define REF_ASK_OR(n)           GT_IN, n, argc, argc, argc, 0, .asks = true
#define REF_IN_IF(n, u)         GT_IN, n, argc, u, argc, 0, .only_if = true
#define REF_IN_UNLESS(n, u)     GT_IN, n, argc, u, argc, 0
#define REF_OUT(n)              GT_OUT, n, argc, argc, argc, 0
#define REF_INS(n, c)           GT_INS, n, c, argc, argc, 0
#define REF_INS_UNLESS(n, c, u) GT_INS, n, c, u, argc, 0
#define REF_OUTS(n, c, r)       GT_OUTS, n, c, argc, r, 0
#define REF_OUTS_ALL(n, c)      GT_OUTS, n, c, argc, argc, 0
#define REF_OUTS_WIDE(n, c, b)  GT_OUTS, n, c, argc, argc, 0, .stride = (b) / 8
#define REF_RET                 GT_RET, argc, argc, argc, argc, 0
#define REF_ASK                 GT_ASK, argc, argc, argc, argc, 0
#define REF_NONE                GT_NONE, argc, argc, argc, argc, 0
#define REF(fn, column)         REF_(fn, REF_##column)
#define REF_(fn, ...)           REF__(fn, __VA_ARGS__)
#define REF__(fn, how, n, c, u, r, ...)                                                            \
	{                                                                                          \
		.from = how, .arg = fn##__##n, .count = fn##__##c, .unless = fn##__##u,            \
		.room = fn##__##r, .offset = __VA_ARGS__                                           \
	}

#define SIZE_BYTES(n)               REF_IN(n)
#define SIZE_AT(n, field, o, bytes) GT_AT, n, argc, argc, argc, o
#define SIZE_ASK_OR(formula, ...)   REF_ASK
#define SIZE_ASK_ONLY               REF_ASK
#define SIZE_KEEP(...)              REF_NONE
#define SIZE_BYTES_KEEP(n, ...)     REF_IN(n)
#define SIZE_NONE                   REF_NONE
#define SIZE(fn, column)            REF_(fn, SIZE_##column)

#define RESULT_STATUS(type)       STATUS, SUCCESS, argc
#define RESULT_STATUS_ANY(type)   STATUS, ANY, argc
#define RESULT_HANDLE(type)       HANDLE, SUCCESS, argc
#define RESULT_HANDLE_OR(type, n) HANDLE, SUCCESS, n
#define RESULT_NOTHING            NOTHING, SUCCESS, argc
#define RESULT(fn, column)        RESULT_(fn, RESULT_##column)
#define RESULT_(fn, ...)          RESULT__(fn, __VA_ARGS__)
#define RESULT__(fn, result_, on_, n)                                                              \
	.result = GT_RESULT_##result_, .on = GT_ON_##on_, .code = fn##__##n

#define COLUMNS(fn, effect_, kind_, handle_, size_, owner_)                                        \
	.api = ROW_API, .effect = GT_##effect_, .kind = GT_##kind_, .argc = fn##__argc,            \
	.handle = REF(fn, handle_), .size = SIZE(fn, size_), .owner = REF(fn, owner_)

const struct gt_function gt_functions[GT_FN_COUNT] = {
#define FN(fn, ret, args, ...) [GT_FN_##fn] = { RESULT(fn, ret), COLUMNS(fn, __VA_ARGS__) },
#define ALSO(fn, on_, ...)                                                                         \
	[GT_FN_##fn##__also] = { .also = true, .on = GT_ON_##on_, COLUMNS(fn, __VA_ARGS__) },
#include "api/apis.def"
#undef FN
#undef ALSO
};

const char *const gt_function_names[GT_FN_COUNT] = {
	[GT_FN_NONE] = "(unknown)",
#define FN(fn, ...)   [GT_FN_##fn] = #fn,
#define ALSO(fn, ...) [GT_FN_##fn##__also] = #fn,
#include "api/apis.def"
#undef FN
#undef ALSO
};

/* clang-format off */
const struct gt_kind_info gt_kinds[GT_KIND_COUNT] = {
/* the held family beside the habit's bit, for the field of its own */
#define HOLDS(family_)         (GT_HOLDS | GT_##family_ << 8)
#define TYPE_CL(type, context) type
#define TYPE_NULL              NULL
#define KIND(id, name_, plural_, family_, memory_, habits_, label_, cl, ze, cu, pt)           \
	[GT_##id] = { .name = name_, .plural = plural_, .family = GT_##family_,               \
		      .memory = GT_MEMORY_##memory_, .habits = (habits_) & 0xff,              \
		      .holds = (habits_) >> 8,                                                \
		      .label = GT_LABEL_##label_,                                             \
		      .type = { [GT_OPENCL] = TYPE_##cl, [GT_LEVELZERO] = ze, [GT_CUDA] = cu,   \
				[GT_PYTORCH] = pt, [GT_OWN_POOL] = pt } },
#include "api/kinds.def"
#undef KIND
};
/* clang-format on */

const char *const gt_api_keys[GT_API_COUNT] = {
#define API(id, key, name, library) [GT_##id] = key,
#include "api/apis.def"
#undef API
};

const char *const gt_api_names[GT_API_COUNT] = {
#define API(id, key, name, library) [GT_##id] = name,
#include "api/apis.def"
#undef API
};

const char *const gt_api_libraries[GT_API_COUNT] = {
#define API(id, key, name, library) [GT_##id] = library,
#include "api/apis.def"
#undef API
};

const char *const gt_effect_names[GT_EFFECT_COUNT] = {
	[GT_CREATE] = "create",   [GT_DESTROY] = "destroy", [GT_RETAIN] = "retain",
	[GT_RELEASE] = "release", [GT_APPEND] = "append",
};

const char *const gt_labels[GT_LABEL_COUNT] = {
#define LABEL(id, singular, plural) [GT_LABEL_##id] = singular,
#include "api/labels.def"
#undef LABEL
};

const char *const gt_label_plurals[GT_LABEL_COUNT] = {
#define LABEL(id, singular, plural) [GT_LABEL_##id] = plural,
#include "api/labels.def"
#undef LABEL
};

uint64_t gt_functions_digest(void)
{
	uint64_t digest = GT_FN_COUNT;

	for (int i = 1; i < GT_FN_COUNT; i++)
		digest = digest * 31 +
			 gt_hash_bytes(gt_function_names[i], strlen(gt_function_names[i]));
	return digest;
}
