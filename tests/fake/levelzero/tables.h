/* SPDX-License-Identifier: MIT */
/*
 * tables.h - which function stands in which slot of which dispatch table, since which version.
 *
 * FN(slot, minor, function)	a slot of the installed headers; `function` has a fake_ twin here
 * STUB(slot, minor)		the same, answered with ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
 * NEW(index, minor, function)	a slot newer than the oldest headers we build with, by its position
 *
 * A slot exists in the caller's structure from version 1.<minor> on: tables only grow at their end.
 */
#ifndef GT_FAKE_ZE_TABLES_H
#define GT_FAKE_ZE_TABLES_H

#include <level_zero/ze_api.h>

#include "newer.h"

#define GLOBAL_SLOTS(FN, STUB, NEW)                                                                \
	FN(Init, 0, zeInit)                                                                        \
	NEW(1, 10, zeInitDrivers)

#define DRIVER_SLOTS(FN, STUB, NEW)                                                                \
	FN(Get, 0, zeDriverGet)                                                                    \
	FN(GetApiVersion, 0, zeDriverGetApiVersion)                                                \
	FN(GetProperties, 0, zeDriverGetProperties)                                                \
	FN(GetIpcProperties, 0, zeDriverGetIpcProperties)                                          \
	FN(GetExtensionProperties, 0, zeDriverGetExtensionProperties)                              \
	FN(GetExtensionFunctionAddress, 1, zeDriverGetExtensionFunctionAddress)                    \
	NEW(6, 6, zeDriverGetLastErrorDescription)                                                 \
	NEW(8, 14, zeDriverGetDefaultContext)

#define DEVICE_SLOTS(FN, STUB, NEW)                                                                \
	FN(Get, 0, zeDeviceGet)                                                                    \
	FN(GetSubDevices, 0, zeDeviceGetSubDevices)                                                \
	FN(GetProperties, 0, zeDeviceGetProperties)                                                \
	FN(GetComputeProperties, 0, zeDeviceGetComputeProperties)                                  \
	FN(GetModuleProperties, 0, zeDeviceGetModuleProperties)                                    \
	FN(GetCommandQueueGroupProperties, 0, zeDeviceGetCommandQueueGroupProperties)              \
	FN(GetMemoryProperties, 0, zeDeviceGetMemoryProperties)                                    \
	FN(GetMemoryAccessProperties, 0, zeDeviceGetMemoryAccessProperties)                        \
	FN(GetCacheProperties, 0, zeDeviceGetCacheProperties)                                      \
	FN(GetImageProperties, 0, zeDeviceGetImageProperties)                                      \
	FN(GetExternalMemoryProperties, 0, zeDeviceGetExternalMemoryProperties)                    \
	FN(GetP2PProperties, 0, zeDeviceGetP2PProperties)                                          \
	FN(CanAccessPeer, 0, zeDeviceCanAccessPeer)                                                \
	FN(GetStatus, 0, zeDeviceGetStatus)                                                        \
	FN(GetGlobalTimestamps, 1, zeDeviceGetGlobalTimestamps)                                    \
	FN(ReserveCacheExt, 2, zeDeviceReserveCacheExt)                                            \
	STUB(SetCacheAdviceExt, 2)                                                                 \
	FN(PciGetPropertiesExt, 3, zeDevicePciGetPropertiesExt)                                    \
	NEW(18, 7, zeDeviceGetRootDevice)                                                          \
	NEW(19, 12, zeDeviceImportExternalSemaphoreExt)                                            \
	NEW(20, 12, zeDeviceReleaseExternalSemaphoreExt)                                           \
	NEW(22, 14, zeDeviceSynchronize)

#define DEVICE_EXP_SLOTS(FN, STUB, NEW) STUB(GetFabricVertexExp, 4)

#define CONTEXT_SLOTS(FN, STUB, NEW)                                                               \
	FN(Create, 0, zeContextCreate)                                                             \
	FN(Destroy, 0, zeContextDestroy)                                                           \
	FN(GetStatus, 0, zeContextGetStatus)                                                       \
	FN(SystemBarrier, 0, zeContextSystemBarrier)                                               \
	FN(MakeMemoryResident, 0, zeContextMakeMemoryResident)                                     \
	FN(EvictMemory, 0, zeContextEvictMemory)                                                   \
	FN(MakeImageResident, 0, zeContextMakeImageResident)                                       \
	FN(EvictImage, 0, zeContextEvictImage)                                                     \
	FN(CreateEx, 1, zeContextCreateEx)

#define COMMAND_QUEUE_SLOTS(FN, STUB, NEW)                                                         \
	FN(Create, 0, zeCommandQueueCreate)                                                        \
	FN(Destroy, 0, zeCommandQueueDestroy)                                                      \
	FN(ExecuteCommandLists, 0, zeCommandQueueExecuteCommandLists)                              \
	FN(Synchronize, 0, zeCommandQueueSynchronize)

/* HostSynchronize is older than 1.9, but not known to have been there at every version before */
#define COMMAND_LIST_SLOTS(FN, STUB, NEW)                                                          \
	FN(Create, 0, zeCommandListCreate)                                                         \
	FN(CreateImmediate, 0, zeCommandListCreateImmediate)                                       \
	FN(Destroy, 0, zeCommandListDestroy)                                                       \
	FN(Close, 0, zeCommandListClose)                                                           \
	FN(Reset, 0, zeCommandListReset)                                                           \
	FN(AppendWriteGlobalTimestamp, 0, zeCommandListAppendWriteGlobalTimestamp)                 \
	FN(AppendBarrier, 0, zeCommandListAppendBarrier)                                           \
	FN(AppendMemoryRangesBarrier, 0, zeCommandListAppendMemoryRangesBarrier)                   \
	FN(AppendMemoryCopy, 0, zeCommandListAppendMemoryCopy)                                     \
	FN(AppendMemoryFill, 0, zeCommandListAppendMemoryFill)                                     \
	FN(AppendMemoryCopyRegion, 0, zeCommandListAppendMemoryCopyRegion)                         \
	FN(AppendMemoryCopyFromContext, 0, zeCommandListAppendMemoryCopyFromContext)               \
	FN(AppendImageCopy, 0, zeCommandListAppendImageCopy)                                       \
	FN(AppendImageCopyRegion, 0, zeCommandListAppendImageCopyRegion)                           \
	FN(AppendImageCopyToMemory, 0, zeCommandListAppendImageCopyToMemory)                       \
	FN(AppendImageCopyFromMemory, 0, zeCommandListAppendImageCopyFromMemory)                   \
	FN(AppendMemoryPrefetch, 0, zeCommandListAppendMemoryPrefetch)                             \
	FN(AppendMemAdvise, 0, zeCommandListAppendMemAdvise)                                       \
	FN(AppendSignalEvent, 0, zeCommandListAppendSignalEvent)                                   \
	FN(AppendWaitOnEvents, 0, zeCommandListAppendWaitOnEvents)                                 \
	FN(AppendEventReset, 0, zeCommandListAppendEventReset)                                     \
	FN(AppendQueryKernelTimestamps, 0, zeCommandListAppendQueryKernelTimestamps)               \
	FN(AppendLaunchKernel, 0, zeCommandListAppendLaunchKernel)                                 \
	FN(AppendLaunchCooperativeKernel, 0, zeCommandListAppendLaunchCooperativeKernel)           \
	FN(AppendLaunchKernelIndirect, 0, zeCommandListAppendLaunchKernelIndirect)                 \
	FN(AppendLaunchMultipleKernelsIndirect, 0,                                                 \
	   zeCommandListAppendLaunchMultipleKernelsIndirect)                                       \
	FN(AppendImageCopyToMemoryExt, 3, zeCommandListAppendImageCopyToMemoryExt)                 \
	FN(AppendImageCopyFromMemoryExt, 3, zeCommandListAppendImageCopyFromMemoryExt)             \
	NEW(28, 9, zeCommandListHostSynchronize)                                                   \
	NEW(29, 9, zeCommandListGetDeviceHandle)                                                   \
	NEW(30, 9, zeCommandListGetContextHandle)                                                  \
	NEW(33, 9, zeCommandListIsImmediate)                                                       \
	NEW(34, 12, zeCommandListAppendSignalExternalSemaphoreExt)                                 \
	NEW(35, 12, zeCommandListAppendWaitExternalSemaphoreExt)                                   \
	NEW(36, 14, zeCommandListAppendLaunchKernelWithParameters)                                 \
	NEW(37, 14, zeCommandListAppendLaunchKernelWithArguments)                                  \
	NEW(38, 16, zeCommandListAppendMemoryCopyWithParameters)                                   \
	NEW(39, 16, zeCommandListAppendMemoryFillWithParameters)                                   \
	NEW(40, 16, zeCommandListImmediateAppendCommandListsWithParameters)                        \
	NEW(48, 17, zeCommandListEndGraphCaptureExt)                                               \
	NEW(50, 17, zeCommandListAppendGraphExt)                                                   \
	NEW(51, 17, zeCommandListAppendHostFunction)

#define COMMAND_LIST_EXP_SLOTS(FN, STUB, NEW)                                                      \
	NEW(0, 9, zeCommandListCreateCloneExp)                                                     \
	NEW(1, 9, zeCommandListImmediateAppendCommandListsExp)

#define IMAGE_SLOTS(FN, STUB, NEW)                                                                 \
	FN(GetProperties, 0, zeImageGetProperties)                                                 \
	FN(Create, 0, zeImageCreate)                                                               \
	FN(Destroy, 0, zeImageDestroy)                                                             \
	FN(GetAllocPropertiesExt, 3, zeImageGetAllocPropertiesExt)                                 \
	NEW(4, 5, zeImageViewCreateExt)

#define IMAGE_EXP_SLOTS(FN, STUB, NEW)                                                             \
	FN(GetMemoryPropertiesExp, 2, zeImageGetMemoryPropertiesExp)                               \
	FN(ViewCreateExp, 2, zeImageViewCreateExp)

#define FENCE_SLOTS(FN, STUB, NEW)                                                                 \
	FN(Create, 0, zeFenceCreate)                                                               \
	FN(Destroy, 0, zeFenceDestroy)                                                             \
	FN(HostSynchronize, 0, zeFenceHostSynchronize)                                             \
	FN(QueryStatus, 0, zeFenceQueryStatus)                                                     \
	FN(Reset, 0, zeFenceReset)

#define EVENT_POOL_SLOTS(FN, STUB, NEW)                                                            \
	FN(Create, 0, zeEventPoolCreate)                                                           \
	FN(Destroy, 0, zeEventPoolDestroy)                                                         \
	FN(GetIpcHandle, 0, zeEventPoolGetIpcHandle)                                               \
	FN(OpenIpcHandle, 0, zeEventPoolOpenIpcHandle)                                             \
	FN(CloseIpcHandle, 0, zeEventPoolCloseIpcHandle)                                           \
	NEW(5, 6, zeEventPoolPutIpcHandle)

#define EVENT_SLOTS(FN, STUB, NEW)                                                                 \
	FN(Create, 0, zeEventCreate)                                                               \
	FN(Destroy, 0, zeEventDestroy)                                                             \
	FN(HostSignal, 0, zeEventHostSignal)                                                       \
	FN(HostSynchronize, 0, zeEventHostSynchronize)                                             \
	FN(QueryStatus, 0, zeEventQueryStatus)                                                     \
	FN(HostReset, 0, zeEventHostReset)                                                         \
	FN(QueryKernelTimestamp, 0, zeEventQueryKernelTimestamp)                                   \
	NEW(11, 15, zeEventCounterBasedCreate)                                                     \
	NEW(12, 15, zeEventCounterBasedGetIpcHandle)                                               \
	NEW(13, 15, zeEventCounterBasedOpenIpcHandle)                                              \
	NEW(14, 15, zeEventCounterBasedCloseIpcHandle)                                             \
	NEW(15, 15, zeEventCounterBasedGetDeviceAddress)

#define EVENT_EXP_SLOTS(FN, STUB, NEW) STUB(QueryTimestampsExp, 2)

#define MODULE_SLOTS(FN, STUB, NEW)                                                                \
	FN(Create, 0, zeModuleCreate)                                                              \
	FN(Destroy, 0, zeModuleDestroy)                                                            \
	FN(DynamicLink, 0, zeModuleDynamicLink)                                                    \
	FN(GetNativeBinary, 0, zeModuleGetNativeBinary)                                            \
	STUB(GetGlobalPointer, 0)                                                                  \
	FN(GetKernelNames, 0, zeModuleGetKernelNames)                                              \
	FN(GetProperties, 0, zeModuleGetProperties)                                                \
	STUB(GetFunctionPointer, 0)                                                                \
	FN(InspectLinkageExt, 3, zeModuleInspectLinkageExt)

#define MODULE_BUILD_LOG_SLOTS(FN, STUB, NEW)                                                      \
	FN(Destroy, 0, zeModuleBuildLogDestroy)                                                    \
	FN(GetString, 0, zeModuleBuildLogGetString)

#define KERNEL_SLOTS(FN, STUB, NEW)                                                                \
	FN(Create, 0, zeKernelCreate)                                                              \
	FN(Destroy, 0, zeKernelDestroy)                                                            \
	FN(SetCacheConfig, 0, zeKernelSetCacheConfig)                                              \
	FN(SetGroupSize, 0, zeKernelSetGroupSize)                                                  \
	FN(SuggestGroupSize, 0, zeKernelSuggestGroupSize)                                          \
	FN(SuggestMaxCooperativeGroupCount, 0, zeKernelSuggestMaxCooperativeGroupCount)            \
	FN(SetArgumentValue, 0, zeKernelSetArgumentValue)                                          \
	FN(SetIndirectAccess, 0, zeKernelSetIndirectAccess)                                        \
	FN(GetIndirectAccess, 0, zeKernelGetIndirectAccess)                                        \
	STUB(GetSourceAttributes, 0)                                                               \
	FN(GetProperties, 0, zeKernelGetProperties)                                                \
	FN(GetName, 0, zeKernelGetName)

#define KERNEL_EXP_SLOTS(FN, STUB, NEW)                                                            \
	STUB(SetGlobalOffsetExp, 1)                                                                \
	STUB(SchedulingHintExp, 2)

#define SAMPLER_SLOTS(FN, STUB, NEW)                                                               \
	FN(Create, 0, zeSamplerCreate)                                                             \
	FN(Destroy, 0, zeSamplerDestroy)

#define PHYSICAL_MEM_SLOTS(FN, STUB, NEW)                                                          \
	FN(Create, 0, zePhysicalMemCreate)                                                         \
	FN(Destroy, 0, zePhysicalMemDestroy)

#define MEM_SLOTS(FN, STUB, NEW)                                                                   \
	FN(AllocShared, 0, zeMemAllocShared)                                                       \
	FN(AllocDevice, 0, zeMemAllocDevice)                                                       \
	FN(AllocHost, 0, zeMemAllocHost)                                                           \
	FN(Free, 0, zeMemFree)                                                                     \
	FN(GetAllocProperties, 0, zeMemGetAllocProperties)                                         \
	FN(GetAddressRange, 0, zeMemGetAddressRange)                                               \
	FN(GetIpcHandle, 0, zeMemGetIpcHandle)                                                     \
	FN(OpenIpcHandle, 0, zeMemOpenIpcHandle)                                                   \
	FN(CloseIpcHandle, 0, zeMemCloseIpcHandle)                                                 \
	FN(FreeExt, 3, zeMemFreeExt)                                                               \
	NEW(10, 6, zeMemPutIpcHandle)                                                              \
	NEW(12, 15, zeMemGetIpcHandleWithProperties)

#define MEM_EXP_SLOTS(FN, STUB, NEW)                                                               \
	NEW(0, 6, zeMemGetIpcHandleFromFileDescriptorExp)                                          \
	NEW(1, 6, zeMemGetFileDescriptorFromIpcHandleExp)

#define VIRTUAL_MEM_SLOTS(FN, STUB, NEW)                                                           \
	FN(Reserve, 0, zeVirtualMemReserve)                                                        \
	FN(Free, 0, zeVirtualMemFree)                                                              \
	FN(QueryPageSize, 0, zeVirtualMemQueryPageSize)                                            \
	FN(Map, 0, zeVirtualMemMap)                                                                \
	FN(Unmap, 0, zeVirtualMemUnmap)                                                            \
	FN(SetAccessAttribute, 0, zeVirtualMemSetAccessAttribute)                                  \
	FN(GetAccessAttribute, 0, zeVirtualMemGetAccessAttribute)

#define FABRIC_VERTEX_EXP_SLOTS(FN, STUB, NEW)                                                     \
	STUB(GetExp, 4)                                                                            \
	STUB(GetSubVerticesExp, 4)                                                                 \
	STUB(GetPropertiesExp, 4)                                                                  \
	STUB(GetDeviceExp, 4)

#define FABRIC_EDGE_EXP_SLOTS(FN, STUB, NEW)                                                       \
	STUB(GetExp, 4)                                                                            \
	STUB(GetVerticesExp, 4)                                                                    \
	STUB(GetPropertiesExp, 4)

/* The Exp and the Ext flavour of these two have the same signatures at both ends of a life. */
#define RTAS_BUILDER_EXP_SLOTS(FN, STUB, NEW)                                                      \
	NEW(0, 7, zeRTASBuilderCreateExp)                                                          \
	NEW(3, 7, zeRTASBuilderDestroyExp)

#define RTAS_BUILDER_SLOTS(FN, STUB, NEW)                                                          \
	NEW(0, 13, zeRTASBuilderCreateExt)                                                         \
	NEW(3, 13, zeRTASBuilderCommandListAppendCopyExt)                                          \
	NEW(4, 13, zeRTASBuilderDestroyExt)

#define RTAS_OPERATION_EXP_SLOTS(FN, STUB, NEW)                                                    \
	NEW(0, 7, zeRTASParallelOperationCreateExp)                                                \
	NEW(2, 7, zeRTASParallelOperationJoinExp)                                                  \
	NEW(3, 7, zeRTASParallelOperationDestroyExp)

#define RTAS_OPERATION_SLOTS(FN, STUB, NEW)                                                        \
	NEW(0, 13, zeRTASParallelOperationCreateExt)                                               \
	NEW(2, 13, zeRTASParallelOperationJoinExt)                                                 \
	NEW(3, 13, zeRTASParallelOperationDestroyExt)

#define GRAPH_SLOTS(FN, STUB, NEW)                                                                 \
	NEW(0, 17, zeGraphCreateExt)                                                               \
	NEW(3, 17, zeGraphInstantiateExt)                                                          \
	NEW(6, 17, zeGraphDestroyExt)

#define EXECUTABLE_GRAPH_SLOTS(FN, STUB, NEW) NEW(1, 17, zeExecutableGraphDestroyExt)

/* TABLE(name in the getter, its structure, its slots) of every core table of the headers */
#define CORE_TABLES(TABLE)                                                                         \
	TABLE(Global, ze_global_dditable_t, GLOBAL_SLOTS)                                          \
	TABLE(Driver, ze_driver_dditable_t, DRIVER_SLOTS)                                          \
	TABLE(Device, ze_device_dditable_t, DEVICE_SLOTS)                                          \
	TABLE(DeviceExp, ze_device_exp_dditable_t, DEVICE_EXP_SLOTS)                               \
	TABLE(Context, ze_context_dditable_t, CONTEXT_SLOTS)                                       \
	TABLE(CommandQueue, ze_command_queue_dditable_t, COMMAND_QUEUE_SLOTS)                      \
	TABLE(CommandList, ze_command_list_dditable_t, COMMAND_LIST_SLOTS)                         \
	TABLE(Image, ze_image_dditable_t, IMAGE_SLOTS)                                             \
	TABLE(ImageExp, ze_image_exp_dditable_t, IMAGE_EXP_SLOTS)                                  \
	TABLE(Fence, ze_fence_dditable_t, FENCE_SLOTS)                                             \
	TABLE(EventPool, ze_event_pool_dditable_t, EVENT_POOL_SLOTS)                               \
	TABLE(Event, ze_event_dditable_t, EVENT_SLOTS)                                             \
	TABLE(EventExp, ze_event_exp_dditable_t, EVENT_EXP_SLOTS)                                  \
	TABLE(Module, ze_module_dditable_t, MODULE_SLOTS)                                          \
	TABLE(ModuleBuildLog, ze_module_build_log_dditable_t, MODULE_BUILD_LOG_SLOTS)              \
	TABLE(Kernel, ze_kernel_dditable_t, KERNEL_SLOTS)                                          \
	TABLE(KernelExp, ze_kernel_exp_dditable_t, KERNEL_EXP_SLOTS)                               \
	TABLE(Sampler, ze_sampler_dditable_t, SAMPLER_SLOTS)                                       \
	TABLE(PhysicalMem, ze_physical_mem_dditable_t, PHYSICAL_MEM_SLOTS)                         \
	TABLE(Mem, ze_mem_dditable_t, MEM_SLOTS)                                                   \
	TABLE(VirtualMem, ze_virtual_mem_dditable_t, VIRTUAL_MEM_SLOTS)                            \
	TABLE(FabricVertexExp, ze_fabric_vertex_exp_dditable_t, FABRIC_VERTEX_EXP_SLOTS)           \
	TABLE(FabricEdgeExp, ze_fabric_edge_exp_dditable_t, FABRIC_EDGE_EXP_SLOTS)

/* NEW_TABLE(name in the getter, its slots) of tables that the oldest headers do not have */
#define NEW_TABLES(NEW_TABLE)                                                                      \
	NEW_TABLE(CommandListExp, COMMAND_LIST_EXP_SLOTS)                                          \
	NEW_TABLE(MemExp, MEM_EXP_SLOTS)                                                           \
	NEW_TABLE(RTASBuilderExp, RTAS_BUILDER_EXP_SLOTS)                                          \
	NEW_TABLE(RTASBuilder, RTAS_BUILDER_SLOTS)                                                 \
	NEW_TABLE(RTASParallelOperationExp, RTAS_OPERATION_EXP_SLOTS)                              \
	NEW_TABLE(RTASParallelOperation, RTAS_OPERATION_SLOTS)                                     \
	NEW_TABLE(Graph, GRAPH_SLOTS)                                                              \
	NEW_TABLE(ExecutableGraph, EXECUTABLE_GRAPH_SLOTS)

/* Those of the tools API that have a function; the functions are made by rows.c. */
#define TOOLS_CONTEXT_SLOTS(NEW) NEW(0, 0, zetContextActivateMetricGroups)

#define TOOLS_COMMAND_LIST_SLOTS(NEW)                                                              \
	NEW(0, 0, zetCommandListAppendMetricStreamerMarker)                                        \
	NEW(1, 0, zetCommandListAppendMetricQueryBegin)                                            \
	NEW(2, 0, zetCommandListAppendMetricQueryEnd)                                              \
	NEW(3, 0, zetCommandListAppendMetricMemoryBarrier)

#define TOOLS_COMMAND_LIST_EXP_SLOTS(NEW) NEW(0, 13, zetCommandListAppendMarkerExp)

#define TOOLS_DEVICE_EXP_SLOTS(NEW) NEW(1, 11, zetDeviceCreateMetricGroupsFromMetricsExp)

#define METRIC_GROUP_EXP_SLOTS(NEW)                                                                \
	NEW(4, 9, zetMetricGroupCreateExp)                                                         \
	NEW(8, 9, zetMetricGroupDestroyExp)

#define METRIC_EXP_SLOTS(NEW)                                                                      \
	NEW(0, 9, zetMetricCreateFromProgrammableExp)                                              \
	NEW(1, 9, zetMetricDestroyExp)                                                             \
	NEW(2, 12, zetMetricCreateFromProgrammableExp2)

#define METRIC_STREAMER_SLOTS(NEW)                                                                 \
	NEW(0, 0, zetMetricStreamerOpen)                                                           \
	NEW(1, 0, zetMetricStreamerClose)

#define METRIC_QUERY_POOL_SLOTS(NEW)                                                               \
	NEW(0, 0, zetMetricQueryPoolCreate)                                                        \
	NEW(1, 0, zetMetricQueryPoolDestroy)

#define METRIC_QUERY_SLOTS(NEW)                                                                    \
	NEW(0, 0, zetMetricQueryCreate)                                                            \
	NEW(1, 0, zetMetricQueryDestroy)

#define METRIC_TRACER_EXP_SLOTS(NEW)                                                               \
	NEW(0, 11, zetMetricTracerCreateExp)                                                       \
	NEW(1, 11, zetMetricTracerDestroyExp)

#define METRIC_DECODER_EXP_SLOTS(NEW)                                                              \
	NEW(0, 11, zetMetricDecoderCreateExp)                                                      \
	NEW(1, 11, zetMetricDecoderDestroyExp)

#define TRACER_EXP_SLOTS(NEW)                                                                      \
	NEW(0, 0, zetTracerExpCreate)                                                              \
	NEW(1, 0, zetTracerExpDestroy)

#define DEBUG_SLOTS(NEW)                                                                           \
	NEW(0, 0, zetDebugAttach)                                                                  \
	NEW(1, 0, zetDebugDetach)

/* TOOLS(name in the getter, slots in version 1.4, which are stubs, functions among them) */
#define TOOLS_TABLES(TOOLS)                                                                        \
	TOOLS(Context, 1, TOOLS_CONTEXT_SLOTS)                                                     \
	TOOLS(CommandList, 4, TOOLS_COMMAND_LIST_SLOTS)                                            \
	TOOLS(CommandListExp, 0, TOOLS_COMMAND_LIST_EXP_SLOTS)                                     \
	TOOLS(DeviceExp, 0, TOOLS_DEVICE_EXP_SLOTS)                                                \
	TOOLS(MetricGroupExp, 1, METRIC_GROUP_EXP_SLOTS)                                           \
	TOOLS(MetricExp, 0, METRIC_EXP_SLOTS)                                                      \
	TOOLS(MetricStreamer, 3, METRIC_STREAMER_SLOTS)                                            \
	TOOLS(MetricQueryPool, 2, METRIC_QUERY_POOL_SLOTS)                                         \
	TOOLS(MetricQuery, 4, METRIC_QUERY_SLOTS)                                                  \
	TOOLS(MetricTracerExp, 0, METRIC_TRACER_EXP_SLOTS)                                         \
	TOOLS(MetricDecoderExp, 0, METRIC_DECODER_EXP_SLOTS)                                       \
	TOOLS(TracerExp, 5, TRACER_EXP_SLOTS)                                                      \
	TOOLS(Debug, 11, DEBUG_SLOTS)

/*
 * OTHER(getter, its structure, slots in version 1.4): tools and sysman, stubs throughout. A caller
 * older than 1.4 gets its table back as it was.
 */
#define OTHER_TABLES(OTHER)                                                                        \
	OTHER(zetGetDeviceProcAddrTable, zet_device_dditable_t, 1)                                 \
	OTHER(zetGetModuleProcAddrTable, zet_module_dditable_t, 1)                                 \
	OTHER(zetGetKernelProcAddrTable, zet_kernel_dditable_t, 1)                                 \
	OTHER(zetGetMetricGroupProcAddrTable, zet_metric_group_dditable_t, 3)                      \
	OTHER(zetGetMetricProcAddrTable, zet_metric_dditable_t, 2)                                 \
	OTHER(zesGetDriverProcAddrTable, zes_driver_dditable_t, 2)                                 \
	OTHER(zesGetSchedulerProcAddrTable, zes_scheduler_dditable_t, 8)                           \
	OTHER(zesGetPerformanceFactorProcAddrTable, zes_performance_factor_dditable_t, 3)          \
	OTHER(zesGetPowerProcAddrTable, zes_power_dditable_t, 8)                                   \
	OTHER(zesGetFrequencyProcAddrTable, zes_frequency_dditable_t, 17)                          \
	OTHER(zesGetEngineProcAddrTable, zes_engine_dditable_t, 2)                                 \
	OTHER(zesGetStandbyProcAddrTable, zes_standby_dditable_t, 3)                               \
	OTHER(zesGetFirmwareProcAddrTable, zes_firmware_dditable_t, 2)                             \
	OTHER(zesGetFabricPortProcAddrTable, zes_fabric_port_dditable_t, 6)                        \
	OTHER(zesGetTemperatureProcAddrTable, zes_temperature_dditable_t, 4)                       \
	OTHER(zesGetPsuProcAddrTable, zes_psu_dditable_t, 2)                                       \
	OTHER(zesGetFanProcAddrTable, zes_fan_dditable_t, 6)                                       \
	OTHER(zesGetLedProcAddrTable, zes_led_dditable_t, 4)                                       \
	OTHER(zesGetRasProcAddrTable, zes_ras_dditable_t, 4)                                       \
	OTHER(zesGetDiagnosticsProcAddrTable, zes_diagnostics_dditable_t, 3)

/* fake_zeX has the type that the headers give zeX */
#define DECLARE_FN(slot, minor, function) __typeof__(function) fake_##function;
#define DECLARE_NONE(...)
#define DECLARE_TABLE(name, type, SLOTS) SLOTS(DECLARE_FN, DECLARE_NONE, DECLARE_NONE)
CORE_TABLES(DECLARE_TABLE)
#undef DECLARE_TABLE
#undef DECLARE_NONE
#undef DECLARE_FN

#endif
