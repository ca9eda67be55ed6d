/* SPDX-License-Identifier: MIT */
/*
 * pool.h - tells gputrack the blocks that your own allocator gives out.
 *
 * An allocator that takes large pieces of device memory and gives out blocks of them calls these
 * two. Under `gputrack run` each block is then recorded where it was made. There is no library to
 * link: without gputrack a call is a test and a jump. C and C++. doc/pools.md
 *
 *	void *arena_alloc(size_t bytes)
 *	{
 *		void *block = …;
 *		gputrack_pool_block("arena", block, bytes, 0);
 *		return block;
 *	}
 */
#ifndef GPUTRACK_POOL_H
#define GPUTRACK_POOL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* gputrack has these; call the functions below. */
void gputrack_on_pool_block(const char *pool, const void *address, size_t bytes, int device)
	__attribute__((weak));
void gputrack_on_pool_end(const char *pool, const void *address) __attribute__((weak));

/*
 * The address of a function that is found when the program starts; null: there is none. Executables
 * at fixed addresses take a weak function that no library defines for null when they are linked,
 * unless they ask like this.
 */
#if defined __x86_64__ && defined __LP64__
#define GPUTRACK_POOL_FIND(to, function)                                                           \
	__asm__(".weak " #function "\n\tmov{q}\t{" #function                                       \
		"@GOTPCREL(%%rip), %0|%0, QWORD PTR " #function "@GOTPCREL[rip]}"                  \
		: "=r"(to))
#else
#define GPUTRACK_POOL_FIND(to, function) ((to) = &function)
#endif

/*
 * A block of `bytes` at `address`, on the device of this number, now belongs to the caller of the
 * pool called `pool`. The name may be NULL; its first 63 bytes are kept. A device below 0 is main
 * memory, which is not recorded: tell no end of it. Any thread may call this, also with locks held.
 */
static __inline__ void gputrack_pool_block(const char *pool, const void *address, size_t bytes,
					   int device)
{
	void (*tell)(const char *, const void *, size_t, int);

	GPUTRACK_POOL_FIND(tell, gputrack_on_pool_block);
	if (tell)
		tell(pool, address, bytes, device);
}

/* The block at `address` is the pool's again. Call it before another thread can be given it. */
static __inline__ void gputrack_pool_end(const char *pool, const void *address)
{
	void (*tell)(const char *, const void *);

	GPUTRACK_POOL_FIND(tell, gputrack_on_pool_end);
	if (tell)
		tell(pool, address);
}

#ifdef __cplusplus
}
#endif

#endif
