/* SPDX-License-Identifier: MIT */
/* tool.c - the tool as a process: its name, its threads, libraries it loads, file signals. */
#include "base/tool.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "gputrack"

static const char *called = NAME;

void gt_tool_set_name(const char *word)
{
	called = word && *word ? word : NAME;
}

static bool is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-";

	return *word != '-' && !word[strspn(word, plain)];
}

bool gt_tool_search(const char *name, char *path, size_t size)
{
	const char *at = getenv("PATH");
	struct stat st;

	while (at) {
		size_t length = strcspn(at, ":");

		/* an empty part is the current folder */
		snprintf(path, size, "%.*s/%s", length ? (int)length : 1, length ? at : ".", name);
		if (!access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
			return true;
		at = at[length] ? at + length + 1 : NULL;
	}
	return false;
}

const char *gt_tool_name(void)
{
	struct stat typed, own;
	char path[PATH_MAX];

	if (!strchr(called, '/') || !is_plain(called))
		return NAME;
	if (gt_tool_search(NAME, path, sizeof path) && !stat(path, &typed) && !stat(called, &own) &&
	    typed.st_dev == own.st_dev && typed.st_ino == own.st_ino)
		return NAME;
	return called;
}

bool gt_tool_is_static(void)
{
#ifdef GT_STATIC
	return true;
#else
	return false;
#endif
}

void *gt_tool_load(const char *library, int flags, const char **why)
{
	void *loaded;

	if (gt_tool_is_static()) {
		*why = "this gputrack is a static program, which loads no libraries";
		return NULL;
	}
	loaded = dlopen(library, flags);
	*why = loaded ? NULL : dlerror();
	return loaded;
}

int gt_tool_load_functions(const struct gt_tool_library *library, void *functions,
			   struct gt_error *error)
{
	const char *why;
	void *loaded = gt_tool_load(library->file, RTLD_NOW | RTLD_LOCAL, &why), *function = loaded;

	for (size_t i = 0; function && i < library->count; i++) {
		function = dlsym(loaded, library->names[i]);
		memcpy((char *)functions + i * sizeof function, &function, sizeof function);
	}
	if (function)
		return 0;
	return gt_error_set(error, -ENOENT, "cannot load %s, which %s needs (%s): install %s",
			    library->file, library->user, loaded ? dlerror() : why,
			    library->package);
}

int gt_thread_start(pthread_t *thread, void *(*run)(void *), void *context)
{
	sigset_t all, before;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return e;
}

static uintptr_t page_size;

static void put_zeroes(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	void *page = (void *)((uintptr_t)info->si_addr & ~(page_size - 1));

	(void)context;
	/* not a truncated file: let the signal come again and end us */
	if (info->si_code != BUS_ADRERR ||
	    mmap(page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) == MAP_FAILED) {
		signal(number, SIG_DFL);
		if (info->si_code <= 0)
			raise(number);
	}
	errno = saved;
}

/* Ignored: the write that caused it fails. */
static void ignore(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
}

/* A handler, rather than SIG_IGN, which programs that we start would inherit. */
static void handle(int number, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction before;

	if (!sigaction(number, NULL, &before) && before.sa_handler == SIG_DFL)
		sigaction(number, &action, NULL);
}

void gt_tool_survive_files(void)
{
	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	handle(SIGBUS, put_zeroes);
	handle(SIGXFSZ, ignore);
}
