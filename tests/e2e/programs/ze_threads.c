/* SPDX-License-Identifier: MIT */
/*
 * ze_threads.c - many threads that create, destroy, allocate and free, half of it crosswise.
 *
 * --threads N			how many (4)
 * --seconds S | --rounds R	how long: by the clock, or rounds per thread (1000)
 * --bench			instead: nanoseconds per create and destroy of each kind, one thread
 *
 * A pointer that one thread allocated goes through a shared slot and is mostly freed by another
 * thread. Prints the number of creates and destroys, which must be equal, and what is alive in the
 * test driver.
 */
#include "ze_common.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define SLOT_COUNT  61
#define BENCH_PAIRS 200000

struct shared {
	struct ze ze;
	ze_context_handle_t context;
	ze_command_queue_handle_t queue;
	ze_module_handle_t module;
	ze_event_pool_handle_t pool;
	long rounds; /* 0: until `stop` */
	atomic_bool stop;
	_Atomic(void *) slots[SLOT_COUNT];
	atomic_long created, destroyed, foreign_frees;
};

struct worker {
	struct shared *s;
	pthread_t thread;
	unsigned int seed;
	uint8_t mark;
	long created, destroyed, foreign_frees;
};

static ze_event_desc_t event_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
static ze_fence_desc_t fence_desc = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
static ze_command_list_desc_t list_desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
static ze_command_queue_desc_t queue_desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
static ze_kernel_desc_t kernel_desc = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
					.pKernelName = "add" };
static ze_sampler_desc_t sampler_desc = { .stype = ZE_STRUCTURE_TYPE_SAMPLER_DESC };
static ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
static ze_image_desc_t image_desc = { .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
				      .type = ZE_IMAGE_TYPE_2D,
				      .width = 8,
				      .height = 8,
				      .depth = 1 };
static ze_device_mem_alloc_desc_t device_desc = { .stype =
							  ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
static ze_host_mem_alloc_desc_t host_desc = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };

static void event_pair(struct shared *s)
{
	ze_event_handle_t h;

	CHECK(zeEventCreate, s->pool, &event_desc, &h);
	CHECK(zeEventDestroy, h);
}

static void fence_pair(struct shared *s)
{
	ze_fence_handle_t h;

	CHECK(zeFenceCreate, s->queue, &fence_desc, &h);
	CHECK(zeFenceDestroy, h);
}

static void list_pair(struct shared *s)
{
	ze_command_list_handle_t h;

	CHECK(zeCommandListCreate, s->context, s->ze.device, &list_desc, &h);
	CHECK(zeCommandListAppendBarrier, h, NULL, 0, NULL);
	CHECK(zeCommandListDestroy, h);
}

static void immediate_pair(struct shared *s)
{
	ze_command_list_handle_t h;

	CHECK(zeCommandListCreateImmediate, s->context, s->ze.device, &queue_desc, &h);
	CHECK(zeCommandListDestroy, h);
}

static void kernel_pair(struct shared *s)
{
	ze_kernel_handle_t h;

	CHECK(zeKernelCreate, s->module, &kernel_desc, &h);
	CHECK(zeKernelDestroy, h);
}

static void sampler_pair(struct shared *s)
{
	ze_sampler_handle_t h;

	CHECK(zeSamplerCreate, s->context, s->ze.device, &sampler_desc, &h);
	CHECK(zeSamplerDestroy, h);
}

static void image_pair(struct shared *s)
{
	ze_image_handle_t h;

	CHECK(zeImageCreate, s->context, s->ze.device, &image_desc, &h);
	CHECK(zeImageDestroy, h);
}

static void context_pair(struct shared *s)
{
	ze_context_handle_t h;

	CHECK(zeContextCreate, s->ze.driver, &context_desc, &h);
	CHECK(zeContextDestroy, h);
}

static void device_pair(struct shared *s)
{
	void *p;

	CHECK(zeMemAllocDevice, s->context, &device_desc, 4096, 64, s->ze.device, &p);
	CHECK(zeMemFree, s->context, p);
}

static void large_pair(struct shared *s)
{
	void *p;

	CHECK(zeMemAllocDevice, s->context, &device_desc, 1 << 20, 4096, s->ze.device, &p);
	CHECK(zeMemFree, s->context, p);
}

static const struct {
	const char *name;
	void (*run)(struct shared *s);
	bool is_slow;
} pairs[] = {
	{ .name = "zeEvent", .run = event_pair },
	{ .name = "zeFence", .run = fence_pair },
	{ .name = "zeCommandList (with one append)", .run = list_pair },
	{ .name = "zeCommandList immediate", .run = immediate_pair },
	{ .name = "zeKernel", .run = kernel_pair },
	{ .name = "zeSampler", .run = sampler_pair },
	{ .name = "zeImage", .run = image_pair },
	{ .name = "zeContext", .run = context_pair },
	{ .name = "zeMemAllocDevice 4 KB", .run = device_pair },
	{ .name = "zeMemAllocDevice 1 MB", .run = large_pair, .is_slow = true },
};

#define PAIR_COUNT (sizeof(pairs) / sizeof(pairs[0]))

/* Who allocated it, in bits that no address has: device memory of a real driver cannot be written
 * to. */
#define MARK_SHIFT 56

static void *marked(void *p, uint8_t mark)
{
	return (void *)((uintptr_t)p | (uintptr_t)mark << MARK_SHIFT);
}

static void *unmarked(void *p)
{
	return (void *)((uintptr_t)p & (((uintptr_t)1 << MARK_SHIFT) - 1));
}

static void *allocate(struct worker *w)
{
	size_t size = 64u << (rand_r(&w->seed) % 6);
	struct shared *s = w->s;
	void *p;

	switch (rand_r(&w->seed) % 3) {
	case 0:
		CHECK(zeMemAllocDevice, s->context, &device_desc, size, 64, s->ze.device, &p);
		break;
	case 1: CHECK(zeMemAllocHost, s->context, &host_desc, size, 64, &p); break;
	default:
		CHECK(zeMemAllocShared, s->context, &device_desc, &host_desc, size, 64,
		      s->ze.device, &p);
	}
	w->created++;
	return marked(p, w->mark);
}

static void give_back(struct worker *w, void *p)
{
	if (!p)
		return;
	w->foreign_frees += marked(unmarked(p), w->mark) != p;
	CHECK(zeMemFree, w->s->context, unmarked(p));
	w->destroyed++;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->s;

	for (long i = 0; s->rounds ? i < s->rounds : !atomic_load(&s->stop); i++) {
		void *p = allocate(w);

		give_back(w, atomic_exchange(&s->slots[rand_r(&w->seed) % SLOT_COUNT], p));
		for (size_t k = 0; k < PAIR_COUNT; k++) {
			if (pairs[k].is_slow && i % 64)
				continue;
			pairs[k].run(s);
			w->created++;
			w->destroyed++;
		}
	}
	atomic_fetch_add(&s->created, w->created);
	atomic_fetch_add(&s->destroyed, w->destroyed);
	atomic_fetch_add(&s->foreign_frees, w->foreign_frees);
	return NULL;
}

static void open_shared(struct shared *s)
{
	ze_module_desc_t module;
	ze_event_pool_desc_t pool = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1 };

	ze_open(&s->ze);
	module = ze_module_input();
	CHECK(zeContextCreate, s->ze.driver, &context_desc, &s->context);
	CHECK(zeCommandQueueCreate, s->context, s->ze.device, &queue_desc, &s->queue);
	CHECK(zeModuleCreate, s->context, s->ze.device, &module, &s->module, NULL);
	CHECK(zeEventPoolCreate, s->context, &pool, 0, NULL, &s->pool);
	atomic_fetch_add(&s->created, 4);
}

static void close_shared(struct shared *s)
{
	for (int i = 0; i < SLOT_COUNT; i++)
		if (s->slots[i]) {
			CHECK(zeMemFree, s->context, unmarked(s->slots[i]));
			atomic_fetch_add(&s->destroyed, 1);
		}
	CHECK(zeEventPoolDestroy, s->pool);
	CHECK(zeModuleDestroy, s->module);
	CHECK(zeCommandQueueDestroy, s->queue);
	CHECK(zeContextDestroy, s->context);
	atomic_fetch_add(&s->destroyed, 4);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void bench(struct shared *s)
{
	for (size_t k = 0; k < PAIR_COUNT; k++) {
		double start = now();

		for (int i = 0; i < BENCH_PAIRS; i++)
			pairs[k].run(s);
		printf("%-34s %7.1f ns/pair\n", pairs[k].name, (now() - start) * 1e9 / BENCH_PAIRS);
	}
	atomic_fetch_add(&s->created, (long)PAIR_COUNT * BENCH_PAIRS);
	atomic_fetch_add(&s->destroyed, (long)PAIR_COUNT * BENCH_PAIRS);
}

static void run_threads(struct shared *s, int count, double seconds)
{
	struct worker *workers = calloc((size_t)count, sizeof(*workers));

	for (int i = 0; workers && i < count; i++) {
		workers[i] = (struct worker){ .s = s, .seed = (unsigned int)i, .mark = (uint8_t)i };
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
			fprintf(stderr, "no thread\n");
			exit(2);
		}
	}
	if (!s->rounds)
		usleep((useconds_t)(seconds * 1e6));
	atomic_store(&s->stop, true);
	for (int i = 0; workers && i < count; i++)
		pthread_join(workers[i].thread, NULL);
	free(workers);
}

int main(int argc, char **argv)
{
	static struct shared s = { .rounds = 1000 };
	bool is_bench = false;
	double seconds = 0, start;
	int threads = 4;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--threads")) {
			threads = atoi(ze_value(argc, argv, &i));
		} else if (!strcmp(argv[i], "--rounds")) {
			s.rounds = atol(ze_value(argc, argv, &i));
		} else if (!strcmp(argv[i], "--seconds")) {
			seconds = atof(ze_value(argc, argv, &i));
			s.rounds = 0;
		} else if (!strcmp(argv[i], "--bench")) {
			is_bench = true;
		} else {
			return ze_usage(argv[0],
					"[--threads N] [--seconds S|--rounds R] [--bench]");
		}
	}
	open_shared(&s);
	start = now();
	if (is_bench)
		bench(&s);
	else
		run_threads(&s, threads, seconds);
	seconds = now() - start;
	close_shared(&s);
	printf("threads=%d created=%ld destroyed=%ld foreign_frees=%ld seconds=%.3f live=%ld\n",
	       is_bench ? 1 : threads, s.created, s.destroyed, s.foreign_frees, seconds,
	       ze_live(NULL));
	return s.created != s.destroyed;
}
