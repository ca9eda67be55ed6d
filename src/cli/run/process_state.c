/* SPDX-License-Identifier: MIT */
/* process_state.c - asks the kernel about processes that are not our children: how they ended. */
#include "cli/run/process_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SEND_MS = 1000 };

/* The descriptor is one of few; the mappings of a process may be thousands. */
static bool has_open(uint32_t pid, const struct stat *file)
{
	struct dirent *entry;
	bool found = false;
	char path[32];
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/fd", pid);
	folder = opendir(path);
	while (folder && !found && (entry = readdir(folder))) {
		struct stat st;

		found = !fstatat(dirfd(folder), entry->d_name, &st, 0) &&
			st.st_ino == file->st_ino && st.st_dev == file->st_dev;
	}
	if (folder)
		closedir(folder);
	return found;
}

/* By its name alone: the inode shown is another one on some file systems. */
static bool has_mapped(uint32_t pid, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash : path;
	char maps[32], *line = NULL;
	size_t room = 0, size = strlen(name);
	bool found = false;
	FILE *in;

	snprintf(maps, sizeof maps, "/proc/%" PRIu32 "/maps", pid);
	in = fopen(maps, "re");
	while (in && !found && getline(&line, &room, in) > 0) {
		size_t length = strcspn(line, "\n");

		line[length] = '\0';
		found = length >= size && !strcmp(line + length - size, name);
	}
	free(line);
	if (in)
		fclose(in);
	return found;
}

bool gt_process_uses_file(uint32_t pid, const char *path)
{
	struct stat file;

	return !stat(path, &file) && (has_open(pid, &file) || has_mapped(pid, path));
}

/* "0::/a/b" of the one hierarchy, or "7:memory:/a/b" of the older ones. */
char *gt_oom_group(uint32_t pid)
{
	char path[32], *line = NULL, *found = NULL;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/cgroup", pid);
	file = fopen(path, "re");
	while (file && getline(&line, &room, file) > 0) {
		const char *older = strstr(line, ":memory:");

		line[strcspn(line, "\n")] = '\0';
		if (!older && strncmp(line, "0::", 3))
			continue;
		free(found);
		if (asprintf(&found,
			     older ? "/sys/fs/cgroup/memory%s/memory.oom_control" :
				     "/sys/fs/cgroup%s/memory.events",
			     older ? older + strlen(":memory:") : line + 3) < 0)
			found = NULL;
		if (older)
			break;
	}
	if (file)
		fclose(file);
	free(line);
	return found;
}

bool gt_oom_kills(const char *group, uint64_t *kills)
{
	FILE *file = group ? fopen(group, "re") : NULL;
	bool is_known = false;
	char line[128];

	while (file && !is_known && fgets(line, sizeof line, file))
		is_known = sscanf(line, "oom_kill %" SCNu64, kills) == 1;
	if (file)
		fclose(file);
	return is_known;
}

int gt_pidfd_open(uint32_t pid)
{
	return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
}

ssize_t gt_descriptor_receive(int from, char *text, size_t size, int *descriptor)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof *descriptor)];
	} control;
	struct iovec room = { .iov_base = text, .iov_len = size };
	struct msghdr message = { .msg_iov = &room,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof control.bytes };
	const struct cmsghdr *head;
	ssize_t n;

	*descriptor = -1;
	/* a sender that has connected sends at once, unless it ends or is stopped first */
	if (poll(&(struct pollfd){ .fd = from, .events = POLLIN }, 1, SEND_MS) < 1)
		return -1;
	n = recvmsg(from, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	head = n < 0 ? NULL : CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len == CMSG_LEN(sizeof *descriptor))
		memcpy(descriptor, CMSG_DATA(head), sizeof *descriptor);
	return n;
}

bool gt_pidfd_is_reaped(int pidfd)
{
	return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) && errno == ESRCH;
}

/* As in linux/pidfd.h, which may be older than the kernel. */
struct pidfd_info_exit {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};

#define GET_INFO  _IOWR(0xff, 11, struct pidfd_info_exit)
#define INFO_EXIT (UINT64_C(1) << 3)

bool gt_pidfd_exit_status(int pidfd, int *status)
{
	struct pidfd_info_exit info = { .mask = INFO_EXIT };

	if (ioctl(pidfd, GET_INFO, &info) || !(info.mask & INFO_EXIT))
		return false;
	*status = info.exit_code;
	return true;
}
