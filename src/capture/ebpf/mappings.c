/* SPDX-License-Identifier: MIT */
/* mappings.c - what a process has mapped, and the files behind it. */
#include "capture/ebpf/mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

void gt_mappings_parse(struct gt_mappings *m, FILE *file)
{
	char *line = NULL;
	size_t room = 0;

	*m = (struct gt_mappings){ 0 };
	while (getline(&line, &room, file) > 0) {
		unsigned long long start, end, offset, inode;
		char rights[8];
		int at = 0;

		if (sscanf(line, "%llx-%llx %7s %llx %*s %llu %n", &start, &end, rights, &offset,
			   &inode, &at) < 5 ||
		    !at)
			continue;
		line[strcspn(line, "\n")] = '\0';
		GT_GROW(m->list, m->count, m->room);
		m->list[m->count++] = (struct gt_mapping){ .start = start,
							   .end = end,
							   .offset = offset,
							   .is_code = rights[2] == 'x',
							   .inode = inode,
							   .path = gt_strdup(line + at) };
	}
	free(line);
}

int gt_mappings_read(struct gt_mappings *m, uint32_t pid)
{
	char path[64];
	FILE *file;

	*m = (struct gt_mappings){ 0 };
	snprintf(path, sizeof path, "/proc/%u/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	gt_mappings_parse(m, file);
	fclose(file);
	return m->count ? 0 : -ESRCH;
}

void gt_mappings_fini(struct gt_mappings *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->list[i].path);
	free(m->list);
	*m = (struct gt_mappings){ 0 };
}

/* Opens the file at a path if it is the one that was mapped. */
static int open_same(const char *path, uint64_t inode)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ENXIO ? -ESTALE : -errno;
	/* the device in /proc/PID/maps is not that of stat on all file systems */
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (!inode || st.st_ino == inode))
		return fd;
	close(fd);
	return -ESTALE;
}

int gt_mapping_open(const struct gt_mapping *m, uint32_t pid)
{
	char path[PATH_MAX];
	int fd;

	if (m->path[0] != '/')
		return -ENOENT;
	snprintf(path, sizeof path, "/proc/%u/map_files/%llx-%llx", pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	fd = m->is_past ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof path, "/proc/%u/root%.4000s", pid, m->path);
	fd = open_same(path, m->inode);
	/* from here too, for a process that has ended */
	return fd < 0 && m->is_past ? open_same(m->path, m->inode) : fd;
}

const char *gt_mapping_cause(int error)
{
	if (error == -EACCES || error == -EPERM)
		return "no permission to read its files (CAP_SYS_PTRACE); run gputrack as root, "
		       "outside of containers";
	if (error == -ESTALE)
		return "the file is no longer there (deleted, replaced, or a memfd), and opening "
		       "it "
		       "nevertheless needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN; run gputrack "
		       "as root";
	return strerror(-error);
}
