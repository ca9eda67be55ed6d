/* SPDX-License-Identifier: MIT */
/* path.c - paths as texts: nothing here looks at a file. */
#include "base/path.h"

void gt_path_tidy(char *path)
{
	char *out = path;
	size_t used = 0;

	while (*path) {
		size_t n = strcspn(path, "/"), end = n + (path[n] == '/');
		size_t last = used > 1 ? used - 1 : 0; /* of the name before, without its slash */

		while (last && out[last - 1] != '/')
			last--;
		if (n == 2 && !strncmp(path, "..", 2) && used > 1 && strncmp(out + last, "../", 3))
			used = last;
		else if (!(n == 1 && *path == '.' && end == 2) && (n || !used)) {
			memmove(out + used, path, end);
			used += end;
		}
		path += end;
	}
	out[used] = '\0';
}

void gt_path_end(char *path)
{
	for (size_t size = strlen(path); size > 1 && path[size - 1] == '/'; size--)
		path[size - 1] = '\0';
}
