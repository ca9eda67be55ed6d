/* SPDX-License-Identifier: MIT */
/* site_key.c - a call site by its words, so that another recording can recognise it. */
#include "judge/site_key.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/jit_names.h"
#include "replay/place.h"
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

static uint32_t unnamed_words(const struct gt_frame *f, bool with_offset)
{
	char offset[24] = "";

	if (with_offset)
		snprintf(offset, sizeof offset, "%" PRIx64, f->offset);
	return add_words(f->module ? gt_path_name(f->module) : "", offset, NULL);
}

/* A program has few functions and many stacks: the number is kept by the addresses of its texts. */
static uint32_t named_words(const struct gt_view *v, const struct gt_frame *f, bool whole)
{
	uint64_t key = gt_mix64(gt_mix64((uintptr_t)f->function) ^ (uintptr_t)f->file) + whole;
	uint64_t *known = gt_frames_facts(v->frames, key);
	char *name;

	if (!*known) {
		name = whole ? gt_strdup(f->function) : gt_place_function(f);
		*known = add_words(name, f->file ? gt_path_name(f->file) : "", NULL) + 1ull;
		free(name);
	}
	return (uint32_t)(*known - 1);
}

/* `whole`: names as they are, and offsets of all that has none. */
static uint32_t stack_node(const struct gt_view *v, uint32_t stack, bool whole)
{
	struct gt_own *own = gt_frames_own(v->frames);
	const struct gt_frame *frames;
	size_t count = gt_frames_get(v->frames, stack, &frames);
	bool some = false;
	uint32_t node = 0, last = GT_NOT_INTERNED;

	for (size_t i = 0; i < count; i++)
		some |= frames[i].function != NULL;
	while (count--) {
		const struct gt_frame *f = &frames[count];
		/* compiled code lies elsewhere in each run */
		bool is_jit = f->module && !strcmp(f->module, GT_JIT_MODULE);
		bool is_place = !is_jit &&
				(whole || !some || !f->module || gt_own_is_program(own, f->module));
		uint32_t number =
			f->function ? named_words(v, f, whole) : unnamed_words(f, is_place);

		/* how many nameless frames a library has between two names says nothing */
		if (is_place || f->function || number != last)
			node = gt_stack_tree_child(&tree, node, number);
		last = number;
	}
	return node;
}

/* "src/demo.c" of "/ci/42/src/demo.c": recordings of other folders and roots have the same. */
static const char *last_two(const char *path)
{
	const char *slash = strrchr(path, '/');

	while (slash && slash > path && slash[-1] != '/')
		slash--;
	return slash ? slash : path;
}

static uint32_t place_node(const struct gt_view *v, uint32_t stack, enum gt_by by)
{
	struct gt_place place;
	const char *file, *module;
	uint32_t number;

	gt_place_init(&place, v->frames, stack);
	file = place.frame.file;
	module = place.frame.module ? gt_path_name(place.frame.module) : "";
	if (by == GT_BY_FUNCTION && place.frame.function)
		number = named_words(v, &place.frame, false);
	else
		number = add_words(file && by == GT_BY_FILE ? last_two(file) : module, "", NULL);
	gt_place_fini(&place);
	return gt_stack_tree_child(&tree, 0, number);
}

/* A stack that is whole, in a list of parts, is recognised by its words. */
static uint32_t part_node(const struct gt_view *v, uint32_t stack)
{
	char *part = gt_frames_part(v->frames, stack);
	uint32_t node;

	if (!part)
		return stack_node(v, stack, false);
	node = gt_stack_tree_child(&tree, 0, add_words(part, "", NULL));
	free(part);
	return node;
}

uint64_t gt_site_key(const struct gt_view *v, const struct gt_site *site, uint16_t function,
		     enum gt_by by)
{
	uint32_t head = add_words(gt_api_keys[site->api], gt_kinds[site->kind].name,
				  gt_function_names[function]);
	uint32_t node = gt_by_part(by)  ? part_node(v, site->stack) :
			!gt_by_line(by) ? place_node(v, site->stack, by) :
					  stack_node(v, site->stack, by == GT_BY_STACK);

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
