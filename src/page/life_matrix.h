/* SPDX-License-Identifier: MIT */
/*
 * life_matrix.h - a page's matrix of lives: how many resources of one origin were created in one
 * step of time and ended in another, so that a reader can ask about any moment and any range.
 *
 * An origin is a call site, process, thread, device, phase and size. A step is a row of the page's
 * kinds over time, or 2, 4, 8 … rows. The matrix has a bounded number of cells: when it is full,
 * its steps double in length, or its origins lose what tells some of them apart. Of too many call
 * sites, those of one row of the page become one, and the smallest become one that stands for the
 * rest: sums stay what they are.
 */
#pragma once

#include "base/containers.h"
#include "base/json.h"
#include "page/encode.h"
#include "page/rows.h"
#include "replay/lives.h"
#include "trace/recording.h"

/* What origins are told apart by, the most first. */
enum gt_life_detail {
	GT_LIFE_BY_SIZE,   /* everything */
	GT_LIFE_BY_CLASS,  /* sizes by powers of two */
	GT_LIFE_BY_DEVICE, /* no thread, no phase */
	GT_LIFE_BY_SITE,   /* the call site alone */
	GT_LIFE_BY_ROW,    /* the page's row that a call site belongs to */
};

#define GT_LIFE_REST UINT32_MAX /* in the place of a site: the smallest of too many */

struct gt_life_origin {
	uint64_t size;  /* from GT_LIFE_BY_CLASS on the bits that it takes */
	uint32_t site;  /* the ledger's, the first of its row; once numbered, the page's */
	uint32_t stack; /* the page's, once numbered */
	uint32_t tid;
	uint32_t phase, place; /* once numbered, the page's numbers of their names */
	uint32_t process;
};

enum { GT_PAGE_NEVER = UINT16_MAX }; /* in the place of the step of an end */

struct gt_page_cell {
	uint32_t origin;
	uint16_t born, ended;
	uint64_t count;
	int64_t bytes;
};

struct gt_page_blocks;

/* Bounds, and what tells rows of the page apart. */
struct gt_page_lives_limits {
	size_t rows, cells, sites;
	uint64_t (*row_key)(void *context, const struct gt_site *site);
	void *context;
};

enum { GT_LIFE_PENDING = 16 };

struct gt_page_lives {
	struct gt_lives lives;
	struct gt_page_lives_limits limits;
	struct gt_page_blocks *blocks; /* told of every life; NULL: none */
	struct gt_intern *origins;
	enum gt_life_detail detail;
	unsigned shift;             /* rows in a step, as a power of two */
	bool is_numbered;           /* origins have the page's numbers of sites and stacks */
	struct gt_page_cell *cells; /* a hash table; of origin UINT32_MAX where it is empty */
	size_t cell_count, room;    /* of the table; no room: it is a list */
	struct gt_page_cell pending[GT_LIFE_PENDING]; /* being fetched: soon in the table */
	size_t pending_count;
	uint32_t *origin_of; /* by the ledger's site, from GT_LIFE_BY_SITE on: origin + 1 */
	size_t origin_of_count;
	struct gt_map rows;  /* from GT_LIFE_BY_ROW on, by the row's key: its first site + 1 */
	size_t merged_sites; /* call sites that are in the rest */
};

void gt_page_lives_init(struct gt_page_lives *l, const struct gt_page_lives_limits *limits);
void gt_page_lives_fini(struct gt_page_lives *l);
/* After the last event: what is alive, and whatever is pending. */
void gt_page_lives_end(struct gt_page_lives *l);
/* The cells as a list in no order, instead of a table. */
void gt_page_lives_list(struct gt_page_lives *l);
/* Halves the number of cells, more or less; false: they cannot be fewer. */
bool gt_page_lives_coarsen(struct gt_page_lives *l);

/* Calls `change` on each origin; those that are then equal become one. */
typedef void gt_life_origin_fn(const void *context, struct gt_life_origin *origin);
void gt_page_lives_change(struct gt_page_lives *l, gt_life_origin_fn *change, const void *context);

/* The page's numbers of what origins have the recording's of. */
struct gt_page_life_numbers {
	uint32_t *sites;  /* by the ledger's site; one more than the last: it is not in the page */
	uint32_t *stacks; /* likewise: of its stack */
	uint32_t rest;    /* one more than the last */
	struct gt_page_names *names;
	const struct gt_recording *recording;
};

/*
 * "lives": shift, detail, how many sites are in the rest, and a compressed text. Coarsens the
 * matrix until these have at most `bytes_max` bytes.
 */
void gt_page_lives_json(struct gt_json *j, struct gt_page_lives *l,
			const struct gt_page_life_numbers *numbers, size_t bytes_max);
