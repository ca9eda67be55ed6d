/* SPDX-License-Identifier: MIT */
/* sink.c - bytes on their way to a stream: collected in a buffer, written in large pieces. */
#include "base/sink.h"

#include <stdlib.h>

#include "base/mem.h"

void gt_sink_init(struct gt_sink *s, FILE *out)
{
	*s = (struct gt_sink){ .out = out,
			       .bytes = gt_realloc(NULL, GT_SINK_BYTES + GT_SINK_SMALL) };
}

void gt_sink_write(struct gt_sink *s)
{
	fwrite(s->bytes, 1, GT_SINK_BYTES, s->out);
	s->used -= GT_SINK_BYTES;
	memcpy(s->bytes, s->bytes + GT_SINK_BYTES, s->used);
}

void gt_sink_fini(struct gt_sink *s)
{
	fwrite(s->bytes, 1, s->used, s->out);
	free(s->bytes);
}

void gt_sink_put_large(struct gt_sink *s, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		size_t room = GT_SINK_BYTES - s->used, some = size < room ? size : room;

		memcpy(gt_sink_at(s), at, some);
		gt_sink_took(s, some);
		at += some;
		size -= some;
	}
}
