/* SPDX-License-Identifier: MIT */
/* mappings.h - what a process has mapped, and the files behind it. For the tool. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A line of /proc/PID/maps, or a mapping that the kernel reported when it was made. */
struct gt_mapping {
	uint64_t start, end, offset;
	bool is_code;
	bool is_past;   /* reported earlier: the process may have ended */
	uint64_t inode; /* 0: no file, or unknown */
	char *path;     /* as the process sees it; "[vdso]" and the like are no files */
};

struct gt_mappings {
	struct gt_mapping *list;
	size_t count, room;
};

/* Reads all lines of the file, skipping those that are not of /proc/PID/maps. */
void gt_mappings_parse(struct gt_mappings *m, FILE *file);
/* 0 or -errno: the process may have ended, or be off limits. */
int gt_mappings_read(struct gt_mappings *m, uint32_t pid);
void gt_mappings_fini(struct gt_mappings *m);

/*
 * Opens the file of a mapping, even if it was renamed or is in a container. -ESTALE: another file,
 * or none, is at its path now, and /proc/PID/map_files is off limits; or another -errno.
 */
int gt_mapping_open(const struct gt_mapping *m, uint32_t pid);
/* Why a file could not be opened, and what would help. */
const char *gt_mapping_cause(int error);
