/* SPDX-License-Identifier: MIT */
/*
 * lifetimes.h - every birth and end that an event causes, and what keeps a resource alive.
 *
 * live.h applies an event to the one entry that it names. But a context takes what it owns along,
 * memory lives as long as its last mapping, a buffer as long as its last sub-buffer, and one call
 * can unmap several ranges: all these ends are reported here. For the tool.
 */
#pragma once

#include "ledger/live.h"

enum gt_ended_by {
	GT_ENDED_BY_CALL,     /* the call named it, or a range that contains it */
	GT_ENDED_BY_CREATION, /* its handle was created anew: its own end was not seen */
	GT_ENDED_BY_OWNER,    /* its owner ended and took it along */
	GT_ENDED_BY_HOLDER,   /* the last holder that kept it alive ended */
	GT_ENDED_BY_PROCESS,  /* it was alive when its process ended; reported by ledgers alone */
};

struct gt_live_observer {
	void (*born)(void *context, const struct gt_entry *entry, uint32_t slot);
	/* `entry` is a copy: its slot is free or reused. */
	void (*ended)(void *context, const struct gt_entry *entry, uint32_t slot,
		      enum gt_ended_by by);
	void *context;
	/* Reported by ledgers alone; may be NULL. `entry`, as it was, turns out to be a segment. */
	void (*became_segment)(void *context, const struct gt_entry *entry);
	/* … A block has so many bytes of a segment from now on, or returns them (negative). */
	void (*moved)(void *context, const struct gt_entry *segment, int64_t bytes);
};

/* As gt_live_apply, but reports each birth and end to `f`; ends the tool when out of memory. */
enum gt_change gt_live_apply_all(struct gt_live *l, const struct gt_event *event, uint16_t process,
				 const struct gt_live_observer *f, struct gt_entry **entry);

/*
 * The event ended something that is not known. What goes with it ends as well: what it takes along
 * (GT_TAKES), and the other ranges that the call names (GT_RANGED).
 */
void gt_live_end_rest(struct gt_live *l, const struct gt_event *event, uint16_t process,
		      const struct gt_live_observer *f);

/*
 * Brings an entry back to life, as a retain has shown it to be: it holds again what it held. The
 * caller reports it, at the slot l->changed_slot. Ends the tool when out of memory.
 */
struct gt_entry *gt_live_revive(struct gt_live *l, const struct gt_entry *entry);

/*
 * The references of living entries, by slot. `refs` of an entry counts the program's references and
 * those of its holders (GT_HOLDS: mappings, sub-buffers). The holders are counted separately here,
 * with the stack that last retained the entry. Zeroed is empty.
 */
struct gt_references {
	uint32_t *holders;
	size_t holder_size;
	uint32_t *retain_stacks;
	size_t retain_size;
	bool *revived; /* the reference that its creation returned has been released */
	size_t revived_size;
};

void gt_references_fini(struct gt_references *r);

/* An entry was born or has ended; if it is a holder, what it holds has one more or one less. */
void gt_references_born(struct gt_references *r, const struct gt_live *l,
			const struct gt_entry *entry, uint32_t slot);
void gt_references_ended(struct gt_references *r, const struct gt_live *l,
			 const struct gt_entry *entry);
void gt_references_retained(struct gt_references *r, const struct gt_live *l,
			    const struct gt_entry *entry, uint32_t stack);

/* The entry is back to life by the retain of that stack; call after gt_references_born. */
void gt_references_revived(struct gt_references *r, const struct gt_live *l,
			   const struct gt_entry *entry, uint32_t stack);

/* How many holders keep the entry alive. */
uint32_t gt_references_holders(const struct gt_references *r, const struct gt_live *l,
			       const struct gt_entry *entry);
/* The program's own references: 0 when only holders keep the entry alive. */
uint32_t gt_references_own(const struct gt_references *r, const struct gt_live *l,
			   const struct gt_entry *entry);
/*
 * True when the event would end a reference of the program's, and only holders have references:
 * then it ends nothing.
 */
bool gt_references_lack(const struct gt_references *r, const struct gt_live *l,
			const struct gt_event *event, uint16_t process);
/* The stack that last retained the entry, if it is still retained; 0 for none. */
uint32_t gt_references_retain_stack(const struct gt_references *r, const struct gt_live *l,
				    const struct gt_entry *entry);
