/* SPDX-License-Identifier: MIT */
/* levelzero.h - declarations that the files of the Level Zero door share. */
#pragma once

#include <stddef.h>

#include <level_zero/ze_api.h>
#include <level_zero/zet_api.h>

#include "guest/wrap.h"

/* Structures that the oldest headers we build with lack; wrappers pass them on by value. */
typedef struct {
	char data[ZE_MAX_IPC_HANDLE_SIZE];
} gt_ze_ipc_handle;

typedef struct {
	uint32_t x, y, z;
} gt_ze_group_size;

typedef ze_result_t gt_ze_getter(ze_api_version_t version, void *table);

/* Asks the driver about new resources: sizes, devices. */
extern const struct gt_call_door gt_ze_door;
/* The device on which a call has created something; 0: none, or one that is not known. */
uint16_t gt_ze_place_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle);
/* The driver's zeDeviceGetProperties; NULL until its table has been taken. */
extern ze_result_t (*gt_ze_get_properties)(ze_device_handle_t device,
					   ze_device_properties_t *properties);
/*
 * The program has listed the devices of a driver, or the sub-devices of a device, `whole`; else
 * NULL. The driver is asked here for what they are, because programs that make calls on small
 * stacks hardly list devices there.
 */
void gt_ze_devices_listed(const ze_device_handle_t *list, uint32_t count, ze_device_handle_t whole);
/* Remembers the functions of a table with which we ask the driver; call before wrapping it. */
void gt_ze_take_queries(const char *getter, ze_api_version_t version, void *const *functions);

/* Puts our wrappers into the slots of a table ("zeMem") that its version has. */
void gt_ze_wrap_table(const char *table, ze_api_version_t version, void **slots);
/*
 * A driver has handed out the address of the function `name`: puts our wrapper in its place, or
 * reports a function that we do not track.
 */
void gt_ze_wrap_address(const char *name, void **address);
