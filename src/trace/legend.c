/* SPDX-License-Identifier: MIT */
/* legend.c - a recording's `legend`: function, file and line of the addresses that matter. */
#include "trace/legend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/files.h"
#include "base/mem.h"

enum { FILE_MAX = 64 << 20, NAMES_MAX = 1024, MAGIC_SIZE = 8 };

static const char magic[MAGIC_SIZE + 1] = "GTLEGND1";

struct entry {
	struct gt_legend_name *list;
	size_t count;
};

struct gt_legend {
	struct gt_intern *keys; /* path NUL build id, address */
	struct entry *entries;  /* by the key's number */
	size_t count, room;
	struct gt_intern *texts; /* so that no string is stored twice */
};

struct gt_legend *gt_legend_new(void)
{
	struct gt_legend *legend = gt_alloc(sizeof *legend);

	legend->keys = gt_intern_new();
	legend->texts = gt_intern_new();
	return legend;
}

void gt_legend_free(struct gt_legend *legend)
{
	if (!legend)
		return;
	for (size_t i = 0; i < legend->count; i++)
		free(legend->entries[i].list);
	free(legend->entries);
	gt_intern_free(legend->keys);
	gt_intern_free(legend->texts);
	free(legend);
}

static const char *intern_string(struct gt_legend *legend, const char *text)
{
	return text && *text ? gt_intern_string(legend->texts, text) : NULL;
}

/* The key of an address, which the caller frees. */
static char *key_new(const char *module, const uint8_t *build_id, size_t size, uint64_t address,
		     size_t *key_size)
{
	size_t path = strlen(module) + 1;
	char *key = gt_alloc(path + size + sizeof address);

	memcpy(key, module, path);
	if (size)
		memcpy(key + path, build_id, size);
	memcpy(key + path + size, &address, sizeof address);
	*key_size = path + size + sizeof address;
	return key;
}

void gt_legend_add(struct gt_legend *legend, const char *module, const uint8_t *build_id,
		   size_t size, uint64_t address, const struct gt_legend_name *list, size_t count)
{
	size_t key_size;
	char *key;
	uint32_t number;
	struct entry *entry;

	if (!count)
		return;
	key = key_new(module, build_id, size, address, &key_size);
	number = gt_intern(legend->keys, key, key_size);
	free(key);
	if (number < legend->count)
		return;
	GT_GROW(legend->entries, legend->count, legend->room);
	entry = &legend->entries[legend->count++];
	entry->list = gt_alloc(count * sizeof *list);
	entry->count = count;
	for (size_t i = 0; i < count; i++)
		entry->list[i] =
			(struct gt_legend_name){ .function =
							 intern_string(legend, list[i].function),
						 .file = intern_string(legend, list[i].file),
						 .line = list[i].line,
						 .inlined = list[i].inlined };
}

size_t gt_legend_get(const struct gt_legend *legend, const char *module, const uint8_t *build_id,
		     size_t size, uint64_t address, const struct gt_legend_name **list)
{
	size_t key_size;
	char *key = key_new(module, build_id, size, address, &key_size);
	uint32_t number = gt_intern_find(legend->keys, key, key_size);

	free(key);
	if (number == GT_NOT_INTERNED)
		return 0;
	*list = legend->entries[number].list;
	return legend->entries[number].count;
}

/* A copy of a text in the file; NULL when empty or missing. */
static const char *read_text(struct gt_arena *a, struct gt_bytes *b)
{
	size_t size;
	const uint8_t *at = gt_get_blob(b, &size);

	return size && *at ? memcpy(gt_arena_alloc(a, size + 1), at, size) : NULL;
}

/* Reads an address with its names; false at the end or at damage. */
static bool read_entry(struct gt_legend *legend, struct gt_bytes *b)
{
	struct gt_arena a = { 0 };
	const char *module = read_text(&a, b);
	size_t id_size;
	const uint8_t *id = gt_get_blob(b, &id_size);
	uint64_t address = gt_get_varint(b), count = gt_get_varint(b);
	struct gt_legend_name *list;

	/* each name takes at least four bytes */
	b->bad |= !module || !count || count > NAMES_MAX || count > gt_bytes_left(b) / 4 ||
		  id_size > 64;
	list = gt_arena_alloc(&a, b->bad ? 0 : count * sizeof *list);
	for (uint64_t i = 0; i < count && !b->bad; i++) {
		list[i].function = read_text(&a, b);
		list[i].file = read_text(&a, b);
		list[i].line = (uint32_t)gt_get_varint(b);
		list[i].inlined = gt_get_varint(b) & 1;
	}
	if (!b->bad)
		gt_legend_add(legend, module, id, id_size, address, list, count);
	gt_arena_fini(&a);
	return !b->bad;
}

struct gt_legend *gt_legend_read(const char *path)
{
	struct gt_legend *legend = gt_legend_new();
	FILE *in = gt_open_regular_file(path, INT64_MAX);
	uint8_t *data = NULL;
	size_t size = 0, room = 0;
	struct gt_bytes b;

	while (in && size < FILE_MAX) {
		if (size == room)
			data = gt_realloc(data, room = room ? room * 2 : 1 << 16);
		size_t n = fread(data + size, 1, room - size, in);

		if (!n)
			break;
		size += n;
	}
	if (in)
		fclose(in);
	if (size > MAGIC_SIZE && !memcmp(data, magic, MAGIC_SIZE)) {
		b = (struct gt_bytes){ .at = data + MAGIC_SIZE, .end = data + size };
		while (gt_bytes_left(&b) && read_entry(legend, &b))
			;
	}
	free(data);
	return legend;
}

static void put_varint(FILE *out, uint64_t value)
{
	uint8_t bytes[GT_VARINT_MAX], *end = gt_put_varint(bytes, value);

	fwrite(bytes, 1, (size_t)(end - bytes), out);
}

static void put_blob(FILE *out, const void *data, size_t size)
{
	put_varint(out, size);
	if (size)
		fwrite(data, 1, size, out);
}

static void put_entry(FILE *out, const struct gt_legend *legend, uint32_t number)
{
	const struct entry *entry = &legend->entries[number];
	size_t size, path;
	const char *key = gt_intern_get(legend->keys, number, &size);
	uint64_t address;

	path = strlen(key);
	memcpy(&address, key + size - sizeof address, sizeof address);
	put_blob(out, key, path);
	put_blob(out, key + path + 1, size - path - 1 - sizeof address);
	put_varint(out, address);
	put_varint(out, entry->count);
	for (size_t i = 0; i < entry->count; i++) {
		const struct gt_legend_name *name = &entry->list[i];

		put_blob(out, name->function, name->function ? strlen(name->function) : 0);
		put_blob(out, name->file, name->file ? strlen(name->file) : 0);
		put_varint(out, name->line);
		put_varint(out, name->inlined);
	}
}

static void put_all(FILE *out, const void *context)
{
	const struct gt_legend *legend = context;

	fwrite(magic, 1, MAGIC_SIZE, out);
	for (uint32_t i = 0; i < legend->count; i++)
		put_entry(out, legend, i);
}

int gt_legend_write(const struct gt_legend *legend, const char *path, struct gt_error *error)
{
	int e = gt_file_replace(path, put_all, legend);

	return e ? gt_error_set(error, e, "cannot write %s: %s", path, strerror(-e)) : 0;
}
