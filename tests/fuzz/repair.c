/* SPDX-License-Identifier: MIT */
/* repair.c - corrects magic words, sizes, sequence numbers and hashes of a changed trace. */
#include "repair.h"

#include <string.h>

#include "trace/layout.h"

enum { LANES = 64 };

static size_t header_size(const uint8_t *data, size_t size)
{
	struct gt_trace_header h;

	if (size < sizeof h)
		return 0;
	memcpy(&h, data, sizeof h);
	return h.header_size >= sizeof h && h.header_size <= GT_BLOCK_LIMIT ? h.header_size :
									      GT_TRACE_HEADER;
}

/* The stated size of a block if a reader would accept it, else the smallest. */
static uint32_t block_size(const struct gt_block_header *b)
{
	return b->size && b->size % GT_BLOCK_MIN == 0 && b->size <= GT_BLOCK_LIMIT ? b->size :
										     GT_BLOCK_MIN;
}

bool trace_block_at(const uint8_t *data, size_t size, size_t n, size_t *offset, size_t *room)
{
	size_t at = header_size(data, size);
	struct gt_block_header b;

	while (at && at + sizeof b < size) {
		memcpy(&b, data + at, sizeof b);
		if (!n--) {
			*offset = at;
			*room = size - at < block_size(&b) ? size - at : block_size(&b);
			return true;
		}
		at += block_size(&b);
	}
	return false;
}

void trace_repair(uint8_t *data, size_t size)
{
	uint32_t sequences[LANES] = { 0 };
	struct gt_trace_header h;
	struct gt_block_header b;
	size_t at, room;

	if (!data || !header_size(data, size))
		return;
	memcpy(&h, data, sizeof h);
	memcpy(h.magic, GT_TRACE_MAGIC, sizeof h.magic);
	if (h.version != GT_TRACE_VERSION_OLDEST)
		h.version = GT_TRACE_VERSION;
	h.header_size = (uint32_t)header_size(data, size);
	memcpy(data, &h, sizeof h);
	for (uint32_t n = 0; trace_block_at(data, size, n, &at, &room); n++) {
		memcpy(&b, data + at, sizeof b);
		b.magic = GT_BLOCK_MAGIC;
		b.size = block_size(&b);
		if (b.lane > n || b.lane >= LANES)
			b.lane = n ? b.lane % (n < LANES ? n : LANES) : 0;
		b.sequence = sequences[b.lane]++;
		if (b.used > b.size - sizeof b)
			b.used %= (uint32_t)(b.size - sizeof b);
		if (b.hash && b.used <= room - sizeof b)
			b.hash = gt_block_hash(&b, data + at + sizeof b, b.used);
		memcpy(data + at, &b, sizeof b);
	}
}
