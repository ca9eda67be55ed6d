/* SPDX-License-Identifier: MIT */
/* fuzz_fleet_rows.c - reads any bytes as a file of rows, and converts them to Parquet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/parquet.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_error error = { "" };
	char *file = NULL;
	size_t file_size = 0;
	FILE *out = gt_memstream(&file, &file_size);
	struct gt_parquet *parquet = gt_parquet_new(out);
	int e = gt_parquet_add_tsv(parquet, fuzz_file(data, size), &error);

	FUZZ_CHECK(!e == !error.text[0]);
	gt_parquet_finish(parquet);
	gt_memstream_close(out);
	FUZZ_CHECK(file_size > 12 && !memcmp(file + file_size - 4, "PAR1", 4));
	free(file);
	return 0;
}
