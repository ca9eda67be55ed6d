/* SPDX-License-Identifier: MIT */
/*
 * inferred.h - what doors ask the driver for, inferred from the calls alone.
 *
 * A probe cannot ask the driver. The size of an image is the product of its dimensions, without the
 * driver's padding; the owner of CUDA memory is the context that its thread has made current.
 */
#pragma once

#include "event/call.h"

enum { GT_LAYOUT_WORDS = 8 };

/* A word that a row's size column names: an argument, or a field behind a pointer. */
struct gt_layout_word {
	uint8_t argument, offset, bytes; /* bytes: 4 or 8 */
	bool is_behind;                  /* at `offset` of what the argument points to */
};

struct gt_layout {
	uint8_t formula; /* enum gt_formula */
	uint8_t count;
	struct gt_layout_word words[GT_LAYOUT_WORDS];
};

/* The words of ASK_OR and KEEP columns, by row. */
extern const struct gt_layout gt_layouts[GT_FN_COUNT];

/* Bytes of the resource that a call created, from the words of its row. */
uint64_t gt_inferred_size(enum gt_function_id function, const uint64_t words[GT_LAYOUT_WORDS]);
/* The buffer that an image is made of; 0 for none, and for what is no image. */
uint64_t gt_inferred_buffer(enum gt_function_id function, const uint64_t words[GT_LAYOUT_WORDS]);
/* The row under which a call is recorded: code that nvcc embedded belongs to the runtime. */
enum gt_function_id gt_inferred_row(enum gt_function_id function,
				    const uint64_t words[GT_LAYOUT_WORDS]);

enum { GT_CONTEXTS_MAX = 16 };

/* Marks a device in place of a handle, so that device 0 is not taken for no handle. */
#define GT_CONTEXTS_DEVICE (UINT64_C(1) << 32)

/* True for calls that end a primary context, which they name by its device. */
static inline bool gt_contexts_by_device(const struct gt_function *fn)
{
	return fn->kind == GT_PRIMARY_CONTEXT && gt_function_ends(fn);
}

/* The CUDA contexts of a process that its calls reveal. Zeroed is initialised. */
struct gt_contexts {
	struct {
		uint64_t handle;
		uint32_t device, refs;
		bool is_primary;
	} list[GT_CONTEXTS_MAX];
	size_t count;
	/*
	 * There may be a context whose creation was not seen. This stays set: how often the context
	 * was retained is unknown too, so its end cannot be recognised.
	 */
	bool has_unseen;
};

/*
 * The context that a new resource belongs to, 0 if that is unknown: `current`, or where the thread
 * has not been seen to make one current (0), the only one. A new resource proves that there is a
 * context, seen or not.
 */
uint64_t gt_contexts_owner(struct gt_contexts *c, uint64_t current);

enum { GT_CONTEXTS_ANY = -2 }; /* in place of a device: it may be any */

/*
 * The device of what a call has made: -1 for none, which is the host's memory. `words` are those of
 * the row's layout.
 */
int gt_contexts_device(const struct gt_contexts *c, enum gt_function_id row, uint64_t current,
		       const uint64_t words[GT_LAYOUT_WORDS]);
/*
 * Applies an event. If it names a primary context by its device, the event gets the context's
 * handle; false if that context was never seen. `device` is the device of a retained primary
 * context.
 */
bool gt_contexts_apply(struct gt_contexts *c, struct gt_event *event, uint32_t device);
