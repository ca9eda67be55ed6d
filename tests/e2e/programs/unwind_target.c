/* SPDX-License-Identifier: MIT */
/*
 * unwind_target.c - allocates CUDA memory from places that are hard to unwind without frame
 * pointers. Each place has a size of its own:
 *
 *	unwind_target libcuda.so.1 PLUGIN    all of them, when told by a line on stdin
 *	unwind_target libcuda.so.1 -         as the program that a child becomes
 *	unwind_target libcuda.so.1 =         bare code alone, likewise
 *	unwind_target libcuda.so.1 THREADS N when told by a line on stdin: N allocations by so many
 *	                                     threads
 */
#include <alloca.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static int (*allocate)(uint64_t *, size_t);
static int (*create)(void **, unsigned, int);
static int (*set_current)(void *);
static void *context;
static volatile int one = 1; /* so that nothing is a tail call */

__attribute__((noinline)) static uint64_t allocate_here(size_t size)
{
	uint64_t handle = 0;

	allocate(&handle, size);
	return handle * (uint64_t)one;
}

/* The place of rbp is known from the stack's, which moves. */
__attribute__((noinline)) static uint64_t in_array(size_t size, int length)
{
	volatile char *room = alloca((size_t)length);

	room[length - 1] = 1;
	return allocate_here(size) * (uint64_t)room[length - 1];
}

/* The CFA is what lies at an offset of rbp: an expression. */
__attribute__((noinline)) static uint64_t in_aligned(size_t size, int length)
{
	_Alignas(64) volatile char room[128];
	volatile char *more = alloca((size_t)length);

	memset((char *)room, 1, sizeof room);
	more[0] = 1;
	return in_array(size, 100) * (uint64_t)room[one] * (uint64_t)more[0];
}

__attribute__((noinline)) static uint64_t deep(size_t size, int depth)
{
	volatile char room[40];

	room[0] = 1;
	if (!depth)
		return in_aligned(size, 300) * (uint64_t)room[0];
	return (depth & 1 ? deep(size, depth - 1) : deep(size, depth - 1) + 1) * (uint64_t)room[0];
}

static size_t size_now;

static int compare(const void *a, const void *b)
{
	allocate_here(size_now);
	return *(const int *)a - *(const int *)b;
}

static int of_library(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info, (void)size;
	allocate_here((size_t)(uintptr_t)data);
	return one;
}

static void of_node(const void *node, VISIT order, int level)
{
	(void)node, (void)order, (void)level;
	allocate_here(size_now);
}

static void through_libc(size_t size)
{
	int numbers[] = { 3, 1, 2 };
	void *root = NULL;

	size_now = size;
	qsort(numbers, 3, sizeof *numbers, compare);
	dl_iterate_phdr(of_library, (void *)(uintptr_t)(size + 1));
	size_now = size + 2;
	tsearch(&numbers[0], &root, compare);
	twalk(root, of_node);
}

static void on_signal(int number)
{
	(void)number;
	deep(size_now, 3);
}

static void in_signal(size_t size, int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	stack_t stack = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };

	size_now = size;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	action.sa_handler = SIG_DFL;
	sigaction(SIGUSR1, &action, NULL);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	free(stack.ss_sp);
}

/* Interrupted at its first instruction: the byte before it is of code that has no tables. */
void trap_here(void);
__asm__(".text\n"
	"	nop\n"
	"trap_here:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.type trap_here, @function\n"
	"	.size trap_here, . - trap_here\n");

static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)number, (void)info;
	allocate_here(size_now);
	interrupted->uc_mcontext.gregs[REG_RIP] += 2;
}

static void in_trap(size_t size)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	size_now = size;
	sigaction(SIGILL, &action, NULL);
	trap_here();
	action = (struct sigaction){ .sa_handler = SIG_DFL };
	sigaction(SIGILL, &action, NULL);
}

static void *in_thread(void *size)
{
	set_current(context);
	deep((size_t)(uintptr_t)size, 10);
	return NULL;
}

static void once(void)
{
	allocate_here(size_now);
}

/* Code without unwind information that keeps no frame pointer, and code that keeps one. */
void bare_call(void (*function)(void));
void framed_call(void (*function)(void));
__asm__(".text\n"
	"bare_call:\n"
	"	sub $24, %rsp\n"
	"	call *%rdi\n"
	"	add $24, %rsp\n"
	"	ret\n"
	"	.type bare_call, @function\n"
	"	.size bare_call, . - bare_call\n"
	"framed_call:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	call *%rdi\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.type framed_call, @function\n"
	"	.size framed_call, . - framed_call\n");

/* With words on the stack that look like frames of a function that is not there. */
__attribute__((noinline)) static void through_bare(void (*call)(void (*)(void)))
{
	register void *volatile *words __asm__("rbp");
	void *volatile list[8];

	for (int i = 0; i < 8; i += 2) {
		list[i] = (void *)(uintptr_t)&list[(i + 2) % 8];
		list[i + 1] = (void *)(uintptr_t)through_libc;
	}
	words = list;
	__asm__ volatile("" : "+r"(words));
	call(once);
	__asm__ volatile("" : "+r"(words));
}

static void at_exit(void)
{
	allocate_here(9000);
}

static int begin(const char *library)
{
	void *driver = dlopen(library, RTLD_NOW);
	int (*init)(unsigned);

	if (!driver)
		return 1;
	init = (int (*)(unsigned))dlsym(driver, "cuInit");
	create = (int (*)(void **, unsigned, int))dlsym(driver, "cuCtxCreate_v2");
	set_current = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
	allocate = (int (*)(uint64_t *, size_t))dlsym(driver, "cuMemAlloc_v2");
	return init(0) || create(&context, 0, 0);
}

static void in_child(char **argv)
{
	pid_t pid = fork();

	if (!pid) {
		deep(8000, 5);
		execl("/proc/self/exe", argv[0], argv[1], "-", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static int is_told(void)
{
	puts("ready");
	fflush(stdout);
	return getchar() == '\n';
}

static long burst_each;

static void *burst(void *unused)
{
	set_current(context);
	for (long i = 0; i < burst_each; i++)
		deep(256, 12);
	return unused;
}

static int in_burst(int threads, long count)
{
	pthread_t list[64];

	burst_each = count / threads;
	if (!is_told())
		return 1;
	for (int i = 0; i < threads; i++)
		pthread_create(&list[i], NULL, burst, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(list[i], NULL);
	return !is_told();
}

int main(int argc, char **argv)
{
	uint64_t (*through)(uint64_t(*)(size_t), size_t);
	pthread_once_t done = PTHREAD_ONCE_INIT;
	pthread_t threads[4];
	void *plugin;

	if (argc < 3 || (argc < 4 && (argv[2][0] == '/' || argv[2][0] == '=') && !is_told()) ||
	    begin(argv[1]))
		return 1;
	if (argc > 3)
		return in_burst(atoi(argv[2]), atol(argv[3]));
	if (!strcmp(argv[2], "-")) {
		deep(8500, 5);
		return 0;
	}
	if (!strcmp(argv[2], "=")) {
		size_now = 100;
		through_bare(bare_call);
		size_now = 200;
		through_bare(framed_call);
		return 0;
	}
	atexit(at_exit);
	deep(1000, 40);
	through_libc(2000);
	in_signal(3000, 0);
	in_signal(3500, SA_ONSTACK);
	in_trap(3700);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, in_thread, (void *)(uintptr_t)(4000 + i));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	plugin = dlopen(argv[2], RTLD_NOW);
	through =
		plugin ? (uint64_t(*)(uint64_t(*)(size_t), size_t))dlsym(plugin, "through") : NULL;
	if (!through)
		return 2;
	through(allocate_here, 5000);
	size_now = 6000;
	pthread_once(&done, once);
	in_child(argv);
	return 0;
}
