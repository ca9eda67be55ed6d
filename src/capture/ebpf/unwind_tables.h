/* SPDX-License-Identifier: MIT */
/*
 * unwind_tables.h - the tables in the kernel by which the BPF programs unwind stacks.
 *
 * A process's code is told to them as a space, which a process and its children share until one of
 * them maps more. The rows of small images are made when a process is seen to map them, those of
 * large ones 64 KiB of code at a time, when a stack leads through it. Rows that nobody needs any
 * more are removed.
 */
#pragma once

#include "capture/ebpf/modules.h"
#include "capture/ebpf/unwind_rows.h"

/* Descriptors of the maps; borrowed. */
struct gt_unwind_maps {
	int space_of, spaces, shards, rules, chunks;
};

struct gt_unwind_tables;
struct gt_space;

struct gt_unwind_tables *gt_unwind_tables_new(const struct gt_unwind_maps *maps);
/* All spaces must have been released. */
void gt_unwind_tables_free(struct gt_unwind_tables *t);

/* The program that a process runs; `start` 0: not known, whatever it runs until its next exec. */
struct gt_space_user {
	uint32_t pid, exec;
	uint64_t start;
};

/*
 * Gives a process the space of these modules, instead of `old`, which may be NULL, and returns it:
 * `old` itself if nothing has changed, NULL if there is no room for another.
 */
struct gt_space *gt_space_update(struct gt_unwind_tables *t, struct gt_space *old,
				 const struct gt_modules *modules,
				 const struct gt_space_user *user);
/* For a child, to which the BPF programs have given it; `s` may be NULL. */
struct gt_space *gt_space_share(struct gt_space *s);
/* Takes it from a process; `s` may be NULL. */
void gt_space_release(struct gt_unwind_tables *t, struct gt_space *s, uint32_t pid);

/* A stack has led to an ELF address of the image, which a space has. */
void gt_unwind_tables_need(struct gt_unwind_tables *t, struct gt_image *image, uint64_t address);
/* Removes the rows of images that no process has mapped for some time. */
void gt_unwind_tables_tidy(struct gt_unwind_tables *t, uint64_t now_ns);

struct gt_unwind_size {
	uint64_t images, rows, rules, bytes; /* bytes: of kernel memory that the rows take */
	bool is_full;                        /* some rows found no room */
};
struct gt_unwind_size gt_unwind_tables_size(const struct gt_unwind_tables *t);
