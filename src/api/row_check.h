/* SPDX-License-Identifier: MIT */
/*
 * row_check.h - compares the rows of a .def file with the API's own header, at compile time.
 *
 *	#define FN(fn, result, args, effect, kind, handle, size, owner) \
 *		GT_CHECK_ROW(fn, result, args, size)
 *
 * Every door does this for every row: it does not compile if the header declares the function with
 * another result or other arguments, or if a field named in the size column is elsewhere.
 */
#pragma once

#include <stddef.h>

#include "api/fold.h"

#define GT_TYPE_STATUS(type)          type
#define GT_TYPE_STATUS_ANY(type)      type
#define GT_TYPE_HANDLE(type)          type
#define GT_TYPE_HANDLE_OR(type, code) type
#define GT_TYPE_NOTHING               void

/* clang-format off */
#define GT_CHECK_ROW(fn, result, args, size)                                                       \
	GT_CHECK_ROW_(fn, GT_TYPE_##result, size, UNWRAP args)
#define GT_CHECK_ROW_(...) GT_CHECK_ROW__(__VA_ARGS__)
#define GT_CHECK_ROW__(fn, type, size, ...)                                                        \
	GT_SECOND(GT_UNDECLARED_##fn GT_UNCOMPARED, GT_COMPARE, ~)                                 \
		(fn, type (*)(PARAMS(__VA_ARGS__)))                                                \
	static __attribute__((unused)) void check_layout_##fn(PARAMS(__VA_ARGS__))                 \
	{                                                                                          \
		static const size_t checks[] __attribute__((unused)) = { GT_CHECK_##size };        \
	}
/* clang-format on */
#define GT_SECOND(...)        GT_SECOND_(__VA_ARGS__)
#define GT_SECOND_(a, b, ...) b
#define GT_UNCOMPARED(fn, row)
#define GT_COMPARE(fn, row)                                                                        \
	_Static_assert(__builtin_types_compatible_p(__typeof__(&fn), row),                         \
		       #fn ": its row is not what the API's header declares");

/* A check as an expression, for lists of them. */
#define GT_CHECK(condition, message)                                                               \
	sizeof(struct {                                                                            \
		_Static_assert(condition, message);                                                \
		char unused;                                                                       \
	})
#define GT_CHECK_NONE                 0
#define GT_CHECK_BYTES(n)             0
#define GT_CHECK_ASK_ONLY             0
#define GT_CHECK_KEEP(...)            FOLD(GT_CHECK_WORD, _, __VA_ARGS__)
#define GT_CHECK_BYTES_KEEP(n, ...)   FOLD(GT_CHECK_WORD, _, __VA_ARGS__)
#define GT_CHECK_ASK_OR(formula, ...) FOLD(GT_CHECK_WORD, _, __VA_ARGS__)
#define GT_CHECK_WORD(_, word)        GT_CHECK_##word
#define GT_CHECK_ARG(n, bytes)        GT_CHECK(sizeof(n) == (bytes), #n " has another size")
#define GT_CHECK_HEAD(n, bytes)                                                                    \
	GT_CHECK(GT_IS_VOID(n) || sizeof(*(n)) == (bytes),                                         \
		 #n " points to something of another size")
#define GT_CHECK_AT(n, field, offset, bytes) GT_CHECK_FIELD(__typeof__(*(n)), field, offset, bytes)
#define GT_CHECK_AT_AS(n, type, field, offset, bytes)                                              \
	(GT_CHECK(GT_IS_VOID(n), #n " has a type of its own") +                                    \
	 GT_CHECK_FIELD(type, field, offset, bytes))
#define GT_CHECK_PAIR(n, first, second, offset)                                                    \
	(GT_CHECK_AT(n, first, offset, 4) + GT_CHECK_AT(n, second, (offset) + 4, 4))
#define GT_CHECK_FIELD(type, field, offset, bytes)                                                 \
	GT_CHECK(offsetof(type, field) == (offset) && sizeof(((type *)0)->field) == (bytes),       \
		 #field " lies elsewhere, or has another size")
#define GT_IS_VOID(n)                                                                              \
	(__builtin_types_compatible_p(__typeof__(n), void *) ||                                    \
	 __builtin_types_compatible_p(__typeof__(n), const void *))

/*
 * Functions that the oldest headers we build with do not declare: their rows are compared with
 * nothing. tests/unit/test_table.py fails for a name here that Debian bookworm's headers declare.
 */

/* OpenCL 3.0 of 2023: Intel documents these elsewhere, or the header needs libva's. */
#define GT_UNDECLARED_clCreateImageWithPropertiesINTEL         ~,
#define GT_UNDECLARED_clCreatePerfCountersCommandQueueINTEL    ~,
#define GT_UNDECLARED_clEnqueueNDCountKernelINTEL              ~,
#define GT_UNDECLARED_clRemapCommandBufferKHR                  ~,
#define GT_UNDECLARED_clCreateFromVA_APIMediaSurfaceINTEL      ~,
#define GT_UNDECLARED_clEnqueueAcquireVA_APIMediaSurfacesINTEL ~,
#define GT_UNDECLARED_clEnqueueReleaseVA_APIMediaSurfacesINTEL ~,

/* Level Zero 1.4, which is what loader 1.8 comes with. */
#define GT_UNDECLARED_zeEventPoolPutIpcHandle                                ~,
#define GT_UNDECLARED_zeEventCounterBasedCreate                              ~,
#define GT_UNDECLARED_zeEventCounterBasedGetIpcHandle                        ~,
#define GT_UNDECLARED_zeEventCounterBasedOpenIpcHandle                       ~,
#define GT_UNDECLARED_zeEventCounterBasedCloseIpcHandle                      ~,
#define GT_UNDECLARED_zeImageViewCreateExt                                   ~,
#define GT_UNDECLARED_zeMemGetIpcHandleWithProperties                        ~,
#define GT_UNDECLARED_zeMemGetIpcHandleFromFileDescriptorExp                 ~,
#define GT_UNDECLARED_zeMemGetFileDescriptorFromIpcHandleExp                 ~,
#define GT_UNDECLARED_zeMemPutIpcHandle                                      ~,
#define GT_UNDECLARED_zeRTASBuilderCreateExp                                 ~,
#define GT_UNDECLARED_zeRTASBuilderDestroyExp                                ~,
#define GT_UNDECLARED_zeRTASParallelOperationCreateExp                       ~,
#define GT_UNDECLARED_zeRTASParallelOperationDestroyExp                      ~,
#define GT_UNDECLARED_zeRTASBuilderCreateExt                                 ~,
#define GT_UNDECLARED_zeRTASBuilderDestroyExt                                ~,
#define GT_UNDECLARED_zeRTASParallelOperationCreateExt                       ~,
#define GT_UNDECLARED_zeRTASParallelOperationDestroyExt                      ~,
#define GT_UNDECLARED_zeDeviceImportExternalSemaphoreExt                     ~,
#define GT_UNDECLARED_zeDeviceReleaseExternalSemaphoreExt                    ~,
#define GT_UNDECLARED_zeGraphCreateExt                                       ~,
#define GT_UNDECLARED_zeCommandListEndGraphCaptureExt                        ~,
#define GT_UNDECLARED_zeGraphInstantiateExt                                  ~,
#define GT_UNDECLARED_zeGraphDestroyExt                                      ~,
#define GT_UNDECLARED_zeExecutableGraphDestroyExt                            ~,
#define GT_UNDECLARED_zeCommandListCreateCloneExp                            ~,
#define GT_UNDECLARED_zeCommandListImmediateAppendCommandListsExp            ~,
#define GT_UNDECLARED_zeCommandListImmediateAppendCommandListsWithParameters ~,
#define GT_UNDECLARED_zeCommandListAppendSignalExternalSemaphoreExt          ~,
#define GT_UNDECLARED_zeCommandListAppendWaitExternalSemaphoreExt            ~,
#define GT_UNDECLARED_zeCommandListAppendLaunchKernelWithParameters          ~,
#define GT_UNDECLARED_zeCommandListAppendLaunchKernelWithArguments           ~,
#define GT_UNDECLARED_zeCommandListAppendMemoryCopyWithParameters            ~,
#define GT_UNDECLARED_zeCommandListAppendMemoryFillWithParameters            ~,
#define GT_UNDECLARED_zeCommandListAppendGraphExt                            ~,
#define GT_UNDECLARED_zeCommandListAppendHostFunction                        ~,
#define GT_UNDECLARED_zeRTASBuilderCommandListAppendCopyExt                  ~,
#define GT_UNDECLARED_zetMetricTracerCreateExp                               ~,
#define GT_UNDECLARED_zetMetricTracerDestroyExp                              ~,
#define GT_UNDECLARED_zetMetricDecoderCreateExp                              ~,
#define GT_UNDECLARED_zetMetricDecoderDestroyExp                             ~,
#define GT_UNDECLARED_zetMetricGroupCreateExp                                ~,
#define GT_UNDECLARED_zetDeviceCreateMetricGroupsFromMetricsExp              ~,
#define GT_UNDECLARED_zetMetricGroupDestroyExp                               ~,
#define GT_UNDECLARED_zetMetricCreateFromProgrammableExp                     ~,
#define GT_UNDECLARED_zetMetricCreateFromProgrammableExp2                    ~,
#define GT_UNDECLARED_zetMetricDestroyExp                                    ~,
#define GT_UNDECLARED_zetCommandListAppendMarkerExp                          ~,

/* Of Intel's driver alone, in headers of its own. */
#define GT_UNDECLARED_zexCounterBasedEventCreate                   ~,
#define GT_UNDECLARED_zexCounterBasedEventCreate2                  ~,
#define GT_UNDECLARED_zexCounterBasedEventGetIpcHandle             ~,
#define GT_UNDECLARED_zexCounterBasedEventOpenIpcHandle            ~,
#define GT_UNDECLARED_zexCounterBasedEventCloseIpcHandle           ~,
#define GT_UNDECLARED_zexMemGetIpcHandles                          ~,
#define GT_UNDECLARED_zexMemOpenIpcHandles                         ~,
#define GT_UNDECLARED_zexDriverImportExternalPointer               ~,
#define GT_UNDECLARED_zexDriverReleaseImportedPointer              ~,
#define GT_UNDECLARED_zeIntelMemMapDeviceMemToHost                 ~,
#define GT_UNDECLARED_zeGraphCreateExp                             ~,
#define GT_UNDECLARED_zeCommandListEndGraphCaptureExp              ~,
#define GT_UNDECLARED_zeGraphDestroyExp                            ~,
#define GT_UNDECLARED_zeCommandListInstantiateGraphExp             ~,
#define GT_UNDECLARED_zeExecutableGraphDestroyExp                  ~,
#define GT_UNDECLARED_zeCommandListAppendGraphExp                  ~,
#define GT_UNDECLARED_zetIntelMetricCalculationOperationCreateExp  ~,
#define GT_UNDECLARED_zetIntelMetricCalculationOperationDestroyExp ~,

/* CUDA: older versions of a function, and those of per-thread streams. */
#define GT_UNDECLARED_cuCtxCreate                       ~,
#define GT_UNDECLARED_cuCtxCreate_v2                    ~,
#define GT_UNDECLARED_cuCtxCreate_v3                    ~,
#define GT_UNDECLARED_cuCtxDestroy                      ~,
#define GT_UNDECLARED_cuDevicePrimaryCtxRelease         ~,
#define GT_UNDECLARED_cuDevicePrimaryCtxReset           ~,
#define GT_UNDECLARED_cuMemAllocAsync_ptsz              ~,
#define GT_UNDECLARED_cuMemAllocFromPoolAsync_ptsz      ~,
#define GT_UNDECLARED_cuMemFreeAsync_ptsz               ~,
#define GT_UNDECLARED_cuIpcOpenMemHandle                ~,
#define GT_UNDECLARED_cuStreamDestroy                   ~,
#define GT_UNDECLARED_cuEventDestroy                    ~,
#define GT_UNDECLARED_cuStreamEndCapture_ptsz           ~,
#define GT_UNDECLARED_cuGraphInstantiate                ~,
#define GT_UNDECLARED_cuGraphInstantiate_v2             ~,
#define GT_UNDECLARED_cuGraphInstantiateWithParams_ptsz ~,
