/* SPDX-License-Identifier: MIT */
/*
 * rows.h - functions of the driver that are made from gputrack's own table, a row each.
 *
 * FAKE_ROWS below includes all rows of the tools API and of the functions that are handed out by
 * address, but those that have to work together with other parts of the driver: newer.c has them.
 */
#ifndef GT_FAKE_ZE_ROWS_H
#define GT_FAKE_ZE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include <level_zero/ze_api.h>
#include <level_zero/zet_api.h>

#include "api/fold.h"

typedef struct {
	char data[ZE_MAX_IPC_HANDLE_SIZE];
} gt_ze_ipc_handle;

#define BY_HAND_zexCounterBasedEventCreate         ~,
#define BY_HAND_zexCounterBasedEventCreate2        ~,
#define BY_HAND_zexCounterBasedEventGetIpcHandle   ~,
#define BY_HAND_zexCounterBasedEventOpenIpcHandle  ~,
#define BY_HAND_zexCounterBasedEventCloseIpcHandle ~,
#define BY_HAND_zexMemGetIpcHandles                ~,
#define BY_HAND_zexMemOpenIpcHandles               ~,
#define BY_HAND_zeIntelMemMapDeviceMemToHost       ~,

/* FN(…) of a row: ROW(fn, effect, kind, handle, arguments…), or nothing where it is made by hand.
 */
#define ROW_OF(fn, effect, kind, handle, ...)                                                      \
	ROW_SECOND(BY_HAND_##fn ROW_NONE, ROW, ~)(fn, effect, kind, handle, __VA_ARGS__)
#define ROW_SECOND(...)        ROW_SECOND_(__VA_ARGS__)
#define ROW_SECOND_(a, b, ...) b
#define ROW_NONE(...)

#endif
