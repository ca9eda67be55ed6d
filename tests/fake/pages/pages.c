/* SPDX-License-Identifier: MIT */
/*
 * pages.c - a preloaded library that makes a program see larger pages than the kernel has.
 *
 * GT_PAGES=65536: sysconf and getpagesize say so, and mmap, munmap, mprotect, madvise and mincore
 * are as strict as a kernel with such pages: an address or an offset within a page is EINVAL,
 * lengths count to the end of the page, and what is mapped begins where a page begins.
 * GT_NO_WIPE=1: madvise accepts MADV_WIPEONFORK and does nothing, as qemu does before its
 * version 8.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { POPULATE_WRITE = 23 }; /* of madvise, Linux 5.14 */

static uintptr_t page(void)
{
	static uintptr_t known;
	const char *text;

	if (!known) {
		text = getenv("GT_PAGES");
		known = text ? strtoul(text, NULL, 10) : 4096;
	}
	return known;
}

static uintptr_t up(uintptr_t at)
{
	return (at + page() - 1) & ~(page() - 1);
}

static bool is_within_page(uintptr_t at)
{
	return at & (page() - 1);
}

static long invalid(void)
{
	errno = EINVAL;
	return -1;
}

EXPORT int getpagesize(void)
{
	return (int)page();
}

EXPORT long sysconf(int name)
{
	extern long __sysconf(int name);

	return name == _SC_PAGESIZE ? (long)page() : __sysconf(name);
}

static void *real_mmap(uintptr_t at, size_t size, int protection, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

EXPORT void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	uintptr_t at = (uintptr_t)address, all;
	void *mapped;

	if (is_within_page((uintptr_t)offset) || !size)
		return (void *)invalid();
	size = up(size);
	if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
		if (is_within_page(at))
			return (void *)invalid();
		return real_mmap(at, size, protection, flags, fd, offset);
	}
	mapped = real_mmap(0, size + page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			   -1, 0);
	if (mapped == MAP_FAILED)
		return mapped;
	all = (uintptr_t)mapped;
	at = up(all);
	mapped = real_mmap(at, size, protection, flags | MAP_FIXED, fd, offset);
	if (mapped == MAP_FAILED)
		at = all + size + page();
	if (at > all)
		syscall(SYS_munmap, all, at - all);
	if (mapped != MAP_FAILED && all + page() > at)
		syscall(SYS_munmap, at + size, all + page() - at);
	return mapped;
}

EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	return mmap(address, size, protection, flags, fd, offset);
}

EXPORT int munmap(void *address, size_t size)
{
	if (is_within_page((uintptr_t)address))
		return (int)invalid();
	return (int)syscall(SYS_munmap, address, up(size));
}

EXPORT int mprotect(void *address, size_t size, int protection)
{
	if (is_within_page((uintptr_t)address))
		return (int)invalid();
	return (int)syscall(SYS_mprotect, address, up(size), protection);
}

EXPORT int madvise(void *address, size_t size, int advice)
{
	if (is_within_page((uintptr_t)address))
		return (int)invalid();
	if (advice == MADV_WIPEONFORK && getenv("GT_NO_WIPE"))
		return 0;
	/* the end of a file lies within a large page, which is there; beyond small ones is nothing
	 */
	if (advice == POPULATE_WRITE)
		return (int)syscall(SYS_madvise, address, size, advice);
	return (int)syscall(SYS_madvise, address, up(size), advice);
}

/* A byte for each large page, which is there if one of the kernel's own in it is. */
EXPORT int mincore(void *address, size_t size, unsigned char *is_there)
{
	char *end = (char *)address + up(size);

	if (is_within_page((uintptr_t)address))
		return (int)invalid();
	for (char *large = address; large < end; large += page(), is_there++) {
		char *small = large;

		while (syscall(SYS_mincore, small, 1, is_there))
			if ((small += 4096) == large + page())
				return -1;
	}
	return 0;
}
