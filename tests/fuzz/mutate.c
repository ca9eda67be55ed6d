/* SPDX-License-Identifier: MIT */
/* mutate.c - mutates the used parts of a trace, for libFuzzer and driver.c. */
#include <string.h>

#include "fuzz.h"
#include "repair.h"
#include "trace/layout.h"

/* Mutates the records of one block and sets its size accordingly. */
static void mutate_records(uint8_t *data, size_t size, unsigned n)
{
	struct gt_block_header b;
	size_t blocks = 0, at, room;

	while (trace_block_at(data, size, blocks, &at, &room))
		blocks++;
	if (!blocks || !trace_block_at(data, size, n % blocks, &at, &room))
		return;
	memcpy(&b, data + at, sizeof b);
	room -= sizeof b;
	if (b.used > room)
		b.used = (uint32_t)room;
	b.used = (uint32_t)LLVMFuzzerMutate(data + at + sizeof b, b.used, room);
	if (n & 64)
		b.hash = 1; /* a sealed block; repaired later */
	memcpy(data + at, &b, sizeof b);
}

static void mutate_header(uint8_t *data, size_t size, unsigned n)
{
	size_t at, room;

	if (trace_block_at(data, size, n % 8, &at, &room))
		LLVMFuzzerMutate(data + at, sizeof(struct gt_block_header),
				 sizeof(struct gt_block_header));
	else if (size >= sizeof(struct gt_trace_header))
		LLVMFuzzerMutate(data, sizeof(struct gt_trace_header),
				 sizeof(struct gt_trace_header));
}

/* Copies one block to the end: another lane, or more of the same. */
static size_t append_block(uint8_t *data, size_t size, size_t max_size, unsigned n)
{
	size_t at, room;

	if (!trace_block_at(data, size, n % 4, &at, &room) || size + room > max_size)
		return size;
	memcpy(data + size, data + at, room);
	return size + room;
}

/* Most of a trace is unused space: change only the used parts. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	unsigned n = seed / 16;

	switch (seed % 16) {
	case 0: size = LLVMFuzzerMutate(data, size, max_size); break;
	case 1: mutate_header(data, size, n); break;
	case 2: size = append_block(data, size, max_size, n); break;
	case 3: size -= size ? n % size : 0; break;
	default: mutate_records(data, size, n); break;
	}
	if (n % 32)
		trace_repair(data, size);
	return size;
}
