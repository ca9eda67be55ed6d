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
#include "replay/own.h"
#include "replay/process_text.h"
#include "replay/stack.h"

const char *gt_place_noun(const struct gt_frames *f, uint64_t count)
{
	return gt_by_noun(gt_frames_by(f), count);
}

static bool is_python(const struct gt_frame *frame)
{
	return frame->module && !strcmp(frame->module, GT_PYTHON);
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

static uint64_t add_number(uint64_t hash, uint64_t number)
{
	return gt_mix64(hash * 31 ^ number);
}

static uint64_t add_word(uint64_t hash, const char *word)
{
	return add_number(hash, word ? gt_hash_bytes(word, strlen(word)) : 1);
}

static uint64_t add_frame(uint64_t hash, const struct gt_frame *frame)
{
	char *name = gt_place_function(frame);

	hash = add_word(hash, name);
	free(name);
	if (!frame->function)
		return hash;
	hash = add_word(hash, frame->file   ? frame->file :
			      frame->module ? gt_path_name(frame->module) :
					      NULL);
	return add_number(hash, frame->line);
}

/* What is asked of a frame for every stack that it is in. */
struct facts {
	uint64_t words; /* a hash */
	bool is_own;
};

/* By the addresses of the texts, which live as long as `f`: programs have few frames, many stacks.
 */
static struct facts facts_of(struct gt_frames *f, const struct gt_frame *frame)
{
	uint64_t key = add_number((uintptr_t)frame->function, (uintptr_t)frame->file), *known;

	key = add_number(add_number(key, (uintptr_t)frame->module), frame->line);
	/* without a name, frames differ by their offsets */
	known = gt_frames_facts(f, frame->function ? key : add_number(key, frame->offset));
	if (!*known)
		*known = add_frame(1, frame) << 2 | 2u | gt_own_is(gt_frames_own(f), frame);
	return (struct facts){ *known >> 2, *known & 1 };
}

/* Which of a stack's frames make its place. */
struct choice {
	const struct gt_frame *frames;
	struct facts *facts; /* of each */
	size_t count, head;
	bool has_own; /* the head is own and named */
};

static size_t first_where(const struct choice *c, bool own, bool named)
{
	size_t i = 0;

	while (i < c->count && ((own && !c->facts[i].is_own) || (named && !c->frames[i].function)))
		i++;
	return i;
}

/* The facts are known; finds the head. */
static void find_head(struct choice *c)
{
	c->head = first_where(c, true, true);
	c->has_own = c->head < c->count;
	if (!c->has_own)
		c->head = first_where(c, false, true);
	if (c->head == c->count)
		c->head = first_where(c, true, false);
	if (c->head == c->count)
		c->head = 0;
}

static struct choice choose(struct gt_frames *f, uint32_t stack)
{
	struct choice c = { 0 };

	c.count = gt_frames_get(f, stack, &c.frames);
	c.facts = gt_alloc(c.count * sizeof *c.facts);
	for (size_t i = 0; i < c.count; i++)
		c.facts[i] = facts_of(f, &c.frames[i]);
	find_head(&c);
	return c;
}

/* A caller tells places apart if it is own, or if nothing is. */
static bool is_caller(const struct choice *c, size_t i)
{
	return c->facts[i].is_own ||
	       (!c->has_own && (c->frames[i].function || !c->frames[c->head].function));
}

static bool is_cxx_library(const char *name)
{
	return gt_text_begins(name, "std::") || gt_text_begins(name, "__gnu_cxx::");
}

/* The C++ library on the way says less than anything else there. */
static bool only_cxx_library(const struct choice *c)
{
	for (size_t i = 0; i < c->head; i++)
		if (c->frames[i].function && !c->facts[i].is_own &&
		    !is_cxx_library(c->frames[i].function))
			return false;
	return true;
}

static bool is_on_the_way(const struct choice *c, size_t i, bool all_cxx)
{
	const struct gt_frame *frame = &c->frames[i];

	return !c->facts[i].is_own && frame->function &&
	       (all_cxx || !is_cxx_library(frame->function)) &&
	       !(frame->module && gt_is_interpreter(frame->module));
}

/* Names of library functions: their last two parts tell enough. */
static char *via_name(const struct gt_frame *frame)
{
	char *name = gt_place_function(frame), *tail;

	if (is_python(frame))
		return name;
	tail = gt_strdup(gt_function_tail(name));
	free(name);
	return tail;
}

/* "_cl.cpython-311-x86_64-linux-gnu.so" -> "_cl.so" */
static char *module_name(const char *path)
{
	const char *name = gt_path_name(path), *tag = strstr(name, ".cpython-"), *end;
	char *text;

	if (!tag)
		tag = strstr(name, ".abi3.");
	end = tag ? strstr(tag, ".so") : NULL;
	if (!end || asprintf(&text, "%.*s%s", (int)(tag - name), name, end) < 0)
		return gt_strdup(name);
	return text;
}

static bool is_plain_library(const struct gt_frame *frame)
{
	static const char *const common[] = { "libc.so", "libpthread.so", "ld-linux", "libffi.so",
					      "_ctypes." };

	if (!frame->module || !strstr(gt_path_name(frame->module), ".so") ||
	    gt_is_interpreter(frame->module))
		return false;
	for (size_t i = 0; i < sizeof common / sizeof *common; i++)
		if (gt_text_begins(gt_path_name(frame->module), common[i]))
			return false;
	return true;
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

/* Then the module is named beside the function already. */
static bool in_same_module(const struct gt_frame *a, const struct gt_frame *b)
{
	return a->module && b->module && !strcmp(a->module, b->module);
}

/*
 * The names of what lies on the way, from the head inwards; a library without names is told by its
 * own. With `ends`, only the first and the last.
 */
static void find_via(struct gt_place *place, const struct choice *c, bool ends)
{
	bool all_cxx = only_cxx_library(c);
	size_t i = c->head, last = 0;

	while (last < i && !is_on_the_way(c, last, all_cxx))
		last++;
	while (i-- > last) {
		if (!is_on_the_way(c, i, all_cxx))
			continue;
		add_via(place, via_name(&c->frames[i]));
		if (ends && i > last)
			i = last + 1;
	}
	for (i = c->head; i-- > 0 && !place->via_count;)
		if (!c->facts[i].is_own && is_plain_library(&c->frames[i]) &&
		    !in_same_module(&c->frames[i], &c->frames[c->head]))
			add_via(place, module_name(c->frames[i].module));
}

static void take_choice(struct gt_place *place, const struct choice *c)
{
	*place = (struct gt_place){ .is_own = c->count && c->facts[c->head].is_own };
	if (c->count) {
		place->frame = c->frames[c->head];
		place->callers = gt_alloc(c->count * sizeof *place->callers);
		find_via(place, c, false);
	}
	for (size_t i = c->head + 1; i < c->count; i++)
		if (is_caller(c, i))
			place->callers[place->caller_count++] = c->frames[i];
}

void gt_place_init(struct gt_place *place, struct gt_frames *f, uint32_t stack)
{
	struct choice c = choose(f, stack);

	take_choice(place, &c);
	place->part = gt_frames_part(f, stack);
	place->told = gt_frames_memo(f, stack)->told;
	if (place->told > place->caller_count)
		place->told = place->caller_count;
	if (place->part)
		place->told = 0;
	free(c.facts);
}

void gt_place_fini(struct gt_place *place)
{
	for (size_t i = 0; i < place->via_count; i++)
		free(place->via[i]);
	free(place->via);
	free(place->callers);
	free(place->part);
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

size_t gt_place_hashes(struct gt_frames *f, uint32_t stack, uint64_t *first, uint64_t **callers)
{
	struct choice c = choose(f, stack);
	struct gt_place way = { 0 };
	size_t count = 0;

	*first = c.count ? c.facts[c.head].words : 0;
	if (c.head)
		find_via(&way, &c, true);
	for (size_t i = 0; i < way.via_count; i++)
		*first = add_word(*first, way.via[i]);
	gt_place_fini(&way);
	*callers = gt_alloc((c.count + 1) * sizeof **callers);
	for (size_t i = c.head + 1; i < c.count; i++)
		if (is_caller(&c, i))
			(*callers)[count++] = c.facts[i].words;
	free(c.facts);
	*callers = gt_realloc(*callers, (count + 1) * sizeof **callers);
	return count;
}

/* The words of a place: itself, what it says of the way to the API, and all its callers. */
static uint64_t line_key(struct gt_frames *f, uint32_t stack)
{
	uint64_t hash, *callers;
	size_t count = gt_place_hashes(f, stack, &hash, &callers);

	for (size_t i = 0; i < count; i++)
		hash = add_number(hash, callers[i]);
	free(callers);
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
	if (by == GT_BY_FUNCTION) {
		name = gt_place_function(frame);
		hash = add_word(hash, name);
		free(name);
	}
	if (frame->file && (by != GT_BY_MODULE || is_python(frame)))
		hash = add_word(hash, frame->file);
	else
		hash = add_word(hash, frame->module ? gt_path_name(frame->module) : NULL);
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
