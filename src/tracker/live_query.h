/* SPDX-License-Identifier: MIT */
/*
 * live_query.h - answers the program's questions about what is alive (include/gputrack/live.h).
 *
 * Programs look these up by name, in the library that GPUTRACK_LIBRARY names: no arguments or
 * members are changed, only added at the end.
 */
#pragma once

#include "gputrack/live.h"
#include "guest/settings.h"

GT_EXPORT int gt_live_query_now(gputrack_live_mark *mark);
GT_EXPORT int gt_live_query_peak(uint64_t since_ns, gputrack_live_mark *peak);
GT_EXPORT long gt_live_query_list(const gputrack_live_span *spans, size_t count,
				  gputrack_live_resource_fn *each, void *context);
GT_EXPORT long gt_live_query_sites(const gputrack_live_span *spans, size_t count,
				   gputrack_live_site_fn *each, void *context);
