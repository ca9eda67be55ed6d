/* SPDX-License-Identifier: MIT */
/* folder.h - makes and removes recordings' folders, and nothing but recordings'. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

/* What making a recording's folder has changed, to be taken back or settled. */
struct gt_folder {
	char path[4096];
	bool made;        /* the folder is ours */
	bool put_aside;   /* a recording that was there is now NAME.old … */
	bool put_further; /* … and the NAME.old that was there NAME.older */
	int hold;         /* see gt_folder_hold; goes with the process */
};

/*
 * The whole path of a recording: as it was given, or `otherwise`, below the current folder; without
 * the slash that shells put behind folders.
 */
int gt_folder_name(char *out, size_t size, const char *given, const char *otherwise);
/* Nobody else can put anything into it, nor is it a link. */
bool gt_folder_is_own(const char *path);
/* The file is one that a recording consists of, or would be taken for one. */
bool gt_folder_has_own(const char *path);

/*
 * Makes the folder, private to its user, and holds it. A recording that is there already becomes
 * NAME.old; one that somebody holds, and anything else that is there, is an error, and stays as it
 * is.
 */
int gt_folder_make(struct gt_folder *f, const char *path, struct gt_error *error);

/*
 * Holds a recording, as often as wanted: while somebody does, nobody puts it aside to make his own
 * in its place. A descriptor, to be kept open meanwhile; 0 where there is none to be had.
 */
int gt_folder_hold(const char *path);
/*
 * Where the folder behind `hold` lies by now, when it has been moved away from `path` meanwhile;
 * -ENOENT when it has been removed.
 */
int gt_folder_follow(int hold, char *path, size_t size);

/*
 * One at a time among all who make folders beside this one; who waits gets the lock in turn. -1
 * where the file system has no locks: then there is none.
 */
int gt_folder_lock(const char *path);
void gt_folder_unlock(int lock);

/* The program could not be started: everything as it was before. */
void gt_folder_undo(const struct gt_folder *f);
/* The program runs: the recording before the last is no longer needed. */
void gt_folder_settle(const char *path);
