/* SPDX-License-Identifier: MIT */
/*
 * request.c - what the environment asks of the driver, read once when it is loaded.
 *
 *   GT_FAKE_ZE_FAIL=FUNCTION:N[,…]
 *	The Nth call of FUNCTION fails and does nothing; `*` for N: every call does. Functions that
 *	end something answer ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, the others
 *	ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY. Example: zeMemAllocDevice:3,zeEventDestroy:*
 *
 *   GT_FAKE_ZE_RESIDUE=FUNCTION:KB[m|f][@N][,…]
 *	Every call (with @N: the Nth alone) of FUNCTION maps and touches KB kilobytes, rounded up to
 *	whole pages, that are never given back. Example: zeContextDestroy:384@2
 *	With m they come from malloc instead. With f they are given back to malloc, which finds no
 *	use for them: the process grows as if they had been kept.
 *
 *   GT_FAKE_ZE_END=FUNCTION:segv|abort|exit|_exit|kill
 *	The first call of FUNCTION ends the process in this way, with status 1 where it has one.
 *
 *   GT_FAKE_ZE_LACK=FUNCTION
 *	The driver does not have the function.
 *
 * Calls are counted from 1, per function and over all threads, from the loading of the driver;
 * a call that fails by request counts, and leaves no residue.
 */
#include "fake.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REQUEST_MAX 32

struct request {
	char function[64];
	bool is_failure;
	unsigned long at; /* the call it is for, 0: each */
	size_t residue_kb;
	char how; /* residue: 0, 'm' or 'f' */
	_Atomic unsigned long calls;
};

bool request_any;
static const char *end_request;
static struct request requests[REQUEST_MAX];
static int request_count;

static void request_add(const char *text, size_t length, bool is_failure)
{
	const char *colon = memchr(text, ':', length);
	struct request *r = &requests[request_count];
	char *end;

	if (!colon || request_count == REQUEST_MAX || (size_t)(colon - text) >= sizeof(r->function))
		return;
	memcpy(r->function, text, colon - text);
	r->is_failure = is_failure;
	if (is_failure) {
		r->at = colon[1] == '*' ? 0 : strtoul(colon + 1, NULL, 10);
	} else {
		r->residue_kb = strtoul(colon + 1, &end, 10);
		if (*end == 'm' || *end == 'f')
			r->how = *end++;
		r->at = *end == '@' ? strtoul(end + 1, NULL, 10) : 0;
	}
	request_count++;
	request_any = true;
}

static void requests_read(const char *variable, bool is_failure)
{
	const char *text = getenv(variable);

	while (text && *text) {
		size_t length = strcspn(text, ",");

		request_add(text, length, is_failure);
		text += length + (text[length] == ',');
	}
}

__attribute__((constructor)) static void requests_init(void)
{
	requests_read("GT_FAKE_ZE_FAIL", true);
	requests_read("GT_FAKE_ZE_RESIDUE", false);
	end_request = getenv("GT_FAKE_ZE_END");
	request_any |= !!end_request;
}

bool request_lacks(const char *function)
{
	const char *lack = getenv("GT_FAKE_ZE_LACK");

	return lack && !strcmp(lack, function);
}

static void end_process(const char *how)
{
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "exit"))
		exit(1);
	if (!strcmp(how, "_exit"))
		_exit(1);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
}

static bool is_ending(const char *function)
{
	return strstr(function, "Destroy") || strstr(function, "Free") ||
	       strstr(function, "Close") || strstr(function, "Release");
}

/* A hole between blocks that stay; each is a little larger than those before, and fits in none. */
static void leave_hole(size_t bytes)
{
	static _Atomic size_t more;
	char *hole = malloc(bytes + atomic_fetch_add(&more, 64)), *volatile wall = malloc(1100);

	if (hole && wall) {
		memset(hole, 1, bytes);
		*wall = 1;
	}
	free(hole);
}

static void leave_behind(size_t kb, char how)
{
	char *volatile block = how == 'm' ? malloc(kb << 10) : NULL;

	if (block)
		memset(block, 1, kb << 10);
	if (how == 'f')
		leave_hole(kb << 10);
	if (how)
		return;
	/* volatile: the mapping is lost on purpose, and no analyzer needs to tell us */
	void *volatile lost = mmap(NULL, kb << 10, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	(void)lost;
}

ze_result_t request_enter(const char *function)
{
	ze_result_t rc = ZE_RESULT_SUCCESS;
	size_t length = strlen(function);

	if (end_request && !strncmp(end_request, function, length) && end_request[length] == ':')
		end_process(end_request + length + 1);
	for (int i = 0; i < request_count && rc == ZE_RESULT_SUCCESS; i++) {
		struct request *r = &requests[i];

		if (strcmp(r->function, function))
			continue;
		if (atomic_fetch_add(&r->calls, 1) + 1 != r->at && r->at)
			continue;
		if (r->is_failure)
			rc = is_ending(function) ? ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE :
						   ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
		else
			leave_behind(r->residue_kb, r->how);
	}
	return rc;
}
