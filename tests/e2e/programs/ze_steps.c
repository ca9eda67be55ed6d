/* SPDX-License-Identifier: MIT */
/*
 * ze_steps.c - creates and destroys in a fixed pattern, on so many threads, and logs what returned.
 *
 * --log FILE		one line per call that returned, before the next one of its thread
 * --threads N		how many (1)
 * --calls N		how many calls each of them makes (200)
 * --pause N		after N calls a thread prints "paused" and reads a line (never)
 * --lacks 1		then calls zeContextCreateEx, which the driver must not have
 * --fork 1		then goes on in a child, and ends as that does
 * --descriptors FILE	at the end, a line for each open descriptor: what it stands for
 */
#include "ze_common.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 16

struct thread {
	const struct ze *ze;
	ze_context_handle_t context;
	long calls, pause;
	unsigned int state;
};

static unsigned int next_random(struct thread *t)
{
	t->state = t->state * 1664525u + 1013904223u;
	return t->state >> 16;
}

static bool forks, lacks;

static void fork_and_follow(void)
{
	pid_t child = fork();
	int status;

	if (child <= 0)
		return;
	waitpid(child, &status, 0);
	/* as the child ended; what it wrote is written */
	if (WIFSIGNALED(status))
		raise(WTERMSIG(status));
	exit(WEXITSTATUS(status));
}

static void call_in_vain(const struct thread *t)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_context_handle_t context;

	if (!zeContextCreateEx(t->ze->driver, &desc, 0, NULL, &context))
		exit(3);
}

static void *steps(void *arg)
{
	ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	struct thread *t = arg;
	void *slots[SLOTS] = { 0 };

	for (long i = 0; i < t->calls; i++) {
		char line[16];
		void **slot = &slots[next_random(t) % SLOTS];

		if (i == t->pause && i) {
			puts("paused");
			fflush(stdout);
			if (!fgets(line, sizeof line, stdin))
				break;
			if (lacks)
				call_in_vain(t);
			if (forks)
				fork_and_follow();
		}
		if (*slot) {
			TRACKED(zeMemFree, *slot, 0, "memory", t->context, *slot);
			*slot = NULL;
		} else {
			size_t size = 64 + next_random(t) % 8192;

			TRACKED(zeMemAllocDevice, *slot, size, "memory", t->context, &desc, size,
				64, t->ze->device, slot);
		}
	}
	return NULL;
}

static void list_descriptors(const char *path)
{
	FILE *out = fopen(path, "we");
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	while (out && folder && (entry = readdir(folder))) {
		char target[4096];
		ssize_t n = readlinkat(dirfd(folder), entry->d_name, target, sizeof target);

		if (n > 0 && atoi(entry->d_name) != dirfd(folder))
			fprintf(out, "%.*s\n", (int)n, target);
	}
	if (folder)
		closedir(folder);
	if (out)
		fclose(out);
}

int main(int argc, char **argv)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	struct thread threads[64];
	pthread_t ids[64];
	ze_context_handle_t context;
	const char *descriptors = NULL;
	long count = 1, calls = 200, pause_after = 0;
	struct ze ze;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--log"))
			ze_log_open(argv[i + 1]);
		else if (!strcmp(argv[i], "--threads"))
			count = atol(argv[i + 1]);
		else if (!strcmp(argv[i], "--calls"))
			calls = atol(argv[i + 1]);
		else if (!strcmp(argv[i], "--pause"))
			pause_after = atol(argv[i + 1]);
		else if (!strcmp(argv[i], "--fork"))
			forks = true;
		else if (!strcmp(argv[i], "--lacks"))
			lacks = true;
		else if (!strcmp(argv[i], "--descriptors"))
			descriptors = argv[i + 1];
	}
	ze_open(&ze);
	TRACKED(zeContextCreate, context, 0, "context", ze.driver, &desc, &context);
	for (long i = 0; i < count; i++) {
		threads[i] =
			(struct thread){ &ze, context, calls, pause_after, (unsigned int)i + 1 };
		if (pthread_create(&ids[i], NULL, steps, &threads[i]))
			return 2;
	}
	for (long i = 0; i < count; i++)
		pthread_join(ids[i], NULL);
	if (descriptors)
		list_descriptors(descriptors);
	puts("done");
	return 7;
}
