/* SPDX-License-Identifier: MIT */
/*
 * newer.h - functions that came after the 1.4 specification, under our own plain types.
 *
 * The installed headers may or may not declare them, so nothing here uses a type of theirs that
 * 1.4 does not have: descriptors are `const void *` and newer handles `void *`, which the calling
 * convention cannot tell apart from the real ones.
 */
#ifndef GT_FAKE_ZE_NEWER_H
#define GT_FAKE_ZE_NEWER_H

#include <stddef.h>
#include <stdint.h>

#include <level_zero/ze_api.h>

struct fake_ipc_event {
	char data[ZE_MAX_IPC_HANDLE_SIZE];
};

struct fake_group_size {
	uint32_t x, y, z;
};

ze_result_t fake_zeInitDrivers(uint32_t *count, ze_driver_handle_t *drivers, const void *desc);
ze_result_t fake_zeDriverGetLastErrorDescription(ze_driver_handle_t driver, const char **text);
ze_context_handle_t fake_zeDriverGetDefaultContext(ze_driver_handle_t driver);
ze_result_t fake_zeDeviceGetRootDevice(ze_device_handle_t device, ze_device_handle_t *root);
ze_result_t fake_zeDeviceSynchronize(ze_device_handle_t device);
ze_result_t fake_zeDeviceImportExternalSemaphoreExt(ze_device_handle_t device, const void *desc,
						    void **semaphore);
ze_result_t fake_zeDeviceReleaseExternalSemaphoreExt(void *semaphore);

ze_result_t fake_zeDeviceReserveCacheExt(ze_device_handle_t device, size_t level, size_t size);

ze_result_t fake_zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout);
ze_result_t fake_zeCommandListGetDeviceHandle(ze_command_list_handle_t list,
					      ze_device_handle_t *device);
ze_result_t fake_zeCommandListGetContextHandle(ze_command_list_handle_t list,
					       ze_context_handle_t *context);
ze_result_t fake_zeCommandListIsImmediate(ze_command_list_handle_t list, ze_bool_t *immediate);
ze_result_t fake_zeCommandListCreateCloneExp(ze_command_list_handle_t list,
					     ze_command_list_handle_t *clone);
ze_result_t fake_zeCommandListImmediateAppendCommandListsExp(
	ze_command_list_handle_t list, uint32_t count, ze_command_list_handle_t *lists,
	ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits);
ze_result_t fake_zeCommandListImmediateAppendCommandListsWithParameters(
	ze_command_list_handle_t list, uint32_t count, ze_command_list_handle_t *lists,
	const void *next, ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits);
ze_result_t fake_zeCommandListAppendSignalExternalSemaphoreExt(
	ze_command_list_handle_t list, uint32_t count, void **semaphores, const void *parameters,
	ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits);
ze_result_t fake_zeCommandListAppendWaitExternalSemaphoreExt(
	ze_command_list_handle_t list, uint32_t count, void **semaphores, const void *parameters,
	ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits);
ze_result_t fake_zeCommandListAppendLaunchKernelWithParameters(
	ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t *groups,
	const void *next, ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits);
ze_result_t fake_zeCommandListAppendLaunchKernelWithArguments(
	ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t groups,
	const struct fake_group_size size, void **arguments, const void *next,
	ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits);
ze_result_t fake_zeCommandListAppendMemoryCopyWithParameters(
	ze_command_list_handle_t list, void *dst, const void *src, size_t size, const void *next,
	ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits);
ze_result_t fake_zeCommandListAppendMemoryFillWithParameters(
	ze_command_list_handle_t list, void *ptr, const void *pattern, size_t pattern_size,
	size_t size, const void *next, ze_event_handle_t signal, uint32_t wait_count,
	ze_event_handle_t *waits);
ze_result_t fake_zeCommandListEndGraphCaptureExt(ze_command_list_handle_t list, const void *next,
						 void **graph);
ze_result_t fake_zeCommandListAppendGraphExt(ze_command_list_handle_t list, void *graph,
					     const void *next, ze_event_handle_t signal,
					     uint32_t wait_count, ze_event_handle_t *waits);

ze_result_t fake_zeImageViewCreateExt(ze_context_handle_t context, ze_device_handle_t device,
				      const ze_image_desc_t *desc, ze_image_handle_t image,
				      ze_image_handle_t *view);
ze_result_t fake_zeEventPoolPutIpcHandle(ze_context_handle_t context,
					 ze_ipc_event_pool_handle_t handle);
ze_result_t fake_zeEventCounterBasedCreate(ze_context_handle_t context, ze_device_handle_t device,
					   const void *desc, ze_event_handle_t *event);
ze_result_t fake_zeEventCounterBasedGetIpcHandle(ze_event_handle_t event,
						 struct fake_ipc_event *handle);
ze_result_t fake_zeEventCounterBasedOpenIpcHandle(ze_context_handle_t context,
						  struct fake_ipc_event handle,
						  ze_event_handle_t *event);
ze_result_t fake_zeEventCounterBasedCloseIpcHandle(ze_event_handle_t event);
ze_result_t fake_zeEventCounterBasedGetDeviceAddress(ze_event_handle_t event, uint64_t *value,
						     uint64_t *address);
ze_result_t fake_zeMemPutIpcHandle(ze_context_handle_t context, ze_ipc_mem_handle_t handle);
ze_result_t fake_zeMemGetIpcHandleWithProperties(ze_context_handle_t context, const void *ptr,
						 void *next, ze_ipc_mem_handle_t *handle);

ze_result_t fake_zeMemGetIpcHandleFromFileDescriptorExp(ze_context_handle_t context, uint64_t fd,
							ze_ipc_mem_handle_t *handle);
ze_result_t fake_zeMemGetFileDescriptorFromIpcHandleExp(ze_context_handle_t context,
							ze_ipc_mem_handle_t handle, uint64_t *fd);

ze_result_t fake_zeRTASBuilderCreateExp(ze_driver_handle_t driver, const void *desc,
					void **builder);
ze_result_t fake_zeRTASBuilderDestroyExp(void *builder);
ze_result_t fake_zeRTASBuilderCreateExt(ze_driver_handle_t driver, const void *desc,
					void **builder);
ze_result_t fake_zeRTASBuilderDestroyExt(void *builder);
ze_result_t fake_zeRTASParallelOperationCreateExp(ze_driver_handle_t driver, void **operation);
ze_result_t fake_zeRTASParallelOperationJoinExp(void *operation);
ze_result_t fake_zeRTASParallelOperationDestroyExp(void *operation);
ze_result_t fake_zeRTASParallelOperationCreateExt(ze_driver_handle_t driver, void **operation);
ze_result_t fake_zeRTASParallelOperationJoinExt(void *operation);
ze_result_t fake_zeRTASParallelOperationDestroyExt(void *operation);

ze_result_t fake_zeGraphCreateExt(ze_context_handle_t context, const void *next, void **graph);
ze_result_t fake_zeGraphInstantiateExt(void *graph, const void *next, void **executable);
ze_result_t fake_zeGraphDestroyExt(void *graph);
ze_result_t fake_zeExecutableGraphDestroyExt(void *executable);

ze_result_t fake_zeCommandListAppendHostFunction(ze_command_list_handle_t list, void *function,
						 void *data, const void *next,
						 ze_event_handle_t signal, uint32_t wait_count,
						 ze_event_handle_t *waits);
ze_result_t fake_zeRTASBuilderCommandListAppendCopyExt(ze_command_list_handle_t list, void *dst,
						       const void *src, size_t size,
						       ze_event_handle_t signal,
						       uint32_t wait_count,
						       ze_event_handle_t *waits);

/* handed out by address alone */
ze_result_t fake_zexCounterBasedEventCreate(ze_context_handle_t context, ze_device_handle_t device,
					    uint64_t *device_address, uint64_t *host_address,
					    uint64_t value, const ze_event_desc_t *desc,
					    ze_event_handle_t *event);
ze_result_t fake_zexMemGetIpcHandles(ze_context_handle_t context, const void *ptr, uint32_t *count,
				     ze_ipc_mem_handle_t *handles);
ze_result_t fake_zexMemOpenIpcHandles(ze_context_handle_t context, ze_device_handle_t device,
				      uint32_t count, ze_ipc_mem_handle_t *handles,
				      ze_ipc_memory_flags_t flags, void **out);
ze_result_t fake_zeIntelMemMapDeviceMemToHost(ze_context_handle_t context, const void *ptr,
					      void **out, void *next);

#endif
