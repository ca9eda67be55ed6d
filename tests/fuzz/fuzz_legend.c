/* SPDX-License-Identifier: MIT */
/* fuzz_legend.c - reads any bytes as a recording's legend, writes and reads them again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "trace/legend.h"

static char folder[] = "/tmp/fuzz_legend.XXXXXX", file[64];

static void remove_folder(void)
{
	unlink(file);
	rmdir(folder);
}

/* Reads `from`, writes it to our file and gives how many bytes that has. */
static long rewrite(const char *from)
{
	struct gt_legend *names = gt_legend_read(from);
	const struct gt_legend_name *list;
	struct gt_error error;
	FILE *in;
	long size;

	gt_legend_get(names, "/usr/bin/program", NULL, 0, 0x1234, &list);
	unlink(file);
	FUZZ_CHECK(!gt_legend_write(names, file, &error));
	gt_legend_free(names);
	in = fopen(file, "re");
	FUZZ_CHECK(in && !fseek(in, 0, SEEK_END));
	size = ftell(in);
	fclose(in);
	return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	long once;

	if (!file[0]) {
		FUZZ_CHECK(mkdtemp(folder));
		snprintf(file, sizeof file, "%s/legend", folder);
		atexit(remove_folder);
	}
	once = rewrite(fuzz_file(data, size));
	FUZZ_CHECK(rewrite(file) == once);
	return 0;
}
