/* SPDX-License-Identifier: MIT */
/*
 * fake.h - a Level Zero driver on host memory, for tests under the real loader.
 *
 * Load it with ZE_ENABLE_ALT_DRIVERS=/path/to/it.so; request.c documents the environment
 * variables that make it fail or leave memory behind.
 *
 * Glossary:
 *   block   a piece of the arena; freed ones are handed out again at once, last in first out,
 *           to whichever thread asks next, so a test sees the handle reuse that real drivers show
 *   object  a block that is a handle: it opens with a struct object, which survives the free,
 *           so that a destroyed or foreign handle is told apart without touching foreign memory
 *   kind    what an object is; live objects are counted by kind, see gt_fake_ze_live()
 */
#ifndef GT_FAKE_ZE_FAKE_H
#define GT_FAKE_ZE_FAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <level_zero/ze_api.h>

#define FAKE_EXPORT __attribute__((visibility("default")))

#define FAKE_KINDS(X)                                                                              \
	X(CONTEXT, "context")                                                                      \
	X(QUEUE, "queue")                                                                          \
	X(LIST, "list")                                                                            \
	X(MODULE, "module")                                                                        \
	X(BUILD_LOG, "build_log")                                                                  \
	X(KERNEL, "kernel")                                                                        \
	X(EVENT_POOL, "event_pool")                                                                \
	X(EVENT, "event")                                                                          \
	X(FENCE, "fence")                                                                          \
	X(IMAGE, "image")                                                                          \
	X(SAMPLER, "sampler")                                                                      \
	X(MEMORY, "memory")                                                                        \
	X(PHYSICAL, "physical")                                                                    \
	X(RESERVATION, "reservation")                                                              \
	X(MAPPING, "mapping")                                                                      \
	X(IPC_MEMORY, "ipc_memory")                                                                \
	X(IPC_POOL, "ipc_pool")                                                                    \
	X(IPC_EVENT, "ipc_event")                                                                  \
	X(SEMAPHORE, "semaphore")                                                                  \
	X(RTAS_BUILDER, "rtas_builder")                                                            \
	X(RTAS_OPERATION, "rtas_operation")                                                        \
	X(GRAPH, "graph")                                                                          \
	X(EXEC_GRAPH, "executable_graph")                                                          \
	X(REGISTERED_MEMORY, "registered_memory")                                                  \
	X(METRIC_QUERY_POOL, "metric_query_pool")                                                  \
	X(METRIC_QUERY, "metric_query")                                                            \
	X(METRIC_STREAMER, "metric_streamer")                                                      \
	X(METRIC_TRACER, "metric_tracer")                                                          \
	X(METRIC_DECODER, "metric_decoder")                                                        \
	X(METRIC_GROUP, "metric_group")                                                            \
	X(METRIC, "metric")                                                                        \
	X(METRIC_CALCULATION, "metric_calculation")                                                \
	X(API_TRACER, "api_tracer")                                                                \
	X(DEBUG_SESSION, "debug_session")

enum kind {
#define X(id, name) KIND_##id,
	FAKE_KINDS(X)
#undef X
		KIND_COUNT
};

/*
 * Both words are atomic because a stale handle may be looked at while its block is being reused.
 * `next` belongs to the free list: nothing else may write it.
 */
struct object {
	_Atomic uint32_t state;
	_Atomic uint32_t next;
};

/* arena.c */

/*
 * A block of at least `size` bytes, 64-byte aligned, contents undefined; NULL when none is left or
 * `size` is over 64 KB. Whatever it is used for, its first words are a struct object's.
 */
void *block_get(size_t size);
void block_put(void *block);
/* The start of the block that holds `p`; NULL when `p` is not in a block of the arena. */
void *block_find(const void *p);

/*
 * An object of `size` zeroed bytes (header included) and `tail` more of undefined contents, alive
 * and counted; NULL: out of memory.
 */
void *object_new_tail(enum kind kind, size_t size, size_t tail);
#define object_new(kind, type) ((type *)object_new_tail(kind, sizeof(type), 0))
/* SUCCESS for a live object of that kind; INVALID_NULL_HANDLE, INVALID_ARGUMENT; never crashes */
ze_result_t object_check(const void *handle, enum kind kind);
/*
 * Ends an object's life; of two threads that try, one succeeds. The block stays the caller's
 * until block_put(), so what the object owns can still be read from it and released.
 */
ze_result_t object_end(void *handle, enum kind kind);
/* object_end() and block_put(): for objects that own nothing. */
ze_result_t object_free(void *handle, enum kind kind);
/* For live things that are no handles (mappings, reservations). */
void object_count(enum kind kind, long change);

/* How many objects of the named kind are alive; NULL: all; -1: no such kind. */
FAKE_EXPORT long gt_fake_ze_live(const char *kind);

/* request.c */
extern bool request_any;

/* True if the environment asks for a driver without this function. */
bool request_lacks(const char *function);
ze_result_t request_enter(const char *function);

/* Opens every entry point: serves what the environment asked for this function. */
#define ENTER(function)                                                                            \
	do {                                                                                       \
		if (__builtin_expect(request_any, 0)) {                                            \
			ze_result_t rc_ = request_enter(#function);                                \
			if (rc_ != ZE_RESULT_SUCCESS)                                              \
				return rc_;                                                        \
		}                                                                                  \
	} while (0)

#define NEED_POINTER(p)                                                                            \
	do {                                                                                       \
		if (!(p))                                                                          \
			return ZE_RESULT_ERROR_INVALID_NULL_POINTER;                               \
	} while (0)

#define NEED(check)                                                                                \
	do {                                                                                       \
		ze_result_t rc_ = (check);                                                         \
		if (rc_ != ZE_RESULT_SUCCESS)                                                      \
			return rc_;                                                                \
	} while (0)

/* Sets an output structure, keeping the caller's stype and pNext chain. */
#define SET_PROPERTIES(p, ...)                                                                     \
	(*(p) = (__typeof__(*(p))){ .stype = (p)->stype, .pNext = (p)->pNext, __VA_ARGS__ })

/* rows.c: the function that zeDriverGetExtensionFunctionAddress finds; NULL: none */
void *row_by_address(const char *name);

/* device.c */
ze_result_t driver_check(ze_driver_handle_t driver);
ze_result_t device_check(ze_device_handle_t device);
ze_result_t driver_list(uint32_t *count, ze_driver_handle_t *drivers);
ze_context_handle_t context_default(void);
void driver_saw_version(ze_api_version_t version);
uint64_t now_ns(void);

/* A context-and-device pair, as most create functions take one. */
static inline ze_result_t place_check(ze_context_handle_t context, ze_device_handle_t device)
{
	ze_result_t rc = object_check(context, KIND_CONTEXT);

	return rc == ZE_RESULT_SUCCESS ? device_check(device) : rc;
}

/* event.c */
struct event {
	struct object base;
	_Atomic uint32_t signalled;
	_Atomic uint64_t time_ns;
};

/* An event that zeEventCreate, a counter-based create or an IPC open made. */
ze_result_t event_check(ze_event_handle_t event);
void event_set(ze_event_handle_t event, bool signalled);
ze_result_t event_times(ze_event_handle_t event, ze_kernel_timestamp_result_t *out);

/* image.c */
struct image {
	struct object base;
	uint32_t width, height, depth;
	uint32_t pixel_bytes;
	size_t size_bytes;
	bool is_view;
	uint8_t *pixels;
};

ze_result_t image_view_new(ze_context_handle_t context, ze_device_handle_t device,
			   const ze_image_desc_t *desc, ze_image_handle_t image,
			   ze_image_handle_t *view);

/* memory.c */

/* Host memory without an object around it (pixels); zeroed, NULL when there is none. */
void *storage_get(size_t size);
void storage_put(void *storage, size_t size);
ze_result_t memory_ipc_get(const void *ptr, ze_ipc_mem_handle_t *handle);
ze_result_t memory_ipc_put(ze_ipc_mem_handle_t handle);

/* list.c */

/* What the "device" can do. Anything else is a command that only signals its event. */
enum op {
	OP_NOTHING,
	OP_COPY,
	OP_FILL,
	OP_COPY_BOX,
	OP_GLOBAL_TIME,
	OP_EVENT_RESET,
	OP_EVENT_TIMES
};

struct box {
	size_t row_bytes, rows, slices;
	size_t dst_pitch, dst_slice, src_pitch, src_slice;
};

/* Copies of the caller's arrays in one block; offsets, where there are any, after the events. */
struct event_query {
	struct object base;
	ze_event_handle_t events[];
};

struct command {
	struct object base; /* only for the free list: commands are no handles */
	struct command *next;
	enum op op;
	ze_event_handle_t signal;
	void *dst;
	const void *src;
	union {
		size_t size;
		struct box box;
		struct {
			size_t size, pattern_bytes;
			uint8_t pattern[32];
		} fill;
		ze_event_handle_t event;
		struct {
			uint32_t count;
			bool has_offsets;
			struct event_query *block;
		} times;
	};
};

/*
 * Runs `c` (immediate list) or keeps a copy of it (regular list). Takes over c->times.block, also
 * on failure. Wait events are checked and never waited for: the device works at once, in order,
 * on the thread that submits, so there is nothing that waiting could bring about.
 */
ze_result_t list_append(ze_command_list_handle_t list, const struct command *c,
			ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits);
ze_result_t list_clone(ze_command_list_handle_t list, ze_command_list_handle_t *clone);
ze_result_t list_run(ze_command_list_handle_t list);

#endif
