/* SPDX-License-Identifier: MIT */
/*
 * by_address.c - functions that a program gets by zeDriverGetExtensionFunctionAddress.
 *
 * Any tracked function may be asked for in this way, also those of the dispatch tables: what is
 * handed out is the driver's own, below the loader, so each row has a second wrapper for it.
 */
#include <stdatomic.h>
#include <string.h>

#include "capture/levelzero/levelzero.h"

/* OUTS_WIDE in levelzero_ext.def */
_Static_assert(sizeof(ze_ipc_mem_handle_t) == 64, "the size of an IPC handle");

#define FN(fn, ret, args, effect, kind, handle, size, owner) FN_(fn, ret, UNWRAP args)
#define FN_(...)                                             FN__(__VA_ARGS__)
#define FN__(fn, ret, ...)                                                                         \
	static GT_TYPE_##ret (*next_##fn)(PARAMS(__VA_ARGS__));                                    \
	GT_WRAP(&gt_ze_door, ret, fn, next_##fn, __VA_ARGS__)
#define ALSO(...)
#include "api/levelzero.def"
#include "api/levelzero_tools.def"
#undef FN
/* the rows above are compared with the headers where the tables are wrapped */
#define FN(fn, ret, args, effect, kind, handle, size, owner)                                       \
	GT_CHECK_ROW(fn, ret, args, size)                                                          \
	FN_(fn, ret, UNWRAP args)
#include "api/levelzero_ext.def"
#undef FN

static const struct wrapped {
	const char *name;
	void *wrapper, *next; /* next: a pointer to the function pointer below */
} wrapped[] = {
#define FN(fn, ...) { #fn, (void *)wrap_##fn, (void *)&next_##fn },
#include "api/levelzero.def"
#include "api/levelzero_tools.def"
#include "api/levelzero_ext.def"
#undef FN
#undef ALSO
};

enum { WRAPPED = sizeof wrapped / sizeof *wrapped };

/* The driver's functions behind the wrappers. */
static _Atomic(void *) taken[WRAPPED];

/* Functions that create and release nothing. */
static const char *const harmless[] = {
#define HARMLESS(name) #name,
#include "capture/levelzero/harmless.def"
#undef HARMLESS
};

static bool is_harmless(const char *name)
{
	for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
		if (!strcmp(harmless[i], name))
			return true;
	return false;
}

/*
 * Puts the wrapper in the place of the driver's function. It cannot tell which driver a call is
 * for: the function of a second driver stays as it is, and false is returned.
 */
static bool wrap(size_t i, void **address)
{
	void *own = *address, *other = NULL;

	if (!atomic_compare_exchange_strong(&taken[i], &other, own) && other != own)
		return false;
	/* two threads store the same value */
	__atomic_store_n((void **)wrapped[i].next, own, __ATOMIC_RELAXED);
	*address = wrapped[i].wrapper;
	return true;
}

void gt_ze_wrap_address(const char *name, void **address)
{
	for (size_t i = 0; i < WRAPPED; i++)
		if (!strcmp(wrapped[i].name, name)) {
			if (!wrap(i, address))
				gt_guest_unfollowed(name);
			return;
		}
	if (!is_harmless(name))
		gt_guest_unfollowed(name);
}
