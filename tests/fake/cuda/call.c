/* SPDX-License-Identifier: MIT */
/*
 * call.c - what surrounds every call of the stand-in driver: failures on request, and CUPTI.
 *
 * FAKE_CUDA_FAIL=FUNCTION[:N[:CODE]][,…]   the N-th call of a function (0 or none: every one)
 *                                          fails with CODE (2, out of memory)
 * FAKE_CUDA_ERRORS=FILE                    a line for each call that fails
 */
#include "fake.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS_MAX = 16 };

static struct {
	char name[64];
	int at, code;
	_Atomic int calls;
} requests[REQUESTS_MAX];
static int request_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic(fake_hook *) hook;
static _Atomic uint32_t calls;

void fake_cuda_hook(fake_hook *h)
{
	atomic_store(&hook, h);
}

static _Atomic(fake_module_hook *) module_hook;

void fake_cuda_module_hook(fake_module_hook *h)
{
	atomic_store(&module_hook, h);
}

void fake_tell_module(uint32_t id, const void *cubin, size_t size, bool loaded)
{
	fake_module_hook *h = atomic_load(&module_hook);

	if (h)
		h(id, fake_current(), cubin, size, loaded);
}

static void read_requests(void)
{
	const char *text = getenv("FAKE_CUDA_FAIL");

	while (text && *text && request_count < REQUESTS_MAX) {
		size_t length = strcspn(text, ":,");

		if (length < sizeof requests[0].name) {
			memcpy(requests[request_count].name, text, length);
			requests[request_count].code = CUDA_ERROR_OUT_OF_MEMORY;
			text += length;
			if (*text == ':')
				requests[request_count].at =
					(int)strtol(text + 1, (char **)&text, 10);
			if (*text == ':')
				requests[request_count].code =
					(int)strtol(text + 1, (char **)&text, 10);
			request_count++;
		}
		text += strcspn(text, ",");
		text += *text == ',';
	}
}

static CUresult requested_failure(const char *name)
{
	for (int i = 0; i < request_count; i++)
		if (!strcmp(requests[i].name, name)) {
			int n = atomic_fetch_add(&requests[i].calls, 1) + 1;

			if (!requests[i].at || n == requests[i].at)
				return (CUresult)requests[i].code;
		}
	return CUDA_SUCCESS;
}

bool fake_begin(struct fake_call *call)
{
	fake_hook *h = atomic_load_explicit(&hook, memory_order_relaxed);

	pthread_once(&once, read_requests);
	if (h) {
		call->context = fake_current();
		call->id = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1;
		h(call, 0);
	}
	*call->result = requested_failure(call->name);
	return *call->result == CUDA_SUCCESS;
}

void fake_finish(struct fake_call *call)
{
	fake_hook *h = atomic_load_explicit(&hook, memory_order_relaxed);

	/* one that came while the call was under way gets no end without its beginning */
	if (h && call->id)
		h(call, 1);
	fake_result(call->name, *call->result);
}

CUresult fake_result(const char *name, CUresult result)
{
	const char *path = result == CUDA_SUCCESS ? NULL : getenv("FAKE_CUDA_ERRORS");
	FILE *file = path ? fopen(path, "ae") : NULL;

	if (file) {
		fprintf(file, "%s %d\n", name, (int)result);
		fclose(file);
	}
	return result;
}
