/* SPDX-License-Identifier: MIT */
/*
 * swift_name.c - the identifiers that a mangled Swift name carries.
 *
 * A name begins with its context: identifiers with their lengths before them, each type followed
 * by a letter for its kind. The first identifier without such a letter is the function; behind it
 * come labels and types, which places do without. Words of identifiers are not repeated: after a
 * 0, a letter stands for the n-th word so far, capital if it is the last such letter.
 */
#include "symbol/swift_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum { WORDS_MAX = 26, NAME_MAX_BYTES = 1024 };

struct swift {
	const char *at;
	struct {
		const char *text;
		size_t size;
	} words[WORDS_MAX];
	size_t word_count;
	char out[NAME_MAX_BYTES];
	size_t used;
};

static bool append(struct swift *s, const char *text, size_t size)
{
	if (size >= sizeof s->out - s->used)
		return false;
	memcpy(s->out + s->used, text, size);
	s->used += size;
	return true;
}

/* Words end before an underscore and before a capital that follows a small letter. */
static void add_words(struct swift *s, const char *text, size_t size)
{
	size_t start = 0;

	for (size_t i = 0; i <= size; i++) {
		bool ends = i == size || text[i] == '_' ||
			    (i > start && isupper((unsigned char)text[i]) &&
			     !isupper((unsigned char)text[i - 1]));

		if (i == start && i < size && isdigit((unsigned char)text[i])) {
			start++;
			continue;
		}
		if (!ends)
			continue;
		if (i - start >= 2 && s->word_count < WORDS_MAX) {
			s->words[s->word_count].text = text + start;
			s->words[s->word_count++].size = i - start;
		}
		start = i + (i < size && text[i] == '_');
	}
}

/* "12" -> 12, at most what is left of the name; 0 where there is no number. */
static size_t take_length(struct swift *s)
{
	size_t number = 0;

	while (isdigit((unsigned char)*s->at) && number < NAME_MAX_BYTES)
		number = 10 * number + (size_t)(*s->at++ - '0');
	return number <= strlen(s->at) ? number : 0;
}

/* Appends the identifier, if there is one that is understood. */
static bool take_identifier(struct swift *s)
{
	bool substitutes = *s->at == '0';

	if (!isdigit((unsigned char)*s->at))
		return false;
	s->at += substitutes;
	if (substitutes && *s->at == '0')
		return false; /* Punycode */
	do {
		size_t size;

		while (substitutes && isalpha((unsigned char)*s->at)) {
			bool is_last = isupper((unsigned char)*s->at);
			size_t word = (size_t)(tolower((unsigned char)*s->at++) - 'a');

			if (word >= s->word_count ||
			    !append(s, s->words[word].text, s->words[word].size))
				return false;
			substitutes = !is_last;
		}
		if (*s->at == '0') {
			s->at++;
			return true;
		}
		size = take_length(s);
		if (!size || !append(s, s->at, size))
			return false;
		add_words(s, s->at, size);
		s->at += size;
	} while (substitutes);
	return true;
}

/* "33_", 32 digits and "LL": what tells private names of two files apart. */
static void skip_discriminator(struct swift *s)
{
	if (gt_text_begins(s->at, "33_") && strlen(s->at) > 37 && gt_text_begins(s->at + 35, "LL"))
		s->at += 37;
}

static const char *after_prefix(const char *name)
{
	name += *name == '_';
	if (gt_text_begins(name, "$s") || gt_text_begins(name, "$S"))
		return name + 2;
	return gt_text_begins(name, "T0") ? name + 2 : NULL;
}

static bool ends_in(const char *name, const char *end)
{
	size_t size = strlen(name), tail = strlen(end);

	return size >= tail && !strcmp(name + size - tail, end);
}

/*
 * Types and the function, behind the module. `only_types`: labels of an initialiser look like
 * functions.
 */
static void take_entities(struct swift *s, bool only_types)
{
	while (isdigit((unsigned char)*s->at)) {
		size_t before = s->used;
		bool is_type;

		if (!append(s, ".", 1) || !take_identifier(s)) {
			s->used = before;
			return;
		}
		skip_discriminator(s);
		is_type = *s->at && strchr("CVOP", *s->at);
		/* the module of an extension says nothing */
		if (*s->at == 'E' || (only_types && !is_type))
			s->used = before;
		if (*s->at != 'E' && !is_type)
			return;
		s->at++;
	}
}

char *gt_swift_name(const char *mangled)
{
	struct swift s = { .at = after_prefix(mangled) };
	const char *special = ends_in(mangled, "fC") || ends_in(mangled, "fc") ? ".init" :
			      ends_in(mangled, "fD") || ends_in(mangled, "fd") ? ".deinit" :
										 "";
	size_t module;

	if (!s.at)
		return NULL;
	if (*s.at == 's' && isdigit((unsigned char)s.at[1])) {
		append(&s, "Swift", 5);
		s.at++;
	} else if (!take_identifier(&s)) {
		return NULL;
	}
	module = s.used;
	take_entities(&s, *special);
	append(&s, special, strlen(special));
	/* the module alone says less than the name as it is */
	if (s.used == module)
		return NULL;
	return gt_strndup(s.out, s.used);
}
