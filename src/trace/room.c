/* SPDX-License-Identifier: MIT */
/* room.c - counts the space that all processes of a recording have reserved, in one of its files.
 */
#include "trace/room.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/layout.h"

enum { SLOT = sizeof(struct gt_room_slot), SLOTS_MAX = 1 << 19 };

/* Adds a slot at the end; nobody else gets the same one. */
static int add_slot(struct gt_room *room)
{
	static const struct gt_room_slot none = { .magic = GT_ROOM_MAGIC };
	int flags = fcntl(room->fd, F_GETFL);
	off_t end;

	if (gt_write_without_signals(room->fd, &none, SLOT, true) != SLOT)
		return errno ? -errno : -EIO;
	end = lseek(room->fd, 0, SEEK_CUR);
	/* with O_APPEND, pwrite would append, too */
	if (end < SLOT || flags < 0 || fcntl(room->fd, F_SETFL, flags & ~O_APPEND))
		return -EIO;
	/* whatever somebody left at the end: slots are aligned, and remain distinct */
	room->slot = (end - 1) / SLOT * SLOT;
	return 0;
}

int gt_room_open(struct gt_room *room, const char *path)
{
	int fd =
		open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat st;
	int e;

	*room = (struct gt_room){ .path = path, .fd = -1 };
	if (fd < 0)
		return -errno;
	/* a file with another name, hard-linked here by somebody, is left alone */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1) {
		close(fd);
		return -EPERM;
	}
	room->fd = gt_fd_move_high(fd);
	e = gt_file_id_of(&room->id, room->fd) ? add_slot(room) : -EIO;
	if (e)
		gt_room_close(room);
	return e;
}

/* Says what is ours, where all others can read them; false if that fails. */
static bool tell(struct gt_room *room, uint64_t mine)
{
	const struct gt_room_slot slot = { .magic = GT_ROOM_MAGIC, .bytes = mine };
	struct gt_held_signals held;
	ssize_t n;

	room->fd = gt_fd_reopen(room->fd, &room->id, room->path, O_RDWR | O_NOFOLLOW);
	if (room->fd < 0)
		return false;
	gt_signals_hold(&held);
	do
		n = pwrite(room->fd, &slot, SLOT, room->slot);
	while (n < 0 && errno == EINTR);
	gt_signals_release(&held);
	return n == SLOT;
}

/* Adds up what is the others', up to `most`; the file may hold anything by now, of any size. */
static bool add_others(struct gt_room *room, uint64_t most)
{
	struct gt_room_slot *slots = room->slots;
	uint64_t sum = 0;
	off_t at = 0;
	ssize_t n;

	while ((n = pread(room->fd, slots, sizeof room->slots, at)) >= SLOT &&
	       at < (off_t)SLOTS_MAX * SLOT) {
		for (ssize_t i = 0; i < n / SLOT; i++)
			if (at + i * SLOT != room->slot &&
			    !memcmp(slots[i].magic, GT_ROOM_MAGIC, sizeof slots[i].magic))
				sum = slots[i].bytes > most - sum ? most : sum + slots[i].bytes;
		at += n / SLOT * SLOT;
	}
	if (n < 0)
		return false;
	room->others = sum;
	return true;
}

bool gt_room_take(struct gt_room *room, uint64_t size, uint64_t most)
{
	uint64_t want = room->mine + size;

	/* told before it is added up: of two at the same time, at least one sees the other */
	if (tell(room, want))
		add_others(room, most);
	if (want < size || want > most || room->others > most - want) {
		tell(room, room->mine);
		return false;
	}
	room->mine = want;
	return true;
}

void gt_room_give(struct gt_room *room, uint64_t size)
{
	room->mine -= size < room->mine ? size : room->mine;
	tell(room, room->mine);
}

void gt_room_close(struct gt_room *room)
{
	gt_fd_close(room->fd, &room->id);
	room->fd = -1;
}
