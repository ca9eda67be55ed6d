/* SPDX-License-Identifier: MIT */
/* symbol.c - the symbolizer: modules opened when first needed, every address resolved once. */
#include "symbol/symbol.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/dwarf_frames.h"
#include "symbol/pool.h"

/* Notes hold 16 to 20 bytes; much more is a damaged recording. */
#define MAX_BUILD_ID 64

struct module {
	struct gt_symbol_module recorded;
	struct module *same_hash;
	int index;
	bool opened;
	enum gt_symbol_state state;
	struct gt_dwarf *dwarf; /* NULL: no names from it */
	struct gt_symbol_map answers;
};

struct answer {
	size_t count;
	struct gt_frame frames[];
};

struct gt_symbolizer {
	struct gt_symbol_options options;
	struct gt_symbol_pool pool;
	struct gt_symbol_map by_hash; /* of modules */
	struct module **modules;
	size_t count, capacity;
};

static const char *const *copy_folders(struct gt_symbol_pool *pool, const char *const *folders)
{
	const char **copy;
	size_t count = 0;

	while (folders[count])
		count++;
	copy = gt_symbol_pool_alloc(pool, (count + 1) * sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = gt_symbol_pool_string(pool, folders[i]);
	return copy;
}

int gt_symbolizer_new(struct gt_symbolizer **out, const struct gt_symbol_options *options)
{
	struct gt_symbolizer *s = gt_alloc(sizeof(*s));

	if (options) {
		s->options.debuginfod = options->debuginfod;
		if (options->search)
			s->options.search = copy_folders(&s->pool, options->search);
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
		gt_symbol_map_fini(&s->modules[i]->answers);
	}
	free(s->modules);
	gt_symbol_map_fini(&s->by_hash);
	gt_symbol_pool_fini(&s->pool);
	free(s);
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return hash;
}

/* Size and time tell files apart only where there is no build id. */
static bool is_same(const struct gt_symbol_module *a, const struct gt_symbol_module *b)
{
	if (strcmp(a->path, b->path) != 0 || a->build_id_size != b->build_id_size)
		return false;
	if (a->build_id_size)
		return memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
	return a->size_bytes == b->size_bytes && a->mtime_ns == b->mtime_ns;
}

static struct module *add_module(struct gt_symbolizer *s, const struct gt_symbol_module *recorded)
{
	struct module *module = gt_symbol_pool_alloc(&s->pool, sizeof(*module));
	void *id = gt_symbol_pool_alloc(&s->pool, recorded->build_id_size);

	module->recorded = *recorded;
	module->recorded.path = gt_symbol_pool_string(&s->pool, recorded->path);
	module->recorded.build_id = id;
	if (recorded->build_id_size)
		memcpy(id, recorded->build_id, recorded->build_id_size);
	GT_GROW(s->modules, s->count, s->capacity);
	module->index = s->count;
	s->modules[s->count++] = module;
	return module;
}

int gt_symbolizer_module(struct gt_symbolizer *s, const struct gt_symbol_module *recorded)
{
	uint64_t hash = 0xcbf29ce484222325u;
	struct module *module, *first;

	if (!recorded->path || recorded->build_id_size > MAX_BUILD_ID)
		return -EINVAL;
	if (s->count == INT_MAX)
		return -EOVERFLOW;
	hash = hash_bytes(hash, recorded->path, strlen(recorded->path));
	hash = hash_bytes(hash, recorded->build_id, recorded->build_id_size);
	first = gt_symbol_map_get(&s->by_hash, hash);
	for (module = first; module; module = module->same_hash)
		if (is_same(&module->recorded, recorded))
			return module->index;
	module = add_module(s, recorded);
	module->same_hash = first;
	gt_symbol_map_put(&s->by_hash, hash, module);
	return module->index;
}

static void open_module(struct gt_symbolizer *s, struct module *module)
{
	int rc = gt_dwarf_open(&module->dwarf, &module->recorded, &s->options, &s->pool);

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
	answer = gt_symbol_pool_alloc(&s->pool, sizeof(*answer) + count * sizeof(frames[0]));
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
	struct answer *answer = gt_symbol_map_get(&module->answers, address);

	if (!answer) {
		answer = make_answer(s, module, address);
		gt_symbol_map_put(&module->answers, address, answer);
	}
	*frames = answer->frames;
	return answer->count;
}

enum gt_symbol_state gt_symbolizer_state(struct gt_symbolizer *s, int index)
{
	return get_module(s, index)->state;
}

const char *gt_symbolizer_path(const struct gt_symbolizer *s, int index)
{
	return s->modules[index]->recorded.path;
}
