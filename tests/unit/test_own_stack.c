/* SPDX-License-Identifier: MIT */
/* test_own_stack.c - a stack, walked or cached, is the one libunwind would find. */
#define UNW_LOCAL_ONLY
#include "../call_on.h"
#include "../interrupted.h"
#include "../read_own_memory.h"

#include <alloca.h>
#include <libunwind.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "guest/own_stack.h"

enum { DEPTH = 64, NEAR = 3 };

static unsigned long state = 1;
static long taken;

static unsigned next_random(void)
{
	state = state * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned)(state >> 33);
}

/* What libunwind finds. */
static size_t backtrace_of_libunwind(void **raw)
{
	size_t count = (size_t)unw_backtrace(raw, DEPTH);

#if defined(__aarch64__)
	/* its version 1.6 has the last byte of each call there, not the address behind it */
	for (size_t i = 0; i < count; i++)
		raw[i] = (void *)(((uintptr_t)raw[i] + 3) & ~(uintptr_t)3);
#endif
	return count;
}

/* Takes a stack on behalf of its caller, as a door does. */
__attribute__((noinline)) static void door(void)
{
	uint64_t *frames;
	void *raw[DEPTH];
	const void *caller = __builtin_return_address(0);
	size_t count = gt_unwind(&frames, DEPTH, caller), first = 0;
	size_t all = backtrace_of_libunwind(raw);

	while (first < all && raw[first] != caller)
		first++;
	assert_in_range(first, 0, NEAR);
	if (count + first < all)
		fail_msg("%zu frames, libunwind has %zu and %zu of ours", count, all, first);
	for (size_t i = 0; i + first < all; i++)
		if (frames[i] != (uint64_t)(uintptr_t)raw[first + i])
			fail_msg("frame %zu of %zu differs", i, count);
	taken++;
}

typedef void step_fn(int depth);
static step_fn plain, with_alloca, two_sites, wide;
static step_fn *const steps[] = { plain, with_alloca, two_sites, wide };

/* One call site for all of them: only the callees differ. */
__attribute__((noinline)) static void go_on(int depth)
{
	if (depth <= 0 || !(next_random() % 6))
		door();
	else
		steps[next_random() % 4](depth - 1);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void plain(int depth)
{
	go_on(depth);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void with_alloca(int depth)
{
	/* multiples of one another, so that places on the stack meet again */
	volatile char *room = alloca(16u * (next_random() % 4));

	__asm__ volatile("" ::"r"(room) : "memory");
	go_on(depth);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void two_sites(int depth)
{
	if (next_random() % 2)
		go_on(depth);
	else
		go_on(depth - 1);
	__asm__ volatile("" ::: "memory");
}

/* Stale frames of earlier calls lie in here. */
__attribute__((noinline)) static void wide(int depth)
{
	volatile char room[200];

	__asm__ volatile("" ::"r"(room) : "memory");
	go_on(depth);
	__asm__ volatile("" ::: "memory");
}

static void *wander(void *arg)
{
	for (int i = 0; i < 20000; i++)
		go_on((int)(next_random() % 9));
	return arg;
}

static void cached_stacks_are_correct(void **unused)
{
	wander(NULL);
	assert_int_equal(taken, 20000);
}

static void cached_stacks_are_correct_in_threads(void **unused)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, wander, NULL), 0);
	pthread_join(thread, NULL);
}

static void handler(int signal)
{
	for (int i = 0; i < 5; i++)
		door();
}

static void cached_stacks_are_correct_through_a_signal_handler(void **unused)
{
	signal(SIGUSR1, handler);
	for (int i = 0; i < 20; i++)
		raise(SIGUSR1);
}

static void forgetting_clears_the_cache(void **unused)
{
	for (int i = 0; i < 1000; i++) {
		if (i % 10 == 0)
			gt_unwind_flush();
		go_on(3);
	}
}

/* The address in the interrupted frame is no return address: one before it is another function. */
void stop_at_once(void);
__asm__(".text\n"
	".type before_stop, %function\n"
	"before_stop:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa_offset 4104\n"
	"	nop\n"
	"	.cfi_endproc\n"
	".size before_stop, .-before_stop\n"
	".type stop_at_once, %function\n"
	"stop_at_once:\n"
	"	.cfi_startproc\n" TRAP "	ret\n"
	"	.cfi_endproc\n"
	".size stop_at_once, .-stop_at_once\n");

static void skip_instruction(int signal, siginfo_t *info, void *context)
{
	door();
	skip_trap(context);
}

static void stacks_are_correct_where_a_signal_arrived(void **unused)
{
	struct sigaction action = { .sa_sigaction = skip_instruction, .sa_flags = SA_SIGINFO }, old;
	static char room[64 << 10];
	stack_t other = { .ss_sp = room, .ss_size = sizeof room }, before;

	sigaction(SIGILL, &action, &old);
	for (int i = 0; i < 4; i++)
		stop_at_once();
	action.sa_flags |= SA_ONSTACK;
	sigaction(SIGILL, &action, NULL);
	sigaltstack(&other, &before);
	for (int i = 0; i < 4; i++)
		stop_at_once();
	sigaltstack(&before, NULL);
	sigaction(SIGILL, &old, NULL);
}

/* Its CFA is an expression: the compiler aligns the stack anew. */
__attribute__((noinline)) static void realigned(int size)
{
	_Alignas(128) volatile char room[128];
	volatile char *more = alloca((size_t)size);

	__asm__ volatile("" ::"r"(room), "r"(more) : "memory");
	door();
	__asm__ volatile("" ::"r"(room), "r"(more) : "memory");
}

static void stacks_are_correct_through_frames_that_are_aligned_anew(void **unused)
{
	for (int i = 0; i < 64; i++)
		realigned(16 * (i % 5) + 1);
}

/*
 * Code that calls its argument: from no file, without rules. In `made`, with a frame pointer; in
 * `bad`, the register points nowhere; in `junk`, to words that only look like a frame. `HIDDEN` is
 * where the kernel has probed functions return to.
 */
#if defined(__x86_64__)
/* push %rbp; mov %rsp, %rbp; and $-16, %rsp; call *%rdi; leave; ret */
static const unsigned char made_code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83,
					   0xe4, 0xf0, 0xff, 0xd7, 0xc9, 0xc3 };
/* push %rbp; mov $-8, %rbp; call *%rdi; pop %rbp; ret */
static const unsigned char bad_code[] = { 0x55, 0x48, 0xc7, 0xc5, 0xf8, 0xff,
					  0xff, 0xff, 0xff, 0xd7, 0x5d, 0xc3 };
/* push %rbp; push $1234; push $0; mov %rsp, %rbp; call *%rdi; add $16, %rsp; pop %rbp; ret */
static const unsigned char junk_code[] = { 0x55, 0x68, 0xd2, 0x04, 0x00, 0x00, 0x6a,
					   0x00, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x48,
					   0x83, 0xc4, 0x10, 0x5d, 0xc3 };
#define HIDDEN 0x7fffffffe000
#elif defined(__aarch64__)
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
static const uint32_t made_code[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0 };
/* …; mov x29, #-8; … */
static const uint32_t bad_code[] = { 0xa9bf7bfd, 0x928000fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0 };
/* …; mov x1, #1234; stp xzr, x1, [sp, #-16]!; mov x29, sp; blr x0; add sp, sp, #16; … */
static const uint32_t junk_code[] = { 0xa9bf7bfd, 0xd2809a41, 0xa9bf07ff, 0x910003fd,
				      0xd63f0000, 0x910043ff, 0xa8c17bfd, 0xd65f03c0 };
#define HIDDEN 0xfffffffff000
#endif

static void put_code(char *at, const void *code, size_t size)
{
	memcpy(at, code, size);
	__builtin___clear_cache(at, at + size);
}

static size_t count_here;

__attribute__((noinline)) static void count_frames(void)
{
	uint64_t *frames;

	count_here = gt_unwind(&frames, DEPTH, __builtin_return_address(0));
	__asm__ volatile("" ::: "memory");
}

static void *call_made_code(void *page)
{
	void (*made)(void (*)(void));

	count_frames();
	*(size_t *)page = count_here;
	*(void **)&made = (char *)page + sizeof(size_t);
	made(count_frames);
	return page;
}

/* The frames of the program outside the code that has none of the rules are found, too. */
static void code_without_rules_is_walked_by_its_frame_pointer(void **unused)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	assert_ptr_not_equal(page, MAP_FAILED);
	put_code(page + sizeof(size_t), made_code, sizeof made_code);
	call_made_code(page);
	assert_int_equal(count_here, *(size_t *)page + 1);
	assert_int_equal(pthread_create(&thread, NULL, call_made_code, page), 0);
	pthread_join(thread, NULL);
	assert_int_equal(count_here, *(size_t *)page + 1);
	munmap(page, 4096);
}

/* Nothing is read from where it points. */
static void a_frame_pointer_that_points_nowhere_ends_the_stack(void **unused)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	assert_ptr_not_equal(page, MAP_FAILED);
	put_code(page + sizeof(size_t), bad_code, sizeof bad_code);
	call_made_code(page);
	assert_int_equal(count_here, 1);
	assert_int_equal(pthread_create(&thread, NULL, call_made_code, page), 0);
	pthread_join(thread, NULL);
	assert_int_equal(count_here, 1);
	munmap(page, 4096);
}

/* As a tool does that probes the return of this function. */
__attribute__((noinline)) static void count_hidden(void)
{
	uint64_t *slot = (uint64_t *)__builtin_frame_address(0) + 1, address = *slot;

	*(volatile uint64_t *)slot = HIDDEN;
	count_frames();
	*(volatile uint64_t *)slot = address;
}

/* With frame pointers the stack goes on behind it; what only looks like one leads nowhere. */
static void a_caller_that_a_return_probe_hides_is_the_only_one_missing(void **unused)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*made)(void (*)(void));
	size_t count;

	assert_ptr_not_equal(page, MAP_FAILED);
	count_frames();
	count = count_here;
	count_hidden();
	assert_int_equal(count_here, count + 1);
	put_code(page, junk_code, sizeof junk_code);
	*(void **)&made = page;
	made(count_hidden);
	assert_int_equal(count_here, 2);
	munmap(page, 4096);
}

enum { AREA = 256 << 10 };

static char *upper_end; /* of a stack above those that call on it */

static void make_calls(void)
{
	for (int i = 0; i < 8; i++)
		door();
}

__attribute__((noinline)) static void go_up(void)
{
	call_on(make_calls, upper_end);
	__asm__ volatile("" ::: "memory");
}

/* Frames on the upper stack are the same each time, and do not reveal where the lower one is. */
static void a_stack_that_continues_elsewhere_is_not_read_at_its_old_place(void **unused)
{
	char *area =
		mmap(NULL, 3 * AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(area, MAP_FAILED);
	upper_end = area + 3 * AREA;
	call_on(go_up, area + AREA);
	assert_int_equal(mprotect(area, AREA, PROT_NONE), 0);
	call_on(go_up, area + 2 * AREA);
	munmap(area, 3 * AREA);
}

/*
 * As Go calls C: on a stack that ends at `top`, above its own, without rules, with the frame
 * pointer of its caller or, if that is not NULL, with `bp`.
 */
void call_like_go(void (*fn)(void), void *top, void *bp);
#if defined(__x86_64__)
__asm__(".text\n"
	".type call_like_go, @function\n"
	"call_like_go:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	mov %rsp, %rbx\n"
	"	mov %rsi, %rsp\n"
	"	test %rdx, %rdx\n"
	"	cmovne %rdx, %rbp\n"
	"	call *%rdi\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	".size call_like_go, .-call_like_go\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".type call_like_go, %function\n"
	"call_like_go:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	str x19, [sp, #16]\n"
	"	mov x19, sp\n"
	"	mov sp, x1\n"
	"	cbz x2, 1f\n"
	"	mov x29, x2\n"
	"1:	blr x0\n"
	"	mov sp, x19\n"
	"	ldr x19, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	"	ret\n"
	".size call_like_go, .-call_like_go\n");
#endif

static uint64_t caller_seen, caller_wanted;
static void *other_bp;

static void look(void)
{
	uint64_t *frames;
	size_t count = gt_unwind(&frames, DEPTH, __builtin_return_address(0));

	caller_seen = count > 1 ? frames[1] : 0;
}

__attribute__((noinline)) static void call_as_go(void)
{
	caller_wanted = (uint64_t)(uintptr_t)__builtin_return_address(0);
	call_like_go(look, upper_end, other_bp);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void work_as_go(void)
{
	call_as_go();
	__asm__ volatile("" ::: "memory");
}

static void the_stack_from_which_go_calls_c_is_found(void **unused)
{
	uint64_t *area =
		mmap(NULL, 2 * AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*data)(void **) = the_stack_from_which_go_calls_c_is_found;

	assert_ptr_not_equal(area, MAP_FAILED);
	upper_end = (char *)area + 2 * AREA;
	call_on(work_as_go, (char *)area + AREA);
	assert_int_equal(caller_seen, caller_wanted);
	/* a register that points to anything else: to what is no code, and to where nobody called
	 */
	other_bp = area;
	call_on(work_as_go, (char *)area + AREA);
	assert_int_equal(caller_seen, 0);
	memcpy(&area[1], &data, sizeof data);
	call_on(work_as_go, (char *)area + AREA);
	assert_int_equal(caller_seen, 0);
	munmap(area, 2 * AREA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cached_stacks_are_correct),
		cmocka_unit_test(cached_stacks_are_correct_in_threads),
		cmocka_unit_test(cached_stacks_are_correct_through_a_signal_handler),
		cmocka_unit_test(stacks_are_correct_where_a_signal_arrived),
		cmocka_unit_test(stacks_are_correct_through_frames_that_are_aligned_anew),
		cmocka_unit_test(code_without_rules_is_walked_by_its_frame_pointer),
		cmocka_unit_test(a_caller_that_a_return_probe_hides_is_the_only_one_missing),
		cmocka_unit_test(a_frame_pointer_that_points_nowhere_ends_the_stack),
		cmocka_unit_test(forgetting_clears_the_cache),
		cmocka_unit_test(a_stack_that_continues_elsewhere_is_not_read_at_its_old_place),
		cmocka_unit_test(the_stack_from_which_go_calls_c_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
