/* SPDX-License-Identifier: MIT */
/* loading.c - libraries that come and go, twice, or in a namespace of their own. */
#include "odd.h"

#include <dlfcn.h>

/* A library that makes calls from its code, its constructor and its destructor. */
static int plugins(void)
{
	for (int i = 0; i < 20; i++) {
		void *library = dlopen(arguments[0], RTLD_NOW);
		void (*made)(void (*)(int));
		void *address = library ? dlsym(library, "odd_plugin") : NULL;

		if (!address)
			fail("no plugin: %s", dlerror());
		memcpy(&made, &address, sizeof(made));
		made(calls);
		dlclose(library);
		calls(1);
	}
	return 0;
}

/* A second copy of the API's library, with a C library of its own. */
static int namespaces(void)
{
	void *library = dlmopen(LM_ID_NEWLM, door_library, RTLD_NOW);

	say("%s", library ? "loaded" : dlerror());
	calls(5);
	if (library)
		dlclose(library);
	calls(5);
	return 0;
}

/* dlerror and errno are the program's own. */
static int failing_loads(void)
{
	for (int i = 0; i < 5; i++) {
		const char *error;

		errno = 42;
		dlopen("./nothing.so", RTLD_NOW);
		errno = 43;
		calls(3);
		if (errno != 43)
			say("errno %d", errno);
		error = dlerror();
		say("%s", error ? error : "none");
	}
	return 0;
}

/* Only makes calls: for rows whose oddity lies around the program. */
static int nothing_odd(void)
{
	calls(20);
	say("called %s", strrchr(program, '/') ? strrchr(program, '/') + 1 : program);
	return 0;
}

const struct mode loading_modes[] = {
	{ .name = "plugins", .run = plugins },
	{ .name = "namespaces", .run = namespaces },
	{ .name = "failing-loads", .run = failing_loads },
	{ .name = "nothing-odd", .run = nothing_odd },
	{ .name = NULL },
};
