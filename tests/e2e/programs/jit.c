/* SPDX-License-Identifier: MIT */
/*
 * jit.c - makes buffers from code that it compiles itself.
 *
 * Usage: jit [NAME]: with NAME it tells profilers the name of that code, as JIT compilers do.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cl_common.h"

static cl_context context;

__attribute__((noinline)) static void make(void)
{
	clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
#if defined(__aarch64__)
	/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
	static const uint32_t code[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd,
					 0xd65f03c0 };
#else
	/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
#endif
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*compiled)(void (*call)(void));
	char path[64];
	FILE *map;

	if (page == MAP_FAILED)
		return 2;
	memcpy(page, code, sizeof code);
	__builtin___clear_cache(page, (char *)page + sizeof code);
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return 2;
	*(void **)&compiled = page;
	if (argc > 1) {
		snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
		map = fopen(path, "we");
		if (!map)
			return 2;
		fprintf(map, "%lx %zx %s\n", (unsigned long)(uintptr_t)page, sizeof code, argv[1]);
		fclose(map);
	}
	context = cl_context_on(cl_pick(NULL));
	compiled(make);
	return 0;
}
