/* SPDX-License-Identifier: MIT */
/* window.c - mapped parts of a trace, and what to do when a store to one of them fails. */
#include "trace/window.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/table_memory.h"

/* A trace has one or two windows, and one for each idle thread whose last block lies further back.
 */
enum { TABLE_SIZE = 512 };

_Atomic bool gt_windows_failed;

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Values of `start` that are no address. */
enum { FREE, CLAIMED };

static struct {
	_Atomic uintptr_t start, end;
	_Atomic(_Atomic bool *) has_failed;
} table[TABLE_SIZE];
static _Atomic uint32_t table_used; /* no window has a higher number */
static _Atomic uintptr_t page_size;

/* How far an address, or an offset in a file, lies behind the beginning of its page. */
static uintptr_t in_page(uintptr_t at)
{
	return at & (atomic_load_explicit(&page_size, memory_order_relaxed) - 1);
}

static int32_t add_to_table(const struct gt_window *window, _Atomic bool *has_failed)
{
	for (uint32_t i = 0; i < TABLE_SIZE; i++) {
		uintptr_t was = FREE;
		uint32_t used = atomic_load(&table_used);

		if (!atomic_compare_exchange_strong(&table[i].start, &was, CLAIMED))
			continue;
		atomic_store(&table[i].end, (uintptr_t)window->start + window->size);
		atomic_store(&table[i].has_failed, has_failed);
		atomic_store(&table[i].start, (uintptr_t)window->start - window->lead);
		while (used <= i && !atomic_compare_exchange_weak(&table_used, &used, i + 1))
			;
		return (int32_t)i;
	}
	return -1;
}

int gt_window_open(struct gt_window **out, int fd, off_t offset, size_t size,
		   _Atomic bool *has_failed)
{
	struct gt_window *window = gt_table_alloc(sizeof *window);
	uint8_t *mapped;
	int e;

	if (!window)
		return -ENOMEM;
	atomic_store(&page_size, (uintptr_t)sysconf(_SC_PAGESIZE));
	window->lead = in_page((uintptr_t)offset);
	mapped = mmap(NULL, window->lead + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      offset - (off_t)window->lead);
	if (mapped == MAP_FAILED) {
		e = -errno;
		gt_table_free(window);
		return e;
	}
	window->start = mapped + window->lead;
	window->size = size;
	window->users = 1;
	window->number = add_to_table(window, has_failed);
	*out = window;
	return 0;
}

void gt_window_close(struct gt_window *window)
{
	/* first: the program may be given these addresses next */
	if (window->number >= 0)
		atomic_store(&table[window->number].start, FREE);
	munmap(window->start - window->lead, window->lead + window->size);
}

int gt_window_populate(void *start, size_t size)
{
	uintptr_t lead = in_page((uintptr_t)start);
	int e = madvise((uint8_t *)start - lead, lead + size, MADV_POPULATE_WRITE) ? errno : 0;

	/* older kernels lack it; a lack of memory shows when the memory is used */
	return e == EFAULT || e == EHWPOISON ? -EIO : 0;
}

void gt_window_flush(const void *start, size_t size)
{
	uintptr_t lead = in_page((uintptr_t)start);

	/* other blocks in the same page are read from the file again */
	madvise((uint8_t *)start - lead, lead + size, MADV_DONTNEED);
}

bool gt_window_recover(const void *address)
{
	uintptr_t at = (uintptr_t)address;
	uint32_t used = atomic_load(&table_used);

	for (uint32_t i = 0; i < used; i++) {
		uintptr_t start = atomic_load(&table[i].start), end = atomic_load(&table[i].end);
		_Atomic bool *has_failed = atomic_load(&table[i].has_failed);

		/* the second look: another thread may have put another window there */
		if (start <= CLAIMED || at < start || at >= end ||
		    atomic_load(&table[i].start) != start)
			continue;
		if (mmap((void *)(at - in_page(at)), atomic_load(&page_size),
			 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			 0) == MAP_FAILED)
			return false;
		atomic_store(has_failed, true);
		atomic_store(&gt_windows_failed, true);
		return true;
	}
	return false;
}
