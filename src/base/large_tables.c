/* SPDX-License-Identifier: MIT */
/*
 * large_tables.c - memory for the tool's large tables, whose pages another thread touches first.
 *
 * The kernel clears a page when it is first touched. For a ledger with millions of resources that
 * is a third of the work, and another core can do it.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

enum { PAGE = 4096, LARGE_PAGE = 2 << 20 };

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* Tables that do not come from malloc: there are few, and each has its own mapping. */
static struct mapped {
	char *at;
	size_t size, fetched; /* fetched: up to where pages have been touched, or are being */
} * mapped;
static size_t mapped_count, mapped_room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of these */

static enum { NOT_STARTED, RUNS, HAS_ENDED } fetcher;
static pthread_cond_t has_more = PTHREAD_COND_INITIALIZER, is_free = PTHREAD_COND_INITIALIZER;
static const char *fetching; /* the table whose pages are being touched; NULL: none */

/* The newest table with pages left to touch; NULL: there is none. */
static struct mapped *next_to_fetch(void)
{
	for (size_t i = mapped_count; i-- > 0;)
		if (mapped[i].fetched < mapped[i].size)
			return &mapped[i];
	return NULL;
}

static void *fetch_pages(void *context)
{
	(void)context;
	pthread_mutex_lock(&lock);
	while (fetcher == RUNS) {
		struct mapped *m = next_to_fetch();
		size_t size;
		char *at;
		int e;

		if (!m) {
			pthread_cond_wait(&has_more, &lock);
			continue;
		}
		at = m->at + m->fetched;
		size = m->size - m->fetched < LARGE_PAGE ? m->size - m->fetched : LARGE_PAGE;
		m->fetched += size;
		fetching = m->at;
		pthread_mutex_unlock(&lock);
		e = madvise(at, size, MADV_POPULATE_WRITE);
		pthread_mutex_lock(&lock);
		fetching = NULL;
		pthread_cond_signal(&is_free);
		if (e)
			fetcher = HAS_ENDED;
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* With the lock held: starts the thread if there is a core for it. */
static void start_fetching(void)
{
	sigset_t all, before;
	pthread_t thread;
	cpu_set_t cores;

	fetcher = HAS_ENDED;
	if (sched_getaffinity(0, sizeof cores, &cores) || CPU_COUNT(&cores) < 2)
		return;
	/* signals are for the thread that knows what to do */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!pthread_create(&thread, NULL, fetch_pages, NULL)) {
		pthread_detach(thread);
		fetcher = RUNS;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void remember(char *at, size_t size)
{
	pthread_mutex_lock(&lock);
	if (fetcher == NOT_STARTED && size > LARGE_PAGE)
		start_fetching();
	GT_GROW(mapped, mapped_count, mapped_room);
	/* the caller needs the first page at once */
	mapped[mapped_count++] = (struct mapped){ at, size, LARGE_PAGE };
	pthread_cond_signal(&has_more);
	pthread_mutex_unlock(&lock);
}

/* The size of a mapped table, which is not remembered any longer if `forget`; 0: it is malloc's. */
static size_t mapped_size(const void *at, bool forget)
{
	size_t size = 0;

	if ((uintptr_t)at % LARGE_PAGE || !at)
		return 0;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; !size && i < mapped_count; i++)
		if (mapped[i].at == at) {
			size = mapped[i].size;
			if (forget)
				mapped[i] = mapped[--mapped_count];
		}
	while (forget && size && fetching == at)
		pthread_cond_wait(&is_free, &lock);
	pthread_mutex_unlock(&lock);
	return size;
}

/*
 * Malloc would take a table of some MB from its heap: not where a large page begins, and cleared
 * by hand where another has been.
 */
static void *map_table(size_t size)
{
	size_t whole = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
	char *room = mmap(NULL, whole + LARGE_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before = LARGE_PAGE - (uintptr_t)room % LARGE_PAGE;

	if (room == MAP_FAILED)
		return NULL;
	munmap(room, before);
	if (before < LARGE_PAGE)
		munmap(room + before + whole, LARGE_PAGE - before);
	gt_ask_for_large_pages(room + before, whole);
	remember(room + before, whole);
	return room + before;
}

static void *allocate_table(size_t size)
{
	return size >= LARGE_PAGE ? map_table(size) : calloc(1, size ? size : 1);
}

static void release_table(void *table)
{
	size_t size = mapped_size(table, true);

	if (size)
		munmap(table, size);
	else
		free(table);
}

static void *resize_table(void *old, size_t size)
{
	size_t old_size = mapped_size(old, false);
	void *table;

	if (!old_size)
		return realloc(old, size);
	table = allocate_table(size);
	if (table) {
		memcpy(table, old, old_size < size ? old_size : size);
		release_table(old);
	}
	return table;
}

const struct gt_table_memory gt_large_tables = { allocate_table, resize_table, release_table };
