/* SPDX-License-Identifier: MIT */
/* limits.c - calls below limits that the program sets for itself. */
#include "odd.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void limit(__rlimit_resource_t what, rlim_t value)
{
	struct rlimit l = { value, value };

	if (setrlimit(what, &l))
		fail("no limit: %m");
}

/* How many files can be opened, less those that the recorder may have. */
static int files(void)
{
	int first = open("/dev/null", O_RDONLY | O_CLOEXEC), last = first, fd;

	calls(2);
	while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		last = fd;
	say("first %d, then %s", first, strerror(errno));
	calls(200);
	for (fd = first; fd <= last; fd++)
		close(fd);
	return 0;
}

static int few_files(void)
{
	limit(RLIMIT_NOFILE, (rlim_t)atoi(arguments[0]));
	return files();
}

static int little_memory(void)
{
	void *block;

	limit(RLIMIT_AS, 512 << 20);
	calls(200);
	block = mmap(NULL, 1 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("%s", block == MAP_FAILED ? strerror(errno) : "mapped");
	calls(2);
	return 0;
}

/* No memory at all is left: what cannot be recorded is counted. */
static int no_memory(void)
{
	limit(RLIMIT_AS, 1 << 20);
	calls(50);
	return 0;
}

static void on_size(int number)
{
	say("signal %d", number);
}

static int small_files(void)
{
	int fd = open("small", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	char block[8192] = { 0 };

	signal(SIGXFSZ, on_size);
	limit(RLIMIT_FSIZE, 4096);
	calls(200);
	say("wrote %zd", write(fd, block, sizeof(block)));
	say("wrote %zd: %s", write(fd, block, 1), strerror(errno));
	calls(200);
	return 0;
}

static void *call(void *unused)
{
	calls(1);
	return unused;
}

/* As an ordinary user: root has no such limit. */
static int no_processes(void)
{
	pthread_t thread;

	limit(RLIMIT_NPROC, 0);
	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		skip("only root can be another user: %m");
	calls(5);
	say("thread %d, child %s", pthread_create(&thread, NULL, call, NULL),
	    fork() < 0 ? strerror(errno) : "made");
	calls(5);
	return 0;
}

static int small_stack(void)
{
	pthread_t thread;

	limit(RLIMIT_STACK, 128 << 10);
	calls(5);
	if (pthread_create(&thread, NULL, call, NULL))
		fail("no thread");
	pthread_join(thread, NULL);
	return 0;
}

static int locked_memory(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		skip("memory cannot be locked: %m");
	calls(50);
	say("unlock %d", munlockall());
	return 0;
}

static int one_cpu(void)
{
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (int i = 0; CPU_COUNT(&cpus) > 1; i++)
		CPU_CLR(i, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || setpriority(PRIO_PROCESS, 0, 5))
		fail("no affinity: %m");
	calls(5);
	return 0;
}

/* Memory that children must not have; the recorder's is not the program's to give away. */
static int not_for_children(void)
{
	char *area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	if (area == MAP_FAILED || madvise(area, 4096, MADV_DONTFORK) ||
	    madvise(area + 4096, 4096, MADV_WIPEONFORK))
		skip("no such memory: %m");
	memset(area, 1, 8192);
	child = fork();
	if (!child) {
		calls(2);
		_exit(area[4096]);
	}
	say_end("child", child);
	calls(2);
	return 0;
}

static int masked(void)
{
	umask(0777);
	calls(5);
	say("made %d", open("private", O_RDWR | O_CREAT | O_CLOEXEC, 0666) >= 0);
	return 0;
}

const struct mode limit_modes[] = {
	{ .name = "files", .run = files },
	{ .name = "few-files", .run = few_files },
	{ .name = "little-memory", .run = little_memory },
	{ .name = "no-memory", .run = no_memory },
	{ .name = "small-files", .run = small_files },
	{ .name = "no-processes", .run = no_processes },
	{ .name = "small-stack", .run = small_stack },
	{ .name = "locked-memory", .run = locked_memory },
	{ .name = "one-cpu", .run = one_cpu },
	{ .name = "not-for-children", .run = not_for_children },
	{ .name = "masked", .run = masked },
	{ .name = NULL },
};
