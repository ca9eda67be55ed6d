/* SPDX-License-Identifier: MIT */
/* fuzz_snapshot.c - reads any bytes as a memory snapshot; the result is a readable recording. */
#include <string.h>

#include "capture/snapshot/snapshot.h"
#include "fuzz_import.h"

static bool is_allocation(const struct gt_event *event)
{
	return gt_functions[event->function].effect == GT_CREATE && !event->failed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_snapshot_import import = { .file = file, .folder = recording };
	struct gt_error error = { "" };

	write_file(data, size);
	if (gt_snapshot_run(&import, &error)) {
		FUZZ_CHECK(error.text[0] && !strchr(error.text, '\n'));
		FUZZ_CHECK(!empty(recording));
		return 0;
	}
	FUZZ_CHECK(read_back(is_allocation) >= import.allocations + import.before);
	empty(recording);
	return 0;
}
