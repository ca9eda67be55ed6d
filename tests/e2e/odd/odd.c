/* SPDX-License-Identifier: MIT */
/*
 * odd.c - programs that do unusual things around calls of a GPU API: odd_API MODE [ARGUMENT…]
 *
 * table.py says what each mode is for. A mode prints what it saw; the harness compares that between
 * a bare run and a recorded one. Exit status 77: not to be had here, 98: something failed.
 */
#include "odd.h"

char **arguments;
const char *program;

static const struct mode *const groups[] = { stack_modes,      jump_modes,      thread_modes,
					     end_modes,        signal_modes,    limit_modes,
					     descriptor_modes, privilege_modes, process_modes,
					     loading_modes };

static const struct mode *find(const char *name)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		for (const struct mode *m = groups[i]; m->name; m++)
			if (!strcmp(m->name, name))
				return m;
	fail("there is no mode %s", name);
}

int main(int argc, char **argv)
{
	const struct mode *mode;
	int status;

	if (argc < 2)
		fail("usage: odd_API MODE [ARGUMENT…]");
	mode = find(argv[1]);
	program = argv[0];
	arguments = argv + 2;
	counts_open();
	if (mode->opens_itself)
		return mode->run();
	state("start");
	door_open();
	calls(2);
	state("open");
	status = mode->run();
	calls(2);
	state("end");
	door_close();
	return status;
}
