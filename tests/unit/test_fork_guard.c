/* SPDX-License-Identifier: MIT */
/* test_fork_guard.c - a child never waits for a lock that was held at its fork. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/fork_guard.h"

static _Atomic unsigned pauses; /* of the guard, which pauses by the bare system call */

/* Stands in front of the C library's; made with five arguments, or two if it is a pause. */
long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long args[5] = { 0 };
	va_list list;

	if (number == SYS_nanosleep)
		atomic_fetch_add(&pauses, 1);
	va_start(list, number);
	for (int i = 0; i < (number == SYS_nanosleep ? 2 : 5); i++)
		args[i] = va_arg(list, long);
	va_end(list);
	return real(number, args[0], args[1], args[2], args[3], args[4]);
}

static sem_t is_in, may_leave;
static _Atomic bool has_left;

static void *stay(void *unused)
{
	_Atomic uint32_t *place = gt_fork_guard_enter();

	sem_post(&is_in);
	sem_wait(&may_leave);
	atomic_store(&has_left, true);
	gt_fork_guard_leave(place);
	return unused;
}

static void *let_go(void *unused)
{
	usleep(2000);
	sem_post(&may_leave);
	return unused;
}

/* The child's answers: may it enter, was no other thread inside at the fork, may it free memory? */
enum { CAN_ENTER = 1, OTHER_HAD_LEFT = 2, CAN_FREE = 4 };

static void say_as_child(void)
{
	bool left = atomic_load(&has_left), can_free = gt_fork_guard_restart();
	_Atomic uint32_t *place;

	place = gt_fork_guard_enter();
	_exit((place ? CAN_ENTER : 0) | (left ? OTHER_HAD_LEFT : 0) | (can_free ? CAN_FREE : 0));
}

static int answer_of(pid_t child)
{
	int status;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int fork_while_one_leaves(void)
{
	pthread_t other, timer;
	pid_t child;

	atomic_store(&has_left, false);
	pthread_create(&other, NULL, stay, NULL);
	sem_wait(&is_in);
	pthread_create(&timer, NULL, let_go, NULL);
	child = fork();
	if (!child)
		say_as_child();
	pthread_join(other, NULL);
	pthread_join(timer, NULL);
	return answer_of(child);
}

/* On a busy machine the wait may be too short: then the child must know. */
static void fork_waits_until_no_thread_is_inside(void **state)
{
	int answer = 0;

	(void)state;
	for (int i = 0; i < 50 && !(answer & CAN_ENTER); i++)
		answer = fork_while_one_leaves();
	assert_int_equal(answer, CAN_ENTER | OTHER_HAD_LEFT | CAN_FREE);
}

/* Forked while another thread is inside and stays there. */
static void check_child(pid_t (*make)(void), int answer)
{
	pthread_t other;
	pid_t child;

	atomic_store(&has_left, false);
	pthread_create(&other, NULL, stay, NULL);
	sem_wait(&is_in);
	child = make();
	if (!child)
		say_as_child();
	assert_int_equal(answer_of(child), answer);
	sem_post(&may_leave);
	pthread_join(other, NULL);
}

static pid_t clone_bare(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
}

static void fork_does_not_wait_forever(void **state)
{
	(void)state;
	check_child(fork, CAN_FREE);
}

static void child_of_a_bare_clone_stays_out(void **state)
{
	(void)state;
	check_child(clone_bare, 0);
}

static void fork_from_inside_does_not_wait(void **state)
{
	_Atomic uint32_t *place = gt_fork_guard_enter();
	pid_t child = fork();

	(void)state;
	if (!child)
		say_as_child();
	assert_int_equal(answer_of(child) & CAN_ENTER, CAN_ENTER);
	gt_fork_guard_leave(place);
}

static void a_child_does_not_wait_for_the_fork_that_made_it(void **state)
{
	pid_t child = fork();

	(void)state;
	if (!child) {
		gt_fork_guard_restart();
		atomic_store(&pauses, 0);
		gt_fork_guard_leave(gt_fork_guard_enter());
		_exit(atomic_load(&pauses) > 0);
	}
	assert_int_equal(answer_of(child), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fork_waits_until_no_thread_is_inside),
		cmocka_unit_test(fork_does_not_wait_forever),
		cmocka_unit_test(child_of_a_bare_clone_stays_out),
		cmocka_unit_test(fork_from_inside_does_not_wait),
		cmocka_unit_test(a_child_does_not_wait_for_the_fork_that_made_it),
	};

	sem_init(&is_in, 0, 0);
	sem_init(&may_leave, 0, 0);
	gt_fork_guard_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
