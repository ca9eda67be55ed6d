/* SPDX-License-Identifier: MIT */
/*
 * torch_pool.c - uses the stand-in for PyTorch's allocator: LIBRARY MODE [MOMENTS [SEED]]
 *
 * plain, expandable, private: random blocks; at each moment, marked by a CUDA event, prints what
 *            the allocator says: allocated, reserved, fragmented, largest free piece
 * keep       keeps a block of every step, at keep_block
 * wait       keeps so many blocks, and as many again for each line that it reads
 * shortage   asks for more than there is
 * fragmented keeps a block in each of MOMENTS segments, at keep_block, and asks for more than is
 *            free in one piece
 * cpu        blocks in main memory
 */
#include "../../fake/gpu_memory/share.h"
#include "../../fake/torch/c10_cuda.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __typeof__(fake_torch_start) *start;
static __typeof__(fake_torch_pool) *pool_of;
static __typeof__(fake_torch_malloc) *new_block;
static __typeof__(fake_torch_free) *free_block;
static __typeof__(fake_torch_trim) *trim;
static __typeof__(fake_torch_cpu) *report_cpu;
static uint64_t seed = 1;

static uint32_t random_number(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33);
}

static void mark(void)
{
	static int (*create)(void **event, unsigned flags), (*destroy)(void *event);
	struct caching *c = pool_of();
	void *event, *driver = create ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	if (driver) {
		*(void **)&create = dlsym(driver, "cuEventCreate");
		*(void **)&destroy = dlsym(driver, "cuEventDestroy_v2");
	}
	create(&event, 0);
	destroy(event);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", c->allocated, c->reserved,
	       caching_fragmented(c), caching_largest_free(c));
}

static __attribute__((noinline)) uint64_t keep_block(uint64_t size)
{
	uint64_t block = new_block(0, size);

	__asm__ volatile("");
	return block;
}

static __attribute__((noinline)) uint64_t lend_block(int pool, uint64_t size)
{
	uint64_t block = new_block(pool, size);

	__asm__ volatile("");
	return block;
}

static void live(bool private, unsigned moments)
{
	struct caching *c = pool_of();

	for (unsigned left = moments; left;) {
		uint32_t random = random_number() % 100;

		if (random < 2)
			trim();
		else if (random < 40 + c->block_count / 2 && c->block_count)
			free_block(c->blocks[random_number() % c->block_count].address);
		else
			lend_block(private ? (int)(random_number() % CACHING_POOLS) : 0,
				   1 + random_number() % (random % 5 ? 65536 : 6 << 20));
		if (random_number() % 3 == 0) {
			mark();
			left--;
		}
	}
}

static void keep(unsigned steps)
{
	for (unsigned i = 0; i < steps; i++) {
		uint64_t lent = lend_block(0, 300000);

		keep_block(10000);
		free_block(lent);
	}
}

static bool fragment(unsigned segments)
{
	enum { MIB = 1 << 20, ASKED = 200 };
	uint64_t *lent = calloc(segments, sizeof *lent);

	for (unsigned i = 0; i < segments; i++) {
		lent[i] = lend_block(0, 14 * MIB);
		keep_block(2 * MIB);
	}
	for (unsigned i = 0; i < segments; i++)
		free_block(lent[i]);
	free(lent);
	fake_share_be_seen(fake_share_open());
	return lend_block(0, ASKED * UINT64_C(1) * MIB);
}

static void keep_on_demand(unsigned steps)
{
	char line[16];

	do {
		struct caching *c = pool_of();

		keep(steps);
		printf("%" PRIu64 " %" PRIu64 "\n", c->allocated, c->reserved);
		fflush(stdout);
	} while (fgets(line, sizeof line, stdin));
}

static void use_cpu(unsigned blocks)
{
	static char memory[1000];

	for (unsigned i = 0; i < blocks; i++)
		report_cpu(memory + i % sizeof memory, 1000);
	for (unsigned i = 0; i + 1 < blocks; i++)
		report_cpu(memory + i % sizeof memory, 0);
}

/* What came through to libc10's own functions. */
static void print_arrived(void *library)
{
	const uint64_t *arrived = dlsym(library, "fake_torch_arrived");

	printf("%" PRIu64 " blocks, %" PRIu64 " freed, %" PRIu64 " shortages\n", arrived[0],
	       arrived[1], arrived[2]);
}

int main(int argc, char **argv)
{
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	unsigned moments = argc > 3 ? (unsigned)atoi(argv[3]) : 100;
	const char *mode = argc > 2 ? argv[2] : "";

	if (!library) {
		fprintf(stderr, "%s\n", argc > 2 ? dlerror() : "LIBRARY MODE [MOMENTS [SEED]]");
		return 2;
	}
	seed = argc > 4 ? (uint64_t)atoi(argv[4]) : 1;
	*(void **)&start = dlsym(library, "fake_torch_start");
	*(void **)&pool_of = dlsym(library, "fake_torch_pool");
	*(void **)&new_block = dlsym(library, "fake_torch_malloc");
	*(void **)&free_block = dlsym(library, "fake_torch_free");
	*(void **)&trim = dlsym(library, "fake_torch_trim");
	*(void **)&report_cpu = dlsym(library, "fake_torch_cpu");
	start(!strcmp(mode, "expandable"));
	fake_share_be_seen(fake_share_open());
	if (!strcmp(mode, "keep"))
		keep(moments);
	else if (!strcmp(mode, "wait"))
		keep_on_demand(moments);
	else if (!strcmp(mode, "shortage"))
		printf("%d\n", !lend_block(0, UINT64_C(1) << 50));
	else if (!strcmp(mode, "fragmented"))
		printf("%d\n", !fragment(moments));
	else if (!strcmp(mode, "cpu"))
		use_cpu(moments);
	else
		live(!strcmp(mode, "private"), moments);
	fake_share_be_seen(fake_share_open());
	print_arrived(library);
	return 0;
}
