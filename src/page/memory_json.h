/* SPDX-License-Identifier: MIT */
/* memory_json.h - where the device's memory went over time, as a page shows it. */
#pragma once

#include "page/encode.h"

/*
 * "memory": the parts of a device's memory, each with a value for every column of
 * replay/memory_series.h; null if no more is known than what the program allocated. Reads the
 * recording once.
 */
void gt_page_memory_json(struct gt_json *j, const struct gt_view *v);
