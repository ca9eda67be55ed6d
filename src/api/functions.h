/* SPDX-License-Identifier: MIT */
/*
 * functions.h - every tracked API function, described once.
 *
 * A row of a .def file:
 *
 *   FN(name, result, (arguments), effect, kind, handle, size, owner)
 *   ALSO(name, on, effect, kind, handle, size, owner)   another effect of the function above it,
 *            on SUCCESS, or on ANY result if the driver has filled in the handle
 *
 *   result   STATUS(type)                an error code; 0 is success
 *            STATUS_ANY(type)            the same; the handle may be filled in on failure too
 *            HANDLE(type)                NULL is failure
 *            HANDLE_OR(type, arg)        the same; *arg is then the error code
 *            NOTHING
 *   effect   CREATE, DESTROY, RETAIN, RELEASE (one reference), APPEND (creates and ends nothing)
 *   handle   IN(arg)                     the argument
 *            INSIDE(arg)                 the same; an address inside a block means that block
 *            IN_IF(arg, other)           the same, if argument `other` is given
 *            IN_UNLESS(arg, other)       the same, unless it is
 *            OUT(arg)                    *arg after the call
 *            RET                         the result
 *            INS(arg, count)             each element of an array
 *            INS_UNLESS(arg, count, other)   the same, unless argument `other` is given
 *            OUTS(arg, count, room)      each element of an array that the call fills in: `count`
 *                                        points to their number or is NULL, `room` is the limit
 *            OUTS_ALL(arg, count)        the same without a limit: `count` is never NULL
 *            OUTS_WIDE(arg, count, bytes)   the same; an element has so many bytes, and its first
 *                                        eight are the handle
 *   size     BYTES(arg)                  the argument
 *            AT(arg, field, offset, bytes)   a field of the struct that the argument points to
 *            ASK_OR(formula, word, ...)  doors ask the driver; attach, which cannot, applies a
 *                                        formula (enum gt_formula) to words of the call
 *            ASK_ONLY                    doors ask the driver; attach records 0
 *            KEEP(word, ...)             none, but attach needs these words
 *            BYTES_KEEP(arg, word, ...)  the argument, and attach needs these words
 *            NONE
 *            In a row that ends a range of addresses, the size is that of the range.
 *   owner    IN(arg)                     what the new resource belongs to or the call is made on
 *            INS(arg, count)             the first element of an array
 *            ASK                         the door knows it: CUDA's current context
 *            ASK_OR(arg)                 the argument, unless the door knows of another: the buffer
 *                                        that an image is made of
 *            NONE
 *
 *   word     ARG(arg, bytes)             the argument itself
 *            HEAD(arg, bytes)            the first bytes that it points to
 *            AT(arg, field, offset, bytes)
 *            AT_AS(arg, type, field, offset, bytes)   the same through a `void *`
 *            PAIR(arg, field, field, offset)   two fields of 4 bytes, the first in the low half
 *
 * Doors read arguments and fields by name and type; attach has no headers and reads them by number.
 * row_check.h verifies in every door that both see the same: a misspelt argument, effect or kind
 * does not compile, nor does a wrong type, offset or size.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/fold.h"

enum gt_api {
#define API(id, ...) GT_##id,
#include "api/apis.def"
#undef API
	GT_API_COUNT
};

enum gt_effect { GT_CREATE, GT_DESTROY, GT_RETAIN, GT_RELEASE, GT_APPEND, GT_EFFECT_COUNT };
enum gt_result { GT_RESULT_STATUS, GT_RESULT_HANDLE, GT_RESULT_NOTHING };
enum gt_memory { GT_MEMORY_NO, GT_MEMORY_VIEW, GT_MEMORY_DEVICE, GT_MEMORY_SHARED, GT_MEMORY_HOST };
enum gt_habit {
	GT_BORROWED = 1,
	GT_OWNED = 2,
	GT_TAKES = 4,
	GT_LASTING = 8,
	GT_HOLDS = 16,
	GT_RANGED = 32,
	GT_POOLED = 64
};
enum gt_from { GT_NONE, GT_IN, GT_OUT, GT_RET, GT_INS, GT_OUTS, GT_ASK, GT_AT };

/* How attach works out a size from the words of an ASK_OR column. */
enum gt_formula {
	GT_FORMULA_NONE,
	GT_FORMULA_PRODUCT,  /* of all words */
	GT_FORMULA_CL_IMAGE, /* format; type, width, height, depth, array size, memory shown */
	GT_FORMULA_CL_PLAIN_IMAGE, /* format; then one word for each dimension */
	GT_FORMULA_ZE_IMAGE,     /* flags and type; layout; width; height and depth; array levels */
	GT_FORMULA_CUDA_ARRAY,   /* width, height, format and channels */
	GT_FORMULA_CUDA_ARRAY3D, /* width, height, depth, format and channels, flags; levels */
	GT_FORMULA_COUNT
};

enum gt_label {
#define LABEL(id, ...) GT_LABEL_##id,
#include "api/labels.def"
#undef LABEL
	GT_LABEL_COUNT,
	GT_LABEL_COUNTERS = GT_LABEL_SAMPLER + 1, /* those with a column in the tracker's CSV */
};

/* Driver residue of up to so many KB in all may be the driver's caches; more is called a leak. */
enum { GT_RESIDUE_LEAK_KB = 100 };

/* On which results a row has its effect: a build that fails may still return its log. */
enum gt_on { GT_ON_SUCCESS, GT_ON_ANY };

enum gt_kind {
#define KIND(id, ...) GT_##id,
#include "api/kinds.def"
#undef KIND
	GT_KIND_COUNT
};

/* Where one value of a call is found. */
struct gt_ref {
	uint8_t from, arg;
	uint8_t count;  /* the argument that counts an array */
	uint8_t unless; /* the argument that cancels the effect; argc: there is none */
	bool only_if;   /* it is the other way round: the effect needs that argument */
	uint8_t room;   /* the argument that limits the number of handles; argc: there is none */
	uint8_t offset; /* of AT */
	uint8_t stride; /* of OUTS_WIDE: words of an element; 0: one */
	bool inside;    /* of a handle: an address inside a block will do (doc/lifetimes.md) */
	bool asks;      /* of an owner: the door may know of another */
};

/* A row lies in one cache line: each call reads its own. */
struct gt_function {
	_Alignas(64) uint8_t api;
	uint8_t effect, kind, argc;
	uint8_t result;
	uint8_t code; /* of HANDLE_OR: the argument; argc: there is none */
	bool also;    /* another effect of the call that the row before describes */
	uint8_t on;   /* enum gt_on */
	struct gt_ref handle, size, owner;
};

struct gt_kind_info {
	const char *name, *plural;
	uint8_t family, memory, habits, label;
	uint8_t holds; /* of GT_HOLDS: the family of the owner that it keeps alive */
	const char *type[GT_API_COUNT];
};

/* Argument numbers, so that rows can name arguments: clCreateBuffer__size == 2. */
#define FN(fn, ret, args, ...) enum { INDEXES(fn, UNWRAP args), fn##__argc };
#define ALSO(...)
#include "api/apis.def"
#undef FN
#undef ALSO

/* Row 0 is no function, so that 0 can mean "none" wherever a row is named. */
enum gt_function_id {
	GT_FN_NONE,
#define FN(fn, ...)   GT_FN_##fn,
#define ALSO(fn, ...) GT_FN_##fn##__also,
#include "api/apis.def"
#undef FN
#undef ALSO
	GT_FN_COUNT
};

enum { GT_ARGS_MAX = 16 };

extern const struct gt_function gt_functions[GT_FN_COUNT];
extern const char *const gt_function_names[GT_FN_COUNT];
/* A number for their order: where it is the same, their numbers mean the same functions. */
uint64_t gt_functions_digest(void);
extern const struct gt_kind_info gt_kinds[GT_KIND_COUNT];
extern const char *const gt_api_keys[GT_API_COUNT];      /* "opencl": in files and options */
extern const char *const gt_api_names[GT_API_COUNT];     /* "OpenCL": for people */
extern const char *const gt_api_libraries[GT_API_COUNT]; /* "libOpenCL.so" */
extern const char *const gt_effect_names[GT_EFFECT_COUNT];
extern const char *const gt_labels[GT_LABEL_COUNT];        /* "Context": the tracker's words */
extern const char *const gt_label_plurals[GT_LABEL_COUNT]; /* "Contexts" */

/* True when a successful call of this row releases a reference or the whole resource. */
static inline bool gt_function_ends(const struct gt_function *fn)
{
	return fn->effect == GT_DESTROY || fn->effect == GT_RELEASE;
}

/* True when resources of this kind are counted in bytes of their own. */
static inline bool gt_kind_has_bytes(enum gt_kind kind)
{
	return gt_kinds[kind].memory >= GT_MEMORY_DEVICE;
}

/* The rest of a pool's segment. */
static inline bool gt_kind_is_cache(enum gt_kind kind)
{
	return kind == GT_CACHED_MEMORY || kind == GT_CACHED_PHYSICAL || kind == GT_OWN_SEGMENT ||
	       kind == GT_OWN_PIECE;
}

/* An allocator above the driver; these are the last APIs. */
static inline bool gt_api_is_pool(enum gt_api api)
{
	return api >= GT_PYTORCH;
}

/* True when those bytes are on the device: host memory is not part of device totals. */
static inline bool gt_kind_on_device(enum gt_kind kind)
{
	return gt_kinds[kind].memory == GT_MEMORY_DEVICE ||
	       gt_kinds[kind].memory == GT_MEMORY_SHARED;
}
