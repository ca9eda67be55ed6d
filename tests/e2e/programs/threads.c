/* SPDX-License-Identifier: MIT */
/*
 * threads: many threads make objects on one context and release each other's references.
 *
 * --threads N (default 4) with --rounds R (default 1000) or --seconds S. The counts it prints are
 * its own, so that a test can compare the tracker's with them; in the end nothing is left.
 */
#include "cl_kinds.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define BASKET_SIZE 64

/* A reference to be released by whoever takes it out of the basket. */
struct reference {
	enum cl_kind kind;
	void *handle;
};

/* References on their way from one thread to another. */
static struct basket {
	pthread_mutex_t lock;
	struct reference slots[BASKET_SIZE];
	size_t first, count;
} basket = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *source = "kernel void nothing(global int *data) { (void)data; }";

static cl_context context;
static cl_device_id device;
static cl_program program;
static pthread_barrier_t start;
static long rounds;
static long deadline_ms; /* 0: the rounds decide */

static atomic_long creates, retains, releases, foreign;

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns the oldest reference in exchange, or one without a handle as long as there is room. */
static struct reference basket_swap(struct reference in)
{
	struct reference out = { .handle = NULL };

	pthread_mutex_lock(&basket.lock);
	if (basket.count == BASKET_SIZE || (!in.handle && basket.count)) {
		out = basket.slots[basket.first];
		basket.first = (basket.first + 1) % BASKET_SIZE;
		basket.count--;
	}
	if (in.handle) {
		basket.slots[(basket.first + basket.count) % BASKET_SIZE] = in;
		basket.count++;
	}
	pthread_mutex_unlock(&basket.lock);
	return out;
}

static void *make(enum cl_kind kind, long round)
{
	const size_t size = 64 + round % 4096;
	void *handle = NULL;
	cl_int err = CL_INVALID_VALUE;

	switch (kind) {
	case KIND_BUFFER:
		handle = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &err);
		break;
	case KIND_EVENT: handle = clCreateUserEvent(context, &err); break;
	case KIND_SAMPLER:
		handle = clCreateSampler(context, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST,
					 &err);
		break;
	case KIND_KERNEL: handle = clCreateKernel(program, "nothing", &err); break;
	case KIND_QUEUE: handle = clCreateCommandQueue(context, device, 0, &err); break;
	default: break;
	}
	MUST(err);
	atomic_fetch_add(&creates, 1);
	return handle;
}

static void retain(enum cl_kind kind, void *handle)
{
	MUST(kind_retain(kind, handle));
	atomic_fetch_add(&retains, 1);
}

static void release(enum cl_kind kind, void *handle)
{
	MUST(kind_release(kind, handle));
	atomic_fetch_add(&releases, 1);
}

static void *work(void *argument)
{
	/* a queue is dear to make, so it is made seldom */
	static const enum cl_kind kinds[] = {
		KIND_BUFFER, KIND_EVENT,   KIND_SAMPLER, KIND_BUFFER, KIND_KERNEL, KIND_EVENT,
		KIND_BUFFER, KIND_SAMPLER, KIND_KERNEL,  KIND_BUFFER, KIND_EVENT,  KIND_QUEUE,
	};
	const size_t offset = (size_t)argument; /* so that the threads differ */

	pthread_barrier_wait(&start);
	for (long i = 0; deadline_ms ? now_ms() < deadline_ms : i < rounds; i++) {
		enum cl_kind kind = kinds[(i + offset) % (sizeof(kinds) / sizeof(kinds[0]))];
		void *handle = make(kind, i);
		struct reference theirs;

		retain(kind, handle);
		retain(KIND_CONTEXT, context);
		theirs = basket_swap((struct reference){ .kind = kind, .handle = handle });
		release(kind, handle);
		release(KIND_CONTEXT, context);
		if (!theirs.handle)
			continue;
		release(theirs.kind, theirs.handle);
		atomic_fetch_add(&foreign, 1);
	}
	return NULL;
}

static void setup(struct cl_choice choice)
{
	cl_int err;

	device = choice.device;
	context = cl_context_on(choice);
	program = clCreateProgramWithSource(context, 1, &source, NULL, &err);
	MUST(err);
	MUST(clBuildProgram(program, 1, &device, NULL, NULL, NULL));
	atomic_fetch_add(&creates, 2); /* cl_context_on() and the program */
}

int main(int argc, char **argv)
{
	const char *platform = arg_take(&argc, argv, "--platform");
	long count = arg_number(&argc, argv, "--threads", 4);
	long seconds = arg_number(&argc, argv, "--seconds", 0);
	pthread_t threads[256];
	struct reference left;

	rounds = arg_number(&argc, argv, "--rounds", 1000);
	arg_none_left(argc, argv);
	if (count < 1 || count > 256)
		quit(STATUS_FAILED, "--threads takes 1 to 256");
	setup(cl_pick(platform));
	deadline_ms = seconds ? now_ms() + seconds * 1000 : 0;

	pthread_barrier_init(&start, NULL, count);
	for (long i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			quit(STATUS_FAILED, "cannot start thread %ld", i);
	}
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);

	while ((left = basket_swap((struct reference){ .handle = NULL })).handle)
		release(left.kind, left.handle);
	release(KIND_PROGRAM, program);
	release(KIND_CONTEXT, context);
	printf("creates %ld retains %ld releases %ld\n", creates, retains, releases);
	if (!seconds && count * rounds > BASKET_SIZE && !foreign)
		quit(STATUS_FAILED, "no reference went through the basket");
	return creates + retains == releases ? STATUS_OK : STATUS_FAILED;
}
