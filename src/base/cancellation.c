/* SPDX-License-Identifier: MIT */
/* cancellation.c - cancellation of the calling thread, held off when it must be. */
#include "base/cancellation.h"

__thread struct gt_cancellation gt_cancellation __attribute__((tls_model("initial-exec")));
