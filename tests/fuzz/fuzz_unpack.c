/* SPDX-License-Identifier: MIT */
/* fuzz_unpack.c - unpacks any bytes as LZ4 and as Zstandard. */
#include <stdio.h>
#include <stdlib.h>

#include "capture/cuda/unpack.h"
#include "fuzz.h"

/* Into memory of exactly that size: a sanitizer sees a store beyond it. */
static void unpack(const uint8_t *data, size_t size, size_t room)
{
	uint8_t *to = malloc(room);
	struct gt_zstd *work = malloc(gt_zstd_bytes);

	FUZZ_CHECK(to && work);
	FUZZ_CHECK(gt_lz4_unpack(to, room, data, size) <= (int64_t)room);
	FUZZ_CHECK(gt_zstd_unpack(work, to, room, data, size) <= (int64_t)room);
	free(work);
	free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unpack(data, size, 1 + size / 2);
	unpack(data, size, 64 << 10);
	return 0;
}
