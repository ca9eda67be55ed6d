/* SPDX-License-Identifier: MIT */
/* vendor.h - the GPU library that asked for memory itself: cuBLAS, cuDNN, NCCL. */
#pragma once

#include "ledger/ledger.h"
#include "trace/recording.h"

/*
 * The library whose frame called the API at this site, or that holds what is alive there by design
 * (held.h); NULL: the program's own code, or a library's that allocates for its caller.
 */
const char *gt_vendor_of(const struct gt_recording *r, const struct gt_site *site);
