/* SPDX-License-Identifier: MIT */
/*
 * preload.c - the library that `gputrack run` preloads: gives programs the CUDA door's wrappers
 * where they ask for the driver's functions.
 *
 * A program reaches the driver in two ways, and both lead here:
 * - It links libcuda.so.1. The functions that we export come first in the loader's search.
 * - It asks dlsym, which we stand in for; also CUDA's runtime, for cuGetProcAddress alone, whose
 *   wrapper (direct.c) replaces what that hands out.
 *
 * Everybody else must not notice. Our dlsym is a jump to the C library's except for a name of our
 * table, so that RTLD_NEXT and RTLD_DEFAULT see their caller. The exported functions have a hidden
 * version, the library's first: references of programs that link libcuda have none, and bind to it;
 * dlsym passes over hidden versions, and finds what it would find without us (preload.map). Our
 * dlsym has the C library's versions, for those who ask for it by version.
 *
 * Nothing here takes a lock: a thread may hold the loader's. The door is loaded by whoever needs it
 * first, and by two at once without harm.
 */
#include "capture/cuda/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "capture/cuda/direct.h"

#define EXPORT __attribute__((visibility("default")))
#define USED   __attribute__((used)) /* by the assembly below */

USED void *gt_preload_dlsym(void *handle, const char *name, const void *caller);
USED void gt_preload_fill(void);

#define ENTRIES                                                                                    \
	ENTRY(cuGetProcAddress)                                                                    \
	ENTRY(cuGetProcAddress_v2)

static const char *const names[GT_ENTRIES] = {
#define ENTRY(fn)   [GT_ENTRY_##fn] = #fn,
#define FN(fn, ...) ENTRY(fn)
#define ALSO(...)
#define TOUCH FN
#include "api/cuda.def"
#undef TOUCH
	ENTRIES
#undef FN
#undef ENTRY
};

/*
 * A function that we export jumps to its slot. At first that is `gt_preload_first`, which has all
 * slots filled and jumps again; the registers that arguments are passed in are kept.
 */
#define ENTRY(fn)                                                                                  \
	extern void *gt_slot_##fn, gt_first_##fn(void);                                            \
	__asm__(".pushsection .text\n" GT_ASM_ENTRY(fn) ".popsection\n"                            \
							".symver gt_entry_" #fn "," #fn            \
							"@GPUTRACK, remove\n");                    \
	__attribute__((visibility("hidden"))) void *gt_slot_##fn = (void *)gt_first_##fn;
#define FN(fn, ...) ENTRY(fn)
#define TOUCH       FN
#include "api/cuda.def"
#undef TOUCH
ENTRIES
#undef FN
#undef ENTRY

__asm__(".pushsection .text\n" GT_ASM_FIRST GT_ASM_DLSYM ".popsection\n"
	".symver gt_dlsym_old, dlsym@" GT_LIBC_FIRST ", remove\n"
	".symver gt_dlsym, dlsym@@GLIBC_2.34, remove\n");

static void **const slots[GT_ENTRIES] = {
#define ENTRY(fn)   [GT_ENTRY_##fn] = &gt_slot_##fn,
#define FN(fn, ...) ENTRY(fn)
#define TOUCH       FN
#include "api/cuda.def"
#undef TOUCH
	ENTRIES
#undef FN
#undef ENTRY
};

typedef void *dlsym_fn(void *handle, const char *name);

__attribute__((visibility("hidden"))) _Atomic(dlsym_fn *) gt_preload_real;

/* For the door (gt_cuda_is_preloaded). */
extern EXPORT const char gt_cuda_preloaded;
const char gt_cuda_preloaded;

/* Nsight Compute starts no program that CUPTI's variable is set for; it has us preloaded instead.
 */
static __attribute__((constructor)) void leave_to_nsight(void)
{
	const char *name = program_invocation_short_name;

	if (!strcmp(name, "ncu") || !strcmp(name, "nv-nsight-cu-cli"))
		unsetenv("CUDA_INJECTION64_PATH");
}

/* The C library's own, or that of the next library that stands in for it. */
static dlsym_fn *real_dlsym(void)
{
	static const char *const versions[] = { "GLIBC_2.34", GT_LIBC_FIRST };
	dlsym_fn *real = atomic_load_explicit(&gt_preload_real, memory_order_relaxed);

	for (size_t i = 0; !real && i < sizeof versions / sizeof *versions; i++)
		real = (dlsym_fn *)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	atomic_store_explicit(&gt_preload_real, real, memory_order_relaxed);
	return real;
}

static int entry_of(const char *name)
{
	for (int i = 0; i < GT_ENTRIES; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

static struct link_map *module_of(const void *address)
{
	struct link_map *map = NULL;
	Dl_info info;

	return address && dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

/* Nsight Compute hands out a library of its own when a program loads the driver. */
static bool is_driver(const struct link_map *map)
{
	static const char *const files[] = { "libcuda.so", "libcuda-injection.so" };
	const char *name = map && map->l_name ? strrchr(map->l_name, '/') : NULL;

	if (map && map->l_name && !name)
		name = map->l_name;
	else if (name)
		name++;
	for (size_t i = 0; name && i < sizeof files / sizeof *files; i++)
		if (!strncmp(name, files[i], strlen(files[i])))
			return true;
	return false;
}

void *gt_preload_door(const char *file, const char *name)
{
	struct link_map *self = module_of(&gt_cuda_preloaded);
	const char *slash = self ? strrchr(self->l_name, '/') : NULL;
	char path[PATH_MAX];
	size_t folder;
	void *door;

	if (!slash || (size_t)(slash + 1 - self->l_name) + strlen(file) >= sizeof path)
		return NULL;
	folder = (size_t)(slash + 1 - self->l_name);
	memcpy(path, self->l_name, folder);
	memcpy(path + folder, file, strlen(file) + 1);
	door = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return door ? real_dlsym()(door, name) : NULL;
}

/* Loads the door beside us. NULL: there is none, or nothing is recorded. */
static const struct gt_cuda_entries *open_door(struct link_map *driver)
{
	void *handle = dlopen(driver->l_name, RTLD_LAZY | RTLD_NOLOAD);
	gt_cuda_direct_fn *direct;

	if (!handle)
		return NULL;
	direct = (gt_cuda_direct_fn *)gt_preload_door("libgputrack_cuda.so", GT_CUDA_DIRECT);
	return direct ? direct(real_dlsym(), handle) : NULL;
}

/* The door's table for the driver that `function` is of; NULL: it is not the driver's. */
static const struct gt_cuda_entries *entries_for(void *function)
{
	static _Atomic(const struct gt_cuda_entries *) entries;
	static _Atomic bool tried;
	static __thread bool opening __attribute__((tls_model("initial-exec")));
	const struct gt_cuda_entries *found = atomic_load(&entries);
	struct link_map *map;

	if (found || atomic_load(&tried) || opening)
		return found;
	map = module_of(function);
	if (!is_driver(map))
		return NULL;
	opening = true;
	found = open_door(map);
	dlerror(); /* a function that the driver lacks is nobody's mistake */
	opening = false;
	atomic_store(&entries, found);
	atomic_store(&tried, true);
	return found;
}

static void *wrapper_of(int entry, void *function)
{
	const struct gt_cuda_entries *entries = entries_for(function);

	return entries && entries->driver[entry] == function ? entries->wrapper[entry] : NULL;
}

/* What a library and those that it needs define. */
static void *find_in(const struct link_map *map, const char *name)
{
	void *handle = *map->l_name ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void *found = handle ? real_dlsym()(handle, name) : NULL;

	if (handle)
		dlclose(handle);
	return found;
}

/* Python loads libraries where RTLD_NEXT does not look. */
void *gt_preload_find(const char *name)
{
	struct link_map *self = module_of(&gt_cuda_preloaded), *map = self;
	void *found = NULL;

	while (map && map->l_prev)
		map = map->l_prev;
	for (; map && !found; map = map->l_next)
		found = map != self ? find_in(map, name) : NULL;
	return found;
}

/*
 * The next definition after the caller, as RTLD_NEXT finds it, if the caller has one itself: it
 * stands before the driver. Nobody else gets past the C library's own answer.
 */
static void *find_next(const char *name, const void *caller)
{
	struct link_map *map = module_of(caller);

	if (!map || module_of(find_in(map, name)) != map)
		return NULL;
	for (map = map->l_next; map; map = map->l_next) {
		void *found = find_in(map, name);

		if (found && module_of(found) == map)
			return found;
	}
	return NULL;
}

/* In what everybody sees, then in the libraries of the caller, as RTLD_DEFAULT finds it. */
static void *find_default(const char *name, const void *caller)
{
	void *found = real_dlsym()(RTLD_DEFAULT, name);
	struct link_map *map = found ? NULL : module_of(caller);

	return map ? find_in(map, name) : found;
}

/* What our dlsym returns; NULL: it goes on to the real one. */
void *gt_preload_dlsym(void *handle, const char *name, const void *caller)
{
	dlsym_fn *real = real_dlsym();
	int saved = errno, entry;
	void *found = NULL;

	if (!name || name[0] != 'c' || name[1] != 'u' || (entry = entry_of(name)) < 0)
		return NULL;
	if (handle == RTLD_NEXT)
		found = find_next(name, caller);
	else if (handle == RTLD_DEFAULT)
		found = find_default(name, caller);
	else
		found = real(handle, name);
	found = found ? wrapper_of(entry, found) : NULL;
	errno = saved;
	return found;
}

/* A program that links a function that its driver does not have would not have got this far. */
static int not_found(void)
{
	enum { CUDA_ERROR_NOT_FOUND = 500 };

	return CUDA_ERROR_NOT_FOUND;
}

/*
 * Fills the slots of what we export with what comes next: the door's wrapper if that is the driver,
 * and whatever it is otherwise: another library that stands before the driver asks dlsym for the
 * driver's function itself, and so gets our wrapper.
 */
void gt_preload_fill(void)
{
	int saved = errno;

	for (int i = 0; i < GT_ENTRIES; i++) {
		void *seen = real_dlsym()(RTLD_NEXT, names[i]);
		/* a library that others do not see may link the driver, too */
		void *next = seen ? seen : gt_preload_find(names[i]);
		void *wrapper = next ? wrapper_of(i, next) : NULL;

		__atomic_store_n(slots[i],
				 wrapper ? wrapper :
				 next    ? next :
					   (void *)not_found,
				 __ATOMIC_RELEASE);
	}
	errno = saved;
}
