/* SPDX-License-Identifier: MIT */
/* tool.c - programs by what is typed: this one in the hints that users copy, others on PATH. */
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

bool gt_tool_search(const char *name, char *path, size_t size)
{
	const char *at = getenv("PATH");
	struct stat st;

	while (at) {
		size_t length = strcspn(at, ":");

		/* an empty part is the folder one is in */
		snprintf(path, size, "%.*s/%s", length ? (int)length : 1, length ? at : ".", name);
		if (!access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
			return true;
		at = at[length] ? at + length + 1 : NULL;
	}
	return false;
}

const char *gt_tool_name(void)
{
	struct stat typed, own;
	char path[PATH_MAX];

	if (!strchr(called, '/') || !is_plain(called))
		return NAME;
	if (gt_tool_search(NAME, path, sizeof path) && !stat(path, &typed) && !stat(called, &own) &&
	    typed.st_dev == own.st_dev && typed.st_ino == own.st_ino)
		return NAME;
	return called;
}
