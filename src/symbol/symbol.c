/* SPDX-License-Identifier: MIT */
/* symbol.c - the symbolizer: opens modules when first needed, resolves every address once. */
#include "symbol/symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"
#include "symbol/build_ids.h"
#include "symbol/debug_servers.h"
#include "symbol/dwarf_frames.h"

/* Build ids have 16 to 20 bytes; a much longer one is damage. */
#define MAX_BUILD_ID 64

struct module {
	struct gt_symbol_module recorded;
	bool opened;
	enum gt_symbol_state state;
	struct gt_dwarf *dwarf; /* NULL: it has no names */
	struct gt_map answers;  /* by address */
};

struct answer {
	size_t count;
	struct gt_frame frames[];
};

struct gt_symbolizer {
	struct gt_symbol_options options;
	struct gt_arena arena;
	struct gt_intern *strings;
	struct gt_intern *keys;  /* of modules: numbers them */
	struct module **modules; /* by number */
	size_t count, capacity;
};

static const char *const *copy_folders(struct gt_symbolizer *s, const char *const *folders)
{
	const char **copy;
	size_t count = 0;

	while (folders[count])
		count++;
	copy = gt_arena_alloc(&s->arena, (count + 1) * sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = gt_intern_string(s->strings, folders[i]);
	return copy;
}

int gt_symbolizer_new(struct gt_symbolizer **out, const struct gt_symbol_options *options)
{
	struct gt_symbolizer *s = gt_alloc(sizeof(*s));

	s->strings = gt_intern_new();
	s->keys = gt_intern_new();
	if (options) {
		if (options->debuginfod)
			s->options.servers = gt_debug_servers_new(options->cache);
		if (options->search)
			s->options.search = copy_folders(s, options->search);
		if (s->options.search && s->options.search[0])
			s->options.build_ids = gt_build_ids_new(s->options.search);
	}
	*out = s;
	return 0;
}

void gt_symbolizer_free(struct gt_symbolizer *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		gt_dwarf_close(s->modules[i]->dwarf);
		gt_map_fini(&s->modules[i]->answers);
	}
	free(s->modules);
	gt_build_ids_free(s->options.build_ids);
	gt_debug_servers_free(s->options.servers);
	gt_intern_free(s->strings);
	gt_intern_free(s->keys);
	gt_arena_fini(&s->arena);
	free(s);
}

/*
 * Equal modules get the same number. Size and time tell files apart only where there is no build
 * id; the id's length keeps the two sorts of key apart.
 */
static uint32_t module_number(struct gt_symbolizer *s, const struct gt_symbol_module *m)
{
	char *key = NULL;
	uint32_t number;
	size_t size;
	FILE *out = gt_memstream(&key, &size);

	fprintf(out, "%zu %s", m->build_id_size, m->path);
	putc('\0', out);
	if (m->build_id_size)
		fwrite(m->build_id, 1, m->build_id_size, out);
	else
		fprintf(out, "%" PRIu64 " %" PRId64, m->size_bytes, m->mtime_ns);
	gt_memstream_close(out);
	number = gt_intern(s->keys, key, size);
	free(key);
	return number;
}

static void add_module(struct gt_symbolizer *s, const struct gt_symbol_module *recorded)
{
	struct module *module = gt_arena_alloc(&s->arena, sizeof(*module));
	void *id = gt_arena_alloc(&s->arena, recorded->build_id_size);

	module->recorded = *recorded;
	module->recorded.path = gt_intern_string(s->strings, recorded->path);
	module->recorded.build_id = id;
	if (recorded->build_id_size)
		memcpy(id, recorded->build_id, recorded->build_id_size);
	GT_GROW(s->modules, s->count, s->capacity);
	s->modules[s->count++] = module;
}

int gt_symbolizer_module(struct gt_symbolizer *s, const struct gt_symbol_module *recorded)
{
	uint32_t number;

	if (!recorded->path || recorded->build_id_size > MAX_BUILD_ID)
		return -EINVAL;
	if (s->count == INT_MAX)
		return -EOVERFLOW;
	number = module_number(s, recorded);
	if (number == s->count)
		add_module(s, recorded);
	return (int)number;
}

static void open_module(struct gt_symbolizer *s, struct module *module)
{
	int rc = gt_dwarf_open(&module->dwarf, &module->recorded, &s->options, s->strings);

	if (!rc)
		module->state = gt_dwarf_state(module->dwarf);
	else if (rc == -ESTALE)
		module->state = GT_SYMBOL_CHANGED;
	else if (rc == -ENOENT)
		module->state = GT_SYMBOL_MISSING;
	else
		module->state = GT_SYMBOL_BAD;
	module->opened = true;
}

static struct module *get_module(struct gt_symbolizer *s, int index)
{
	struct module *module = s->modules[index];

	if (!module->opened)
		open_module(s, module);
	return module;
}

static struct answer *make_answer(struct gt_symbolizer *s, struct module *module, uint64_t address)
{
	struct gt_frame frames[GT_DWARF_MAX_FRAMES] = { { .function = NULL } };
	size_t count = module->dwarf ? gt_dwarf_frames(module->dwarf, address, frames) : 0;
	struct answer *answer;

	if (!count)
		count = 1;
	answer = gt_arena_alloc(&s->arena, sizeof(*answer) + count * sizeof(frames[0]));
	answer->count = count;
	for (size_t i = 0; i < count; i++) {
		answer->frames[i] = frames[i];
		answer->frames[i].module = module->recorded.path;
		answer->frames[i].offset = address;
	}
	return answer;
}

size_t gt_symbolizer_resolve(struct gt_symbolizer *s, int index, uint64_t address,
			     const struct gt_frame **frames)
{
	struct module *module = get_module(s, index);
	void **known = gt_map_at(&module->answers, address);
	const struct answer *answer;

	if (!*known)
		*known = make_answer(s, module, address);
	answer = *known;
	*frames = answer->frames;
	return answer->count;
}

enum gt_symbol_state gt_symbolizer_state(struct gt_symbolizer *s, int index)
{
	return get_module(s, index)->state;
}

uint64_t gt_symbolizer_debug_bytes(struct gt_symbolizer *s, int index)
{
	const struct module *module = get_module(s, index);

	return module->state == GT_SYMBOL_FULL ? gt_dwarf_bytes(module->dwarf) : 0;
}

bool gt_symbolizer_is_whole(struct gt_symbolizer *s, int index)
{
	const struct module *module = get_module(s, index);

	return module->state == GT_SYMBOL_FULL && gt_dwarf_is_whole(module->dwarf);
}

const char *gt_symbolizer_path(const struct gt_symbolizer *s, int index)
{
	return s->modules[index]->recorded.path;
}
