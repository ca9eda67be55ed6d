/* SPDX-License-Identifier: MIT */
/*
 * place.h - how a stack is said: the one rule for headlines, labels and groups of every view.
 *
 * A place is the innermost frame of the user's own code (own.h), what it called on the way to the
 * API, and as many own callers as it takes to tell it from the other places of the same list:
 *
 *   Model.step loop.py:15 via Array.__add__ › Array.__init__ < main loop.py:30
 *
 * Without an own frame it is the innermost frame with a name, and its module. Frames without a name
 * ("demo+0x11a3") are the last resort, with their callers. Where the stack is missing, or is no
 * more than the API's function, it is the phase that the call was made in:
 *
 *   phase train > forward via cudaMalloc
 *
 * A view that lists places first calls gt_places_list with the stacks of the list, which settles
 * the callers; then gt_place_text, gt_place_put or gt_place_json for each row. Stacks with the same
 * gt_place_key are one place: a view that groups merges them (gt_place_groups, gt_place_sites, or
 * its own table by key). The options of struct gt_frames choose what a place is (enum gt_by).
 *
 * Ask when the recording has been read: only then are its programs and folders known.
 */
#pragma once

#include "base/json.h"
#include "base/print.h"
#include "ledger/groups.h"
#include "replay/frames.h"
#include "replay/view.h"

/* "call site", "call sites"; with another --by "function", "files", "processes". */
const char *gt_place_noun(const struct gt_frames *f, uint64_t count);

/* The parts of a place. Strings of frames live as long as the struct gt_frames. */
struct gt_place {
	struct gt_frame frame; /* to point at; all zero: there is no stack */
	bool is_own;
	char **via; /* library functions, outermost first, shortened */
	size_t via_count;
	struct gt_frame *callers; /* own ones, innermost first */
	size_t caller_count;
	size_t told; /* callers that the list needs */
	char *part;  /* what stands for all of it, as gt_frames_part; NULL: the stack is whole */
	/* "phase train > forward", in the place of a stack that is missing; else NULL */
	char *phase;
};

void gt_place_init(struct gt_place *place, struct gt_frames *f, uint32_t stack);
void gt_place_fini(struct gt_place *place);
/* True when a stack's place is a line of it; not by function, file, module, nor for a part. */
bool gt_place_has_line(const struct gt_frames *f, uint32_t stack);

/* Equal for stacks that are one place; 0 for stack 0. */
uint64_t gt_place_key(struct gt_frames *f, uint32_t stack);
/*
 * Hashes of the words of a place: of the place itself, and of its callers, innermost first. Returns
 * how many these are; the caller frees them.
 */
size_t gt_place_hashes(struct gt_frames *f, uint32_t stack, uint64_t *first, uint64_t **callers);
/* The name of the caller number `n` of those with a name, as a hash; false: there are fewer. */
bool gt_place_caller(struct gt_frames *f, uint32_t stack, size_t n, uint64_t *name);
/* The frame to point at, for editors and annotations: with a file and a line; false: none. */
bool gt_place_frame(struct gt_frames *f, uint32_t stack, struct gt_frame *frame);

/* Settles how many callers each of these needs to be told from the others. */
void gt_places_list(struct gt_frames *f, const uint32_t *stacks, size_t count);

/* The place on one line, uncut; "(no stack)" for stack 0. The caller frees it. */
char *gt_place_text(struct gt_frames *f, uint32_t stack, bool utf8);
/* Its words, for views that paint them each in its way; "" where there is nothing to say. */
struct gt_place_words {
	char *function, *where;
	char *via;     /* " via A › B" */
	char *callers; /* " < main src/demo.c:81": those that the list needs */
};
struct gt_place_words gt_place_words(struct gt_frames *f, uint32_t stack, bool utf8);
void gt_place_words_fini(struct gt_place_words *w);
/* The same on the rest of a line, in at most `columns`: what says least is left out first. */
void gt_place_put(struct gt_printer *p, const struct gt_view *v, uint32_t stack, unsigned columns);
/*
 * The columns that it takes if nothing is cut: its function and line, and the caller that tells it
 * from the others of the list.
 */
unsigned gt_place_columns(struct gt_frames *f, uint32_t stack, bool utf8);
/* An object: text, at ("main src/demo.c:81"), function, file, line, module, own, via, callers. */
void gt_place_json(struct gt_json *j, const char *key, struct gt_frames *f, uint32_t stack);

/*
 * " via A › B", or " via A" if it is to be brief; "" where nothing is on the way. The caller frees
 * it.
 */
char *gt_place_via(const struct gt_place *place, bool brief, bool utf8);
/* "src/demo.c:41", relative to the root; the module's name where the file is not known. */
char *gt_place_location(struct gt_own *own, const struct gt_frame *frame);
/* The function as a place says it; "demo+0x11a3" where it has no name. The caller frees it. */
char *gt_place_function(const struct gt_frame *frame);
/* "main src/demo.c:81": both. The caller frees it. */
char *gt_place_line(struct gt_own *own, const struct gt_frame *frame);

/* Merges groups of one API and kind whose places are one; the biggest gives the stack. */
void gt_place_groups(struct gt_groups *groups, const struct gt_view *v);
/*
 * The sites of a ledger that `wants` returns true for (NULL: all), those of one API, kind and place
 * as one, in the order of their first creations. The peak of several is theirs added up, which is
 * an upper bound. The list points into the ledger and into `sums`.
 */
struct gt_place_sites {
	const struct gt_site **list;
	size_t count;
	struct gt_site *sums; /* of places with several sites */
};
void gt_place_sites_init(struct gt_place_sites *s, const struct gt_ledger *l, struct gt_frames *f,
			 bool (*wants)(const struct gt_site *site));
void gt_place_sites_fini(struct gt_place_sites *s);
/* Adds a site to such a sum; `biggest`: the bytes of the one that gave it its stack. */
void gt_place_add_site(struct gt_site *sum, const struct gt_site *one, uint64_t *biggest);
/* Numbers places of one kind from 0: stacks that are one place have the same. Zeroed is empty. */
struct gt_place_numbers {
	struct gt_map map;
	size_t count;
};
size_t gt_place_number(struct gt_place_numbers *n, struct gt_frames *f, uint32_t stack,
		       enum gt_kind kind);
/* How many places these are, where rows of several kinds may be of one (not GT_BY_LINE). */
size_t gt_place_count(struct gt_frames *f, const uint32_t *stacks, size_t count);
size_t gt_place_count_groups(struct gt_frames *f, const struct gt_groups *groups);
size_t gt_place_count_sites(struct gt_frames *f, const struct gt_place_sites *sites);
/*
 * gt_places_list for the stacks of groups, and of sites: of the first `most`, which is as many as
 * are shown, or more.
 */
void gt_places_list_groups(struct gt_frames *f, const struct gt_groups *groups, size_t most);
void gt_places_list_sites(struct gt_frames *f, const struct gt_place_sites *sites, size_t most);
/* The same for all sites of a ledger, each for itself. */
void gt_places_list_ledger(struct gt_frames *f, const struct gt_ledger *l);
/* The same under the key "place", and the whole stack under "stack". */
void gt_place_and_stack_json(struct gt_json *j, struct gt_frames *f, uint32_t stack);
/* The last fields of a TSV row: the whole stack, and its place. */
void gt_place_end_tsv(FILE *out, struct gt_frames *f, uint32_t stack);
