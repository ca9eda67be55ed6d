/* SPDX-License-Identifier: MIT */
/* test_tool.c - the tool as a process: names as typed, libraries it loads, signals about files. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/tool.h"
#include "test_writer.h"

/* A folder with a gputrack in it, executable or not. */
static const char *folder_with(const char *name, mode_t mode)
{
	const char *folder = fresh_path(name);
	char path[256];
	int fd;

	assert_int_equal(mkdir(folder, 0700), 0);
	snprintf(path, sizeof path, "%s/gputrack", folder);
	fd = open(path, O_WRONLY | O_CREAT, mode);
	assert_true(fd >= 0);
	close(fd);
	return folder;
}

static void set_path(const char *first, const char *second)
{
	char list[512];

	snprintf(list, sizeof list, "/nowhere:%s:%s", first, second);
	assert_int_equal(setenv("PATH", list, 1), 0);
}

static const char *name_of(const char *word)
{
	gt_tool_set_name(word);
	return gt_tool_name();
}

static void a_tool_on_the_path_is_called_by_its_name(void **state)
{
	const char *ours = folder_with("ours", 0700), *other = folder_with("other", 0700);
	const char *useless = folder_with("useless", 0600);
	char word[256];

	snprintf(word, sizeof word, "%s/gputrack", ours);
	set_path(ours, other);
	assert_string_equal(name_of(word), "gputrack");
	/* a file that cannot be run is passed over, by a shell too */
	set_path(useless, ours);
	assert_string_equal(name_of(word), "gputrack");
	/* another one comes first */
	set_path(other, ours);
	assert_string_equal(name_of(word), word);
	set_path(useless, useless);
	assert_string_equal(name_of(word), word);
	unsetenv("PATH");
	assert_string_equal(name_of(word), word);
}

static void a_symbolic_link_on_the_path_is_the_same_program(void **state)
{
	const char *ours = folder_with("ours", 0700), *links = fresh_path("links");
	char word[256], link[256];

	assert_int_equal(mkdir(links, 0700), 0);
	snprintf(word, sizeof word, "%s/gputrack", ours);
	snprintf(link, sizeof link, "%s/gputrack", links);
	assert_int_equal(symlink(word, link), 0);
	set_path(links, "/nowhere");
	assert_string_equal(name_of(word), "gputrack");
}

static void names_that_cannot_be_pasted_are_not_shown(void **state)
{
	setenv("PATH", "/nowhere", 1);
	assert_string_equal(name_of("build/gputrack"), "build/gputrack");
	assert_string_equal(name_of("./build-2/gputrack_1.0"), "./build-2/gputrack_1.0");
	assert_string_equal(name_of("/tmp/my programs/gputrack"), "gputrack");
	assert_string_equal(name_of("/tmp/\033[31m/gputrack"), "gputrack");
	assert_string_equal(name_of("/tmp/$(reboot)/gputrack"), "gputrack");
	/* found by a shell, or by nobody */
	assert_string_equal(name_of("gputrack"), "gputrack");
	assert_string_equal(name_of(""), "gputrack");
	assert_string_equal(name_of(NULL), "gputrack");
}

/* Without cmocka's handlers, one of which is for SIGBUS. */
static void survive(void)
{
	signal(SIGBUS, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	gt_tool_survive_files();
}

static void truncated_pages_read_as_zeroes(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	FILE *file = tmpfile();
	volatile uint8_t *at;

	assert_non_null(file);
	for (size_t i = 0; i < 4 * page; i++)
		putc('x', file);
	assert_int_equal(fflush(file), 0);
	at = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(at[3 * page], 'x');
	assert_int_equal(ftruncate(fileno(file), (off_t)page), 0);
	survive();
	assert_int_equal(at[4 * page - 1], 0);
	assert_int_equal(at[3 * page], 0);
	at[page + 7] = 1;
	assert_int_equal(at[page + 7], 1);
	assert_int_equal(at[page - 1], 'x');
	munmap((void *)at, 4 * page);
	fclose(file);
}

/* The signal that ended a child, or 0. */
static int ending(void (*child)(void))
{
	struct rlimit none = { 0, 0 };
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_CORE, &none);
		child();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void be_sent_one(void)
{
	survive();
	kill(getpid(), SIGBUS);
}

static void be_sent_one_that_is_ignored(void)
{
	signal(SIGBUS, SIG_IGN);
	gt_tool_survive_files();
	kill(getpid(), SIGBUS);
}

static void write_too_much(void)
{
	struct rlimit one = { 1, 1 };
	FILE *file = tmpfile();

	survive();
	if (!file || setrlimit(RLIMIT_FSIZE, &one) || write(fileno(file), "xy", 2) != 1 ||
	    write(fileno(file), "y", 1) != -1 || errno != EFBIG)
		raise(SIGUSR1);
}

static void a_file_that_may_not_grow_is_an_error(void **state)
{
	assert_int_equal(ending(write_too_much), 0);
}

static void a_sigbus_sent_by_kill_has_its_usual_effect(void **state)
{
	assert_int_equal(ending(be_sent_one), SIGBUS);
	assert_int_equal(ending(be_sent_one_that_is_ignored), 0);
}

static void functions_of_a_library_are_loaded_by_name(void **state)
{
	static const char *const names[] = { "cosh", "sinh" };
	struct {
		double (*cosine)(double), (*sine)(double);
	} math = { 0 };
	struct gt_error error;

	assert_int_equal(gt_tool_load_functions(&(struct gt_tool_library){ .file = "libm.so.6",
									   .names = names,
									   .count = 2 },
						&math, &error),
			 0);
	assert_true(math.cosine(0) == 1 && math.sine(0) == 0);
}

static void a_library_without_one_of_the_functions_is_refused(void **state)
{
	static const char *const names[] = { "cosh", "no_such_function", "sinh" };
	struct gt_tool_library library = { .file = "libm.so.6",
					   .user = "a test",
					   .package = "libtest",
					   .names = names,
					   .count = 3 };
	void *functions[3];
	struct gt_error error;

	assert_int_equal(gt_tool_load_functions(&library, functions, &error), -ENOENT);
	assert_non_null(strstr(error.text, "cannot load libm.so.6, which a test needs ("));
	assert_non_null(strstr(error.text, "no_such_function): install libtest"));
	library.file = "libno_such_library.so.6";
	assert_int_equal(gt_tool_load_functions(&library, functions, &error), -ENOENT);
	assert_non_null(strstr(error.text, "(libno_such_library.so.6"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tool_on_the_path_is_called_by_its_name),
		cmocka_unit_test(a_symbolic_link_on_the_path_is_the_same_program),
		cmocka_unit_test(names_that_cannot_be_pasted_are_not_shown),
		cmocka_unit_test(a_file_that_may_not_grow_is_an_error),
		cmocka_unit_test(a_sigbus_sent_by_kill_has_its_usual_effect),
		cmocka_unit_test(truncated_pages_read_as_zeroes),
		cmocka_unit_test(functions_of_a_library_are_loaded_by_name),
		cmocka_unit_test(a_library_without_one_of_the_functions_is_refused),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
