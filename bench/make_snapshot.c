/* SPDX-License-Identifier: MIT */
/*
 * make_snapshot.c - writes a memory snapshot like PyTorch's, of any size: FILE MEGABYTES
 *
 * As Python pickles it (protocol 4, batches of 1,000, every object numbered): alternating
 * allocations and frees of blocks, 10,000 alive at a time, each with one of 2,000 stacks of 24
 * frames; then the segments with the blocks that are left.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACKS = 2000, DEPTH = 24, FRAMES = 8000, ALIVE = 10000, BATCH = 1000 };
#define BASE UINT64_C(0x7f0000000000)

static FILE *out;
static uint64_t written;
static uint32_t memo; /* objects numbered so far */

static void put(const void *bytes, size_t size)
{
	fwrite(bytes, 1, size, out);
	written += size;
}

static void op(int opcode)
{
	putc(opcode, out);
	written++;
}

static uint32_t memoize(void)
{
	op(0x94);
	return memo++;
}

static void get(uint32_t number)
{
	op(number < 256 ? 'h' : 'j');
	put(&number, number < 256 ? 1 : 4);
}

/* A text, once; then a reference to it. */
static void text(const char *value, uint32_t *number)
{
	if (*number) {
		get(*number - 1);
		return;
	}
	op(0x8c);
	op((int)strlen(value));
	put(value, strlen(value));
	*number = memoize() + 1;
}

static void number(uint64_t value)
{
	int bytes = 1;

	if (value < 256) {
		op('K');
		put(&value, 1);
	} else if (value < 65536) {
		op('M');
		put(&value, 2);
	} else if (value < UINT64_C(1) << 31) {
		op('J');
		put(&value, 4);
	} else {
		while (value >> (8 * bytes - 1))
			bytes++;
		op(0x8a);
		op(bytes);
		put(&value, (size_t)bytes);
	}
}

static uint32_t frames[FRAMES], stacks[STACKS]; /* numbers of those that were written */

static void put_frame(unsigned i)
{
	static uint32_t name_key, filename_key, line_key;
	uint32_t none = 0, other = 0;
	char words[80];

	if (frames[i]) {
		get(frames[i] - 1);
		return;
	}
	op('}');
	frames[i] = memoize() + 1;
	op('(');
	text("name", &name_key);
	snprintf(words, sizeof words, "function_%u", i);
	text(words, &none);
	text("filename", &filename_key);
	snprintf(words, sizeof words, "/home/user/project/package_%u/module_%u.py", i % 40,
		 i % 400);
	text(words, &other);
	text("line", &line_key);
	number(i % 700 + 1);
	op('u');
}

static void put_stack(unsigned i)
{
	if (stacks[i]) {
		get(stacks[i] - 1);
		return;
	}
	op(']');
	stacks[i] = memoize() + 1;
	op('(');
	for (unsigned k = 0; k < DEPTH; k++)
		put_frame(k < 16 ? k * 500 + (i * 7 + k) % 500 : k);
	op('e');
}

/* Block k has the address of the block that ended when it began. */
static uint64_t address_of(uint64_t k)
{
	return BASE + k % ALIVE * (1 << 20);
}

static uint64_t size_of(uint64_t k)
{
	return 512 * (k * 2654435761u % 2047 + 1);
}

static void put_entry(const char *action, uint32_t *word, uint64_t k, uint64_t time)
{
	static uint32_t action_key, addr, size, stream, time_us, frames_key, context, none,
		metadata, empty;

	op('}');
	memoize();
	op('(');
	text("action", &action_key);
	text(action, word);
	text("addr", &addr);
	number(address_of(k));
	text("size", &size);
	number(size_of(k));
	text("stream", &stream);
	number(0);
	text("time_us", &time_us);
	number(UINT64_C(1700000000000000) + time);
	text("compile_context", &context);
	text("N/A", &none);
	text("user_metadata", &metadata);
	text("", &empty);
	text("frames", &frames_key);
	put_stack((unsigned)(k * 2654435761u % STACKS));
	op('u');
}

static uint64_t put_history(uint64_t bytes)
{
	static uint32_t alloc, requested, completed;
	uint64_t k = 0, entries = 0;

	op(']');
	memoize();
	while (written < bytes) {
		op('(');
		for (unsigned i = 0; i<BATCH; i += k> ALIVE ? 3 : 1, k++) {
			if (k >= ALIVE) {
				put_entry("free_requested", &requested, k - ALIVE, entries++);
				put_entry("free_completed", &completed, k - ALIVE, entries++);
			}
			put_entry("alloc", &alloc, k, entries++);
		}
		op('e');
	}
	fprintf(stderr, "%" PRIu64 " entries\n", entries);
	return k;
}

static void key_number(const char *key, uint64_t value)
{
	uint32_t once = 0;

	text(key, &once);
	number(value);
}

static void put_segment(uint64_t block)
{
	uint32_t once = 0, state = 0;

	op('}');
	memoize();
	op('(');
	key_number("device", 0);
	key_number("address", address_of(block));
	key_number("total_size", 1 << 20);
	key_number("allocated_size", size_of(block));
	key_number("active_size", size_of(block));
	key_number("stream", 0);
	text("blocks", &once);
	op(']');
	memoize();
	op('}');
	memoize();
	op('(');
	key_number("address", address_of(block));
	key_number("size", 1 << 20);
	key_number("requested_size", size_of(block));
	once = 0;
	text("state", &once);
	text("active_allocated", &state);
	op('u');
	op('a');
	op('u');
}

int main(int argc, char **argv)
{
	uint32_t segments = 0, traces = 0;
	uint64_t blocks;

	if (argc != 3 || !(out = fopen(argv[1], "wb"))) {
		fprintf(stderr, "usage: %s FILE MEGABYTES\n", argv[0]);
		return 2;
	}
	put("\x80\x04}", 3);
	memoize();
	op('(');
	text("device_traces", &traces);
	op(']');
	memoize();
	blocks = put_history(strtoull(argv[2], NULL, 10) * 1000000);
	op('a');
	text("segments", &segments);
	op(']');
	memoize();
	op('(');
	for (uint64_t k = blocks - ALIVE; k < blocks; k++)
		put_segment(k);
	op('e');
	op('u');
	op('.');
	return fclose(out) ? 1 : 0;
}
