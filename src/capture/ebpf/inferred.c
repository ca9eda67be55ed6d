/* SPDX-License-Identifier: MIT */
/* inferred.c - what doors ask the driver for, inferred from the calls alone. */
#include "capture/ebpf/inferred.h"

#include "api/cuda_abi.h"
#include "api/levelzero_image.h"

/* A word of a size column as a struct gt_layout_word. */
#define WORD_ARG(n, size)                    n, 0, size, false
#define WORD_HEAD(n, size)                   n, 0, size, true
#define WORD_AT(n, field, at, size)          n, at, size, true
#define WORD_AT_AS(n, type, field, at, size) n, at, size, true
#define WORD_PAIR(n, first, second, at)      n, at, 8, true
#define WORD(fn, word)                       WORD_(fn, WORD_##word)
#define WORD_(fn, ...)                       WORD__(fn, __VA_ARGS__)
#define WORD__(fn, n, at, size, behind)                                                            \
	{                                                                                          \
		.argument = fn##__##n, .offset = at, .bytes = size, .is_behind = behind            \
	}

/* A size column as a struct gt_layout. */
#define LAYOUT_NONE               WITHOUT_WORDS, ~
#define LAYOUT_BYTES(n)           WITHOUT_WORDS, ~
#define LAYOUT_AT(...)            WITHOUT_WORDS, ~
#define LAYOUT_ASK_ONLY           WITHOUT_WORDS, ~
#define LAYOUT_ASK_OR(...)        WITH_WORDS, __VA_ARGS__
#define LAYOUT_KEEP(...)          WITH_WORDS, NONE, __VA_ARGS__
#define LAYOUT_BYTES_KEEP(n, ...) WITH_WORDS, NONE, __VA_ARGS__
#define LAYOUT(fn, size)          LAYOUT_(fn, LAYOUT_##size)
#define LAYOUT_(...)              LAYOUT__(__VA_ARGS__)
#define LAYOUT__(fn, make, ...)   make(fn, __VA_ARGS__)
#define WITHOUT_WORDS(fn, ...)                                                                     \
	{                                                                                          \
		.count = 0                                                                         \
	}
#define WITH_WORDS(fn, how, ...)                                                                   \
	{                                                                                          \
		.formula = GT_FORMULA_##how, .count = FOLD_N(__VA_ARGS__), .words = {              \
			FOLD(WORD, fn, __VA_ARGS__)                                                \
		}                                                                                  \
	}

const struct gt_layout gt_layouts[GT_FN_COUNT] = {
#define FN(fn, ret, args, effect, kind, handle, size, owner) [GT_FN_##fn] = LAYOUT(fn, size),
/* a second effect has no words of its own */
#define ALSO_NONE
#define ALSO_BYTES(n)
#define ALSO(fn, on, effect, kind, handle, size, owner) ALSO_##size
#include "api/apis.def"
#undef FN
#undef ALSO
};

static uint32_t low(uint64_t word)
{
	return (uint32_t)word;
}

static uint32_t high(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* Bytes of a cl_image_format: channel order and type. */
static uint64_t cl_element(uint64_t format)
{
	static const uint8_t channels[] = { 1, 1, 2, 2, 3, 4, 4, 4, 1, 1,
					    2, 3, 4, 1, 1, 3, 4, 4, 4, 4 }; /* CL_R … CL_ABGR */
	static const uint8_t bytes[] = { 1, 2, 1, 2, 0, 0, 0, 1, 2, 4, 1, 2, 4, 2, 4, 4, 0 };
	uint32_t order = low(format) - 0x10b0, type = high(format) - 0x10d0;

	if (order >= sizeof channels || type >= sizeof bytes)
		return 0;
	if (bytes[type])
		return (uint64_t)channels[order] * bytes[type];
	/* all channels in one word: 565, 555, 101010, 101010_2 */
	return type < 6 ? 2 : 4;
}

static uint64_t cl_image(const uint64_t *p)
{
	enum { BUFFER, IMAGE2D, IMAGE3D, ARRAY2D, IMAGE1D, ARRAY1D, BUFFER1D };
	uint32_t type = (uint32_t)p[1] - 0x10f0;
	uint64_t size = cl_element(p[0]) * p[2];

	/* the bytes belong to another object, and are counted there */
	if (p[6])
		return 0;
	if (type == IMAGE2D || type == IMAGE3D || type == ARRAY2D)
		size *= p[3];
	if (type == IMAGE3D)
		size *= p[4];
	return type == ARRAY1D || type == ARRAY2D ? size * p[5] : size;
}

static uint64_t ze_image(const uint64_t *p)
{
	return gt_ze_image_bytes(&(struct gt_ze_image){ .type = high(p[0]),
							.layout = (uint32_t)p[1],
							.width = p[2],
							.height = low(p[3]),
							.depth = high(p[3]),
							.array_levels = (uint32_t)p[4] },
				 NULL);
}

static uint64_t cu_array(const uint64_t *p, uint32_t levels)
{
	return gt_cuda_array_bytes(&(struct gt_cuda_array){ .width = p[0],
							    .height = p[1],
							    .depth = p[2],
							    .format = low(p[3]),
							    .channels = high(p[3]),
							    .flags = (uint32_t)p[4] },
				   levels);
}

static uint64_t product(const uint64_t *p, size_t count)
{
	uint64_t size = 1;

	while (count--)
		size *= p[count];
	return size;
}

uint64_t gt_inferred_size(enum gt_function_id function, const uint64_t p[GT_LAYOUT_WORDS])
{
	const struct gt_layout *layout = &gt_layouts[function];

	switch ((enum gt_formula)layout->formula) {
	case GT_FORMULA_PRODUCT: return product(p, layout->count);
	case GT_FORMULA_CL_IMAGE: return cl_image(p);
	case GT_FORMULA_CL_PLAIN_IMAGE:
		return cl_element(p[0]) * product(p + 1, layout->count - 1u);
	case GT_FORMULA_ZE_IMAGE: return ze_image(p);
	case GT_FORMULA_CUDA_ARRAY: return cu_array((uint64_t[]){ p[0], p[1], 0, p[2], 0 }, 1);
	case GT_FORMULA_CUDA_ARRAY3D: return cu_array(p, layout->count > 5 ? (uint32_t)p[5] : 1);
	case GT_FORMULA_NONE:
	case GT_FORMULA_COUNT: break;
	}
	return 0;
}

uint64_t gt_inferred_buffer(enum gt_function_id function, const uint64_t words[GT_LAYOUT_WORDS])
{
	enum { BUFFER = 6 };

	return gt_layouts[function].formula == GT_FORMULA_CL_IMAGE ? words[BUFFER] : 0;
}

enum gt_function_id gt_inferred_row(enum gt_function_id function,
				    const uint64_t words[GT_LAYOUT_WORDS])
{
	return function == GT_FN_cuLibraryLoadData && words[0] == GT_CUDA_CODE_WRAPPER ?
		       GT_FN_cudaOwnCode :
		       function;
}

uint64_t gt_contexts_owner(struct gt_contexts *c, uint64_t current)
{
	c->has_unseen |= !c->count;
	if (current)
		return current;
	/* the thread has not said which one: there must be no other */
	return c->count == 1 && !c->has_unseen ? c->list[0].handle : 0;
}

static size_t find(const struct gt_contexts *c, uint64_t handle)
{
	size_t i = 0;

	while (i < c->count && c->list[i].handle != handle)
		i++;
	return i;
}

/* A location that is a device: its number is in the upper half. */
static int device_at(uint64_t location)
{
	enum { DEVICE = 1 }; /* CU_MEM_LOCATION_TYPE_DEVICE */

	return low(location) == DEVICE ? (int)high(location) : -1;
}

int gt_contexts_device(const struct gt_contexts *c, enum gt_function_id row, uint64_t current,
		       const uint64_t words[GT_LAYOUT_WORDS])
{
	enum gt_kind kind = (enum gt_kind)gt_functions[row].kind;
	size_t at = find(c, current);
	bool is_only = c->count == 1 && !c->has_unseen;

	if (row == GT_FN_cuMemCreate || row == GT_FN_cuMemPoolCreate)
		return device_at(words[0]);
	if (gt_kinds[kind].family == GT_CUDA_CONTEXT || kind == GT_GREEN_CONTEXT)
		return (int)low(words[0]);
	if (!current && is_only)
		at = 0;
	return at < c->count ? (int)c->list[at].device : GT_CONTEXTS_ANY;
}

static void add(struct gt_contexts *c, uint64_t handle, uint32_t device, bool is_primary)
{
	size_t at = find(c, handle);

	if (at == GT_CONTEXTS_MAX) {
		c->has_unseen = true;
		return;
	}
	if (at == c->count) {
		c->list[c->count].handle = handle;
		c->list[c->count].refs = 0;
		c->list[c->count].device = device;
		c->list[c->count++].is_primary = is_primary;
	}
	c->list[at].refs++;
}

static void drop(struct gt_contexts *c, size_t at, bool whole)
{
	if (at < c->count && (whole || !--c->list[at].refs))
		c->list[at] = c->list[--c->count];
}

bool gt_contexts_apply(struct gt_contexts *c, struct gt_event *event, uint32_t device)
{
	const struct gt_function *fn = &gt_functions[event->function];
	bool is_primary = fn->kind == GT_PRIMARY_CONTEXT;
	size_t at = 0;

	if (fn->kind != GT_CUDA_CONTEXT && !is_primary)
		return true;
	if (fn->effect == GT_CREATE) {
		if (!event->failed && event->handle)
			add(c, event->handle, device, is_primary);
		return true;
	}
	if (!gt_function_ends(fn))
		return true;
	if (is_primary) {
		uint32_t wanted = (uint32_t)event->handle;

		while (at < c->count && (!c->list[at].is_primary || c->list[at].device != wanted))
			at++;
		if (at == c->count)
			return false;
		event->handle = c->list[at].handle;
	} else {
		at = find(c, event->handle);
	}
	if (!event->failed)
		drop(c, at, fn->effect == GT_DESTROY);
	return true;
}
