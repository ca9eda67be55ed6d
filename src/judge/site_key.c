/* SPDX-License-Identifier: MIT */
/* site_key.c - a call site by its words, so that another recording can recognise it. */
#include "judge/site_key.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/jit_names.h"
#include "trace/stack_tree.h"

/* A key is the number of its first words and the node of its innermost frame's. */
static struct gt_intern *words;
static struct gt_stack_tree tree;

/* Fields end in bytes that no name has: 1 within a frame, 2 after it. */
static uint32_t add_words(const char *a, const char *b, const char *c)
{
	static char *text;
	static size_t room;
	size_t size = strlen(a) + strlen(b) + (c ? strlen(c) + 1 : 0) + 3;
	char *at;

	if (size > room)
		text = gt_realloc(text, room = 2 * size);
	at = stpcpy(text, a);
	*at++ = '\1';
	at = stpcpy(at, b);
	if (c) {
		*at++ = '\1';
		at = stpcpy(at, c);
	}
	memcpy(at, "\2", 2);
	if (!words)
		words = gt_intern_new();
	return gt_intern(words, text, size);
}

static uint32_t frame_words(const struct gt_frame *f)
{
	char offset[24];

	if (f->function)
		return add_words(f->function, f->file ? gt_path_name(f->file) : "", NULL);
	/* compiled code lies elsewhere in each run */
	if (f->module && !strcmp(f->module, GT_JIT_MODULE))
		return add_words(f->module, "", NULL);
	snprintf(offset, sizeof offset, "%" PRIx64, f->offset);
	return add_words(f->module ? gt_path_name(f->module) : "", offset, NULL);
}

uint64_t gt_site_key(const struct gt_view *v, const struct gt_site *site, uint16_t function)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(v->frames, site->stack, &frames);
	uint32_t node = 0, head = add_words(gt_api_keys[site->api], gt_kinds[site->kind].name,
					    gt_function_names[function]);

	while (count--)
		node = gt_stack_tree_child(&tree, node, frame_words(&frames[count]));
	return (uint64_t)head << 32 | node;
}

static const char *text_of(uint64_t number)
{
	size_t size;

	return gt_intern_get(words, (uint32_t)number, &size);
}

int gt_site_key_order(uint64_t a, uint64_t b)
{
	uint32_t x = (uint32_t)a, y = (uint32_t)b;

	if (a >> 32 != b >> 32)
		return strcmp(text_of(a >> 32), text_of(b >> 32));
	for (; x != y && x && y; x = tree.nodes[x].parent, y = tree.nodes[y].parent)
		if (tree.nodes[x].frame != tree.nodes[y].frame)
			return strcmp(text_of(tree.nodes[x].frame), text_of(tree.nodes[y].frame));
	return x == y ? 0 : x ? 1 : -1;
}

char *gt_site_key_text(uint64_t key)
{
	char *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	fputs(text_of(key >> 32), out);
	for (uint32_t node = (uint32_t)key; node; node = tree.nodes[node].parent)
		fputs(text_of(tree.nodes[node].frame), out);
	gt_memstream_close(out);
	return text;
}
