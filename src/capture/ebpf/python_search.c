/* SPDX-License-Identifier: MIT */
/* python_search.c - finds the Python of processes, and tells the BPF programs where it is. */
#include "capture/ebpf/python_search.h"

#include <string.h>

static void search(const struct gt_python_search *s, uint32_t pid, const struct gt_modules *modules)
{
	struct gt_probe_python row;

	if (s->probes && gt_python_row(&row, modules))
		gt_probes_python(s->probes, pid, &row);
}

void gt_python_search(const struct gt_python_search *s, uint32_t pid)
{
	struct gt_modules modules = { 0 };

	if (!s->probes)
		return;
	gt_modules_look(&modules, s->images, pid);
	if (!modules.is_gone)
		search(s, pid, &modules);
	gt_modules_fini(&modules);
}

void gt_python_search_traced(const struct gt_python_search *s, const struct gt_traced_set *set)
{
	for (struct gt_traced *p = NULL; (p = gt_traced_set_next(set, p));) {
		if (p->modules.count == p->python_modules)
			continue;
		p->python_modules = p->modules.count;
		search(s, p->pid, &p->modules);
	}
}

bool gt_python_is_likely(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && (!strncmp(slash, "/libpython", 10) || !strncmp(slash, "/python", 7));
}
