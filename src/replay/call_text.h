/* SPDX-License-Identifier: MIT */
/* call_text.h - a call's function, and the arguments of a call during which a process ended. */
#pragma once

#include "base/json.h"
#include "ledger/ledger.h"
#include "replay/view.h"

/*
 * "cudaMalloc": the function that was called. Of an import, the one that its stack ends with, or
 * what Nsight says of it: "device allocation in Nsight". `out` has GT_KIND_TEXT bytes.
 */
const char *gt_call_name(char *out, const struct gt_view *v, uint16_t function, uint32_t stack);

/* "clCreateBuffer(context=0x5581…, flags=1, size=4096, …)"; the caller frees it. */
char *gt_call_text(const struct gt_recording *recording, const struct gt_last_call *call);

/* "arguments": an array of names and values; null: they were not recorded. */
void gt_arguments_json(struct gt_json *j, const struct gt_recording *recording,
		       const struct gt_last_call *call);
