/* SPDX-License-Identifier: MIT */
/* site_key.c - a call site by its words, so that another recording can recognise it. */
#include "judge/site_key.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/frame_facts.h"
#include "replay/jit_names.h"
#include "replay/place.h"

/* Fields end in bytes that no name has: 1 within a frame, 2 after it. `c` may be NULL. */
static void put_words(FILE *out, const char *a, const char *b, const char *c)
{
	fprintf(out, "%s\1%s%s%s\2", a, b, c ? "\1" : "", c ? c : "");
}

/* `whole`: the name as it is. */
static void put_named(FILE *out, const struct gt_frame *f, bool whole)
{
	char *name = whole ? gt_strdup(f->function) : gt_place_function(f);

	put_words(out, name, f->file ? gt_path_name(f->file) : "", NULL);
	free(name);
}

static void put_unnamed(FILE *out, const struct gt_frame *f, bool with_offset)
{
	char offset[24] = "";

	if (with_offset)
		snprintf(offset, sizeof offset, "%" PRIx64, f->offset);
	put_words(out, f->module ? gt_path_name(f->module) : "", offset, NULL);
}

/* True if a nameless frame is known by its offset. */
static bool is_by_offset(const struct gt_frame_facts *facts, bool some_named)
{
	/* compiled code lies elsewhere in each run */
	return !(facts->flags & GT_FRAME_JIT) && (!some_named || facts->flags & GT_FRAME_PROGRAM);
}

static bool has_names(const struct gt_frame_facts *facts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (facts[i].flags & GT_FRAME_NAMED)
			return true;
	return false;
}

/* A frame's words, as a hash. */
static uint64_t hash_of(const struct gt_frame_facts *facts, bool some_named)
{
	return !(facts->flags & GT_FRAME_NAMED) && is_by_offset(facts, some_named) ? facts->words :
										     facts->site;
}

/*
 * The stack's frames, innermost first, those with the same words in a row once: how deep a function
 * calls itself says nothing, nor how many nameless frames a library has between two names.
 */
static uint64_t stack_hash(const struct gt_view *v, uint32_t stack, uint64_t hash)
{
	const struct gt_frame_facts *facts;
	size_t count = gt_frames_facts(v->frames, stack, &facts);
	bool some = has_names(facts, count);
	uint64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t words = hash_of(&facts[i], some);

		if (!i || words != last)
			hash = gt_facts_add(hash, words);
		last = words;
	}
	return hash;
}

static void put_stack(FILE *out, const struct gt_view *v, uint32_t stack)
{
	const struct gt_frame *frames;
	const struct gt_frame_facts *facts;
	size_t count = gt_frames_get(v->frames, stack, &frames);
	bool some = gt_frames_facts(v->frames, stack, &facts) && has_names(facts, count);
	uint64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t words = hash_of(&facts[i], some);

		if (i && words == last)
			continue;
		last = words;
		if (frames[i].function)
			put_named(out, &frames[i], false);
		else
			put_unnamed(out, &frames[i], is_by_offset(&facts[i], some));
	}
}

/* As versions up to 0.1 had it: whole names, all offsets but those of compiled code. */
static void put_whole_stack(FILE *out, const struct gt_view *v, uint32_t stack)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(v->frames, stack, &frames);
	bool was_jit = false;

	for (size_t i = 0; i < count; i++) {
		const struct gt_frame *f = &frames[i];
		bool is_jit = f->module && !f->function && !strcmp(f->module, GT_JIT_MODULE);

		if (f->function)
			put_named(out, f, true);
		else if (!is_jit || !was_jit)
			put_unnamed(out, f, !is_jit);
		was_jit = is_jit;
	}
}

/* "src/demo.c" of "/ci/42/src/demo.c": recordings of other folders and roots have the same. */
static const char *last_two(const char *path)
{
	const char *slash = strrchr(path, '/');

	while (slash && slash > path && slash[-1] != '/')
		slash--;
	return slash ? slash : path;
}

static void put_place(FILE *out, const struct gt_view *v, uint32_t stack, enum gt_by by)
{
	struct gt_place place;
	const char *file, *module;

	gt_place_init(&place, v->frames, stack);
	file = place.frame.file;
	module = place.frame.module ? gt_path_name(place.frame.module) : "";
	if (place.phase)
		put_words(out, place.phase, "", NULL);
	else if (by == GT_BY_FUNCTION && place.frame.function)
		put_named(out, &place.frame, false);
	else
		put_words(out, file && by == GT_BY_FILE ? last_two(file) : module, "", NULL);
	gt_place_fini(&place);
}

/* A stack that is whole, in a list of parts, is recognised by its words. */
static void put_part(FILE *out, const struct gt_view *v, uint32_t stack)
{
	char *part = gt_frames_part(v->frames, stack);

	if (part)
		put_words(out, part, "", NULL);
	else
		put_stack(out, v, stack);
	free(part);
}

static void put_words_of(FILE *out, const struct gt_view *v, uint32_t stack, enum gt_by by)
{
	if (gt_by_part(by))
		put_part(out, v, stack);
	else if (!gt_by_line(by))
		put_place(out, v, stack, by);
	else if (by == GT_BY_STACK)
		put_whole_stack(out, v, stack);
	else
		put_stack(out, v, stack);
}

char *gt_site_key_text(const struct gt_view *v, const struct gt_site *site, uint16_t function,
		       enum gt_by by)
{
	char *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	put_words(out, gt_api_keys[site->api], gt_kinds[site->kind].name,
		  gt_function_names[function]);
	put_words_of(out, v, site->stack, by);
	gt_memstream_close(out);
	return text;
}

/* By name: the numbers are others once a version knows more functions, and order follows keys. */
static uint64_t hash_head(uint8_t api, uint8_t kind, uint16_t function)
{
	uint64_t hash = gt_facts_add_word(1, gt_api_keys[api]);

	hash = gt_facts_add_word(hash, gt_kinds[kind].name);
	return gt_facts_add_word(hash, gt_function_names[function]);
}

/* Of many stacks by line: their frames are not named for it. */
static uint64_t hash_place(const struct gt_view *v, uint32_t stack, enum gt_by by)
{
	char *text = NULL;
	uint64_t hash;
	size_t size;
	FILE *out;

	if (by == GT_BY_LINE)
		return stack_hash(v, stack, 1);
	out = gt_memstream(&text, &size);
	put_words_of(out, v, stack, by);
	gt_memstream_close(out);
	hash = gt_hash_bytes(text, size);
	free(text);
	return hash;
}

uint64_t gt_site_key(const struct gt_view *v, const struct gt_site *site, uint16_t function,
		     enum gt_by by)
{
	return hash_head(site->api, site->kind, function) ^ hash_place(v, site->stack, by);
}

uint64_t gt_site_key_place(uint64_t key, uint8_t api, uint8_t kind, uint16_t function)
{
	return key ^ hash_head(api, kind, function);
}
