/* SPDX-License-Identifier: MIT */
/*
 * layout.h - the bytes of a trace, for its writer and its reader; doc/FORMAT.md is the prose.
 *
 * A header of one page, then blocks one after another. A block belongs to one lane; a lane is what
 * one thread at a time writes to. Lane 0 holds definitions (modules, stacks, names), all others
 * hold events. Words are little-endian; `used`, `lost` and the like change while the program runs.
 */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "traces are written through a mapping: this needs a little-endian machine"
#endif

#define GT_TRACE_MAGIC "GPUTRACE"

/* In a recording: samples made beside its processes. Its header has no pid. */
#define GT_SYSTEM_TRACE "system.trace"

/* In a recording with a limit: how much room its traces have taken, 8 bytes. */
#define GT_ROOM_FILE "room"

enum {
	GT_TRACE_VERSION = 1,
	GT_TRACE_HEADER = 4096,

	GT_BLOCK_MAGIC = 0x4b425447, /* "GTBK" */
	GT_BLOCK_MIN = 4096,         /* a lane's first block: many threads make few calls */
	GT_BLOCK_MAX = 65536,        /* as written; readers take up to GT_BLOCK_LIMIT */
	GT_BLOCK_LIMIT = 1 << 20,

	GT_STACK_FRAMES_MAX = 256,
	GT_RECORD_MAX = 2048, /* of definitions: a stack's or a path's worth of bytes */
	GT_EVENT_MAX = 64,    /* no event is longer */
};

/* In a stack, this plus a number is a frame known by its text: no address is so high. */
#define GT_TEXT_FRAMES (UINT64_C(0xfffe) << 48)

enum gt_trace_state {
	GT_TRACE_RUNNING, /* or killed: nobody was left to write another word */
	GT_TRACE_ENDED,   /* exit handlers and destructors have run */
	GT_TRACE_STOPPED, /* could not go on writing; `error` says why */
};

struct gt_trace_header {
	char magic[8];
	uint32_t version, header_size;
	uint32_t pid, ppid;
	uint64_t start_ns, start_real_ns; /* CLOCK_MONOTONIC and CLOCK_REALTIME at one moment */
	uint64_t end_ns;                  /* when `state` was set */
	uint32_t state, error;
	uint64_t lost;        /* events that could not be written */
	uint64_t lost_stacks; /* events written without their stack */
	uint64_t blocks_end;  /* where the last block ends: a shorter file was cut */
};

/* A call that had begun and not returned: what a process died in. */
struct gt_trace_inflight {
	uint32_t function; /* number in this trace; 0: no call */
	uint32_t stack;
	uint64_t handle, time_ns;
};

struct gt_block_header {
	uint32_t magic, size;            /* size: header and all, a multiple of GT_BLOCK_MIN */
	uint32_t lane, sequence;         /* the lane's how-manyth block */
	uint64_t time_ns, handle, owner; /* what the first record's differences refer to */
	uint32_t tid;
	uint32_t used; /* bytes of whole records after this header */
	uint64_t hash; /* of those bytes, once the block is full; 0 until then */
	struct gt_trace_inflight inflight;
};

_Static_assert(sizeof(struct gt_trace_header) == 80, "layout is part of the format");
_Static_assert(sizeof(struct gt_block_header) == 80, "layout is part of the format");

/* A full block's hash, over what its records mean; never 0: that is a block not full yet. */
static inline uint64_t gt_block_hash(const struct gt_block_header *h, const void *records,
				     size_t size)
{
	uint64_t hash = gt_hash_bytes(records, size);

	hash = gt_mix64(hash ^ h->time_ns);
	hash = gt_mix64(hash ^ h->handle);
	hash = gt_mix64(hash ^ h->owner);
	hash = gt_mix64(hash ^ h->tid);

	return hash ? hash : 1;
}

/* Records of lane 0: tag, length, fields. Readers skip tags they do not know. */
enum gt_definition {
	GT_DEF_END,        /* never written: zeroes are unused room */
	GT_DEF_INFO,       /* key, value */
	GT_DEF_MODULE,     /* number, start, mapped size, bias, path, build id, file size, mtime */
	GT_DEF_UNLOAD,     /* number of a module that is gone */
	GT_DEF_FUNCTION,   /* number, effect, api key, kind name, function name */
	GT_DEF_PLACE,      /* number, api key, name */
	GT_DEF_STACK,      /* frames, innermost first: address, then differences */
	GT_DEF_TEXT_FRAME, /* number, function, file, line, module: a frame without an address */
	GT_DEF_SERIES,     /* number, name, unit, subject: what a sample is of */
	GT_DEF_NAME,       /* time of its creation, handle, name */
};

/* Records of other lanes: a tag below GT_TAG_EVENT has a length, an event has none. */
enum gt_tag {
	GT_TAG_END,
	GT_TAG_THREAD,     /* tid, name: whose calls follow */
	GT_TAG_SAMPLE,     /* time, series, value: something that was measured */
	GT_TAG_END_DETAIL, /* size, place: of the event after it, which is no creation */
	GT_TAG_EVENT = 16, /* GT_TAG_EVENT + 2 * function number + failed */
};

/* A frame that has no address: a line of Python, a frame that another profiler named. */
struct gt_text_frame {
	const char *function, *file, *module; /* NULL or "": unknown */
	uint32_t line;                        /* 0: unknown */
};

/* The module of frames that are lines of Python. */
#define GT_PYTHON "Python"

/* What is measured over and over: "device memory used", in "bytes", of "GPU 0: NVIDIA H200". */
struct gt_series {
	const char *name, *unit, *subject; /* NULL or "": none */
};
