/* SPDX-License-Identifier: MIT */
/* annotations.c - leaks as GitHub annotations: lines that a workflow's log turns into marks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "replay/held.h"
#include "replay/place.h"
#include "judge/merged.h"
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
static size_t put_growing(FILE *out, const struct gt_views *views, bool failing, size_t room)
{
	size_t shown = 0;

	for (size_t view = 0; view < views->count; view++) {
		const struct gt_view *v = views->list[view];
		const struct gt_growing_sites *growing = &v->verdict->growing;

		for (size_t i = 0; i < growing->count && shown < room; i++) {
			const struct gt_growing *one = &growing->list[i];
			char *excuse = gt_growing_excuse(one, v->verdict->options.baseline_path);
			char *text = gt_growing_text(v, one);
			struct gt_frame frame;

			if (one->fails == failing && !excuse &&
			    !gt_views_grew_before(views, view, one->key)) {
				put_mark(out, v, failing ? "error" : "warning",
					 gt_place_frame(v->frames, one->site->stack, &frame) ?
						 &frame :
						 NULL,
					 "keeps growing", text);
				shown++;
			}
			free(excuse);
			free(text);
		}
	}
	return shown;
}

/* Where marks for whole recordings go. */
struct wholes {
	FILE *out;
	bool is_several;
	size_t shown;
};

/* Of several recordings, its title is the test. */
static void put_whole(void *context, const struct gt_view *v, const struct gt_whole *whole)
{
	struct wholes *wholes = context;
	bool is_peak = !strcmp(whole->rule, "peak");

	put_mark(wholes->out, v, "error", whole->frame,
		 wholes->is_several ? whole->test :
		 is_peak            ? "allocates most of the peak" :
				      "gputrack",
		 whole->text);
	wholes->shown++;
}

/* What is wrong with recordings as a whole, at most so many marks; returns how many. */
static size_t put_wholes(FILE *out, const struct gt_views *views, size_t room)
{
	struct wholes wholes = { .out = out, .is_several = views->count > 1 };

	for (size_t i = 0; i < views->count && wholes.shown + 3 <= room; i++)
		gt_views_wholes(views, i, put_whole, &wholes);
	return wholes.shown;
}

static void put_held(FILE *out, const struct gt_views *views)
{
	char *held;

	/* of several recordings, each has its own */
	if (views->count > 1)
		return;
	held = gt_held_line(views->list[0]->ledger);
	if (held)
		put_mark(out, views->list[0], "notice", NULL, "gputrack", held);
	free(held);
}

static void put_more(FILE *out, const struct gt_views *views, size_t more)
{
	fputs("::warning title=gputrack::", out);
	fprintf(out, "%zu more %s; see `gputrack report ", more,
		gt_plural(more, "call site leaks", "call sites leak"));
	put(out, views->count > 1 ? "" : gt_recording_path(views->list[0]->recording), false);
	fputs(views->count > 1 ? "-a leakage` of them\n" : " -a leakage`\n", out);
}

void gt_leaks_github(const struct gt_views *views, FILE *out)
{
	size_t room = SHOWN, shown = 0;
	struct gt_merged m;

	gt_merged_init(&m, views);
	gt_merged_list_places(&m, views);
	room -= put_wholes(out, views, SHOWN);
	room -= put_growing(out, views, true, room < GROWING_SHOWN ? room : GROWING_SHOWN);
	put_held(out, views);
	/* those that fail come first: they must not be the ones left out */
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < m.leaks.count; i++) {
			const struct gt_view *v = views->list[m.from[i]];
			const struct gt_leak *leak = &m.leaks.list[i];
			struct gt_leak_part new = gt_leak_new(leak);

			if (gt_verdict_fails(v->verdict, leak) != !round ||
			    (!new.count && !new.bytes))
				continue;
			if (shown++ < room)
				put_leak(out, v, leak);
		}
	if (shown < room)
		put_growing(out, views, false, room - shown);
	if (shown > room)
		put_more(out, views, shown - room);
	gt_merged_fini(&m);
}
