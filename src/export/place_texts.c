/* SPDX-License-Identifier: MIT */
/* place_texts.c - the places of stacks as text, for exports that are written while they read. */
#include "export/place_texts.h"

#include <stdlib.h>

#include "base/mem.h"

static void forget(struct gt_place_texts *t)
{
	for (size_t i = 0; i < GT_PLACE_TEXTS_KEPT; i++) {
		free(t->kept[i].text);
		t->kept[i].text = NULL;
		t->kept[i].stack = 0;
	}
}

const char *gt_place_texts_get(struct gt_place_texts *t, uint32_t process, uint32_t stack)
{
	size_t slot = stack % GT_PLACE_TEXTS_KEPT;

	GT_REACH(t->is_known, t->process_count, process);
	if (!t->is_known[process]) {
		t->is_known[process] = true;
		if (gt_frames_meet(t->frames, process))
			forget(t);
	}
	if (!stack)
		return "";
	if (t->kept[slot].stack != stack + 1) {
		free(t->kept[slot].text);
		t->kept[slot].text = gt_place_text(t->frames, stack, true);
		t->kept[slot].stack = stack + 1;
	}
	return t->kept[slot].text;
}

void gt_place_texts_fini(struct gt_place_texts *t)
{
	forget(t);
	free(t->is_known);
}
