/* SPDX-License-Identifier: MIT */
/*
 * steady: does the same again and again, and tells whether the process got bigger by it.
 *
 * --layer FILE
 * --rounds N   how often (1000). A round loads the layer and closes it; two threads come, make
 *              events and release them, and go; a library that makes events too is loaded and
 *              unloaded; now and then a child is forked, which does the same.
 * --plugin FILE the library: anything with a function `call` that calls what it is given
 * --generations N  instead: a child of a child of a child …, each of which makes events
 *
 * Prints "descriptors N mappings N bytes N" at the tenth round and at the last: bytes are what
 * malloc has given out.
 */
#include "fake_table.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>

enum { WARM_UP = 10, THREADS = 2, EVENTS = 20, FORK_EVERY = 25 };

static const cl_icd_dispatch *table;

static void make_and_release(void)
{
	cl_event event = table->clCreateUserEvent(NULL, NULL);

	if (!event)
		quit(STATUS_FAILED, "the fake driver has run out of events");
	table->clReleaseEvent(event);
}

static void *work(void *unused)
{
	for (int i = 0; i < EVENTS; i++)
		make_and_release();
	return unused;
}

static void use_plugin(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*call)(void (*)(void));

	if (!library)
		quit(STATUS_FAILED, "%s", dlerror());
	symbol_find(&call, library, "call");
	call(make_and_release);
	dlclose(library);
}

static void await(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		quit(STATUS_FAILED, "a child did not end well");
}

static size_t count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t count = 0;

	while (folder && readdir(folder))
		count++;
	closedir(folder);
	return count - 3; /* `.`, `..`, and the folder itself */
}

static size_t count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	size_t count = 0;
	int c;

	while (maps && (c = getc(maps)) != EOF)
		count += c == '\n';
	fclose(maps);
	return count;
}

static void tell(void)
{
	size_t bytes = mallinfo2().uordblks + mallinfo2().hblkhd;

	printf("descriptors %zu mappings %zu bytes %zu\n", count_descriptors(), count_mappings(),
	       bytes);
	fflush(stdout);
}

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	layer_init_fn init;
	layer_deinit_fn deinit;
	cl_uint entries;

	if (!library)
		quit(STATUS_FAILED, "%s", dlerror());
	symbol_find(&init, library, "clInitLayer");
	symbol_find(&deinit, library, "clDeinitLayer");
	if (init(TABLE_ENTRIES, &below.table, &entries, &table) != CL_SUCCESS)
		quit(STATUS_FAILED, "the layer refused");
	work(NULL);
	deinit();
	dlclose(library);
}

static void one_round(long round, const char *layer, const char *plugin)
{
	pthread_t threads[THREADS];

	load(layer);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			quit(STATUS_FAILED, "no thread to be had");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	use_plugin(plugin);
	if (round % FORK_EVERY == 0) {
		pid_t pid = fork();

		if (!pid) {
			work(NULL);
			_exit(0);
		}
		await(pid);
	}
}

/* Goes on in a child of a child of a child; their parents only wait. */
static void descend(long generations)
{
	for (long i = 1; i <= generations; i++) {
		pid_t pid;

		work(NULL);
		if (i == WARM_UP || i == generations)
			tell();
		pid = i < generations ? fork() : -1;
		if (pid > 0) {
			await(pid);
			_exit(0);
		}
	}
}

int main(int argc, char **argv)
{
	const char *layer = arg_take(&argc, argv, "--layer");
	const char *plugin = arg_take(&argc, argv, "--plugin");
	long rounds = arg_number(&argc, argv, "--rounds", 1000);
	long generations = arg_number(&argc, argv, "--generations", 0);

	arg_none_left(argc, argv);
	if (!layer || (!plugin && !generations))
		quit(STATUS_FAILED, "no --layer or no --plugin");
	/* one arena, so that bytes can be counted */
	mallopt(M_ARENA_MAX, 1);
	fake_table_init();
	if (generations) {
		load(layer);
		descend(generations);
		return STATUS_OK;
	}
	for (long i = 1; i <= rounds; i++) {
		one_round(i, layer, plugin);
		if (i == WARM_UP || i == rounds)
			tell();
	}
	return STATUS_OK;
}
