/* SPDX-License-Identifier: MIT */
/*
 * layout.h - the bytes of a trace, for its writer and its reader; doc/FORMAT.md is the prose.
 *
 * A header of one page, then blocks one after another. A block belongs to one lane; one thread at a
 * time writes to a lane. Lane 0 holds definitions (modules, stacks, names), the others hold events.
 * Words are little-endian; `used`, `lost` and the like change while the program runs.
 */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "trace/touch.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "traces are written through a mapping: this needs a little-endian machine"
#endif

#define GT_TRACE_MAGIC "GPUTRACE"

/* In a recording: the trace with samples of the whole system. Its header has no pid. */
#define GT_SYSTEM_TRACE "system.trace"

/* In a recording with a size limit: the bytes its traces have reserved, a slot for each process. */
#define GT_ROOM_FILE  "room"
#define GT_ROOM_MAGIC "GTROOM\n" /* of each slot: room.c */

/*
 * While `gputrack run` watches: the socket, in the kernel's name space of its own, to which
 * processes send descriptors of themselves; the tool's pid follows. A process that cannot record
 * sends a text with the tool's number instead of a trace's name. The number is the pid in its
 * low bits and a secret in the others: anybody can see the socket's name, and such a process may be
 * another user's.
 */
#define GT_WATCHER_SOCKET     "gputrack.watcher."
#define GT_WATCHER_UNRECORDED "unrecorded "
enum { GT_WATCHER_PID_BITS = 22, GT_WATCHER_BITS = 63 };

enum {
	GT_TRACE_VERSION = 2,        /* written */
	GT_TRACE_VERSION_OLDEST = 1, /* readers accept it */
	GT_TRACE_HEADER = 4096,

	GT_BLOCK_MAGIC = 0x4b425447, /* "GTBK" */
	GT_BLOCK_MIN = 4096,  /* a lane's first block is small: many threads make few calls */
	GT_BLOCK_MAX = 65536, /* written; readers accept up to GT_BLOCK_LIMIT */
	GT_BLOCK_LIMIT = 1 << 20,

	GT_STACK_FRAMES_MAX = 256,
	GT_RECORD_MAX = 2048, /* of a definition: enough for a stack or a path */
	GT_EVENT_MAX = 64,    /* the longest event, with its phase */
	GT_CALL_MAX = 24,     /* its call, before it */
	GT_ARGUMENTS_MAX = 16,
};

/* In a stack, this plus n stands for text frame n: no address is this high. */
#define GT_TEXT_FRAMES (UINT64_C(0xfffe) << 48)

enum gt_trace_state {
	GT_TRACE_RUNNING, /* or killed, with nobody left to write another state */
	GT_TRACE_ENDED,   /* exit handlers and destructors have run */
	GT_TRACE_STOPPED, /* writing failed; `error` says why */
};

struct gt_trace_header {
	char magic[8];
	uint32_t version, header_size;
	uint32_t pid, ppid;
	uint64_t start_ns,
		start_real_ns; /* CLOCK_MONOTONIC and CLOCK_REALTIME at the same moment */
	uint64_t end_ns;       /* when `state` was set */
	uint32_t state, error;
	uint64_t lost;           /* events that could not be written */
	uint64_t lost_stacks;    /* events written without their stack, or with a part of it */
	uint64_t blocks_end;     /* end of the last block: a shorter file was truncated */
	uint32_t arguments_size; /* of gt_trace_arguments at each event block's end; 0: none */
	uint32_t reserved;
	uint64_t lost_first_ns, lost_last_ns; /* times of the lost events; 0: unknown */
};

/* A call that has not returned: the one in which a process died. */
struct gt_trace_inflight {
	uint32_t function; /* number in this trace; 0: no call */
	uint32_t stack;
	uint64_t handle, time_ns;
};

/* The arguments of that call, in the last bytes of its block. */
struct gt_trace_arguments {
	uint32_t used; /* of the block when the call began: if there is more now, it has returned */
	uint32_t count;
	uint64_t words[GT_ARGUMENTS_MAX];
};

struct gt_block_header {
	uint32_t magic, size;            /* size: header and all, a multiple of GT_BLOCK_MIN */
	uint32_t lane, sequence;         /* sequence: counts the lane's blocks */
	uint64_t time_ns, handle, owner; /* base of the first record's differences */
	uint32_t tid;
	uint32_t used; /* bytes of complete records after this header */
	uint64_t hash; /* of those bytes, once the block is full; 0 until then */
	struct gt_trace_inflight inflight;
};

_Static_assert(sizeof(struct gt_trace_header) == 104, "layout is part of the format");
_Static_assert(sizeof(struct gt_trace_arguments) == 136, "layout is part of the format");
_Static_assert(sizeof(struct gt_block_header) == 80, "layout is part of the format");

/* The size of a lane's block: a reader must know that of one that is missing. */
static inline uint32_t gt_block_size(uint32_t sequence)
{
	return sequence < 4 ? (uint32_t)GT_BLOCK_MIN << sequence : GT_BLOCK_MAX;
}

_Static_assert(GT_BLOCK_MIN << 4 == GT_BLOCK_MAX, "gt_block_size");

/* The hash of a full block, over all that its records mean; never 0, the hash of others. */
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
	GT_DEF_END,        /* never written: zeroes are unused space */
	GT_DEF_INFO,       /* key, value */
	GT_DEF_MODULE,     /* number, start, mapped size, bias, path, build id, file size, mtime */
	GT_DEF_UNLOAD,     /* number of a module that was unloaded */
	GT_DEF_FUNCTION,   /* number, effect, api key, kind name, function name */
	GT_DEF_PLACE,      /* number, api key, name */
	GT_DEF_STACK,      /* frames, innermost first: address, then differences */
	GT_DEF_TEXT_FRAME, /* number, function, file, line, module: a frame without an address */
	GT_DEF_SERIES,     /* number, name, unit, subject: what samples measure */
	GT_DEF_NAME,       /* creation time, handle, name */
	GT_DEF_PHASE,      /* number, the phase around it, name, domain, category: a range */
	GT_DEF_WORK = 12,  /* number, kind, flags, function, name: GPU work (touch.h) */
};

/* Records of other lanes: a tag below GT_TAG_EVENT has a length, an event has none. */
enum gt_tag {
	GT_TAG_END,
	GT_TAG_THREAD,     /* tid, name: the thread of the events that follow */
	GT_TAG_SAMPLE,     /* time, series, value: a measurement */
	GT_TAG_END_DETAIL, /* size, place: for the next event, which is no creation */
	GT_TAG_THREAD_END, /* tid: it will make no more calls */
	GT_TAG_PAGING,     /* time, address, amount, effect, cause: unified memory (paging.h) */
	GT_TAG_PHASE,      /* number: of the events that follow in this block */
	GT_TAG_TOUCH = 8,  /* time, work, ranges: memory that GPU work names (touch.h) */
	GT_TAG_CALL,       /* duration, time since its start: the call of the next event */
	GT_TAG_EVENT = 16, /* GT_TAG_EVENT + 2 * function number + failed */
};

/* A frame without an address: a line of Python, or a frame named by another profiler. */
struct gt_text_frame {
	const char *function, *file, *module; /* NULL or "": unknown */
	uint32_t line;                        /* 0: unknown */
};

/* The module of Python frames. */
#define GT_PYTHON "Python"

/*
 * A frame between those of a thread of PyTorch's engine, which come first, and those of the thread
 * that it works for: its function, and its module.
 */
#define GT_BACKWARD_BORDER "backward on another thread"
#define GT_AUTOGRAD        "autograd"

/*
 * The module of a stack's only frame: an imported call of CUDA's runtime, of which only the
 * function is known. Nsight's analyses have no name for it.
 */
#define GT_CALL_ONLY "CUDA runtime"

/* A range of NVTX. Texts are cut at GT_RANGE_TEXT bytes. */
enum { GT_RANGE_TEXT = 256 };
struct gt_range {
	const char *name, *domain, *category; /* NULL or "": none */
};

/* The module of a frame that stands for a range, in the place of a stack that is missing. */
#define GT_PHASE_FRAME "NVTX range"

/* A series of samples: "device memory used", in "bytes", of "GPU 0: NVIDIA H200". */
struct gt_series {
	const char *name, *unit, *subject; /* NULL or "": none */
};

/* Names of series about a GPU. */
#define GT_SERIES_DEVICE_USED     "device memory used"
#define GT_SERIES_PROGRAM_USED    "device memory used by the program"
#define GT_SERIES_DEVICE_CAPACITY "device memory capacity" /* one sample */
#define GT_SERIES_POOL_ALLOCATED  "PyTorch's allocated memory"
#define GT_SERIES_POOL_RESERVED   "PyTorch's reserved memory"
#define GT_SERIES_GPU_BUSY        "GPU busy" /* 1: it works; 0: it has nothing to do */
