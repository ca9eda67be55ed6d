/* SPDX-License-Identifier: MIT */
/* libraries.h - the API libraries of this machine and of its processes, each probed once. */
#pragma once

#include "capture/ebpf/modules.h"
#include "capture/ebpf/probes.h"

struct gt_library {
	dev_t dev;
	ino_t ino;
	enum gt_api api;
	char *path;        /* as first seen */
	size_t functions;  /* to be probed; 0: it has none of ours, or could not be */
	bool is_refused;   /* it could not be probed, and is not tried again */
	uint32_t late_pid; /* who had it before it was probed; 0: nobody */
	bool is_late;      /* … and is followed */
};

struct gt_libraries {
	struct gt_probes *probes;    /* NULL: libraries are looked at, and not probed */
	bool unwanted[GT_API_COUNT]; /* APIs that are left alone */
	struct gt_library *list;
	size_t count, room;
	bool is_settled; /* libraries that are mapped from now on are known before */
	uint32_t *early; /* processes that had a library before it was probed */
	size_t early_count, early_room;
	struct gt_error refusal; /* why the first that could not be probed could not; or "" */
};

/* The API of a library by its file's name; -1 for none of ours. */
int gt_library_api(const char *path);

void gt_libraries_fini(struct gt_libraries *l);
/* True when a process may have made calls of ours before they were probed. */
bool gt_libraries_was_early(const struct gt_libraries *l, uint32_t pid);
/*
 * Probes the libraries that a process has mapped, as far as that is not done yet. How many of
 * ours it has mapped; -errno when nothing can be said.
 */
int gt_libraries_scan(struct gt_libraries *l, uint32_t pid, struct gt_error *error);
/*
 * … those that the dynamic linker would find: in the folders of `path` (a:b:c) first. Anybody may
 * put a file there that cannot be probed: it is passed over, and is_refused.
 */
void gt_libraries_installed(struct gt_libraries *l, const char *path);
/* … of every process, likewise. */
void gt_libraries_everywhere(struct gt_libraries *l);
