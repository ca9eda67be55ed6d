/* SPDX-License-Identifier: MIT */
/* jumps.c - calls that are left by a jump or an exception. */
#include "odd.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <sys/resource.h>

static sigjmp_buf back;
static jmp_buf back_from_callback;
static volatile int turns;

static void leave(int number)
{
	(void)number;
	calls(1);
	siglongjmp(back, 1);
}

static void handle(int number, int flags)
{
	struct sigaction action = { .sa_handler = leave, .sa_flags = flags };

	if (sigaction(number, &action, NULL))
		fail("no handler: %m");
}

/* The driver crashes in a call, and the program goes on. */
static int out_of_a_call(void)
{
	handle(SIGSEGV, SA_NODEFER);
	for (turns = 0; turns < 5; turns++) {
		if (!sigsetjmp(back, 1))
			door_crash();
		calls(2);
	}
	say("survived %d", turns);
	signal(SIGSEGV, SIG_DFL);
	return 0;
}

static int out_of_a_handler(void)
{
	handle(SIGUSR1, 0);
	for (turns = 0; turns < 20; turns++) {
		if (!sigsetjmp(back, 1))
			raise(SIGUSR1);
		calls(1);
	}
	say("left %d handlers", turns);
	return 0;
}

static void jump(void)
{
	calls(1);
	longjmp(back_from_callback, 1);
}

static int out_of_a_callback(void)
{
	for (turns = 0; turns < 5; turns++) {
		if (!setjmp(back_from_callback))
			door_call_back(jump);
		calls(1);
	}
	say("left %d callbacks", turns);
	return 0;
}

/* A file of the program that is shorter than its mapping. */
static int own_bus_error(void)
{
	int fd = open("short", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	volatile char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd < 0 || map == MAP_FAILED)
		fail("no file: %m");
	close(fd);
	handle(SIGBUS, SA_NODEFER);
	for (turns = 0; turns < 5; turns++) {
		if (!sigsetjmp(back, 1))
			map[4096] = 1;
		calls(1);
	}
	say("survived %d", turns);
	return 0;
}

/* The handler gives the page that was missing, and the store is repeated. */
static char *page;

static void give_page(int number, siginfo_t *info, void *unused)
{
	(void)number;
	(void)unused;
	if (info->si_addr != page)
		_exit(97);
	calls(1);
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static int page_on_demand(void)
{
	struct sigaction action = { .sa_sigaction = give_page, .sa_flags = SA_SIGINFO };

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || sigaction(SIGSEGV, &action, NULL))
		fail("no page: %m");
	for (turns = 0; turns < 5; turns++) {
		mprotect(page, 4096, PROT_NONE);
		*(volatile char *)page = 1;
		calls(1);
	}
	say("given %d pages", turns);
	return 0;
}

__attribute__((noinline)) static int descend(volatile char *from)
{
	volatile char block[4096];

	block[0] = *from;
	return turns < 0 ? 0 : descend(block) + block[0];
}

static int stack_overflow(void)
{
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct rlimit limit = { 1 << 20, RLIM_INFINITY };
	char first = 0;

	if (setrlimit(RLIMIT_STACK, &limit) || sigaltstack(&stack, NULL))
		fail("no stack: %m");
	handle(SIGSEGV, SA_ONSTACK);
	for (turns = 0; turns < 5; turns++) {
		if (!sigsetjmp(back, 1))
			descend(&first);
		calls(1);
	}
	say("survived %d", turns);
	return 0;
}

const struct mode jump_modes[] = {
	{ .name = "jump-out-of-call", .run = out_of_a_call },
	{ .name = "jump-out-of-handler", .run = out_of_a_handler },
	{ .name = "jump-out-of-callback", .run = out_of_a_callback },
	{ .name = "stack-overflow", .run = stack_overflow },
	{ .name = "own-bus-error", .run = own_bus_error },
	{ .name = "page-on-demand", .run = page_on_demand },
#ifdef HAVE_THROW
	{ .name = "exceptions", .run = throw_around_calls },
	{ .name = "exception-through-callback", .run = throw_through_callback },
#endif
	{ .name = NULL },
};
