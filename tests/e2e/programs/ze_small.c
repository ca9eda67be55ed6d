/* SPDX-License-Identifier: MIT */
/*
 * ze_small.c - how much of a stack a call takes, and calls where there is little of it.
 *
 * Without options: prints, line by line, how many bytes of a painted stack a call touches: the
 * first of the process, the first of a thread, the same again, with another stack, and in a child.
 *
 * --coroutine BYTES	makes calls on a stack of that size between two areas with a pattern, and
 *			prints how many bytes of the pattern were overwritten
 * --thread BYTES	makes calls in a thread with a stack of that size
 * --handler BYTES	makes calls in a signal handler on an alternate stack of that size, above a
 *			page that cannot be accessed
 */
#include "ze_common.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { AREA = 256 << 10, PAINT = 0xa5, PAGE = 4096 };

static struct ze ze;
static ze_context_handle_t context;

/* As coroutine libraries do: calls `fn` on the stack that ends at `top`. */
void call_on(void (*fn)(void), void *top);
__asm__(".text\n"
	".type call_on, @function\n"
	"call_on:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	mov %rsi, %rsp\n"
	"	call *%rdi\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size call_on, .-call_on\n");

__attribute__((noinline)) static void one(void)
{
	ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	void *p = NULL;

	CHECK(zeMemAllocDevice, context, &desc, 64, 64, ze.device, &p);
	CHECK(zeMemFree, context, p);
}

__attribute__((noinline)) static void other(void)
{
	one();
	__asm__ volatile("" ::: "memory");
}

static unsigned char area[AREA] __attribute__((aligned(64)));

static size_t bytes_of(void (*fn)(void))
{
	size_t at = 0;

	memset(area, PAINT, sizeof(area));
	call_on(fn, area + sizeof(area));
	while (at < sizeof(area) && area[at] == PAINT)
		at++;
	return sizeof(area) - at;
}

static void *in_thread(void *unused)
{
	printf("thread %zu\n", bytes_of(one));
	printf("again %zu\n", bytes_of(one));
	printf("other %zu\n", bytes_of(other));
	for (int i = 0; i < 8; i++)
		bytes_of(one);
	printf("known %zu\n", bytes_of(one));
	return unused;
}

static void in_child(void)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		printf("child %zu\n", bytes_of(one));
		printf("child-again %zu\n", bytes_of(one));
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* Calls between two areas with a pattern. */
static void coroutine(size_t size)
{
	size_t wrong = 0, calls = 20;
	unsigned char *low = malloc(AREA + size);

	if (!low)
		exit(2);
	memset(low, PAINT, AREA + size);
	while (calls--)
		call_on(one, (void *)((uintptr_t)(low + AREA + size) & ~(uintptr_t)63));
	for (size_t i = 0; i < AREA; i++)
		wrong += low[i] != PAINT;
	printf("overwritten %zu\n", wrong);
	free(low);
}

static void *make_calls(void *unused)
{
	for (int i = 0; i < 20; i++)
		one();
	return unused;
}

static void thread_with(size_t size)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, size) ||
	    pthread_create(&thread, &attr, make_calls, NULL))
		exit(2);
	pthread_join(thread, NULL);
	printf("joined\n");
}

static void handler(int signal)
{
	(void)signal;
	one();
}

static void handle(size_t size)
{
	unsigned char *low =
		mmap(NULL, PAGE + AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = low + PAGE, .ss_size = size };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	if (low == MAP_FAILED || mprotect(low, PAGE, PROT_NONE) || sigaltstack(&stack, NULL) ||
	    sigaction(SIGUSR1, &action, NULL))
		exit(2);
	for (int i = 0; i < 20; i++)
		raise(SIGUSR1);
	printf("handled\n");
}

int main(int argc, char **argv)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	pthread_t thread;

	ze_open(&ze);
	CHECK(zeContextCreate, ze.driver, &desc, &context);
	if (argc == 3 && !strcmp(argv[1], "--coroutine")) {
		coroutine((size_t)atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "--handler")) {
		handle((size_t)atol(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "--thread")) {
		thread_with((size_t)atol(argv[2]));
	} else if (argc > 1) {
		return ze_usage(argv[0], "[--coroutine BYTES | --thread BYTES | --handler BYTES]");
	} else {
		printf("first %zu\n", bytes_of(one));
		if (pthread_create(&thread, NULL, in_thread, NULL))
			return 2;
		pthread_join(thread, NULL);
		in_child();
	}
	CHECK(zeContextDestroy, context);
	return 0;
}
