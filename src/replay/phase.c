/* SPDX-License-Identifier: MIT */
/* phase.c - phases in words: the ranges of NVTX that were open around a call. */
#include "replay/phase.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "replay/place.h"
#include "replay/suppressions.h"

bool gt_frame_is_phase(const struct gt_frame *frame)
{
	return frame->module && !strcmp(frame->module, GT_PHASE_FRAME);
}

char *gt_phase_of_frames(const struct gt_frame *frames, size_t count)
{
	char *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	fputs("phase ", out);
	for (size_t i = count; i-- > 0;)
		fprintf(out, "%s%s", frames[i].function, i ? " > " : "");
	gt_memstream_close(out);
	return text;
}

/* Takes the outermost ranges away until it fits; the innermost stays. */
static char *fit(char *text, unsigned columns, bool utf8)
{
	const char *dots = utf8 ? "…" : "...", *rest = text;

	while (gt_text_columns(rest, utf8) + (rest == text ? 0 : 4) > columns) {
		const char *next = strstr(rest, " > ");

		if (!next)
			break;
		rest = next + strlen(" > ");
	}
	if (rest != text) {
		char *whole = text;

		if (asprintf(&text, "%s > %s", dots, rest) < 0)
			return whole;
		free(whole);
	}
	return text;
}

char *gt_group_phase(const struct gt_view *v, const struct gt_ledger *l, const struct gt_group *g,
		     unsigned columns)
{
	struct gt_place place;
	uint64_t *counts;
	uint32_t most = 0;
	size_t distinct = 0;
	char *text, *more;
	bool is_said;

	if (!l->phase_count || gt_frames_by(v->frames) == GT_BY_PHASE)
		return NULL;
	gt_place_init(&place, v->frames, g->site->stack);
	is_said = place.phase;
	gt_place_fini(&place);
	if (is_said)
		return NULL;
	counts = gt_alloc(gt_recording_phase_count(v->recording) * sizeof *counts);
	for (size_t i = 0; i < g->count; i++) {
		uint32_t phase = gt_ledger_phase(l, g->objects[i]);

		distinct += !counts[phase]++;
		if (counts[phase] > counts[most] || !counts[most])
			most = phase;
	}
	free(counts);
	if (!most)
		return NULL;
	text = gt_recording_phase_text(v->recording, most);
	if (distinct > 1 && asprintf(&more, "%s and %zu more", text, distinct - 1) > 0) {
		free(text);
		text = more;
	}
	return fit(text, columns, v->style.utf8);
}

bool gt_phase_matches(const struct gt_recording *r, void *patterns, uint32_t phase)
{
	char *text = gt_recording_phase_text(r, phase);
	bool any = false;

	for (const char *const *p = patterns; *p && !any; p++)
		any = gt_pattern_matches(*p, text);
	free(text);
	return any;
}
