/* SPDX-License-Identifier: MIT */
/* site_names.c - what the stacks of attached processes mean, looked up once and kept. */
#include "cli/attach/site_names.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/frames.h"

struct named {
	uint64_t key; /* process and stack; 0: free */
	struct gt_frame *frames;
	size_t count, room;
	size_t addresses; /* of the stack that have been looked up */
	bool own;         /* none of the frames is the C++ library's; otherwise all are */
};

struct gt_attach_names {
	struct gt_attach_live *live;
	struct gt_symbolizer *symbolizer;
	struct named *slots;
	size_t mask, used;
};

struct gt_attach_names *gt_attach_names_new(struct gt_attach_live *live)
{
	struct gt_attach_names *n = gt_alloc(sizeof *n);

	n->live = live;
	n->mask = 255;
	n->slots = gt_alloc((n->mask + 1) * sizeof *n->slots);
	if (gt_symbolizer_new(&n->symbolizer, NULL))
		n->symbolizer = NULL;
	return n;
}

void gt_attach_names_free(struct gt_attach_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i <= n->mask; i++)
		free(n->slots[i].frames);
	free(n->slots);
	if (n->symbolizer)
		gt_symbolizer_free(n->symbolizer);
	free(n);
}

static struct named *slot_of(struct gt_attach_names *n, uint64_t key)
{
	size_t at = gt_mix64(key) & n->mask;

	while (n->slots[at].key && n->slots[at].key != key)
		at = (at + 1) & n->mask;
	return &n->slots[at];
}

static void grow(struct gt_attach_names *n)
{
	struct named *old = n->slots;
	size_t size = n->mask + 1;

	n->mask = size * 2 - 1;
	n->slots = gt_alloc(size * 2 * sizeof *n->slots);
	for (size_t i = 0; i < size; i++)
		if (old[i].key)
			*slot_of(n, old[i].key) = old[i];
	free(old);
}

/* The library's frames stand for the stack only until one of the program's own is found. */
static void add_frame(struct named *named, const struct gt_frame *frame)
{
	bool own = !gt_frame_is_library(frame);

	if (named->own && !own)
		return;
	if (own && !named->own)
		named->count = 0;
	named->own = own;
	GT_GROW(named->frames, named->count, named->room);
	named->frames[named->count++] = *frame;
}

/* One address: the function there and those it was inlined into. */
static void add_frames(struct gt_attach_names *n, struct named *named,
		       const struct gt_traced *process, uint64_t address)
{
	const struct gt_mapped *at = gt_modules_find(&process->modules, address);
	const struct gt_frame *found;
	size_t count;
	int module;

	if (!at)
		return;
	module = gt_symbolizer_module(
		n->symbolizer,
		&(struct gt_symbol_module){ .path = gt_image_path(at->image, process->pid),
					    .build_id = at->image->build_id,
					    .build_id_size = at->image->build_id_size,
					    .size_bytes = at->image->file_size,
					    .mtime_ns = at->image->mtime_ns });
	/* a return address is behind the call */
	count = module < 0 ? 0 :
			     gt_symbolizer_resolve(n->symbolizer, module, address - 1 - at->bias,
						   &found);
	for (size_t i = 0; i < count; i++)
		add_frame(named, &found[i]);
}

static struct named *make_slot(struct gt_attach_names *n, uint64_t key)
{
	struct named *named;

	if (n->used * 2 > n->mask)
		grow(n);
	n->used++;
	named = slot_of(n, key);
	named->key = key;
	return named;
}

size_t gt_attach_names_get(struct gt_attach_names *n, uint16_t process, uint32_t stack, size_t most,
			   const struct gt_frame **frames)
{
	uint64_t key = (uint64_t)process << 32 | stack;
	const struct gt_traced *traced;
	const uint64_t *addresses;
	struct named *named;
	size_t count;

	if (!stack || process >= n->live->process_count || !n->symbolizer)
		return 0;
	named = slot_of(n, key);
	traced = n->live->processes[process];
	if (traced && (!named->own || named->count < most)) {
		if (!named->key)
			named = make_slot(n, key);
		count = gt_traced_stack(traced, stack, &addresses);
		while (named->addresses < count && (!named->own || named->count < most))
			add_frames(n, named, traced, addresses[named->addresses++]);
	}
	*frames = named->frames;
	return named->count;
}
