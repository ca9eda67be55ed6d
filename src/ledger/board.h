/* SPDX-License-Identifier: MIT */
/*
 * board.h - what processes hold right now, for the live screen and the live table.
 *
 * Every event updates everything, so that no query costs more when more is alive. The query for the
 * biggest sites walks all call sites. The biggest and oldest resources come from lists by size
 *class, eight classes to a power of two and each with the oldest first: "the biggest" is exact to
 *an eighth of its size. For the tool.
 *
 *	gt_board_add      a process is seen for the first time
 *	gt_board_apply    one of its events
 *	gt_board_end      it has ended
 *	gt_board_tick     updates rates and histories
 */
#pragma once

#include "ledger/live.h"

enum {
	GT_BOARD_HISTORY = 60,     /* ticks that histories go back */
	GT_BOARD_ALL = UINT16_MAX, /* in place of a process: all of them */
	GT_BOARD_PROCESSES_MAX = UINT16_MAX,
};

/* Values at the latest ticks: a ring, as older ones are never shown (no gt_time_series). */
struct gt_recent {
	uint64_t values[GT_BOARD_HISTORY];
	uint32_t count; /* of all ticks; the latest is at (count - 1) % GT_BOARD_HISTORY */
};

struct gt_board_process {
	uint32_t pid;
	char name[64];
	uint64_t start_ns, end_ns; /* end: 0 while it runs */
	uint64_t live, bytes;      /* alive now, or at its end */
	uint64_t device_bytes, peak_bytes;
	uint64_t created, ended, failed;
	uint64_t places;                 /* where it has made something: gt_board_place_bit */
	uint64_t before;                 /* ends of resources created before recording began */
	uint64_t lost;                   /* missing events: gt_board_lose */
	double created_rate, ended_rate; /* per second, over the last tick */
	struct gt_recent history;

	/* private */
	uint64_t created_then, ended_then;
	size_t live_sites; /* sites with living resources */
	struct gt_board_lists *lists;
};

/* Measured in bytes, or in resources if their kind has no bytes of its own. */
struct gt_board_site {
	uint32_t stack; /* the process's own number */
	uint16_t process;
	uint8_t api, kind;
	uint16_t function;    /* of the first creation */
	uint16_t segment_row; /* blocks of a pool lie in its memory: this is cached; 0: none do */
	uint16_t place;       /* gt_event.place, if gt_board_split_places was called; 0 otherwise */
	uint64_t live, bytes, created, bytes_created;
	uint64_t low;        /* the least it held since the last tick, in bytes or resources */
	uint64_t places;     /* likewise */
	double created_rate; /* creations per second, over the last tick */
	double growth;       /* bytes or resources per second, over the last tick */
	struct gt_recent
		*history; /* of bytes or resources; NULL: gt_board_chart_sites not called */

	/* For the caller of gt_board_each_site: what it has seen of the site; zeroed at first. */
	struct gt_board_seen {
		uint64_t live, bytes, created, bytes_created;
		uint32_t number, generation;
		uint16_t segment_row;
	} seen;

	/* private */
	uint64_t created_then, measure_then;
	uint32_t next; /* in its bucket: site + 1, 0 for none */
};

typedef void gt_board_site_fn(void *context, struct gt_board_site *site);

/*
 * A bit for each place (gt_event.place). Bit 0 is an unknown one; kinds that are on no device have
 * none.
 */
static inline uint64_t gt_board_place_bit(uint16_t place, enum gt_kind kind)
{
	return place || gt_kind_on_device(kind) ? UINT64_C(1) << (place & 63) : 0;
}

/* The stack of sites that have none of their own, because too many others are alive. */
#define GT_BOARD_OTHER UINT32_MAX

struct gt_board;

struct gt_board *gt_board_new(void);
void gt_board_free(struct gt_board *b);
/* Call these before the first event. Sites have histories; without it, only processes do. */
void gt_board_chart_sites(struct gt_board *b);
/*
 * Limits the memory for sites. At the limit, sites that hold nothing are dropped; if that does not
 * help, resources of further sites are counted under GT_BOARD_OTHER.
 */
void gt_board_limit_sites(struct gt_board *b, size_t bytes);
/* A call site is one for each place (gt_event.place) that it has made something at. */
void gt_board_split_places(struct gt_board *b);
/* `dropped` is called for each site that is about to be dropped: the last look at it. */
void gt_board_on_drop(struct gt_board *b, gt_board_site_fn *dropped, void *context);
/* How many resources were counted there. */
uint64_t gt_board_others(const struct gt_board *b);

/* The process's number; GT_BOARD_ALL when there is no room for more. `name` is copied. */
uint16_t gt_board_add(struct gt_board *b, uint32_t pid, const char *name, uint64_t start_ns);
void gt_board_rename(struct gt_board *b, uint16_t process, const char *name);
void gt_board_apply(struct gt_board *b, const struct gt_event *event, uint16_t process);
/* Removes what the process held; its totals stay. */
void gt_board_end(struct gt_board *b, uint16_t process, uint64_t end_ns);
void gt_board_lose(struct gt_board *b, uint16_t process, uint64_t events);
void gt_board_tick(struct gt_board *b, uint64_t now_ns);

/* Calls `each` for every site, also for those that hold nothing; it may change `seen` alone. */
void gt_board_each_site(struct gt_board *b, gt_board_site_fn *each, void *context);
/* Calls `each` for every living resource of a process; segments of pools with their whole size. */
void gt_board_each_entry(const struct gt_board *b, uint16_t process,
			 void (*each)(void *context, const struct gt_entry *entry), void *context);
/*
 * Forgets the processes that have ended, with their sites: their numbers are given to others. For
 * those who watch for so long that there would be too many.
 */
void gt_board_forget_ended(struct gt_board *b);

size_t gt_board_process_count(const struct gt_board *b);
/* Good until the next gt_board_add. */
const struct gt_board_process *gt_board_process(const struct gt_board *b, uint16_t process);
/* The sum of all processes, with its own peak; pid, name and lists are empty. */
struct gt_board_process gt_board_total(const struct gt_board *b);

enum gt_board_order { GT_BOARD_BY_BYTES, GT_BOARD_BY_LIVE, GT_BOARD_BY_RATE, GT_BOARD_BY_GROWTH };

/*
 * The first `most` sites with living resources, of one process or of all that run; returns their
 * number. Good until the next event.
 */
size_t gt_board_sites(const struct gt_board *b, uint16_t process, enum gt_board_order order,
		      const struct gt_board_site **out, size_t most);
/* The biggest living resources of a process; their number. Good until the next event. */
size_t gt_board_biggest(const struct gt_board *b, uint16_t process, const struct gt_entry **out,
			size_t most);
/* The oldest, memory before objects without bytes; NULL for none. Good until the next event. */
const struct gt_entry *gt_board_oldest(const struct gt_board *b, uint16_t process);

/* Bytes allocated for living resources, and the number of these. */
size_t gt_board_bytes(const struct gt_board *b, size_t *entries);
