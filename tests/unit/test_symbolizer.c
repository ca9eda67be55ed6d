/* SPDX-License-Identifier: MIT */
/* test_symbolizer.c - asking the tool for symbols, whatever the program has closed. */
#include "tracker/symbolizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Stands in for the tool: one line for each question. */
static const char answers[] = "#!/bin/sh\n"
			      "while read question; do\n"
			      "	printf 'f\\tanswer.c\\t12\\t0\\n\\n'\n"
			      "done\n";
static char tool[] = "/tmp/gputrack-symbols-XXXXXX";

static bool is_answered(void)
{
	uint64_t address = (uint64_t)(uintptr_t)is_answered + 1;
	struct gt_symbol_set *set = gt_symbols_resolve(&address, 1);
	const struct gt_symbol *symbols;
	bool is_right = gt_symbols_get(set, 0, &symbols) == 1 && symbols[0].file &&
			!strcmp(symbols[0].file, "answer.c") && symbols[0].line == 12;

	gt_symbols_free(set);
	return is_right;
}

static void the_tool_answers(void **state)
{
	(void)state;
	assert_true(is_answered());
}

/* A child that another thread forks has the pipes too, and may live on. */
static void a_child_holding_the_pipe_is_not_waited_for(void **state)
{
	static const char forgetful[] = "#!/bin/sh\n"
					"while read question; do\n"
					"	printf '\\t\\t0\\t0\\n\\n'\n"
					"done\n"
					"sleep 600\n";
	uint64_t address = (uint64_t)(uintptr_t)strtol + 1;
	const struct gt_symbol *symbols;
	struct gt_symbol_set *set;
	FILE *out = fopen(tool, "w");

	(void)state;
	fputs(forgetful, out);
	fclose(out);
	set = gt_symbols_resolve(&address, 1);
	/* what the tool does not know, the process may */
	assert_int_equal(gt_symbols_get(set, 0, &symbols), 1);
	assert_non_null(symbols[0].function);
	gt_symbols_free(set);
}

/* Every subset of the three: the ends of a pipe may get any of these numbers. */
static void the_tool_answers_without_standard_streams(void **state)
{
	(void)state;
	for (int closed = 1; closed < 8; closed++) {
		int status;
		pid_t child = fork();

		if (!child) {
			for (int fd = 0; fd < 3; fd++)
				if (closed >> fd & 1)
					close(fd);
			if (!is_answered())
				_exit(1);
			/* and they are as the program left them */
			for (int fd = 0; fd < 3; fd++)
				if ((closed >> fd & 1) && !close(fd))
					_exit(2);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

static int start(void **state)
{
	int fd = mkstemp(tool);
	ssize_t n = write(fd, answers, sizeof answers - 1);

	(void)state;
	close(fd);
	setenv("GPUTRACK_TOOL", tool, 1);
	return n < 0 ? -1 : chmod(tool, 0700);
}

static int finish(void **state)
{
	(void)state;
	return unlink(tool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tool_answers),
		cmocka_unit_test(the_tool_answers_without_standard_streams),
		cmocka_unit_test(a_child_holding_the_pipe_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
