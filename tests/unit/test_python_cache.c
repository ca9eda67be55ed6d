/* SPDX-License-Identifier: MIT */
/* test_python_cache.c - the cache of Python frames, read and written one instruction at a time. */
#include "guest/python.c"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cmocka.h>

enum {
	STEPS_MAX = 100 * 1000,
	WORD = sizeof(uint64_t),
	PLACE_SIZE = offsetof(struct code_place, first_line) + sizeof(uint32_t), /* less padding */
};

/* What the readers below ask for, and another place with the same slot. */
enum { WANTED = 1, OTHER = 2 };
static uint64_t code_type[4], file[16], name, lines, codes[2][32];

static uint64_t address(const void *of)
{
	return (uint64_t)(uintptr_t)of;
}

/* A place as the cache has it: its number is WANTED or OTHER. */
static struct code_place place(uint64_t number)
{
	uint64_t *code = codes[number - WANTED];

	return (struct code_place){
		.code = address(code),
		.instruction = address(&code[24]),
		.file = address(file),
		.name = address(&name),
		.lines = address(&lines),
		.number = number,
	};
}

/* Both have the same texts: only the code and the instruction are compared before these. */
static int make_python(void **state)
{
	(void)state;
	assert_true(gt_python_layout_of(&python.layout, 12, NULL));
	python.code_type = code_type;
	for (int i = 0; i < 2; i++) {
		codes[i][1] = address(code_type);
		codes[i][python.layout.file / WORD] = address(file);
		codes[i][python.layout.name / WORD] = address(&name);
		codes[i][python.layout.lines / WORD] = address(&lines);
	}
	return 0;
}

static struct cached_place *wanted_slot(void)
{
	struct code_place wanted = place(WANTED);

	return slots_of(wanted.code, wanted.instruction);
}

/* A child that does `act` again and again, and stops before and after it. */
struct subject {
	pid_t pid;
	_Atomic uint64_t *answer;
};

static void stop(void)
{
	raise(SIGSTOP);
}

static struct subject subject_start(uint64_t (*act)(void))
{
	struct subject s = { .answer = mmap(NULL, sizeof *s.answer, PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0) };

	assert_ptr_not_equal(s.answer, MAP_FAILED);
	s.pid = fork();
	if (!s.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* where an assertion fails */
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		for (;;) {
			stop();
			*s.answer = act();
		}
	}
	return s;
}

/* Lets it go on to the next stop, which is not that of a single step. */
static bool subject_continue(struct subject *s)
{
	int status;

	return !ptrace(PTRACE_CONT, s->pid, NULL, NULL) && waitpid(s->pid, &status, 0) == s->pid &&
	       WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
}

/* One instruction; false: it is at its stop again. */
static bool subject_step(struct subject *s)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, s->pid, NULL, NULL), 0);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_true(WIFSTOPPED(status));
	return WSTOPSIG(status) == SIGTRAP;
}

static void subject_end(struct subject *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	munmap((void *)s->answer, sizeof *s->answer);
}

static void put_entry(const struct subject *s, const struct cached_place *entry)
{
	struct iovec from = { (void *)entry, sizeof *entry }, to = { wanted_slot(), sizeof *entry };

	assert_int_equal(process_vm_writev(s->pid, &from, 1, &to, 1, 0), sizeof *entry);
}

static void get_entry(const struct subject *s, struct cached_place *entry)
{
	struct iovec to = { entry, sizeof *entry }, from = { wanted_slot(), sizeof *entry };

	assert_int_equal(process_vm_readv(s->pid, &to, 1, &from, 1, 0), sizeof *entry);
}

static uint64_t read_wanted(void)
{
	struct code_place wanted = place(WANTED);

	return known_number(&python.layout, wanted.code, wanted.instruction);
}

static uint64_t write_wanted(void)
{
	struct code_place wanted = place(WANTED);

	cache_put(wanted_slot(), &wanted);
	return 0;
}

/* Waits for its first stop; skips the test where processes cannot be traced. */
static void first_stop(struct subject *s)
{
	int status;

	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	if (!WIFSTOPPED(status))
		skip();
}

/*
 * Replaces `before` by `after` at each instruction of a reader in turn. How often it gave the
 * wanted place's number; never another's.
 */
static unsigned replace_at_each_step(const struct cached_place *before,
				     const struct cached_place *after)
{
	struct subject s = subject_start(read_wanted);
	unsigned given = 0;
	bool has_returned = false;

	first_stop(&s);
	for (unsigned steps = 0; !has_returned; steps++) {
		assert_in_range(steps, 0, STEPS_MAX);
		put_entry(&s, before);
		for (unsigned i = 0; i < steps && !has_returned; i++)
			has_returned = !subject_step(&s);
		put_entry(&s, after);
		if (!has_returned)
			assert_true(subject_continue(&s));
		if (*s.answer && *s.answer != WANTED)
			fail_msg("after %u steps: the number of another place", steps);
		given += *s.answer == WANTED;
	}
	subject_end(&s);
	return given;
}

static void an_entry_that_is_replaced_while_it_is_read_is_not_used(void **state)
{
	struct cached_place before = { .version = 10, .place = place(OTHER) };
	struct cached_place after = { .version = 12, .place = place(WANTED) };

	(void)state;
	/* what was there before the reader came is used, or the other way round */
	assert_int_not_equal(replace_at_each_step(&before, &after), 0);
	assert_int_not_equal(replace_at_each_step(&after, &before), 0);
}

static void an_entry_that_is_being_written_is_not_used(void **state)
{
	struct cached_place before = { .version = 10, .place = place(OTHER) };
	struct cached_place half = { .version = 11, .place = place(WANTED) };

	(void)state;
	half.place.number = OTHER;
	assert_int_equal(replace_at_each_step(&before, &half), 0);
	assert_int_equal(replace_at_each_step(&half, &half), 0);
}

static void an_entry_is_marked_while_it_is_written(void **state)
{
	struct cached_place before = { .version = 10, .place = place(OTHER) }, seen;
	struct code_place other = place(OTHER), wanted = place(WANTED);
	struct subject s = subject_start(write_wanted);
	unsigned marked = 0;

	(void)state;
	first_stop(&s);
	put_entry(&s, &before);
	while (subject_step(&s)) {
		get_entry(&s, &seen);
		marked += seen.version & 1;
		if (seen.version == 10)
			assert_memory_equal(&seen.place, &other, PLACE_SIZE);
		else if (seen.version == 12)
			assert_memory_equal(&seen.place, &wanted, PLACE_SIZE);
		else
			assert_int_equal(seen.version, 11);
	}
	assert_int_equal(seen.version, 12);
	assert_int_not_equal(marked, 0);
	subject_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_that_is_replaced_while_it_is_read_is_not_used),
		cmocka_unit_test(an_entry_that_is_being_written_is_not_used),
		cmocka_unit_test(an_entry_is_marked_while_it_is_written),
	};

	return cmocka_run_group_tests(tests, make_python, NULL);
}
