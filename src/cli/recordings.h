/* SPDX-License-Identifier: MIT */
/* recordings.h - the recordings that operands name: one, several, or folders of them. */
#pragma once

#include <stddef.h>

#include "base/mem.h"
#include "cli/input.h"
#include "replay/view.h"

/* In the order of their tests' names (judge/merged.h), then of their paths; none twice. */
struct gt_recordings {
	char **paths;
	size_t count, room;
};

/* True for a folder that is no recording itself. */
bool gt_recordings_is_folder(const char *path);
/*
 * An operand that is no recording but a folder stands for all recordings in and below it; those
 * that a later run has put aside (NAME.gt.old) are left out. An operand without any is kept:
 * opening it says what is wrong.
 */
void gt_recordings_find(struct gt_recordings *found, char *const *operands, size_t count);
/* True if one of them is of the same test as this recording. */
bool gt_recordings_has_test(const struct gt_recordings *found, const char *path);
void gt_recordings_fini(struct gt_recordings *found);

/* A recording with its frames, and what a command reads of it. */
struct gt_loaded {
	struct gt_recording *recording;
	struct gt_ledger *ledger; /* NULL, or freed with it */
	struct gt_view view;
};

/* Opens them all, or none. 0, or -errno and the error. */
int gt_recordings_load(struct gt_loaded **loaded, const struct gt_recordings *found,
		       const struct gt_input *input, struct gt_error *error);
void gt_recordings_unload(struct gt_loaded *loaded, size_t count);
