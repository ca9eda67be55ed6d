/* tool.c - how this program is to be typed, in a hint that a user copies. */
#include "base/tool.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "gputrack"

static const char *called = NAME;

void gt_tool_called(const char *word)
{
	called = word && *word ? word : NAME;
}

static bool is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-";

	return *word != '-' && !word[strspn(word, plain)];
}

/* What a shell would run of that name: the first on PATH that can be. */
static bool find_on_path(struct stat *st)
{
	const char *at = getenv("PATH");
	char path[PATH_MAX];

	while (at) {
		size_t size = strcspn(at, ":");

		snprintf(path, sizeof path, "%.*s/" NAME, (int)size, size ? at : ".");
		if (!access(path, X_OK) && !stat(path, st) && S_ISREG(st->st_mode))
			return true;
		at = at[size] ? at + size + 1 : NULL;
	}
	return false;
}

const char *gt_tool_name(void)
{
	struct stat typed, own;

	if (!strchr(called, '/') || !is_plain(called))
		return NAME;
	if (find_on_path(&typed) && !stat(called, &own) && typed.st_dev == own.st_dev &&
	    typed.st_ino == own.st_ino)
		return NAME;
	return called;
}
