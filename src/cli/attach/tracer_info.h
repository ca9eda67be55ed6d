/* SPDX-License-Identifier: MIT */
/* tracer_info.h - what a recording's info says of the libraries and tables of its tracer. */
#pragma once

#include "capture/ebpf/tracer.h"
#include "trace/info.h"

/* Libraries whose calls are missing, and the size of the unwind tables. */
void gt_tracer_info(struct gt_info *info, struct gt_tracer *tracer);
