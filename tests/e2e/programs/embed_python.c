/* SPDX-License-Identifier: MIT */
/*
 * embed_python.c - loads Python when it is told to, and runs a script in it:
 *
 *	embed_python libpython3.so SCRIPT
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void (*begin)(int), (*end)(void);
	int (*run)(const char *);
	char text[8192] = "", line[16];
	void *library;
	FILE *script;

	puts("ready");
	fflush(stdout);
	if (argc < 3 || !fgets(line, sizeof line, stdin))
		return 1;
	library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	script = fopen(argv[2], "r");
	if (!library || !script || !fread(text, 1, sizeof text - 1, script))
		return 77;
	begin = (void (*)(int))dlsym(library, "Py_InitializeEx");
	run = (int (*)(const char *))dlsym(library, "PyRun_SimpleString");
	end = (void (*)(void))dlsym(library, "Py_Finalize");
	begin(0);
	if (run(text))
		return 1;
	end();
	return 0;
}
