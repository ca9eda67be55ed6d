/* SPDX-License-Identifier: MIT */
/*
 * python_search.h - finds the Python of processes, and tells the BPF programs where it is.
 *
 * A process that maps a Python later is searched when the tool hears of it. One that starts a
 * Python that is known, from another process or as an installed one, need not be: functions that it
 * runs first are probed.
 */
#pragma once

#include "capture/ebpf/probes.h"
#include "capture/ebpf/traced.h"

struct gt_python_search {
	struct gt_probes *probes; /* NULL: Python's frames are not wanted */
	struct gt_images *images;
	uint32_t entries; /* functions that are probed */
};

/* Searches what a process has mapped now. */
void gt_python_search(struct gt_python_search *s, uint32_t pid);
/* Searches the modules of traced processes, where they have changed. */
void gt_python_search_traced(struct gt_python_search *s, const struct gt_traced_set *set);
/* Finds the Python of the program at a path, and the `python3` on `folders`, as in PATH. */
void gt_python_search_installed(struct gt_python_search *s, const char *program,
				const char *folders);

/* True if a file is likely to be Python: then it is best found before it runs. */
bool gt_python_is_likely(const char *path);
