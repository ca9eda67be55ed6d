/* SPDX-License-Identifier: MIT */
/*
 * ze_devices.c - resources on every device and sub-device; the size of each says which it is on.
 *
 * ze_devices [silent|wait]
 * silent	asks for no device's name
 * wait		after it has asked, prints "ready" and reads a line
 */
#include "ze_common.h"

enum { MOST = 8 };

static ze_context_handle_t context;

/* `number` is in the sizes: of a device from 1 on, of a sub-device with a digit more. */
static void use(ze_device_handle_t device, size_t number)
{
	const ze_device_mem_alloc_desc_t desc = { .stype =
							  ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	const ze_host_mem_alloc_desc_t host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	const ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	const ze_command_list_desc_t list = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_command_queue_handle_t a_queue;
	ze_command_list_handle_t a_list;
	void *memory;

	CHECK(zeMemAllocDevice, context, &desc, 4096 * number, 64, device, &memory);
	CHECK(zeMemAllocShared, context, &desc, &host, 4096 * number + 64, 64, device, &memory);
	CHECK(zeCommandListCreate, context, device, &list, &a_list);
	CHECK(zeCommandQueueCreate, context, device, &queue, &a_queue);
}

static void ask(ze_device_handle_t device)
{
	ze_device_properties_t p = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };

	CHECK(zeDeviceGetProperties, device, &p);
}

int main(int argc, char **argv)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	const ze_device_mem_alloc_desc_t memory_desc = {
		.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC
	};
	const ze_host_mem_alloc_desc_t host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	bool is_silent = argc > 1 && !strcmp(argv[1], "silent");
	ze_device_handle_t devices[MOST], subs[MOST][MOST];
	uint32_t count = 0, sub_counts[MOST];
	struct ze ze;
	void *memory;

	ze_open(&ze);
	/* Intel's driver does not say how many there are if it is given more room */
	CHECK(zeDeviceGet, ze.driver, &count, NULL);
	if (count > MOST)
		return 2;
	CHECK(zeDeviceGet, ze.driver, &count, devices);
	for (uint32_t i = 0; i < count; i++) {
		sub_counts[i] = 0;
		CHECK(zeDeviceGetSubDevices, devices[i], &sub_counts[i], NULL);
		if (sub_counts[i] > MOST)
			return 2;
		if (sub_counts[i])
			CHECK(zeDeviceGetSubDevices, devices[i], &sub_counts[i], subs[i]);
		if (!is_silent)
			ask(devices[i]);
		for (uint32_t j = 0; j < sub_counts[i] && !is_silent; j++)
			ask(subs[i][j]);
	}
	if (argc > 1 && !strcmp(argv[1], "wait")) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	CHECK(zeContextCreate, ze.driver, &desc, &context);
	for (uint32_t i = 0; i < count; i++) {
		use(devices[i], 1 + i);
		for (uint32_t j = 0; j < sub_counts[i]; j++)
			use(subs[i][j], 10 * (1 + i) + j);
	}
	/* on none */
	CHECK(zeMemAllocShared, context, &memory_desc, &host, 64, 64, NULL, &memory);
	CHECK(zeMemAllocHost, context, &host, 128, 64, &memory);
	return 0;
}
