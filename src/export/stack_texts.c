/* SPDX-License-Identifier: MIT */
/* stack_texts.c - stacks as an export writes them: each is rendered once, then copied. */
#include "export/stack_texts.h"

#include <stdlib.h>

#include "base/mem.h"

static void forget(struct gt_stack_texts *t)
{
	for (size_t i = 0; i < GT_STACK_TEXTS_KEPT; i++) {
		free(t->kept[i].text.bytes);
		t->kept[i].text.bytes = NULL;
		t->kept[i].text.size = 0;
		t->kept[i].stack = 0;
	}
	t->bytes = 0;
}

static void meet(struct gt_stack_texts *t, uint32_t process)
{
	GT_REACH(t->is_known, t->process_count, process);
	if (t->is_known[process])
		return;
	t->is_known[process] = true;
	if (gt_frames_meet(t->frames, process))
		forget(t);
}

static void render(struct gt_stack_texts *t, size_t slot, uint32_t stack)
{
	struct gt_rendered *text = &t->kept[slot].text;
	FILE *out;

	if (t->bytes > GT_STACK_TEXTS_BYTES)
		forget(t);
	t->bytes -= text->size;
	free(text->bytes);
	text->bytes = NULL;
	out = gt_memstream(&text->bytes, &text->size);
	t->render(out, t->frames, stack);
	gt_memstream_close(out);
	t->bytes += text->size;
	t->kept[slot].stack = stack + 1;
}

const struct gt_rendered *gt_stack_texts_get(struct gt_stack_texts *t, uint32_t process,
					     uint32_t stack)
{
	size_t slot = stack % GT_STACK_TEXTS_KEPT;

	meet(t, process);
	if (t->kept[slot].stack != stack + 1)
		render(t, slot, stack);
	return &t->kept[slot].text;
}

void gt_stack_texts_fini(struct gt_stack_texts *t)
{
	forget(t);
	free(t->is_known);
}
