/* SPDX-License-Identifier: MIT */
/* fuzz_perf_map.c - reads any bytes as the map of a JIT compiler, and looks addresses up in it. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "symbol/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *in = fmemopen((void *)data, size ? size : 1, "r");
	size_t room = GT_PERF_MAPS_ROOM;
	struct gt_perf_map *map;
	struct gt_perf_name name;

	FUZZ_CHECK(in);
	map = size ? gt_perf_map_parse(in, &room) : NULL;
	fclose(in);
	for (uint64_t at = 0x1000; map && at < 0x3000; at += 0x80)
		if (gt_perf_map_find(map, at, &name)) {
			FUZZ_CHECK(name.function && *name.function);
			FUZZ_CHECK(!name.file || *name.file);
		}
	gt_perf_map_free(map);
	return 0;
}
