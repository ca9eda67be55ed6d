/* SPDX-License-Identifier: MIT */
/* python_search.h - finds the Python of processes, and tells the BPF programs where it is. */
#pragma once

#include "capture/ebpf/probes.h"
#include "capture/ebpf/traced.h"

struct gt_python_search {
	struct gt_probes *probes; /* NULL: Python's frames are not wanted */
	struct gt_images *images;
};

/* Searches what a process has mapped now. */
void gt_python_search(const struct gt_python_search *s, uint32_t pid);
/* Searches the modules of traced processes, where they have changed. */
void gt_python_search_traced(const struct gt_python_search *s, const struct gt_traced_set *set);

/* True if a file is likely to be Python: then it is best found before it runs. */
bool gt_python_is_likely(const char *path);
