/* SPDX-License-Identifier: MIT */
/*
 * fault.c - a preloaded library that fails the n-th call which gputrack's code makes of a function.
 *
 * GT_FAULT=FUNCTION:N:ERRNO  the N-th call of FUNCTION (from 1) fails with that error number, and
 *                            all after it too when ERRNO ends in `+`; `kill`: SIGKILL in its place;
 *                            `exit`: exit(9) there, as a handler of a signal might
 * GT_FAULT_IN=NAME,NAME      calls made by modules whose file names begin like this
 * GT_FAULT_HIT=FILE          created when the fault has struck
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static struct {
	char function[32];
	long at;
	int error; /* 0: SIGKILL */
	bool ever_after, exits, on;
} plan;

static _Atomic long calls;

__attribute__((constructor)) static void read_plan(void)
{
	const char *text = getenv("GT_FAULT"), *colon = text ? strchr(text, ':') : NULL;
	char *end;

	if (!colon || (size_t)(colon - text) >= sizeof plan.function)
		return;
	memcpy(plan.function, text, (size_t)(colon - text));
	plan.at = strtol(colon + 1, &end, 10);
	plan.exits = *end == ':' && !strcmp(end + 1, "exit");
	if (*end == ':' && !plan.exits && strcmp(end + 1, "kill"))
		plan.error = (int)strtol(end + 1, &end, 10);
	plan.ever_after = *end == '+';
	plan.on = true;
}

static bool is_ours(const void *caller)
{
	const char *names = getenv("GT_FAULT_IN");
	struct dl_find_object found;
	const char *name, *slash;

	if (!names || _dl_find_object((void *)(uintptr_t)caller, &found))
		return false;
	name = found.dlfo_link_map->l_name;
	if (!*name)
		name = program_invocation_name;
	slash = strrchr(name, '/');
	name = slash ? slash + 1 : name;
	while (*names) {
		size_t size = strcspn(names, ",");

		if (!strncmp(name, names, size))
			return true;
		names += size + (names[size] == ',');
	}
	return false;
}

static bool strikes(const char *function, const void *caller)
{
	const char *hit;
	long call;

	if (!plan.on || strcmp(function, plan.function) || !is_ours(caller))
		return false;
	call = atomic_fetch_add(&calls, 1) + 1;
	if (call < plan.at || (call > plan.at && !plan.ever_after))
		return false;
	hit = getenv("GT_FAULT_HIT");
	if (hit)
		syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, hit, O_CREAT | O_WRONLY, 0600));
	if (plan.exits)
		exit(9);
	if (!plan.error)
		syscall(SYS_kill, getpid(), SIGKILL);
	errno = plan.error;
	return true;
}

#define STRIKES(function) strikes(function, __builtin_return_address(0))

static long through(long number, long a, long b, long c, long d, long e, long f)
{
	return syscall(number, a, b, c, d, e, f);
}

static int open_file(int folder, const char *path, int flags, mode_t mode)
{
	return (int)through(SYS_openat, folder, (long)path, flags, mode, 0, 0);
}

#define MODE(flags)                                                                                \
	mode_t mode = 0;                                                                           \
	if ((flags) & (O_CREAT | O_TMPFILE)) {                                                     \
		va_list args;                                                                      \
		va_start(args, flags);                                                             \
		mode = va_arg(args, mode_t);                                                       \
		va_end(args);                                                                      \
	}

EXPORT int open(const char *path, int flags, ...)
{
	MODE(flags)
	return STRIKES("open") ? -1 : open_file(AT_FDCWD, path, flags, mode);
}

EXPORT int openat(int folder, const char *path, int flags, ...)
{
	MODE(flags)
	return STRIKES("open") ? -1 : open_file(folder, path, flags, mode);
}

EXPORT ssize_t write(int fd, const void *bytes, size_t size)
{
	return STRIKES("write") ? -1 : through(SYS_write, fd, (long)bytes, (long)size, 0, 0, 0);
}

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
	return STRIKES("write") ? -1 : through(SYS_pwrite64, fd, (long)bytes, (long)size, at, 0, 0);
}

EXPORT ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
	return STRIKES("read") ? -1 : through(SYS_pread64, fd, (long)bytes, (long)size, at, 0, 0);
}

EXPORT ssize_t read(int fd, void *bytes, size_t size)
{
	return STRIKES("read") ? -1 : through(SYS_read, fd, (long)bytes, (long)size, 0, 0, 0);
}

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	return STRIKES("mmap") ? MAP_FAILED :
				 (void *)through(SYS_mmap, (long)at, (long)size, protection, flags,
						 fd, offset);
}

EXPORT int madvise(void *at, size_t size, int advice)
{
	return STRIKES("madvise") ?
		       -1 :
		       (int)through(SYS_madvise, (long)at, (long)size, advice, 0, 0, 0);
}

EXPORT int fallocate(int fd, int mode, off_t at, off_t size)
{
	return STRIKES("fallocate") ? -1 : (int)through(SYS_fallocate, fd, mode, at, size, 0, 0);
}

EXPORT int ftruncate(int fd, off_t size)
{
	return STRIKES("ftruncate") ? -1 : (int)through(SYS_ftruncate, fd, size, 0, 0, 0, 0);
}

EXPORT int mkdir(const char *path, mode_t mode)
{
	return STRIKES("mkdir") ? -1 :
				  (int)through(SYS_mkdirat, AT_FDCWD, (long)path, mode, 0, 0, 0);
}

EXPORT int fcntl(int fd, int command, ...)
{
	va_list args;
	long argument;

	va_start(args, command);
	argument = va_arg(args, long);
	va_end(args);
	return STRIKES("fcntl") ? -1 : (int)through(SYS_fcntl, fd, command, argument, 0, 0, 0);
}

EXPORT void *malloc(size_t size)
{
	return STRIKES("malloc") ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	return STRIKES("malloc") ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *old, size_t size)
{
	return STRIKES("malloc") ? NULL : __libc_realloc(old, size);
}

/* Programs built with large-file support call these. */
#define ALSO(name, function) EXPORT __typeof__(function) name __attribute__((alias(#function)))
ALSO(open64, open);
ALSO(openat64, openat);
ALSO(pwrite64, pwrite);
ALSO(pread64, pread);
ALSO(mmap64, mmap);
ALSO(fallocate64, fallocate);
ALSO(ftruncate64, ftruncate);
ALSO(fcntl64, fcntl);

EXPORT pid_t fork(void)
{
	pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");

	return STRIKES("fork") ? -1 : next();
}
