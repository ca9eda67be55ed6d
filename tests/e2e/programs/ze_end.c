/* SPDX-License-Identifier: MIT */
/*
 * ze_end.c - makes a few calls, leaves some objects alive, and ends in the way asked for.
 *
 * --how exit|_exit|abort|kill9|fork|exec, --log FILE
 *
 * At the end one context, one event pool, one event and 12288 bytes of device memory are alive.
 * fork:  a child makes and destroys an event of its own, leaves another alive, logs to FILE.child
 *        and leaves by exit; the parent waits for it, then destroys everything and exits.
 * exec:  replaces itself by `ze_end --how exit --log FILE.exec`.
 */
#include "ze_common.h"

#include <signal.h>
#include <sys/wait.h>

#define SIZE 12288u

struct objects {
	ze_context_handle_t context;
	ze_event_pool_handle_t pool;
	ze_event_handle_t event;
	void *memory;
};

static ze_event_desc_t event_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };

static void make(struct objects *o, const struct ze *ze)
{
	ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_event_pool_desc_t pool = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 4 };
	ze_device_mem_alloc_desc_t memory = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	void *freed;

	TRACKED(zeContextCreate, o->context, 0, "context", ze->driver, &context, &o->context);
	TRACKED(zeEventPoolCreate, o->pool, 0, "event_pool", o->context, &pool, 0, NULL, &o->pool);
	TRACKED(zeEventCreate, o->event, 0, "event", o->pool, &event_desc, &o->event);
	TRACKED(zeMemAllocDevice, freed, SIZE, "memory", o->context, &memory, SIZE, 64, ze->device,
		&freed);
	TRACKED(zeMemFree, freed, SIZE, "memory", o->context, freed);
	TRACKED(zeMemAllocDevice, o->memory, SIZE, "memory", o->context, &memory, SIZE, 64,
		ze->device, &o->memory);
}

static void end_all(struct objects *o)
{
	TRACKED(zeMemFree, o->memory, SIZE, "memory", o->context, o->memory);
	TRACKED(zeEventDestroy, o->event, 0, "event", o->event);
	TRACKED(zeEventPoolDestroy, o->pool, 0, "event_pool", o->pool);
	TRACKED(zeContextDestroy, o->context, 0, "context", o->context);
}

/* FILE.suffix, or NULL without a log */
static char *other_log(const char *log, const char *suffix)
{
	char *path = NULL;

	if (log && asprintf(&path, "%s.%s", log, suffix) < 0)
		exit(2);
	return path;
}

static void in_child(struct objects *o, const char *log)
{
	char *path = other_log(log, "child");
	ze_event_handle_t event;

	if (path)
		ze_log_open(path);
	free(path);
	TRACKED(zeEventCreate, event, 0, "event", o->pool, &event_desc, &event);
	TRACKED(zeEventDestroy, event, 0, "event", event);
	TRACKED(zeEventCreate, event, 0, "event", o->pool, &event_desc, &event);
	exit(0);
}

static int by_fork(struct objects *o, const char *log)
{
	pid_t child = fork();
	int status;

	if (!child)
		in_child(o, log);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 2;
	end_all(o);
	return status ? 1 : 0;
}

static int by_exec(const char *log)
{
	char *path = other_log(log, "exec");

	if (path)
		execl("/proc/self/exe", "ze_end", "--how", "exit", "--log", path, (char *)NULL);
	else
		execl("/proc/self/exe", "ze_end", "--how", "exit", (char *)NULL);
	perror("exec");
	return 2;
}

int main(int argc, char **argv)
{
	const char *how = "exit", *log = NULL;
	struct objects o;
	struct ze ze;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--how"))
			how = ze_value(argc, argv, &i);
		else if (!strcmp(argv[i], "--log"))
			log = ze_value(argc, argv, &i);
		else
			return ze_usage(argv[0],
					"--how exit|_exit|abort|kill9|fork|exec [--log FILE]");
	}
	if (log)
		ze_log_open(log);
	ze_open(&ze);
	make(&o, &ze);
	if (!strcmp(how, "exit"))
		exit(0);
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill9"))
		raise(SIGKILL);
	if (!strcmp(how, "fork"))
		return by_fork(&o, log);
	if (!strcmp(how, "exec"))
		return by_exec(log);
	fprintf(stderr, "%s: no such end: %s\n", argv[0], how);
	return 2;
}
