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

const char *const gt_by_names[] = {
	[GT_BY_LINE] = "line",     [GT_BY_FUNCTION] = "function", [GT_BY_FILE] = "file",
	[GT_BY_MODULE] = "module", [GT_BY_STACK] = "stack",       NULL,
};

static bool is_python(const struct gt_frame *frame)
{
	return frame->module && !strcmp(frame->module, GT_PYTHON);
}

/* "f.<locals>.g" -> "f.g" */
static char *short_python(const char *name)
{
	static const char inner[] = ".<locals>";
	char *out = gt_alloc(strlen(name) + 1), *to = out;

	for (const char *end; (end = strstr(name, inner)); name = end + sizeof inner - 1)
		to = mempcpy(to, name, (size_t)(end - name));
	strcpy(to, name);
	return out;
}

char *gt_place_function(const struct gt_frame *frame)
{
	if (!frame->function)
		return gt_frame_name(frame);
	return is_python(frame) ? short_python(frame->function) :
				  gt_function_short(frame->function);
}

char *gt_place_location(struct gt_frames *f, const struct gt_frame *frame)
{
	const char *file;
	char *text;

	if (!frame->file)
		return gt_strdup(frame->module && frame->function ? gt_path_name(frame->module) :
								    "");
	file = gt_own_relative(gt_frames_own(f), frame->file);
	if (!frame->line || asprintf(&text, "%s:%" PRIu32, file, frame->line) < 0)
		return gt_strdup(file);
	return text;
}

char *gt_place_line(struct gt_frames *f, const struct gt_frame *frame)
{
	char *name = gt_place_function(frame), *where = gt_place_location(f, frame), *text;

	if (!*where || asprintf(&text, "%s %s", name, where) < 0)
		text = gt_strdup(name);
	free(name);
	free(where);
	return text;
}

/* Which of a stack's frames make its place. */
struct choice {
	const struct gt_frame *frames;
	bool *own; /* by frame */
	size_t count, head;
	bool has_own; /* the head is own and named */
};

static size_t first_where(const struct choice *c, bool own, bool named)
{
	size_t i = 0;

	while (i < c->count && ((own && !c->own[i]) || (named && !c->frames[i].function)))
		i++;
	return i;
}

static struct choice choose(struct gt_frames *f, uint32_t stack)
{
	struct choice c = { 0 };

	c.count = gt_frames_get(f, stack, &c.frames);
	c.own = gt_alloc(c.count * sizeof *c.own);
	for (size_t i = 0; i < c.count; i++)
		c.own[i] = gt_own_is(gt_frames_own(f), &c.frames[i]);
	c.head = first_where(&c, true, true);
	c.has_own = c.head < c.count;
	if (!c.has_own)
		c.head = first_where(&c, false, true);
	if (c.head == c.count)
		c.head = first_where(&c, true, false);
	if (c.head == c.count)
		c.head = 0;
	return c;
}

/* A caller tells places apart if it is own, or if nothing is. */
static bool is_caller(const struct choice *c, size_t i)
{
	return c->own[i] ||
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
		if (c->frames[i].function && !c->own[i] && !is_cxx_library(c->frames[i].function))
			return false;
	return true;
}

static bool is_on_the_way(const struct choice *c, size_t i, bool all_cxx)
{
	const struct gt_frame *frame = &c->frames[i];

	return !c->own[i] && frame->function && (all_cxx || !is_cxx_library(frame->function)) &&
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

/* From the head inwards; a library without names is told by its own. */
static void find_via(struct gt_place *place, const struct choice *c)
{
	bool all_cxx = only_cxx_library(c);

	for (size_t i = c->head; i-- > 0;)
		if (is_on_the_way(c, i, all_cxx))
			add_via(place, via_name(&c->frames[i]));
	for (size_t i = c->head; i-- > 0 && !place->via_count;)
		if (!c->own[i] && is_plain_library(&c->frames[i]))
			add_via(place, module_name(c->frames[i].module));
}

void gt_place_init(struct gt_place *place, struct gt_frames *f, uint32_t stack)
{
	struct choice c = choose(f, stack);

	*place = (struct gt_place){ .is_own = c.count && c.own[c.head] };
	if (c.count) {
		place->frame = c.frames[c.head];
		place->callers = gt_alloc(c.count * sizeof *place->callers);
		find_via(place, &c);
	}
	for (size_t i = c.head + 1; i < c.count; i++)
		if (is_caller(&c, i))
			place->callers[place->caller_count++] = c.frames[i];
	place->told = gt_frames_memo(f, stack)->told;
	if (place->told > place->caller_count)
		place->told = place->caller_count;
	free(c.own);
}

void gt_place_fini(struct gt_place *place)
{
	for (size_t i = 0; i < place->via_count; i++)
		free(place->via[i]);
	free(place->via);
	free(place->callers);
	*place = (struct gt_place){ 0 };
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

static uint64_t add_number(uint64_t hash, uint64_t number)
{
	hash = (hash ^ number) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
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

/* The words of a place: itself, all its callers, and what it says of the way to the API. */
static uint64_t line_key(const struct gt_place *place)
{
	uint64_t hash = add_frame(1, &place->frame);

	for (size_t i = 0; i < place->caller_count; i++)
		hash = add_frame(hash, &place->callers[i]);
	if (place->via_count)
		hash = add_word(hash, place->via[0]);
	if (place->via_count > 1)
		hash = add_word(hash, place->via[place->via_count - 1]);
	return hash;
}

static uint64_t key_of(const struct gt_place *place, enum gt_by by)
{
	const struct gt_frame *frame = &place->frame;
	const char *module = frame->module ? gt_path_name(frame->module) : NULL;
	uint64_t hash = (uint64_t)by + 1;
	char *name;

	switch (by) {
	case GT_BY_FUNCTION:
		name = gt_place_function(frame);
		hash = add_word(hash, name);
		free(name);
		return add_word(hash, frame->file ? frame->file : module);
	case GT_BY_FILE: return add_word(hash, frame->file ? frame->file : module);
	case GT_BY_MODULE: return add_word(hash, is_python(frame) ? frame->file : module);
	case GT_BY_LINE:
	case GT_BY_STACK:
	case GT_BY_COUNT: break;
	}
	return line_key(place);
}

uint64_t gt_place_key(struct gt_frames *f, uint32_t stack)
{
	uint64_t key = gt_frames_memo(f, stack)->key;
	struct gt_place place;

	if (!stack || key)
		return key;
	if (gt_frames_by(f) == GT_BY_STACK) {
		key = stack;
	} else {
		gt_place_init(&place, f, stack);
		key = key_of(&place, gt_frames_by(f));
		gt_place_fini(&place);
	}
	/* 0 is not known yet */
	return gt_frames_memo(f, stack)->key = key ? key : 1;
}
