/* SPDX-License-Identifier: MIT */
/* limits.c - how much may leak: parses --fail-on-leak=SPEC. */
#include "judge/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/format.h"
#include "base/mem.h"

/* Reports a mistake at `at` and shows its `size` bytes. */
static int wrong(struct gt_error *error, const char *spec, const char *at, size_t size,
		 const char *what)
{
	return gt_error_set(error, -EINVAL, "character %zu, '%.*s': %s", (size_t)(at - spec) + 1,
			    (int)(size < 60 ? size : 60), at, what);
}

/* The operator and number after the word; nothing at all means "> 0". */
static int parse_amount(struct gt_limit *limit, const char *spec, const char *at, size_t size,
			bool is_memory, struct gt_error *error)
{
	bool or_equal = size > 1 && at[1] == '=';
	size_t sign = 1 + or_equal;

	if (!size)
		return 0;
	if (!gt_size_parse(at + sign, size - sign, &limit->most, &limit->in_bytes))
		return wrong(error, spec, at, size,
			     "expected a number, with or without a unit, as in >10 or >1MiB");
	/* "memory>1000000" is meant in bytes, never as a million blocks */
	if (is_memory && !limit->in_bytes && limit->most)
		return wrong(
			error, spec, at, size,
			"memory is measured in bytes: add a unit to the number (B, KiB, MiB, GiB)");
	if (or_equal && !limit->most)
		return wrong(error, spec, at, size,
			     "always exceeded; leave it out to fail on any leak");
	limit->most -= or_equal;
	return 0;
}

static bool is_word(const char *at, size_t size, const char *word)
{
	return size == strlen(word) && !strncasecmp(at, word, size);
}

static int parse_one(struct gt_limits *limits, const char *spec, const char *at, size_t size,
		     struct gt_error *error)
{
	const char *sign = memchr(at, '>', size);
	size_t word = sign ? (size_t)(sign - at) : size;
	struct gt_limit *limit;

	GT_GROW(limits->list, limits->count, limits->room);
	limit = &limits->list[limits->count++];
	*limit = (struct gt_limit){ .text = gt_strndup(at, size) };
	limit->of_residue = is_word(at, word, "residue");
	if (!limit->of_residue && !gt_select_add(&limit->what, at, word))
		return wrong(error, spec, at, word,
			     word ? "not a kind of resource; use for example any, memory, "
				    "object, event, buffer, opencl.event, cl_mem or residue" :
				    "expected a kind of resource");
	return parse_amount(limit, spec, at + word, size - word,
			    limit->of_residue || is_word(at, word, "memory"), error);
}

int gt_limits_parse(struct gt_limits *limits, const char *spec, struct gt_error *error)
{
	const char *at = spec;
	int e = 0;

	*limits = (struct gt_limits){ 0 };
	do {
		size_t size = strcspn(at, ",");

		e = parse_one(limits, spec, at, size, error);
		at += size;
	} while (!e && *at++ == ',');
	if (e)
		gt_limits_fini(limits);
	return e;
}

bool gt_limits_of_residue(const struct gt_limits *limits)
{
	for (size_t i = 0; i < limits->count; i++)
		if (limits->list[i].of_residue)
			return true;
	return false;
}

void gt_limits_fini(struct gt_limits *limits)
{
	for (size_t i = 0; i < limits->count; i++)
		free(limits->list[i].text);
	free(limits->list);
	*limits = (struct gt_limits){ 0 };
}
