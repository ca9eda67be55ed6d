/* SPDX-License-Identifier: MIT */
/*
 * plugin: leaks in libraries that are unloaded again, and whose addresses are used twice.
 *
 * Per round (--rounds N, default 3) plugin_a.so leaks 1111 bytes in leak_in_alpha(), is closed,
 * and plugin_b.so leaks 2222 bytes in leak_in_beta(). They are looked for beside this program,
 * or in --dir DIR. --turns N more times one of them runs, in turns and from one place, after a
 * pause.
 */
#include "plugin.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <unistd.h>

enum { PAUSE_US = 30000 }; /* unloaded code is looked for every 10 ms */

static char directory[PATH_MAX];

/* Returns the address that the plugin's entry had, only to be compared. */
static const void *run_plugin(const char *name, cl_context context, size_t size_bytes)
{
	char path[PATH_MAX + 64];
	plugin_run_fn run;
	const void *address;
	void *library;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		quit(STATUS_FAILED, "%s", dlerror());
	address = dlsym(library, PLUGIN_ENTRY);
	if (!address)
		quit(STATUS_FAILED, "%s has no " PLUGIN_ENTRY, name);
	memcpy(&run, &address, sizeof(run)); /* C has no cast from an object to a function */
	MUST(run(context, size_bytes));
	dlclose(library);
	return address;
}

int main(int argc, char **argv)
{
	const char *platform = arg_take(&argc, argv, "--platform");
	const char *dir = arg_take(&argc, argv, "--dir");
	long rounds = arg_number(&argc, argv, "--rounds", 3);
	long turns = arg_number(&argc, argv, "--turns", 0);
	bool same = true;
	cl_context context;

	arg_none_left(argc, argv);
	if (dir) {
		snprintf(directory, sizeof(directory), "%s", dir);
	} else {
		if (readlink("/proc/self/exe", directory, sizeof(directory) - 1) < 0)
			quit(STATUS_FAILED, "cannot find myself: %m");
		dirname(directory); /* shortens it in place: the path is absolute */
	}
	context = cl_context_on(cl_pick(platform));
	for (long i = 0; i < rounds; i++) {
		const void *a = run_plugin("plugin_a.so", context, 1111);
		const void *b = run_plugin("plugin_b.so", context, 2222);

		same = same && a == b;
	}
	for (long i = 0; i < turns; i++) {
		usleep(PAUSE_US);
		run_plugin(i % 2 ? "plugin_b.so" : "plugin_a.so", context, i % 2 ? 2222 : 1111);
	}
	MUST(clReleaseContext(context));
	printf("%ld rounds\n", rounds);
	/* on stderr: where the linker puts them is not ours to decide */
	fprintf(stderr, "both plugins at %s\n", same ? "the same address" : "different addresses");
	return STATUS_OK;
}
