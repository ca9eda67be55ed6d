/* SPDX-License-Identifier: MIT */
/*
 * descriptors: closes every file descriptor that it did not open, and uses their numbers itself.
 *
 * Daemons and shells do. Writes DIR/NUMBER.txt for each number (--dir DIR, --files N, default 64)
 * while it makes --rounds N buffers (default 20000), of which every hundredth stays.
 */
#include "cl_kinds.h"

#include <sys/stat.h>

#define FILES_MAX 900

static int files[FILES_MAX];
static long count;

static void open_files(const char *dir)
{
	char path[4096];

	for (long i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%ld.txt", dir, i);
		files[i] = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
		if (files[i] < 0)
			quit(STATUS_FAILED, "cannot write %s: %m", path);
	}
}

/* Each file's own line, again and again; its length is checked as well as its text. */
static void write_files(long round)
{
	char line[64];
	long i = round % count;
	int length = snprintf(line, sizeof(line), "file %ld\n", i);
	struct stat before, after;

	if (fstat(files[i], &before) || write(files[i], line, length) != length ||
	    fstat(files[i], &after))
		quit(STATUS_FAILED, "file %ld cannot be written: %m", i);
	if (after.st_size != before.st_size + length)
		quit(STATUS_FAILED, "somebody else wrote into file %ld", i);
}

int main(int argc, char **argv)
{
	const char *platform = arg_take(&argc, argv, "--platform");
	const char *dir = arg_take(&argc, argv, "--dir");
	long rounds = arg_number(&argc, argv, "--rounds", 20000), left = 0;
	cl_context context;

	count = arg_number(&argc, argv, "--files", 64);
	arg_none_left(argc, argv);
	if (!dir || count < 1 || count > FILES_MAX)
		quit(STATUS_FAILED, "needs --dir DIR, and --files of 1 to %d", FILES_MAX);
	context = cl_context_on(cl_pick(platform));
	if (close_range(STDERR_FILENO + 1, ~0U, 0))
		quit(STATUS_FAILED, "cannot close: %m");
	open_files(dir);
	for (long i = 0; i < rounds; i++) {
		cl_int err;
		cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 16, NULL, &err);

		MUST(err);
		write_files(i);
		if (i % 100 == 99)
			left++;
		else
			MUST(clReleaseMemObject(buffer));
	}
	MUST(clReleaseContext(context));
	for (long i = 0; i < count; i++)
		if (close(files[i]))
			quit(STATUS_FAILED, "file %ld was closed by somebody else: %m", i);
	printf("left %ld of %ld buffers\n", left, rounds);
	return STATUS_OK;
}
