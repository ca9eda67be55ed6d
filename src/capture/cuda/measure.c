/* SPDX-License-Identifier: MIT */
/*
 * measure.c - device memory that the driver takes for itself: for code, graphs and further
 * contexts.
 *
 * No call names its size. It is the change of the GPU's own figure during the call that causes it,
 * where nothing else was allocated meanwhile. Asking for the figure takes some 7 µs, so only calls
 * that are rare and slow are measured.
 */
#include <stdatomic.h>

#include "capture/cuda/cuda.h"

enum { CAPTURE_RELAXED = 2 /* CU_STREAM_CAPTURE_MODE_RELAXED */ };

_Atomic uint32_t gt_cuda_measuring, gt_cuda_memory_changes;

static CUresult (*get_current)(CUcontext *context);
static CUresult (*get_info)(size_t *available, size_t *total);
static CUresult (*exchange_capture_mode)(int *mode);

/* What was measured, for the door below. */
struct measured_call {
	struct gt_guest_call guest;
	CUcontext context;
};

static CUcontext context_of(const struct gt_call *call)
{
	return ((const struct measured_call *)((const char *)call -
					       offsetof(struct measured_call, guest.call)))
		->context;
}

static uint64_t owner_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	return (uint64_t)(uintptr_t)context_of(call);
}

static uint16_t place_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	return gt_cuda_place(call, row, context_of(call), false);
}

static const struct gt_call_door door = { .owner = owner_of, .place = place_of };

void gt_cuda_measure_start(void *(*find)(void *, const char *), void *handle)
{
	*(void **)&get_current = find(handle, "cuCtxGetCurrent");
	*(void **)&get_info = find(handle, "cuMemGetInfo_v2");
	*(void **)&exchange_capture_mode = find(handle, "cuThreadExchangeStreamCaptureMode");
}

/*
 * Fails without a current context, which is asked for first: compute-sanitizer shows its user every
 * call that fails. A stream that is being captured must not notice.
 */
static bool read_used(uint64_t *used)
{
	size_t available, total;
	int mode = CAPTURE_RELAXED;
	CUcontext context = NULL;
	bool is_known;

	if (!get_current || !get_info || !exchange_capture_mode ||
	    get_current(&context) != CUDA_SUCCESS || !context ||
	    exchange_capture_mode(&mode) != CUDA_SUCCESS)
		return false;
	is_known = get_info(&available, &total) == CUDA_SUCCESS && available <= total;
	exchange_capture_mode(&mode);
	*used = total - available;
	return is_known;
}

void gt_cuda_measure_begin(struct gt_cuda_reading *r)
{
	/* two measurements at once would both see the change of either */
	if (atomic_fetch_add_explicit(&gt_cuda_measuring, 1, memory_order_acq_rel))
		atomic_fetch_add_explicit(&gt_cuda_memory_changes, 1, memory_order_relaxed);
	r->changes = atomic_load_explicit(&gt_cuda_memory_changes, memory_order_relaxed);
	r->is_known = read_used(&r->used);
}

int64_t gt_cuda_measure_end(const struct gt_cuda_reading *r)
{
	uint64_t used = 0;
	bool is_known = r->is_known && read_used(&used);

	is_known &=
		atomic_load_explicit(&gt_cuda_memory_changes, memory_order_relaxed) == r->changes;
	if (atomic_fetch_sub_explicit(&gt_cuda_measuring, 1, memory_order_acq_rel) > 1)
		is_known = false;
	return is_known ? (int64_t)(used - r->used) : 0;
}

void gt_cuda_measured(enum gt_function_id row, uint64_t handle, uint64_t bytes, CUcontext context,
		      const void *caller)
{
	struct measured_call call = { .context = context };
	uint64_t argv[] = { handle, bytes };

	gt_guest_begin(&call.guest, row, argv, caller);
	gt_guest_end(&call.guest, 0, &door);
}
