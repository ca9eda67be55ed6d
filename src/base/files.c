/* SPDX-License-Identifier: MIT */
/* files.c - replaces files, makes folders, checks files of others, finds repositories. */
#include "base/files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/text.h"

FILE *gt_open_regular_file(const char *path, off_t size_max)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *in = NULL;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= size_max)
		in = fdopen(fd, "r");
	if (fd >= 0 && !in)
		close(fd);
	return in;
}

int gt_file_replace(const char *path, void (*write)(FILE *out, const void *context),
		    const void *context)
{
	char *new_path = gt_alloc(strlen(path) + sizeof ".new");
	FILE *out;
	int fd, e = 0;

	sprintf(new_path, "%s.new", path);
	fd = open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (out) {
		write(out, context);
		if (ferror(out))
			e = errno ? errno : EIO;
		if (fclose(out) && !e)
			e = errno;
		if (!e && rename(new_path, path))
			e = errno;
		if (e)
			unlink(new_path);
	} else {
		e = errno;
	}
	free(new_path);
	return -e;
}

/* Another user's folder, as root may find it in HOME, is not written to. */
static bool is_own_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

bool gt_make_own_folder(const char *path)
{
	char parent[PATH_MAX];
	char *slash;

	snprintf(parent, sizeof parent, "%s", path);
	slash = strrchr(parent, '/');
	if (slash && slash != parent) {
		*slash = '\0';
		if (!is_own_folder(parent) && mkdir(parent, 0700) && errno != EEXIST)
			return false;
	}
	return (!mkdir(path, 0700) || errno == EEXIST) && is_own_folder(path);
}

enum { SECTIONS_MAX = 1 << 17 };

/* Offsets and sizes of the fields used here, by ELF class. */
struct layout {
	uint8_t word, sections_at, segment_count, section_count, section_size, section_bytes;
};

static const struct layout layouts[] = {
	[ELFCLASS32] = { 4, 0x20, 0x2c, 0x30, 0x14, sizeof(Elf32_Shdr) },
	[ELFCLASS64] = { 8, 0x28, 0x38, 0x3c, 0x20, sizeof(Elf64_Shdr) },
};

static uint64_t number_at(const uint8_t *bytes, size_t at, size_t size, bool big)
{
	uint64_t v = 0;

	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)bytes[at + i] << 8 * (big ? size - 1 - i : i);
	return v;
}

bool gt_elf_is_bounded(int fd)
{
	uint8_t head[sizeof(Elf64_Ehdr)] = { 0 }, first[sizeof(Elf64_Shdr)] = { 0 };
	const struct layout *l;
	uint64_t sections;
	bool big;

	if (pread(fd, head, sizeof head, 0) < (ssize_t)sizeof(Elf32_Ehdr) ||
	    memcmp(head, ELFMAG, SELFMAG) || head[EI_CLASS] < ELFCLASS32 ||
	    head[EI_CLASS] > ELFCLASS64)
		return true;
	l = &layouts[head[EI_CLASS]];
	big = head[EI_DATA] == ELFDATA2MSB;
	if (number_at(head, l->segment_count, 2, big) == PN_XNUM)
		return false;
	sections = number_at(head, l->sections_at, l->word, big);
	if (!sections || number_at(head, l->section_count, 2, big))
		return true;
	/* too many for the header: the first section's size is their number */
	if (sections > INT64_MAX ||
	    pread(fd, first, l->section_bytes, (off_t)sections) != l->section_bytes)
		return true;
	return number_at(first, l->section_size, l->word, big) <= SECTIONS_MAX;
}

char *gt_repository_around(const char *path)
{
	static const char *const marks[] = { ".git", ".hg", ".svn", ".jj", ".bzr" };
	char *folder = gt_strdup(path), probe[PATH_MAX];

	for (; *folder == '/' && folder[1]; folder[gt_path_folder_size(folder) - 1] = '\0')
		for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
			snprintf(probe, sizeof probe, "%s/%s", folder, marks[i]);
			if (!access(probe, F_OK))
				return folder;
		}
	free(folder);
	return NULL;
}
