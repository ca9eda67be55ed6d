/* SPDX-License-Identifier: MIT */
/*
 * wrap.h - one wrapper around a driver's function, made from its row.
 *
 *	#define FN(fn, ret, args, ...) GT_WRAP(&door, ret, fn, next_##fn, UNWRAP args)
 *
 * defines `wrap_<fn>` with the function's own signature. `next` is an expression for the function
 * below; it may use `argv`, the arguments as words.
 */
#pragma once

#include "api/row_check.h"
#include "guest/guest.h"

#define GT_WRAP_STATUS(type, door, fn, next, ...)                                                  \
	static type wrap_##fn(PARAMS(__VA_ARGS__))                                                 \
	{                                                                                          \
		const uint64_t argv[] = { WORDS(__VA_ARGS__) };                                    \
		struct gt_guest_call g;                                                            \
		type result;                                                                       \
                                                                                                   \
		gt_guest_begin(&g, GT_FN_##fn, argv, __builtin_return_address(0));                 \
		result = next(NAMES(__VA_ARGS__));                                                 \
		gt_guest_end(&g, gt_word_of(&result, sizeof result), door);                        \
		return result;                                                                     \
	}
#define GT_WRAP_HANDLE GT_WRAP_STATUS
#define GT_WRAP_NOTHING(type, door, fn, next, ...)                                                 \
	static void wrap_##fn(PARAMS(__VA_ARGS__))                                                 \
	{                                                                                          \
		const uint64_t argv[] = { WORDS(__VA_ARGS__) };                                    \
		struct gt_guest_call g;                                                            \
                                                                                                   \
		gt_guest_begin(&g, GT_FN_##fn, argv, __builtin_return_address(0));                 \
		next(NAMES(__VA_ARGS__));                                                          \
		gt_guest_end(&g, 0, door);                                                         \
	}

/* STATUS(cl_int) -> GT_WRAP_STATUS, cl_int */
#define GT_WRAP_RESULT_STATUS(type)          GT_WRAP_STATUS, type
#define GT_WRAP_RESULT_STATUS_ANY            GT_WRAP_RESULT_STATUS
#define GT_WRAP_RESULT_HANDLE(type)          GT_WRAP_HANDLE, type
#define GT_WRAP_RESULT_HANDLE_OR(type, code) GT_WRAP_HANDLE, type
#define GT_WRAP_RESULT_NOTHING               GT_WRAP_NOTHING, void
#define GT_WRAP(door, result, ...)           GT_WRAP_(GT_WRAP_RESULT_##result, door, __VA_ARGS__)
#define GT_WRAP_(...)                        GT_WRAP__(__VA_ARGS__)
#define GT_WRAP__(wrap, ...)                 wrap(__VA_ARGS__)
