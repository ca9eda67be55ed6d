/* SPDX-License-Identifier: MIT */
/* annotations.c - leaks as GitHub annotations: lines that a workflow's log turns into marks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "replay/held.h"
#include "replay/place.h"
#include "judge/verdict.h"

/* GitHub shows ten annotations of a level per step; our last one says how many more there are. */
enum { SHOWN = 9, GROWING_SHOWN = 4 };

/* A command's data, escaped; in a property two more characters need it. */
static void put(FILE *out, const char *text, bool property)
{
	char *clean = gt_text_sanitize(text);

	for (const char *c = clean; *c; c++) {
		if (*c == '%' || *c == '\n' || (property && (*c == ':' || *c == ',')))
			fprintf(out, "%%%02X", (uint8_t)*c);
		else
			putc(*c, out);
	}
	free(clean);
}

/* `frame` NULL: no place in the source. */
static void put_mark(FILE *out, const struct gt_view *v, const char *level,
		     const struct gt_frame *frame, const char *title, const char *text)
{
	fprintf(out, "::%s ", level);
	if (frame) {
		char *file = gt_frame_file(v, frame);

		fputs("file=", out);
		put(out, file, true);
		fprintf(out, ",line=%" PRIu32 ",", frame->line);
		free(file);
	}
	fputs("title=", out);
	put(out, title, true);
	fputs("::", out);
	put(out, text, false);
	putc('\n', out);
}

static void put_leak(FILE *out, const struct gt_view *v, const struct gt_leak *leak)
{
	char *title = gt_leak_title(v, leak), *text = gt_leak_text(v, leak);
	struct gt_frame frame;

	/* the last line end would show as an empty line */
	text[strlen(text) - 1] = '\0';
	put_mark(out, v, gt_verdict_fails(v->verdict, leak) ? "error" : "warning",
		 gt_place_frame(v->frames, leak->stack, &frame) ? &frame : NULL, title, text);
	free(title);
	free(text);
}

/* Those that fail, or those that do not and are not excused. Returns how many. */
static size_t put_growing(FILE *out, const struct gt_view *v, bool failing, size_t room)
{
	const struct gt_growing_sites *growing = &v->verdict->growing;
	size_t shown = 0;

	for (size_t i = 0; i < growing->count && shown < room; i++) {
		const struct gt_growing *one = &growing->list[i];
		char *excuse = gt_growing_excuse(one, v->verdict->options.baseline_path);
		char *text = gt_growing_text(v, one);
		struct gt_frame frame;

		if (one->fails == failing && !excuse) {
			put_mark(out, v, failing ? "error" : "warning",
				 gt_place_frame(v->frames, one->site->stack, &frame) ? &frame :
										       NULL,
				 "keeps growing", text);
			shown++;
		}
		free(excuse);
		free(text);
	}
	return shown;
}

void gt_leaks_github(const struct gt_view *v, FILE *out)
{
	const struct gt_leaks *leaks = &v->verdict->leaks;
	const char *doubt = v->verdict->doubt, *residue = v->verdict->residue;
	char *held = gt_held_line(v->ledger);
	struct gt_frame frame;
	size_t room = SHOWN - !!doubt - !!residue - v->verdict->over_peak, shown = 0;

	gt_leaks_list_places(leaks, v);
	if (doubt)
		put_mark(out, v, "error", NULL, "gputrack", doubt);
	if (residue)
		put_mark(out, v, "error", NULL, "gputrack", residue);
	if (v->verdict->over_peak)
		put_mark(out, v, "error", gt_peak_frame(v, &frame) ? &frame : NULL,
			 "allocates most of the peak", v->verdict->peak);
	room -= put_growing(out, v, true, GROWING_SHOWN);
	if (held)
		put_mark(out, v, "notice", NULL, "gputrack", held);
	free(held);
	/* those that fail come first: they must not be the ones left out */
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < leaks->count; i++) {
			const struct gt_leak *leak = &leaks->list[i];
			struct gt_leak_part new = gt_leak_new(leak);

			if (gt_verdict_fails(v->verdict, leak) != !round ||
			    (!new.count && !new.bytes))
				continue;
			if (shown++ < room)
				put_leak(out, v, leak);
		}
	if (shown < room)
		put_growing(out, v, false, room - shown);
	if (shown > room) {
		fputs("::warning title=gputrack::", out);
		fprintf(out, "%zu more %s; see `gputrack report ", shown - room,
			gt_plural(shown - room, "call site leaks", "call sites leak"));
		put(out, gt_recording_path(v->recording), false);
		fputs(" -a leakage`\n", out);
	}
}
