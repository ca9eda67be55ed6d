/* SPDX-License-Identifier: MIT */
/* malloc_use.c - how much memory malloc holds free, before and after a call. */
#include "tracker/malloc_use.h"

#include <dlfcn.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/process.h"
#include "guest/own_stack.h"

enum {
	ERA_CALLS = 1024,            /* of the first era; each later one is twice as long, */
	ERA_CALLS_MAX = 1 << 20,     /* because handles may live for many calls */
	SPENT_FREELY_NS = 100000000, /* a reading seems longer on a busy machine */
	SPENT_SHARE = 32,            /* of the time: 3 % */
	COST_GROWTH = 16, /* a reading that takes longer than before was interrupted, at first */
	COST_LEAST_NS = 200,
};

typedef bool (*reader)(int64_t *free_bytes);

static reader read_free;
static bool has_locks_lost; /* this process was forked while a thread may have held them */
static _Atomic uint16_t era;
static _Atomic int64_t calls_left, era_calls;
static _Atomic uint64_t started_ns, spent_ns, last_cost_ns;

static struct mallinfo2 (*mallinfo2_of_libc)(void);
static int (*mallctl_of_jemalloc)(const char *, void *, size_t *, void *, size_t);
static int (*property_of_tcmalloc)(const char *, size_t *);

static bool read_libc(int64_t *free_bytes)
{
	struct mallinfo2 m = mallinfo2_of_libc();

	*free_bytes = (int64_t)m.fordblks;
	return true;
}

/* Its statistics are 64 bits wide, as pointers are. */
static bool read_jemalloc_value(const char *name, int64_t *out)
{
	size_t size = sizeof *out;

	return !mallctl_of_jemalloc(name, out, &size, NULL, 0);
}

static bool read_jemalloc(int64_t *free_bytes)
{
	uint64_t epoch = 1;
	size_t size = sizeof epoch;
	int64_t held, allocated, freed;

	/*
	 * Its statistics are those of the last time that somebody wrote this. They take for handed
	 * out what a thread has cached: the thread's own counters do not.
	 */
	if (mallctl_of_jemalloc("epoch", &epoch, &size, &epoch, size) ||
	    !read_jemalloc_value("stats.resident", &held) ||
	    !read_jemalloc_value("thread.allocated", &allocated) ||
	    !read_jemalloc_value("thread.deallocated", &freed))
		return false;
	*free_bytes = held - (allocated - freed);
	return true;
}

static bool read_tcmalloc(int64_t *free_bytes)
{
	size_t in_use, mapped, unmapped;

	if (!property_of_tcmalloc("generic.current_allocated_bytes", &in_use) ||
	    !property_of_tcmalloc("generic.heap_size", &mapped) ||
	    !property_of_tcmalloc("tcmalloc.pageheap_unmapped_bytes", &unmapped))
		return false;
	*free_bytes = (int64_t)(mapped - unmapped - in_use);
	return true;
}

/* The function, if it belongs to the library whose malloc the process uses. */
static void *beside_malloc(const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name), *allocate = dlsym(RTLD_DEFAULT, "malloc");
	Dl_info theirs, own;

	if (!function || !allocate || !dladdr(allocate, &theirs) || !dladdr(function, &own))
		return NULL;
	return theirs.dli_fbase == own.dli_fbase ? function : NULL;
}

/* tcmalloc has a mallinfo2 too, which says less: its own figures come first. */
static reader find_reader(void)
{
	*(void **)&mallctl_of_jemalloc = beside_malloc("mallctl");
	*(void **)&property_of_tcmalloc = beside_malloc("MallocExtension_GetNumericProperty");
	*(void **)&mallinfo2_of_libc = beside_malloc("mallinfo2");
	return mallctl_of_jemalloc  ? read_jemalloc :
	       property_of_tcmalloc ? read_tcmalloc :
	       mallinfo2_of_libc    ? read_libc :
				      NULL;
}

static void begin_era(void)
{
	uint16_t next = (uint16_t)(atomic_load(&era) + 1);

	atomic_store(&era, next ? next : 1);
	atomic_store(&calls_left, atomic_load(&era_calls));
}

static void begin_first_era(void)
{
	atomic_store(&started_ns, gt_now_ns());
	atomic_store(&spent_ns, 0);
	atomic_store(&last_cost_ns, COST_LEAST_NS);
	atomic_store(&era_calls, ERA_CALLS);
	begin_era();
}

void gt_malloc_use_start(void)
{
	int64_t unused;

	read_free = find_reader();
	/* a jemalloc without statistics; and the first reading allocates what later ones need */
	if (read_free && !read_free(&unused))
		read_free = NULL;
	begin_first_era();
}

void gt_malloc_use_restart(bool can_ask)
{
	has_locks_lost |= !can_ask;
	begin_first_era();
}

bool gt_malloc_use_is_known(void)
{
	return read_free && !has_locks_lost;
}

uint16_t gt_malloc_use_era(uint64_t now_ns)
{
	uint64_t spent;

	if (atomic_load_explicit(&calls_left, memory_order_relaxed) <= 0 ||
	    !gt_malloc_use_is_known())
		return 0;
	spent = atomic_load_explicit(&spent_ns, memory_order_relaxed);
	if (spent > SPENT_FREELY_NS &&
	    spent - SPENT_FREELY_NS > (now_ns - atomic_load(&started_ns)) / SPENT_SHARE) {
		atomic_store(&calls_left, 0);
		return 0;
	}
	atomic_fetch_sub_explicit(&calls_left, 1, memory_order_relaxed);
	return atomic_load_explicit(&era, memory_order_relaxed);
}

/* A reading during which the thread had to wait for the processor counts for little. */
static void spend(uint64_t begun_ns)
{
	uint64_t cost = gt_now_ns() - begun_ns, most = atomic_load(&last_cost_ns) * COST_GROWTH;

	if (cost > most)
		cost = most;
	atomic_store(&last_cost_ns, cost > COST_LEAST_NS ? cost : COST_LEAST_NS);
	atomic_fetch_add(&spent_ns, cost);
}

/*
 * malloc's locks are held meanwhile: a handler that allocates must not interrupt it. Signals of
 * errors stay, since the kernel ends a process that blocks them.
 */
static bool read_without_signals(int64_t *free_bytes)
{
	sigset_t most, before;
	bool is_read;

	sigfillset(&most);
	sigdelset(&most, SIGSEGV);
	sigdelset(&most, SIGBUS);
	sigdelset(&most, SIGILL);
	sigdelset(&most, SIGFPE);
	sigdelset(&most, SIGTRAP);
	if (pthread_sigmask(SIG_SETMASK, &most, &before))
		return false;
	is_read = read_free(free_bytes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return is_read;
}

bool gt_malloc_use_read(int64_t *free_bytes)
{
	uint64_t begun_ns = gt_now_ns();
	bool is_read = !gt_stack_is_interrupted() && read_without_signals(free_bytes);

	spend(begun_ns);
	return is_read;
}

bool gt_malloc_use_read_again(int64_t *free_bytes)
{
	uint64_t begun_ns = gt_now_ns();
	bool is_read = read_without_signals(free_bytes);

	spend(begun_ns);
	return is_read;
}

void gt_malloc_use_watch(void)
{
	int64_t calls = atomic_load(&era_calls);

	if (!gt_malloc_use_is_known())
		return;
	if (atomic_load(&calls_left) > 0) {
		atomic_store(&calls_left, calls);
		return;
	}
	if (calls < ERA_CALLS_MAX)
		atomic_store(&era_calls, calls * 2);
	begin_era();
}
