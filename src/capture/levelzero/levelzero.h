/* SPDX-License-Identifier: MIT */
/* levelzero.h - what the files of the Level Zero door share. */
#pragma once

#include <stddef.h>

#include <level_zero/ze_api.h>

#include "guest/wrap.h"

/* Structures newer than the oldest headers we build with, as far as a wrapper must pass them on. */
typedef struct {
	char data[ZE_MAX_IPC_HANDLE_SIZE];
} gt_ze_ipc_handle;

typedef struct {
	uint32_t x, y, z;
} gt_ze_group_size;

typedef ze_result_t gt_ze_getter(ze_api_version_t version, void *table);

/* What the driver tells of new resources: sizes. */
extern const struct gt_call_door gt_ze_door;
/* Takes from a table the functions by which the driver is asked; before it is wrapped. */
void gt_ze_take_questions(const char *getter, ze_api_version_t version, void *const *functions);

/* Puts our wrappers into a table of this name, as far as its version has the slots. */
void gt_ze_wrap_table(const char *table, ze_api_version_t version, void **slots);
