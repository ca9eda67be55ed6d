/* SPDX-License-Identifier: MIT */
/* select.c - sets of kinds by the words people use for them. */
#include "api/select.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A name of the tables against a word in which dashes stand for blanks. */
static bool is_word(const char *name, const char *word, size_t size)
{
	if (!name || strlen(name) != size)
		return false;
	for (size_t i = 0; i < size; i++)
		if (strncasecmp(&name[i], &word[i], 1) && !(name[i] == ' ' && word[i] == '-'))
			return false;
	return true;
}

static bool names_kind(enum gt_api api, enum gt_kind kind, const char *word, size_t size)
{
	const struct gt_kind_info *info = &gt_kinds[kind];

	if (is_word("any", word, size) || is_word(gt_api_keys[api], word, size))
		return true;
	if (is_word("memory", word, size))
		return gt_kind_has_bytes(kind);
	if (is_word("object", word, size) || is_word("objects", word, size))
		return !gt_kind_has_bytes(kind);
	return is_word(info->name, word, size) || is_word(info->plural, word, size) ||
	       is_word(info->type[api], word, size);
}

bool gt_select_add(struct gt_select *s, const char *word, size_t size)
{
	const char *dot = memchr(word, '.', size);
	size_t api_size = dot ? (size_t)(dot - word) : 0;
	bool found = false;

	for (int api = 0; api < GT_API_COUNT; api++) {
		if (dot && !is_word(gt_api_keys[api], word, api_size))
			continue;
		for (int kind = 0; kind < GT_KIND_COUNT; kind++)
			if (names_kind((enum gt_api)api, (enum gt_kind)kind, dot ? dot + 1 : word,
				       dot ? size - api_size - 1 : size))
				found = s->has[api][kind] = true;
	}
	return found;
}

void gt_select_word(char *out, size_t size, enum gt_api api, enum gt_kind kind)
{
	snprintf(out, size, "%s.%s", gt_api_keys[api], gt_kinds[kind].name);
	for (char *c = out; *c; c++)
		if (*c == ' ')
			*c = '-';
}
