/* SPDX-License-Identifier: MIT */
/* kernel_maps.c - the maps of unwinding in memory, in place of the kernel's: libbpf's functions. */
#include "kernel_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/ebpf/unwind_rows.h"

enum { SPACES = 64, CHUNK_BYTES = GT_CHUNK_ROWS * sizeof(struct gt_row) };

static struct {
	uint32_t pid;
	struct gt_space_of of;
} users[SPACES];
static struct {
	struct gt_space_key key;
	struct gt_space_part part;
} parts[SPACES];
static uint64_t shards[GT_SHARDS_MAX];
static struct gt_rule rules[GT_RULES_MAX];
static void *chunks[GT_CHUNKS_MAX];

static void *find_user(uint32_t pid)
{
	for (size_t i = 0; i < SPACES; i++)
		if (users[i].pid == pid)
			return &users[i];
	return NULL;
}

static void *find_part(const struct gt_space_key *key)
{
	for (size_t i = 0; i < SPACES; i++)
		if (!memcmp(&parts[i].key, key, sizeof *key))
			return &parts[i];
	return NULL;
}

void *kernel_map_find(int map, const void *key)
{
	uint32_t number = *(const uint32_t *)key;
	char *found = NULL;

	switch (map) {
	case SPACE_OF_MAP:
		found = find_user(number);
		return found ? found + offsetof(__typeof__(users[0]), of) : NULL;
	case SPACES_MAP:
		found = find_part(key);
		return found ? found + offsetof(__typeof__(parts[0]), part) : NULL;
	case SHARDS_MAP: return number < GT_SHARDS_MAX ? &shards[number] : NULL;
	case RULES_MAP: return number < GT_RULES_MAX ? &rules[number] : NULL;
	case CHUNKS_MAP: return number < GT_CHUNKS_MAX ? chunks[number] : NULL;
	default: return NULL;
	}
}

int bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_bytes, __u32 value_bytes,
		   __u32 entries, const struct bpf_map_create_opts *opts)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	(void)type;
	(void)key_bytes;
	(void)entries;
	(void)opts;
	return fd >= 0 && ftruncate(fd, value_bytes) ? -errno : fd;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	static const struct gt_space_key none;
	const uint32_t number = *(const uint32_t *)key, nobody = 0;
	char *place;

	(void)flags;
	if (fd == SPACE_OF_MAP) {
		place = find_user(number);
		place = place ? place : find_user(nobody);
		if (!place)
			return -E2BIG;
		memcpy(place, &number, sizeof number);
		memcpy(place + offsetof(__typeof__(users[0]), of), value, sizeof users[0].of);
	} else if (fd == SPACES_MAP) {
		place = find_part(&none);
		if (!place)
			return -E2BIG;
		memcpy(place, key, sizeof none);
		memcpy(place + offsetof(__typeof__(parts[0]), part), value, sizeof parts[0].part);
	} else if (fd == SHARDS_MAP) {
		memcpy(&shards[number], value, sizeof *shards);
	} else if (fd == RULES_MAP) {
		memcpy(&rules[number], value, sizeof *rules);
	} else {
		chunks[number] = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
				      *(const int *)value, 0);
		return chunks[number] == MAP_FAILED ? -errno : 0;
	}
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	char *place = fd == SPACE_OF_MAP ? find_user(*(const uint32_t *)key) :
		      fd == SPACES_MAP   ? find_part(key) :
					   NULL;

	if (place)
		memset(place, 0, sizeof(struct gt_space_key));
	return 0;
}
