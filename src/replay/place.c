/* SPDX-License-Identifier: MIT */
/* place.c - how a stack is said: which frames make its place, and which stacks are one place. */
#include "replay/place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/function_name.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/frame_facts.h"
#include "replay/own.h"
#include "replay/phase.h"
#include "replay/stack.h"

const char *gt_place_noun(const struct gt_frames *f, uint64_t count)
{
	return gt_by_noun(gt_frames_by(f), count);
}

char *gt_place_function(const struct gt_frame *frame)
{
	return frame->function ? gt_function_short(frame->function) : gt_frame_name(frame);
}

char *gt_place_location(struct gt_own *own, const struct gt_frame *frame)
{
	const char *file;
	char *text;

	if (!frame->file)
		return gt_strdup(frame->module && frame->function ? gt_path_name(frame->module) :
								    "");
	file = gt_own_file(own, frame);
	if (!frame->line || asprintf(&text, "%s:%" PRIu32, file, frame->line) < 0)
		return gt_strdup(file);
	return text;
}

char *gt_place_line(struct gt_own *own, const struct gt_frame *frame)
{
	char *name = gt_place_function(frame), *where = gt_place_location(own, frame), *text;

	if (!*where || asprintf(&text, "%s %s", name, where) < 0)
		text = gt_strdup(name);
	free(name);
	free(where);
	return text;
}

/* Which of a stack's frames make its place. */
struct choice {
	const struct gt_frame_facts *facts; /* of each */
	size_t count, head;
	bool has_own; /* the head is own and named */
	bool all_cxx; /* of the names on the way to the API; it says less than any other */
};

static size_t first_with(const struct choice *c, uint32_t flags)
{
	size_t i = 0;

	while (i < c->count && (c->facts[i].flags & flags) != flags)
		i++;
	return i;
}

static struct choice choose(struct gt_frames *f, uint32_t stack)
{
	struct choice c = { 0 };

	c.count = gt_frames_facts(f, stack, &c.facts);
	c.head = first_with(&c, GT_FRAME_OWN | GT_FRAME_NAMED);
	c.has_own = c.head < c.count;
	if (!c.has_own)
		c.head = first_with(&c, GT_FRAME_NAMED);
	if (c.head == c.count)
		c.head = first_with(&c, GT_FRAME_OWN);
	if (c.head == c.count)
		c.head = 0;
	c.all_cxx = true;
	for (size_t i = 0; i < c.head; i++)
		c.all_cxx &= (c.facts[i].flags & (GT_FRAME_NAMED | GT_FRAME_OWN | GT_FRAME_CXX)) !=
			     GT_FRAME_NAMED;
	return c;
}

/* A caller tells places apart if it is own, or if nothing is. */
static bool is_caller(const struct choice *c, size_t i)
{
	uint32_t flags = c->facts[i].flags;

	return flags & GT_FRAME_OWN ||
	       (!c->has_own &&
		(flags & GT_FRAME_NAMED || !(c->facts[c->head].flags & GT_FRAME_NAMED)));
}

/*
 * The next caller after frame `i`, the head or a caller; c->count: there is none. A function that
 * calls itself from one line says the same at every depth: such callers in a row are one.
 */
static size_t next_caller(const struct choice *c, size_t i)
{
	uint64_t words = c->count ? c->facts[i].words : 0;

	for (i++; i < c->count; i++)
		if (is_caller(c, i) && c->facts[i].words != words)
			break;
	return i < c->count ? i : c->count;
}

static bool is_on_the_way(const struct choice *c, size_t i)
{
	uint32_t flags = c->facts[i].flags;

	return flags & GT_FRAME_NAMED && !(flags & (GT_FRAME_OWN | GT_FRAME_INTERPRETER)) &&
	       (c->all_cxx || !(flags & GT_FRAME_CXX));
}

/* A library without names, unless its module is named beside the head already. */
static bool is_nameless_library(const struct choice *c, size_t i)
{
	uint32_t flags = c->facts[i].flags;

	return flags & GT_FRAME_LIBRARY && !(flags & GT_FRAME_OWN) &&
	       c->facts[i].module != c->facts[c->head].module;
}

/*
 * The frames that say what lies on the way, from the head inwards: the next before `i`; c->head:
 * there is none. Where none has a name, a library is told by its own. Of a place on another thread,
 * what led there is passed over.
 */
static size_t next_via(const struct choice *c, size_t i)
{
	size_t k = i;

	while (i == c->head && k-- > 0)
		if (c->facts[k].flags & GT_FRAME_BORDER)
			return k;
	for (k = i; k-- > 0;)
		if (is_on_the_way(c, k))
			return k;
	for (k = c->head; i == c->head && k-- > 0;)
		if (is_nameless_library(c, k))
			return k;
	return c->head;
}

static void add_via(struct gt_place *place, char *name)
{
	if (place->via_count && !strcmp(place->via[place->via_count - 1], name)) {
		free(name);
		return;
	}
	place->via = gt_realloc(place->via, (place->via_count + 1) * sizeof *place->via);
	place->via[place->via_count++] = name;
}

void gt_place_init(struct gt_place *place, struct gt_frames *f, uint32_t stack)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(f, stack, &frames);
	struct choice c = choose(f, stack);

	*place = (struct gt_place){ .part = gt_frames_part(f, stack) };
	if (!c.count || c.count != count)
		return;
	place->is_own = c.facts[c.head].flags & GT_FRAME_OWN;
	place->frame = frames[c.head];
	if (!place->part && gt_frame_is_phase(&place->frame))
		place->phase = gt_phase_of_frames(&frames[c.head], c.count - c.head);
	for (size_t i = next_via(&c, c.head); i < c.head; i = next_via(&c, i))
		add_via(place, gt_frame_via(&frames[i]));
	place->callers = gt_alloc(c.count * sizeof *place->callers);
	for (size_t i = next_caller(&c, c.head); i < c.count; i = next_caller(&c, i))
		place->callers[place->caller_count++] = frames[i];
	place->told = gt_frames_memo(f, stack)->told;
	if (place->told > place->caller_count)
		place->told = place->caller_count;
	if (place->part || place->phase)
		place->told = 0;
}

void gt_place_fini(struct gt_place *place)
{
	for (size_t i = 0; i < place->via_count; i++)
		free(place->via[i]);
	free(place->via);
	free(place->callers);
	free(place->part);
	free(place->phase);
	*place = (struct gt_place){ 0 };
}

bool gt_place_has_line(const struct gt_frames *f, uint32_t stack)
{
	return gt_by_line(gt_frames_by(f)) && !gt_frames_part_key(f, stack);
}

bool gt_place_frame(struct gt_frames *f, uint32_t stack, struct gt_frame *frame)
{
	struct gt_place place;
	const struct gt_frame *frames;
	size_t count;

	gt_place_init(&place, f, stack);
	*frame = place.frame;
	for (size_t i = 0; i < place.caller_count && !(frame->file && frame->line); i++)
		*frame = place.callers[i];
	gt_place_fini(&place);
	count = gt_frames_get(f, stack, &frames);
	for (size_t i = 0; i < count && !(frame->file && frame->line); i++)
		*frame = frames[i];
	return frame->file && frame->line;
}

/* The words of a place itself, and the ends of what lies on the way to the API. */
static uint64_t first_words(const struct choice *c)
{
	uint64_t hash = c->count ? c->facts[c->head].words : 0;
	size_t first = c->head ? next_via(c, c->head) : c->head, last = first;

	for (size_t i = first; i < c->head; i = next_via(c, i))
		last = i;
	if (first < c->head)
		hash = gt_facts_add(hash, c->facts[first].via);
	if (last != first && c->facts[last].via != c->facts[first].via)
		hash = gt_facts_add(hash, c->facts[last].via);
	return hash;
}

size_t gt_place_hashes(struct gt_frames *f, uint32_t stack, uint64_t *first, uint64_t **callers)
{
	struct choice c = choose(f, stack);
	size_t count = 0;

	*first = first_words(&c);
	*callers = gt_alloc((c.count + 1) * sizeof **callers);
	for (size_t i = next_caller(&c, c.head); i < c.count; i = next_caller(&c, i))
		(*callers)[count++] = c.facts[i].words;
	*callers = gt_realloc(*callers, (count + 1) * sizeof **callers);
	return count;
}

bool gt_place_caller(struct gt_frames *f, uint32_t stack, size_t n, uint64_t *name)
{
	struct choice c = choose(f, stack);

	for (size_t i = next_caller(&c, c.head); i < c.count; i = next_caller(&c, i)) {
		if (!(c.facts[i].flags & GT_FRAME_NAMED) || n--)
			continue;
		*name = c.facts[i].name;
		return true;
	}
	return false;
}

/* The words of a place: itself, what it says of the way to the API, and all its callers. */
static uint64_t line_key(struct gt_frames *f, uint32_t stack)
{
	struct choice c = choose(f, stack);
	uint64_t hash = first_words(&c);

	for (size_t i = next_caller(&c, c.head); i < c.count; i = next_caller(&c, i))
		hash = gt_facts_add(hash, c.facts[i].words);
	return hash;
}

static uint64_t key_by(struct gt_frames *f, uint32_t stack, enum gt_by by)
{
	const struct gt_frame *frame;
	struct gt_place place;
	uint64_t hash = (uint64_t)by + 1;
	char *name;

	gt_place_init(&place, f, stack);
	frame = &place.frame;
	if (by == GT_BY_FUNCTION && !place.phase) {
		name = gt_place_function(frame);
		hash = gt_facts_add_word(hash, name);
		free(name);
	}
	if (place.phase)
		hash = gt_facts_add_word(hash, place.phase);
	else if (frame->file && (by != GT_BY_MODULE || gt_frame_is_python(frame)))
		hash = gt_facts_add_word(hash, frame->file);
	else
		hash = gt_facts_add_word(hash, frame->module ? gt_path_name(frame->module) : NULL);
	gt_place_fini(&place);
	return hash;
}

uint64_t gt_place_key(struct gt_frames *f, uint32_t stack)
{
	enum gt_by by = gt_frames_by(f);
	uint64_t key = gt_frames_memo(f, stack)->key;

	if (!stack || key)
		return key;
	if (by == GT_BY_STACK)
		key = stack;
	else
		key = gt_frames_part_key(f, stack);
	if (!key)
		key = gt_by_line(by) ? line_key(f, stack) : key_by(f, stack, by);
	/* 0 is not known yet */
	return gt_frames_memo(f, stack)->key = key ? key : 1;
}
