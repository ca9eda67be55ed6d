/* SPDX-License-Identifier: MIT */
/* test_own_stack.c - a stack that is known again is the stack that libunwind would have found. */
#define UNW_LOCAL_ONLY
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

/* What a door does: takes a stack on behalf of its caller. */
__attribute__((noinline)) static void door(void)
{
	uint64_t frames[DEPTH];
	void *raw[DEPTH];
	const void *caller = __builtin_return_address(0);
	size_t count = gt_unwind(frames, DEPTH, caller, 1), first = 0;
	size_t all = (size_t)unw_backtrace(raw, DEPTH);

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

/* One site for all of them: only what they are tells them apart. */
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

/* Stale frames of others lie in here. */
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

static void known_stacks_are_the_right_ones(void **unused)
{
	wander(NULL);
	assert_int_equal(taken, 20000);
}

static void in_threads_too(void **unused)
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

static void stacks_through_a_signal_handler_too(void **unused)
{
	signal(SIGUSR1, handler);
	for (int i = 0; i < 20; i++)
		raise(SIGUSR1);
}

static void nothing_is_known_after_forgetting(void **unused)
{
	for (int i = 0; i < 1000; i++) {
		if (i % 10 == 0)
			gt_unwind_flush();
		go_on(3);
	}
}

enum { AREA = 256 << 10 };

/* As libraries for coroutines do it: calls `fn` on the stack that ends at `top`. */
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

/* Frames on the upper stack are the same each time; where the lower one is, or was, they do not
 * tell. */
static void a_stack_that_goes_on_elsewhere_is_not_looked_for_where_it_was(void **unused)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_stacks_are_the_right_ones),
		cmocka_unit_test(in_threads_too),
		cmocka_unit_test(stacks_through_a_signal_handler_too),
		cmocka_unit_test(nothing_is_known_after_forgetting),
		cmocka_unit_test(a_stack_that_goes_on_elsewhere_is_not_looked_for_where_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
