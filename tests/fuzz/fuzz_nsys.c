/* SPDX-License-Identifier: MIT */
/* fuzz_nsys.c - reads any bytes as an Nsight export; the result is a readable recording. */
#include "capture/nsys/nsys.h"
#include "fuzz_import.h"

static bool is_any(const struct gt_event *event)
{
	return event;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_nsys_import import = { .file = file, .folder = recording };
	struct gt_error error = { "" };

	write_file(data, size);
	if (gt_nsys_run(&import, &error))
		FUZZ_CHECK(error.text[0]);
	else if (import.processes)
		FUZZ_CHECK(read_back(is_any) ==
			   import.allocations + import.frees + import.pools + import.failed);
	else
		FUZZ_CHECK(import.calls);
	free(import.calls);
	empty(recording);
	return 0;
}
