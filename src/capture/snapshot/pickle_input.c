/* SPDX-License-Identifier: MIT */
/* pickle_input.c - the bytes of a pickle, plain or gzipped, through a buffer of fixed size. */
#include "capture/snapshot/pickle_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { PROTO = 0x80, PROTOCOL_MIN = 2, PROTOCOL_MAX = 5, ZLIB_BUFFER = 128 << 10 };

/* Other forms that people keep snapshots in. */
static const struct {
	const char *bytes;
	size_t size;
	const char *advice;
} forms[] = {
	{ "PK\3\4", 4, "it is a zip archive: unpack it and import the pickle in it" },
	{ "\x28\xb5\x2f\xfd", 4, "it is compressed by zstd: unpack it first (unzstd)" },
	{ "\xfd"
	  "7zXZ",
	  5, "it is compressed by xz: unpack it first (unxz)" },
	{ "BZh", 3, "it is compressed by bzip2: unpack it first (bunzip2)" },
	{ "<", 1, "it is a web page; import takes the pickle that it was made from" },
	{ "{", 1,
	  "it is JSON; import takes the pickle that torch.cuda.memory._dump_snapshot writes" },
};

static int check_start(struct gt_pickle_input *in, struct gt_error *error)
{
	int filled = gt_pickle_input_fill(in, 2, error);

	if (filled < 0)
		return filled;
	if (!in->end)
		return gt_error_set(error, -EINVAL, "cannot import %s: it is empty", in->path);
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (in->end >= forms[i].size && !memcmp(in->buffer, forms[i].bytes, forms[i].size))
			return gt_error_set(error, -EINVAL, "cannot import %s: %s", in->path,
					    forms[i].advice);
	if (!filled || in->buffer[0] != PROTO)
		return gt_error_set(error, -EINVAL,
				    "cannot import %s: it is no pickle of protocol 2 to 5, as "
				    "torch.cuda.memory._dump_snapshot writes it",
				    in->path);
	if (in->buffer[1] < PROTOCOL_MIN || in->buffer[1] > PROTOCOL_MAX)
		return gt_error_set(error, -EINVAL,
				    "cannot import %s: pickle protocol %d is not supported, only 2 "
				    "to 5",
				    in->path, in->buffer[1]);
	in->at = 2;
	return 0;
}

static int open_failed(const struct gt_pickle_input *in, int e, struct gt_error *error)
{
	return gt_error_set(error, -e, "cannot read %s: %s", in->path, strerror(e));
}

int gt_pickle_input_open(struct gt_pickle_input *in, const char *path, struct gt_error *error)
{
	struct stat st;
	int fd, e;

	*in = (struct gt_pickle_input){ .path = path };
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return open_failed(in, errno, error);
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		close(fd);
		return open_failed(in, EISDIR, error);
	}
	in->file = gt_memory_check(gzdopen(fd, "rb"));
	gzbuffer(in->file, ZLIB_BUFFER);
	in->buffer = gt_alloc(GT_PICKLE_BUFFER);
	e = check_start(in, error);
	if (e)
		gt_pickle_input_close(in);
	return e;
}

void gt_pickle_input_close(struct gt_pickle_input *in)
{
	gzclose_r(in->file);
	free(in->buffer);
	in->buffer = NULL;
}

int gt_pickle_input_fill(struct gt_pickle_input *in, size_t size, struct gt_error *error)
{
	if (in->end - in->at >= size)
		return 1;
	memmove(in->buffer, in->buffer + in->at, in->end - in->at);
	in->consumed += in->at;
	in->end -= in->at;
	in->at = 0;
	while (in->end < size) {
		int n = gzread(in->file, in->buffer + in->end,
			       (unsigned)(GT_PICKLE_BUFFER - in->end)),
		    code;

		if (n < 0) {
			const char *text = gzerror(in->file, &code);

			return gt_error_set(error, code == Z_ERRNO ? -errno : -EINVAL,
					    "cannot read %s: %s", in->path,
					    code == Z_ERRNO ? strerror(errno) : text);
		}
		if (!n)
			return 0;
		in->end += (size_t)n;
	}
	return 1;
}
