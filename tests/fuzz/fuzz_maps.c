/* SPDX-License-Identifier: MIT */
/* fuzz_maps.c - reads any bytes as /proc/PID/maps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/ebpf/modules.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *file = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	const struct gt_image image = { .segments = { { .offset = 4096,
							.address = 8192,
							.size = size,
							.is_code = size & 1 } },
					.segment_count = 1 };
	struct gt_mappings maps;

	if (!file)
		return 0;
	gt_mappings_parse(&maps, file);
	fclose(file);
	FUZZ_CHECK(maps.count <= size);
	for (size_t i = 0; i < maps.count; i++) {
		FUZZ_CHECK(!strchr(maps.list[i].path, '\n'));
		gt_image_bias(&image, &maps.list[i]);
	}
	gt_mappings_fini(&maps);
	return 0;
}
