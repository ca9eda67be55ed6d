/* SPDX-License-Identifier: MIT */
/*
 * fuzz_info.c - reads any bytes as a recording's `info`, and writes and reads them the same again;
 * and as its `ends`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "trace/info.h"

static char folder[] = "/tmp/fuzz_info.XXXXXX", file[64];

static void remove_folder(void)
{
	unlink(file);
	rmdir(folder);
}

/* Reads `from`, writes it to our file and gives that file's bytes; the caller frees them. */
static char *rewrite(const char *from, size_t *size)
{
	struct gt_info *info = gt_info_read(from);
	struct gt_error error = { "" };
	char *text = NULL;
	FILE *in;

	FUZZ_CHECK(gt_info_get(info, "command"));
	unlink(file); /* some file systems write to the disk when a file is replaced */
	FUZZ_CHECK(!gt_info_write(info, file, &error));
	gt_info_free(info);
	in = fopen(file, "re");
	FUZZ_CHECK(in);
	*size = 0;
	FUZZ_CHECK(getdelim(&text, size, EOF, in) >= -1);
	*size = text && *size ? (size_t)ftell(in) : 0;
	fclose(in);
	return text;
}

static void read_ends(const char *from)
{
	struct gt_ends *ends = gt_ends_read(from);

	FUZZ_CHECK(!gt_ends_find(ends, "").time_ns);
	gt_ends_find(ends, "1.trace");
	gt_ends_free(ends);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path;
	char *once, *twice;
	size_t once_size, twice_size;

	if (!file[0]) {
		FUZZ_CHECK(mkdtemp(folder));
		snprintf(file, sizeof file, "%s/info", folder);
		atexit(remove_folder);
	}
	path = fuzz_file(data, size);
	read_ends(path);
	once = rewrite(path, &once_size);
	twice = rewrite(file, &twice_size);
	FUZZ_CHECK(once_size == twice_size &&
		   !memcmp(once ? once : "", twice ? twice : "", once_size));
	free(once);
	free(twice);
	return 0;
}
