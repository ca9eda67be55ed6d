/* SPDX-License-Identifier: MIT */
/* call_text.h - a call during which a process ended: its function with its arguments. */
#pragma once

#include "base/json.h"
#include "ledger/ledger.h"
#include "trace/recording.h"

/* "clCreateBuffer(context=0x5581…, flags=1, size=4096, …)"; the caller frees it. */
char *gt_call_text(const struct gt_recording *recording, const struct gt_last_call *call);

/* "arguments": an array of names and values; null: they were not recorded. */
void gt_arguments_json(struct gt_json *j, const struct gt_recording *recording,
		       const struct gt_last_call *call);
