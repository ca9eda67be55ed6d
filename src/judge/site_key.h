/* SPDX-License-Identifier: MIT */
/*
 * site_key.h - a call site by its words, so that another recording can recognise it.
 *
 * The ledger's sites are stacks of addresses. Here a site is its words: the API, the kind, the
 * API's function, and for each frame its function as places say it (replay/place.h) and the name
 * of its file without folder and line. So neither a line that moved nor another folder or machine
 * makes a new site, and two calls of one function within another, and two instances of a template,
 * are one site; so are a function that calls itself once and twice. A frame without names is its
 * module's name; with its offset, if it is the program's or nothing else has a name. Whose code is
 * whose does not matter: recordings of one program may have been made in different folders.
 *
 * A key is a hash of the words, and the same in every recording: a command that compares two of
 * them need not have the words of both.
 */
#pragma once

#include "replay/view.h"

/*
 * Equal keys are the same site. GT_FN_NONE leaves the API's function out. With another `by` than
 * GT_BY_LINE, the words are the function, file, module, program or device of the place, or
 * (GT_BY_STACK) whole names with template arguments and all offsets, as versions up to 0.1 had
 * them.
 */
uint64_t gt_site_key(const struct gt_view *v, const struct gt_site *site, uint16_t function,
		     enum gt_by by);
/* The part of a key that does not depend on the API, kind and function: equal for equal places. */
uint64_t gt_site_key_place(uint64_t key, uint8_t api, uint8_t kind, uint16_t function);
/* The words, each field followed by a byte that no name has; the caller frees them. */
char *gt_site_key_text(const struct gt_view *v, const struct gt_site *site, uint16_t function,
		       enum gt_by by);
