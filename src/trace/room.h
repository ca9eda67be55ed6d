/* SPDX-License-Identifier: MIT */
/*
 * room.h - counts the space that all processes of a recording have reserved, in one of its files.
 *
 * Each process has its own slot in the file, which no other one writes, and adds up all of them: no
 * lock, so a process that is stopped keeps nobody waiting. The file is read and written, never
 * mapped: whoever shortens or removes it can make the sum wrong, but cannot raise a signal.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/guest_file.h"

enum { GT_ROOM_SLOTS = 16 };

struct gt_room_slot {
	char magic[8];
	uint64_t bytes;
};

struct gt_room {
	const char *path; /* borrowed */
	int fd;
	struct gt_file_id id;
	off_t slot;            /* where our slot is */
	uint64_t mine, others; /* `others` as last seen, for when the file is gone */
	struct gt_room_slot slots[GT_ROOM_SLOTS]; /* as they are read */
};

/* Opens the file, making it if need be, and adds this process with 0 bytes. */
int gt_room_open(struct gt_room *room, const char *path);
/* Counts `size` more bytes; false, and counts nothing, if all together would exceed `most`. */
bool gt_room_take(struct gt_room *room, uint64_t size, uint64_t most);
void gt_room_give(struct gt_room *room, uint64_t size);
/* Closes the file; what is counted stays counted. */
void gt_room_close(struct gt_room *room);
