/* SPDX-License-Identifier: MIT */
/*
 * device.c - one driver with two devices, and contexts.
 */
#include "fake.h"

#include <string.h>
#include <time.h>

#include "tables.h"

#define DEVICE_COUNT 2
/* of the last device; their entries follow */
#define SUB_DEVICE_COUNT 2

struct thing {
	const char *name;
};

static struct thing the_driver = { "gputrack test driver" };
static struct thing devices[DEVICE_COUNT + SUB_DEVICE_COUNT] = { { "gputrack test device 0" },
								 { "gputrack test device 1" },
								 { "gputrack test device 1" },
								 { "gputrack test device 1" } };

/* the newest version that a loader asked for: what we claim to be */
static _Atomic uint32_t api_version = ZE_MAKE_VERSION(1, 0);

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void driver_saw_version(ze_api_version_t version)
{
	uint32_t seen = atomic_load(&api_version);

	while (seen < (uint32_t)version &&
	       !atomic_compare_exchange_weak(&api_version, &seen, (uint32_t)version))
		;
}

ze_result_t driver_check(ze_driver_handle_t driver)
{
	if (!driver)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	return (void *)driver == &the_driver ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ze_result_t device_check(ze_device_handle_t device)
{
	struct thing *d = (struct thing *)device;

	if (!device)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	for (int i = 0; i < DEVICE_COUNT + SUB_DEVICE_COUNT; i++)
		if (d == &devices[i])
			return ZE_RESULT_SUCCESS;
	return ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static uint32_t device_index(ze_device_handle_t device)
{
	return (uint32_t)((struct thing *)device - devices);
}

/*
 * The usual two-step query: a zero count asks how many there are. True when the caller has room
 * for *count elements and wants them filled.
 */
static bool wants(uint32_t *count, uint32_t have, const void *out)
{
	if (*count == 0 || *count > have)
		*count = have;
	return out != NULL;
}

ze_result_t driver_list(uint32_t *count, ze_driver_handle_t *drivers)
{
	NEED_POINTER(count);
	if (wants(count, 1, drivers))
		drivers[0] = (ze_driver_handle_t)&the_driver;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeInit(ze_init_flags_t flags)
{
	ENTER(zeInit);
	(void)flags;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDriverGet(uint32_t *count, ze_driver_handle_t *drivers)
{
	ENTER(zeDriverGet);
	return driver_list(count, drivers);
}

ze_result_t ZE_APICALL fake_zeDriverGetApiVersion(ze_driver_handle_t driver,
						  ze_api_version_t *version)
{
	ENTER(zeDriverGetApiVersion);
	NEED(driver_check(driver));
	NEED_POINTER(version);
	*version = (ze_api_version_t)atomic_load(&api_version);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDriverGetProperties(ze_driver_handle_t driver,
						  ze_driver_properties_t *p)
{
	ENTER(zeDriverGetProperties);
	NEED(driver_check(driver));
	NEED_POINTER(p);
	SET_PROPERTIES(p, .uuid.id = { 'g', 't' }, .driverVersion = 1);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDriverGetIpcProperties(ze_driver_handle_t driver,
						     ze_driver_ipc_properties_t *p)
{
	ENTER(zeDriverGetIpcProperties);
	NEED(driver_check(driver));
	NEED_POINTER(p);
	SET_PROPERTIES(p, .flags = ZE_IPC_PROPERTY_FLAG_MEMORY | ZE_IPC_PROPERTY_FLAG_EVENT_POOL);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDriverGetExtensionProperties(ze_driver_handle_t driver,
							   uint32_t *count,
							   ze_driver_extension_properties_t *p)
{
	ENTER(zeDriverGetExtensionProperties);
	(void)p;
	NEED(driver_check(driver));
	NEED_POINTER(count);
	*count = 0;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDriverGetExtensionFunctionAddress(ze_driver_handle_t driver,
								const char *name, void **address)
{
	ENTER(zeDriverGetExtensionFunctionAddress);
	NEED(driver_check(driver));
	NEED_POINTER(name);
	NEED_POINTER(address);
	*address = row_by_address(name);
	return *address ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

ze_result_t ZE_APICALL fake_zeDeviceGet(ze_driver_handle_t driver, uint32_t *count,
					ze_device_handle_t *out)
{
	ENTER(zeDeviceGet);
	NEED(driver_check(driver));
	NEED_POINTER(count);
	if (wants(count, DEVICE_COUNT, out))
		for (uint32_t i = 0; i < *count; i++)
			out[i] = (ze_device_handle_t)&devices[i];
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDeviceGetSubDevices(ze_device_handle_t device, uint32_t *count,
						  ze_device_handle_t *out)
{
	ENTER(zeDeviceGetSubDevices);
	NEED(device_check(device));
	NEED_POINTER(count);
	if (device_index(device) != DEVICE_COUNT - 1)
		*count = 0;
	else if (wants(count, SUB_DEVICE_COUNT, out))
		for (uint32_t i = 0; i < *count; i++)
			out[i] = (ze_device_handle_t)&devices[DEVICE_COUNT + i];
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDeviceGetProperties(ze_device_handle_t device,
						  ze_device_properties_t *p)
{
	ENTER(zeDeviceGetProperties);
	NEED(device_check(device));
	NEED_POINTER(p);
	SET_PROPERTIES(
		p, .type = ZE_DEVICE_TYPE_GPU, .vendorId = 0x8086,
		.deviceId = 0x6700 + device_index(device),
		.flags =
			device_index(device) < DEVICE_COUNT ? 0 : ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE,
		.subdeviceId = device_index(device) < DEVICE_COUNT ?
				       0 :
				       device_index(device) - DEVICE_COUNT,
		.coreClockRate = 1000, .maxMemAllocSize = 4ull << 30, .maxHardwareContexts = 1024,
		.numThreadsPerEU = 8, .physicalEUSimdWidth = 8, .numEUsPerSubslice = 8,
		.numSubslicesPerSlice = 8, .numSlices = 1, .timerResolution = 1,
		.timestampValidBits = 64, .kernelTimestampValidBits = 64,
		.uuid.id = { 'g', 't', (uint8_t)(1 + device_index(device)) });
	strcpy(p->name, devices[device_index(device)].name);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDeviceGetComputeProperties(ze_device_handle_t device,
							 ze_device_compute_properties_t *p)
{
	ENTER(zeDeviceGetComputeProperties);
	NEED(device_check(device));
	NEED_POINTER(p);
	SET_PROPERTIES(p, .maxTotalGroupSize = 1024, .maxGroupSizeX = 1024, .maxGroupSizeY = 1024,
		       .maxGroupSizeZ = 1024, .maxGroupCountX = UINT32_MAX,
		       .maxGroupCountY = UINT32_MAX, .maxGroupCountZ = UINT32_MAX,
		       .maxSharedLocalMemory = 65536, .numSubGroupSizes = 1,
		       .subGroupSizes = { 16 });
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDeviceGetModuleProperties(ze_device_handle_t device,
							ze_device_module_properties_t *p)
{
	ENTER(zeDeviceGetModuleProperties);
	NEED(device_check(device));
	NEED_POINTER(p);
	SET_PROPERTIES(p, .spirvVersionSupported = ZE_MAKE_VERSION(1, 2), .maxArgumentsSize = 2048);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDeviceGetCommandQueueGroupProperties(
	ze_device_handle_t device, uint32_t *count, ze_command_queue_group_properties_t *p)
{
	ENTER(zeDeviceGetCommandQueueGroupProperties);
	NEED(device_check(device));
	NEED_POINTER(count);
	if (wants(count, 1, p))
		SET_PROPERTIES(p,
			       .flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE |
					ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY |
					ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS,
			       .maxMemoryFillPatternSize = 32, .numQueues = 4);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDeviceGetMemoryProperties(ze_device_handle_t device, uint32_t *count,
							ze_device_memory_properties_t *p)
{
	ENTER(zeDeviceGetMemoryProperties);
	NEED(device_check(device));
	NEED_POINTER(count);
	if (wants(count, 1, p))
		SET_PROPERTIES(p, .maxClockRate = 1000, .maxBusWidth = 64, .totalSize = 16ull << 30,
			       .name = "host memory");
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDeviceGetMemoryAccessProperties(
	ze_device_handle_t device, ze_device_memory_access_properties_t *p)
{
	const ze_memory_access_cap_flags_t all =
		ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC;

	ENTER(zeDeviceGetMemoryAccessProperties);
	NEED(device_check(device));
	NEED_POINTER(p);
	SET_PROPERTIES(p, .hostAllocCapabilities = all, .deviceAllocCapabilities = all,
		       .sharedSingleDeviceAllocCapabilities = all,
		       .sharedCrossDeviceAllocCapabilities = all);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDeviceGetCacheProperties(ze_device_handle_t device, uint32_t *count,
						       ze_device_cache_properties_t *p)
{
	ENTER(zeDeviceGetCacheProperties);
	NEED(device_check(device));
	NEED_POINTER(count);
	if (wants(count, 1, p))
		SET_PROPERTIES(p, .cacheSize = 1u << 20);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDeviceGetImageProperties(ze_device_handle_t device,
						       ze_device_image_properties_t *p)
{
	ENTER(zeDeviceGetImageProperties);
	NEED(device_check(device));
	NEED_POINTER(p);
	SET_PROPERTIES(p, .maxImageDims1D = 16384, .maxImageDims2D = 16384, .maxImageDims3D = 2048,
		       .maxImageBufferSize = 1u << 30, .maxImageArraySlices = 2048,
		       .maxSamplers = 16, .maxReadImageArgs = 128, .maxWriteImageArgs = 128);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDeviceGetExternalMemoryProperties(
	ze_device_handle_t device, ze_device_external_memory_properties_t *p)
{
	ENTER(zeDeviceGetExternalMemoryProperties);
	NEED(device_check(device));
	NEED_POINTER(p);
	SET_PROPERTIES(p, .imageExportTypes = 0);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDeviceGetP2PProperties(ze_device_handle_t device,
						     ze_device_handle_t peer,
						     ze_device_p2p_properties_t *p)
{
	ENTER(zeDeviceGetP2PProperties);
	NEED(device_check(device));
	NEED(device_check(peer));
	NEED_POINTER(p);
	SET_PROPERTIES(p, .flags = ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDeviceCanAccessPeer(ze_device_handle_t device,
						  ze_device_handle_t peer, ze_bool_t *value)
{
	ENTER(zeDeviceCanAccessPeer);
	NEED(device_check(device));
	NEED(device_check(peer));
	NEED_POINTER(value);
	*value = true;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDeviceGetStatus(ze_device_handle_t device)
{
	ENTER(zeDeviceGetStatus);
	return device_check(device);
}

ze_result_t ZE_APICALL fake_zeDeviceGetGlobalTimestamps(ze_device_handle_t device, uint64_t *host,
							uint64_t *dev)
{
	ENTER(zeDeviceGetGlobalTimestamps);
	NEED(device_check(device));
	NEED_POINTER(host);
	NEED_POINTER(dev);
	*host = *dev = now_ns();
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeDevicePciGetPropertiesExt(ze_device_handle_t device,
							ze_pci_ext_properties_t *p)
{
	ENTER(zeDevicePciGetPropertiesExt);
	NEED(device_check(device));
	NEED_POINTER(p);
	SET_PROPERTIES(p, .address.bus = 1 + device_index(device));
	return ZE_RESULT_SUCCESS;
}
