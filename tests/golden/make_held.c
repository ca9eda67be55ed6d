/* SPDX-License-Identifier: MIT */
/* make_held.c - recordings of programs whose libraries hold resources until they end. */
#include <stdio.h>

#include "make_recordings.h"
#include "recording_maker.h"

struct frame {
	const char *module, *function;
};

static uint32_t through(struct trace *t, const struct frame *frames, size_t count)
{
	uint64_t numbers[8];

	for (size_t i = 0; i < count; i++)
		numbers[i] = gt_writer_text_frame(
			t->writer, &(struct gt_text_frame){ .function = frames[i].function,
							    .module = frames[i].module });
	return gt_writer_stack(t->writer, numbers, (uint32_t)count);
}

#define THROUGH(t, ...)                                                                            \
	through(t, (const struct frame[]){ __VA_ARGS__ },                                          \
		sizeof((const struct frame[]){ __VA_ARGS__ }) / sizeof(struct frame))

#define ALLOCATOR "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::"
#define C10       "/opt/torch/lib/libc10_cuda.so"
#define TORCH     "/opt/torch/lib/libtorch_cuda.so"
#define CUBLAS    "/opt/cuda/lib/libcublas.so.13"
#define PYTHON    "Python"

/*
 * A training script: segments of PyTorch's pool, its streams, cuBLAS' workspace. With `keeps`, the
 * script also keeps a block and creates a handle of cuBLAS itself.
 */
static void make_one(const char *name, bool keeps)
{
	struct trace t = { .base = 0x10000000, .start_ns = START, .end_ns = START + 900 * MS };
	uint32_t segment, stream, workspace, event, own, handle;

	folder(name);
	write_info(name, "python3 train.py", "exit_status", "0");
	begin(&t, name, 970, 1, "/usr/bin/python3", "python3\0train.py", 16);
	segment = THROUGH(&t, { C10, ALLOCATOR "alloc_block" }, { C10, ALLOCATOR "malloc" },
			  { PYTHON, "train" });
	stream = THROUGH(&t, { C10, "c10::cuda::getStreamFromPool" }, { PYTHON, "Stream.__new__" });
	workspace = THROUGH(&t, { CUBLAS, "cublasCreate_v2" },
			    { TORCH, "at::cuda::getCurrentCUDABlasHandle" },
			    { PYTHON, "Linear.forward" });
	event = THROUGH(&t, { C10, ALLOCATOR "insert_events" }, { PYTHON, "train" });
	own = THROUGH(&t, { PYTHON, "keep" });
	handle = THROUGH(&t, { CUBLAS, "cublasCreate_v2" }, { PYTHON, "keep" });
	for (unsigned i = 0; i < 3; i++)
		CALL(&t, cuMemAlloc_v2, 10 + i, .handle = 0x7f0000000000 + i * 0x2000000,
		     .size = 20 << 20, .stack = segment);
	for (unsigned i = 0; i < 32; i++)
		CALL(&t, cuStreamCreateWithPriority, 20 + i, .handle = 0x5500000000 + i * 0x100,
		     .stack = stream);
	CALL(&t, cuMemAlloc_v2, 60, .handle = 0x7f1000000000, .size = 64 << 20, .stack = workspace);
	CALL(&t, cuEventCreate, 70, .handle = 0x5600000000, .stack = event);
	CALL(&t, cuMemAlloc_v2, 80, .handle = 0x7f2000000000, .size = 1 << 20, .stack = own);
	if (keeps)
		CALL(&t, cuMemAlloc_v2, 90, .handle = 0x7f3000000000, .size = 64 << 20,
		     .stack = handle);
	else
		CALL(&t, cuMemFree_v2, 90, .handle = 0x7f2000000000, .stack = own);
	end(&t);
}

void make_held(void)
{
	make_one("held.gt", false);
	make_one("held_kept.gt", true);
}
