/* SPDX-License-Identifier: MIT */
/* folder.h - recordings' folders: makes and removes them, and nothing else; their `info` file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "trace/info.h"

/* What making a recording's folder has changed, to be undone or committed. */
struct gt_folder {
	char path[4096];
	bool made;        /* we created the folder */
	bool put_aside;   /* a recording that was there is now NAME.old … */
	bool put_further; /* … and the NAME.old that was there NAME.older */
	int hold;         /* see gt_folder_hold; held until the process ends */
};

/*
 * The absolute path of a recording: as given, or `otherwise`; without the trailing slash that
 * shells append to folders.
 */
int gt_folder_name(char *out, size_t size, const char *given, const char *otherwise);
/* True if it belongs to this user, no other user can write into it, and it is not a link. */
bool gt_folder_is_own(const char *path);
/* True if the file is part of a recording, or would be taken for one. */
bool gt_folder_has_own(const char *path);

/*
 * Makes the folder, private to its user, and holds it. A recording that is there already becomes
 * NAME.old. If that one is held, or if anything else has the name, it is left alone and this fails.
 */
int gt_folder_make(struct gt_folder *f, const char *path, struct gt_error *error);

/*
 * Holds a recording, as any number of processes may: while it is held, no process puts it aside to
 * make a new one in its place. Returns a descriptor to be kept open, or 0 where locks do not work.
 */
int gt_folder_hold(const char *path);
/*
 * Where the folder behind `hold` is now, if it was moved away from `path`; -ENOENT if it was
 * removed.
 */
int gt_folder_follow(int hold, char *path, size_t size);

/*
 * A lock shared by all processes that make folders beside this one; waits for its turn. -1 where
 * the file system has no locks.
 */
int gt_folder_lock(const char *path);
void gt_folder_unlock(int lock);

/* The program could not be started: restores what was there before. */
void gt_folder_undo(const struct gt_folder *f);
/* The program runs: removes the recording before the last. */
void gt_folder_commit(const char *path);
/*
 * The program has ended: the traces of processes that are gone become files like others. rm asks
 * before it removes what nobody may write.
 */
void gt_folder_finish(const char *path);

/* `info` of a run at its start: the command as one would type it, folder, host, kernel, time. */
struct gt_info *gt_run_info_begin(char *const *argv);
/* At its end: the time, and the duration. */
void gt_run_info_end(struct gt_info *info, uint64_t duration_ns);
/* How the program ended: a status of waitpid. */
void gt_run_info_status(struct gt_info *info, int status);

/* `info` of a recording's folder; empty if it has none. */
struct gt_info *gt_run_info_read(const char *folder);
int gt_run_info_write(const struct gt_info *info, const char *folder, struct gt_error *error);
/* Makes the folder with `info` in it; on failure nothing is changed. */
int gt_run_info_make(const struct gt_info *info, struct gt_folder *made, const char *folder,
		     struct gt_error *error);
