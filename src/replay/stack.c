/* SPDX-License-Identifier: MIT */
/* stack.c - writes a stack as text, JSON and TSV. */
#include "replay/stack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/function_name.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/jit_names.h"
#include "replay/place.h"

/* A frame's two columns; each is allocated. */
struct line {
	char *what, *where;
};

static char *concat(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *concat(const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	return length < 0 ? gt_strdup("") : text;
}

static char *module_offset(const struct gt_frame *frame)
{
	const char *name = frame->module ? gt_path_name(frame->module) : "";

	/*
	 * A frame known by its text has no offset: no call lies at a module's very start. That of
	 * compiled code is another in each run.
	 */
	if (!frame->offset || !strcmp(name, GT_JIT_MODULE))
		return gt_strdup(name);
	if (!frame->module)
		return concat("0x%" PRIx64, frame->offset);
	return concat("%s+0x%" PRIx64, name, frame->offset);
}

char *gt_frame_name(const struct gt_frame *frame)
{
	return frame->function ? gt_strdup(frame->function) : module_offset(frame);
}

char *gt_stack_location(const struct gt_frame *frame, const struct gt_style *style)
{
	const char *shown;

	if (!frame->file)
		return module_offset(frame);
	shown = style ? gt_style_relative(style, frame->file) : frame->file;
	return frame->line ? concat("%s:%" PRIu32, shown, frame->line) : gt_strdup(shown);
}

static struct line line_of(struct gt_frames *f, const struct gt_frame *frame, bool brief)
{
	struct line l;

	l.what = brief ? gt_place_function(frame) : gt_frame_name(frame);
	if (frame->file || (brief && frame->function))
		l.where = gt_place_location(gt_frames_own(f), frame);
	else if (frame->function)
		l.where = module_offset(frame);
	else if (!brief && frame->module && strcmp(frame->module, l.what))
		l.where = gt_strdup(frame->module);
	else
		l.where = gt_strdup(""); /* its name begins with the module's */
	return l;
}

static void line_free(struct line *l)
{
	free(l->what);
	free(l->where);
}

/* Takes template arguments from a function wider than `columns`; false where it fits. */
static bool shorten(char **name, unsigned columns, bool utf8)
{
	char *brief;

	if (gt_text_columns(*name, utf8) <= columns)
		return false;
	brief = gt_function_abbreviate(*name, utf8);
	free(*name);
	*name = brief;
	return true;
}

/* How wide the left column is: as the widest name, but leaving the right one its share. */
static unsigned left_width(const struct line *lines, size_t count, unsigned room, bool utf8)
{
	unsigned what = 0, where = 0, half = room / 2;

	for (size_t i = 0; i < count; i++) {
		unsigned a = gt_text_columns(lines[i].what, utf8);
		unsigned b = gt_text_columns(lines[i].where, utf8);

		what = a > what ? a : what;
		where = b > where ? b : where;
	}
	if (what + 2 + where <= room || what <= half)
		return what;
	return where < half ? room - 2 - where : half;
}

/* The widest name of those that fit. */
static unsigned widest_within(const struct line *lines, size_t count, unsigned columns, bool utf8)
{
	unsigned widest = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned wide = gt_text_columns(lines[i].what, utf8);

		widest = wide > widest && wide <= columns ? wide : widest;
	}
	return widest;
}

/* Takes template arguments away where they have no room, and gives the left column's width. */
static unsigned arrange(struct line *lines, size_t count, unsigned room,
			const struct gt_style *style)
{
	unsigned left = left_width(lines, count, room, style->utf8);
	bool some = false;

	/* where nothing is cut, names that do not fit reach over */
	if (style->whole)
		return widest_within(lines, count, left, style->utf8);
	for (size_t i = 0; i < count; i++)
		some |= shorten(&lines[i].what, left, style->utf8);
	return some ? left_width(lines, count, room, style->utf8) : left;
}

/* Every frame of a stack; the caller frees the list. */
static size_t whole_stack(struct gt_frames *f, uint32_t stack, const struct gt_frame ***list)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(f, stack, &frames);

	*list = gt_alloc(count * sizeof **list);
	for (size_t i = 0; i < count; i++)
		(*list)[i] = &frames[i];
	return count;
}

/* Behind the first frame, or on a line of its own; shorter where that is not enough. */
static void put_via(struct gt_printer *p, const struct gt_place *place, unsigned indent)
{
	char *via = gt_place_via(place, false, p->style.utf8);
	unsigned wide = gt_text_columns(via, p->style.utf8);

	if (wide > gt_print_left(p)) {
		gt_print_end(p);
		gt_print_tab(p, indent + 1);
	}
	if (wide > gt_print_left(p)) {
		free(via);
		via = gt_place_via(place, true, p->style.utf8);
	}
	gt_print_name(p, GT_DIM, via, gt_print_left(p));
	free(via);
}

/* `place` is theirs: what is on the way stands behind the first; NULL: a whole stack. */
static void put_frames(struct gt_printer *p, const struct gt_view *v,
		       const struct gt_frame **frames, size_t count, const struct gt_place *place,
		       unsigned indent)
{
	struct line *lines = gt_alloc(count * sizeof *lines);
	unsigned room = p->style.width - indent - 10, left;

	for (size_t i = 0; i < count; i++)
		lines[i] = line_of(v->frames, frames[i], place);
	left = arrange(lines, count, room, &p->style);
	for (size_t i = 0; i < count; i++) {
		gt_frames_shown(v->frames, frames[i]);
		gt_print_tab(p, indent);
		gt_print_name(p, GT_PLAIN, lines[i].what, left);
		if (*lines[i].where) {
			/* a name that is not cut may reach further */
			gt_print_tab(p,
				     p->column > indent + left ? p->column + 2 : indent + left + 2);
			gt_print_path(p, GT_DIM, lines[i].where,
				      gt_print_left(p) - (frames[i]->inlined && !place ? 10 : 0));
		}
		if (frames[i]->inlined && !place)
			gt_print_name(p, GT_DIM, " (inlined)", UINT32_MAX);
		if (!i && place && place->via_count)
			put_via(p, place, indent);
		gt_print_end(p);
		line_free(&lines[i]);
	}
	free(lines);
}

/* Says that the recorder truncated the stack. */
static void put_cut(struct gt_printer *p, size_t frames, unsigned indent)
{
	if (frames)
		gt_print_wrap(p, GT_DIM, indent, "%s cut after %zu %s%s",
			      p->style.utf8 ? "…" : "...", frames,
			      gt_plural(frames, "frame", "frames"),
			      frames < GT_STACK_FRAMES_MAX ? ": --stack-depth N records more" : "");
}

void gt_stack_text(struct gt_printer *p, const struct gt_view *v, uint32_t stack, unsigned indent)
{
	const struct gt_frame **frames;
	size_t count = whole_stack(v->frames, stack, &frames);

	if (!count) {
		gt_print_tab(p, indent);
		gt_print_line(p, GT_DIM, "(no stack recorded)");
	}
	put_frames(p, v, frames, count, NULL, indent);
	put_cut(p, gt_frames_cut(v->frames, stack), indent);
	free(frames);
}

void gt_stack_brief(struct gt_printer *p, const struct gt_view *v, uint32_t stack, size_t most,
		    unsigned indent)
{
	const struct gt_frame **frames, *any;
	struct gt_place place;

	if (gt_frames_are_all(v->frames) || !gt_frames_get(v->frames, stack, &any)) {
		gt_stack_text(p, v, stack, indent);
		return;
	}
	gt_place_init(&place, v->frames, stack);
	/* a function, a file, a module, a process or a phase has no one stack */
	if (place.phase || !gt_place_has_line(v->frames, stack)) {
		gt_place_fini(&place);
		gt_print_tab(p, indent);
		gt_place_put(p, v, stack, gt_print_left(p));
		gt_print_end(p);
		return;
	}
	/* a list that needs more callers to be told apart has them */
	if (most <= place.told)
		most = place.told + 1;
	frames = gt_alloc((place.caller_count + 1) * sizeof *frames);
	frames[0] = &place.frame;
	for (size_t i = 0; i < place.caller_count; i++)
		frames[i + 1] = &place.callers[i];
	put_frames(p, v, frames, most < place.caller_count + 1 ? most : place.caller_count + 1,
		   &place, indent);
	if (most >= place.caller_count + 1)
		put_cut(p, gt_frames_cut(v->frames, stack), indent);
	free(frames);
	gt_place_fini(&place);
}

static void frame_json(struct gt_json *j, const struct gt_frame *frame)
{
	gt_json_line(j, NULL);
	gt_json_text(j, "function", frame->function);
	gt_json_text(j, "file", frame->file);
	if (frame->line)
		gt_json_uint(j, "line", frame->line);
	else
		gt_json_null(j, "line");
	gt_json_text(j, "module", frame->module);
	gt_json_hex(j, "offset", frame->offset);
	gt_json_bool(j, "inlined", frame->inlined);
	gt_json_end(j);
}

void gt_stack_json(struct gt_json *j, const char *key, struct gt_frames *frames, uint32_t stack)
{
	const struct gt_frame *list;
	size_t count = gt_frames_get(frames, stack, &list);

	gt_json_array(j, key);
	for (size_t i = 0; i < count; i++)
		frame_json(j, &list[i]);
	gt_json_end(j);
}

void gt_frames_put(FILE *out, const struct gt_frame *list, size_t count,
		   void (*put)(FILE *out, const char *text))
{
	for (size_t i = 0; i < count; i++) {
		char *where = gt_stack_location(&list[i], NULL);

		if (i)
			fputs(" < ", out);
		if (list[i].function) {
			put(out, list[i].function);
			fputs(" (", out);
		}
		put(out, where);
		if (list[i].function)
			putc(')', out);
		free(where);
	}
}

void gt_stack_tsv(FILE *out, struct gt_frames *frames, uint32_t stack)
{
	const struct gt_frame *list;
	size_t count = gt_frames_get(frames, stack, &list);

	gt_frames_put(out, list, count, gt_tsv_put);
}
