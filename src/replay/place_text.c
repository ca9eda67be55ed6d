/* SPDX-License-Identifier: MIT */
/* place_text.c - writes a place: as a line of text, in the columns that are left, and as JSON. */
#include "replay/place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "replay/stack.h"

static const char no_stack[] = "(no stack)";

enum {
	CALLERS_MOST = 2,  /* where there is room for more than a list needs */
	CALLER_LEAST = 14, /* columns in which a caller that is cut still tells something */
};

/* The words of a place that are not callers; each is allocated, "" if there is nothing to say. */
struct words {
	char *function, *where;
	char *via;   /* " via A › B" */
	char *brief; /* … shorter */
};

char *gt_place_via(const struct gt_place *place, bool brief, bool utf8)
{
	const char *first = place->via_count ? place->via[0] : "";
	const char *last = place->via_count ? place->via[place->via_count - 1] : "";
	const char *arrow = utf8 ? " › " : " > ", *dots = utf8 ? "…" : "...";
	char *text = NULL;
	int n;

	if (!place->via_count)
		return gt_strdup("");
	if (brief || place->via_count == 1)
		n = asprintf(&text, " via %s", first);
	else if (place->via_count == 2)
		n = asprintf(&text, " via %s%s%s", first, arrow, last);
	else
		n = asprintf(&text, " via %s%s%s%s%s", first, arrow, dots, arrow, last);
	return n < 0 ? gt_strdup("") : text;
}

static char *file_of(struct gt_own *own, const struct gt_frame *frame)
{
	struct gt_frame whole = *frame;

	whole.line = 0;
	if (!frame->file && frame->module)
		return gt_strdup(gt_path_name(frame->module));
	return gt_place_location(own, &whole);
}

static struct words words_of(struct gt_own *own, enum gt_by by, const struct gt_place *place,
			     bool utf8)
{
	const struct gt_frame *frame = &place->frame;
	bool has_via = gt_by_line(by) && !place->part;
	struct words w = { .via = has_via ? gt_place_via(place, false, utf8) : gt_strdup(""),
			   .brief = has_via ? gt_place_via(place, true, utf8) : gt_strdup("") };

	if (place->part || place->phase) {
		w.function = gt_strdup(place->part ? place->part : place->phase);
		w.where = gt_strdup("");
	} else if (by == GT_BY_MODULE && frame->module && strcmp(frame->module, GT_PYTHON)) {
		w.function = gt_strdup(gt_path_name(frame->module));
		w.where = gt_strdup("");
	} else if (by == GT_BY_FILE || by == GT_BY_MODULE) {
		w.function = file_of(own, frame);
		w.where = gt_strdup("");
	} else {
		w.function = gt_place_function(frame);
		w.where = gt_by_line(by)  ? gt_place_location(own, frame) :
			  frame->function ? file_of(own, frame) :
					    gt_strdup("");
	}
	return w;
}

static void words_free(struct words *w)
{
	free(w->function);
	free(w->where);
	free(w->via);
	free(w->brief);
}

static bool has_no_stack(const struct gt_place *place)
{
	return !place->part && !place->frame.function && !place->frame.module &&
	       !place->frame.file && !place->frame.offset;
}

char *gt_place_text(struct gt_frames *f, uint32_t stack, bool utf8)
{
	struct gt_place place;
	struct words w;
	char *text = NULL;
	size_t size;
	FILE *out;

	gt_place_init(&place, f, stack);
	if (has_no_stack(&place)) {
		gt_place_fini(&place);
		return gt_strdup(no_stack);
	}
	w = words_of(gt_frames_own(f), gt_frames_by(f), &place, utf8);
	out = gt_memstream(&text, &size);
	fprintf(out, "%s%s%s%s", w.function, *w.where ? " " : "", w.where, w.via);
	for (size_t i = 0; i < place.told; i++) {
		char *caller = gt_place_line(gt_frames_own(f), &place.callers[i]);

		fprintf(out, " < %s", caller);
		free(caller);
	}
	gt_memstream_close(out);
	words_free(&w);
	gt_place_fini(&place);
	return text;
}

/* A piece of the line: what it says, and how wide that is. */
struct piece {
	char *text;
	unsigned columns;
};

static struct piece piece_of(char *text, bool utf8)
{
	return (struct piece){ text, gt_text_columns(text, utf8) };
}

/* " < main src/demo.c:81 < …": the callers of a list, or with their lines alone. */
static char *callers_text(struct gt_own *own, const struct gt_place *place, bool brief)
{
	char *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	for (size_t i = 0; i < place->told; i++) {
		const struct gt_frame *frame = &place->callers[i];
		char *caller = brief ? gt_place_function(frame) : gt_place_line(own, frame);

		fprintf(out, " < %s", caller);
		if (brief && frame->line)
			fprintf(out, ":%" PRIu32, frame->line);
		free(caller);
	}
	gt_memstream_close(out);
	return text;
}

struct gt_place_words gt_place_words(struct gt_frames *f, uint32_t stack, bool utf8)
{
	struct gt_place_words out;
	struct gt_place place;
	struct words w;

	gt_place_init(&place, f, stack);
	w = words_of(gt_frames_own(f), gt_frames_by(f), &place, utf8);
	if (has_no_stack(&place)) {
		free(w.function);
		w.function = gt_strdup(no_stack);
	}
	out = (struct gt_place_words){ w.function, w.where, w.via,
				       callers_text(gt_frames_own(f), &place, false) };
	free(w.brief);
	gt_place_fini(&place);
	return out;
}

void gt_place_words_fini(struct gt_place_words *w)
{
	free(w->function);
	free(w->where);
	free(w->via);
	free(w->callers);
}

/* The last caller alone tells places apart: those before are what they have in common. */
static char *last_caller(const struct gt_place *place, bool utf8)
{
	const struct gt_frame *frame = place->told ? &place->callers[place->told - 1] : NULL;
	char *name, *text, line[16] = "";

	if (!frame)
		return gt_strdup("");
	if (frame->line)
		snprintf(line, sizeof line, ":%" PRIu32, frame->line);
	name = gt_place_function(frame);
	if (asprintf(&text, " < %s%s%s%s", place->told > 1 ? (utf8 ? "… < " : "... < ") : "", name,
		     line, "") < 0)
		text = gt_strdup("");
	free(name);
	return text;
}

/* The same cut at its start, where the class is: in `columns`, "" where that would say nothing. */
static char *cut_caller(const struct gt_place *place, unsigned columns, bool utf8)
{
	struct gt_place one = { .callers = place->callers + place->told - !!place->told,
				.told = !!place->told };
	char *whole = callers_text(NULL, &one, true), *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	if (*whole && columns >= CALLER_LEAST) {
		fputs(" < ", out);
		gt_text_put(out, whole + 3, columns - 3, GT_CUT_START, utf8);
	}
	gt_memstream_close(out);
	free(whole);
	return text;
}

/* Callers that nobody needs to tell places apart, where there is room: they still say more. */
static void put_more_callers(struct gt_printer *p, const struct gt_place *place, unsigned columns)
{
	for (size_t i = place->told; i < place->caller_count && i < CALLERS_MOST; i++) {
		struct gt_place one = { .callers = &place->callers[i], .told = 1 };
		char *caller = callers_text(NULL, &one, true);
		unsigned wide = gt_text_columns(caller, p->style.utf8);

		if (wide <= columns)
			gt_print_name(p, GT_PLAIN, caller, wide);
		free(caller);
		if (wide > columns)
			return;
		columns -= wide;
	}
}

/* Writes a place in `columns`; what is left out first says least. */
static void put_fitting(struct gt_printer *p, struct gt_own *own, const struct gt_place *place,
			const struct words *w, bool with_callers, unsigned columns)
{
	bool utf8 = p->style.utf8;
	unsigned name = gt_text_columns(w->function, utf8), left;
	unsigned where = *w->where ? gt_path_least(w->where, utf8) + 1 : 0;
	unsigned room = columns > name + where ? columns - name - where : 0;
	struct piece callers[] = { piece_of(callers_text(own, place, false), utf8),
				   piece_of(callers_text(own, place, true), utf8),
				   piece_of(last_caller(place, utf8), utf8),
				   piece_of(cut_caller(place, room, utf8), utf8) };
	struct piece via[] = { piece_of(gt_strdup(w->via), utf8),
			       piece_of(gt_strdup(w->brief), utf8), piece_of(gt_strdup(""), utf8) };
	/* which of these, in order of preference */
	static const struct {
		unsigned char via, callers;
	} tries[] = { { 0, 0 }, { 0, 1 }, { 1, 1 }, { 1, 2 }, { 2, 1 }, { 2, 2 }, { 2, 3 } };
	unsigned from = p->column;
	size_t i = 0, last = sizeof tries / sizeof *tries - 1;

	while (i < last && !p->style.whole &&
	       name + where + via[tries[i].via].columns + callers[tries[i].callers].columns >
		       columns)
		i++;
	left = via[tries[i].via].columns + callers[tries[i].callers].columns;
	if (p->style.whole)
		columns = name + gt_text_columns(w->where, utf8) + 1 + left;
	left = columns > left ? columns - left : 0;
	/* a name too long takes what the file's leaves, and at least half */
	if (name + where > left)
		name = where < left / 2 ? left - where : left - left / 2;
	gt_print_name(p, GT_PLAIN, w->function, name);
	if (where && left > name + 1) {
		gt_print_put(p, GT_PLAIN, " ");
		gt_print_path(p, GT_DIM, w->where, left - name - 1);
	}
	gt_print_name(p, GT_DIM, via[tries[i].via].text, UINT32_MAX);
	gt_print_name(p, GT_PLAIN, callers[tries[i].callers].text, UINT32_MAX);
	left = columns > p->column - from ? columns - (p->column - from) : 0;
	if (tries[i].callers < 2 && with_callers)
		put_more_callers(p, place, p->style.whole ? UINT32_MAX : left);
	for (i = 0; i < sizeof via / sizeof *via; i++)
		free(via[i].text);
	for (i = 0; i < sizeof callers / sizeof *callers; i++)
		free(callers[i].text);
}

void gt_place_put(struct gt_printer *p, const struct gt_view *v, uint32_t stack, unsigned columns)
{
	struct gt_own *own = gt_frames_own(v->frames);
	struct gt_place place;
	struct words w;

	gt_place_init(&place, v->frames, stack);
	if (has_no_stack(&place)) {
		gt_print_name(p, GT_DIM, no_stack, columns);
	} else {
		if (!place.part)
			gt_frames_shown(v->frames, &place.frame);
		w = words_of(own, gt_frames_by(v->frames), &place, p->style.utf8);
		put_fitting(p, own, &place, &w,
			    gt_by_line(gt_frames_by(v->frames)) && !place.part && !place.phase,
			    columns);
		words_free(&w);
	}
	gt_place_fini(&place);
}

unsigned gt_place_columns(struct gt_frames *f, uint32_t stack, bool utf8)
{
	struct gt_place_words w = gt_place_words(f, stack, utf8);
	unsigned columns = gt_text_columns(w.function, utf8) +
			   (*w.where ? 1 + gt_text_columns(w.where, utf8) : 0);
	struct gt_place place;
	char *caller;

	gt_place_init(&place, f, stack);
	caller = last_caller(&place, utf8);
	columns += gt_text_columns(caller, utf8);
	free(caller);
	gt_place_fini(&place);
	gt_place_words_fini(&w);
	return columns;
}

void gt_place_json(struct gt_json *j, const char *key, struct gt_frames *f, uint32_t stack)
{
	char *text = gt_place_text(f, stack, true), *at;
	struct gt_place place;

	gt_place_init(&place, f, stack);
	at = place.phase ? gt_strdup(place.phase) : gt_place_line(gt_frames_own(f), &place.frame);
	gt_json_line(j, key);
	gt_json_text(j, "text", text);
	gt_json_text(j, "at", at);
	gt_json_text(j, "function", place.frame.function);
	gt_json_text(j, "file", place.frame.file);
	if (place.frame.line)
		gt_json_uint(j, "line", place.frame.line);
	else
		gt_json_null(j, "line");
	gt_json_text(j, "module", place.frame.module);
	gt_json_bool(j, "own", place.is_own);
	gt_json_array(j, "via");
	for (size_t i = 0; i < place.via_count; i++)
		gt_json_text(j, NULL, place.via[i]);
	gt_json_end(j);
	gt_json_array(j, "callers");
	for (size_t i = 0; i < place.told; i++) {
		char *caller = gt_place_line(gt_frames_own(f), &place.callers[i]);

		gt_json_text(j, NULL, caller);
		free(caller);
	}
	gt_json_end(j);
	gt_json_end(j);
	gt_place_fini(&place);
	free(at);
	free(text);
}

void gt_place_and_stack_json(struct gt_json *j, struct gt_frames *f, uint32_t stack)
{
	gt_place_json(j, "place", f, stack);
	gt_stack_json(j, "stack", f, stack);
}

void gt_place_end_tsv(FILE *out, struct gt_frames *f, uint32_t stack)
{
	char *place = gt_place_text(f, stack, true);

	gt_stack_tsv(out, f, stack);
	putc('\t', out);
	gt_tsv_put(out, place);
	putc('\n', out);
	free(place);
}
