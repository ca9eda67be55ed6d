/* SPDX-License-Identifier: MIT */
/* ranges.c - the ranges that are open in this process, and the phase that they make of a call. */
#include "guest/ranges.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "trace/layout.h"
#include "trace/writer.h"

enum {
	TEXT_BYTES = 4 << 20, /* of all texts */
	TEXTS_MAX = 1 << 16,
	TEXT_SLOTS = 1 << 17,
	RANGES_MAX = 1 << 16, /* different ones, within different ones */
	RANGE_SLOTS = 1 << 17,
	PROBES_MAX = 64,
	DEPTH_MAX = 64,   /* ranges within one another */
	PROCESS_MAX = 64, /* ranges of the process that are open at a time */
};

/* A text lies in `texts`, at its number; what it begins with is unequal for most others. */
struct text {
	uint32_t hash;
	uint16_t size;
	char bytes[];
};

/* A range within another. */
struct range {
	uint32_t parent; /* 0: none */
	struct gt_range_name name;
	uint32_t depth;            /* how many it is, with those around it */
	_Atomic uint64_t in_trace; /* generation of the trace << 32 | its number there */
};

/*
 * Entries are added and never change. An entry is complete before its number is put into a slot, so
 * whoever finds it there can read it: no lock is needed, nobody can die with one, and what a signal
 * handler or a fork interrupts is only never found.
 */
struct tables {
	_Atomic uint32_t text_bytes, text_count, range_count;
	_Atomic bool is_full;
	_Atomic uint32_t text_slots[TEXT_SLOTS]; /* by hash; 0: free */
	_Atomic uint32_t range_slots[RANGE_SLOTS];
	struct range ranges[RANGES_MAX]; /* 0 is none */
	_Alignas(8) uint8_t texts[TEXT_BYTES];
};

static _Atomic(struct tables *) made;

enum process_range_state { FREE, CHANGING, OPEN };

/* Read without a lock: what is torn was changed meanwhile, and `process_version` with it. */
static struct process_range {
	_Atomic uint32_t state, text, domain, category;
	_Atomic uint64_t id, order;
} process_ranges[PROCESS_MAX];
static _Atomic uint64_t next_id = 1;
static _Atomic uint32_t process_version; /* changes with the open ones; 0: there was none yet */

static __thread struct {
	uint32_t range;  /* the innermost open one; 0: none */
	uint32_t beyond; /* open ones within it that were not told apart */
	/* the phase that was asked for last, and what it was made of */
	uint32_t known_range, known_version, known_generation, known_phase;
} self __attribute__((tls_model("initial-exec")));

static _Atomic uint32_t told_generation; /* the trace says that the tables were full */

static struct tables *tables(void)
{
	return atomic_load_explicit(&made, memory_order_acquire);
}

bool gt_ranges_start(void)
{
	struct tables *t, *none = NULL;

	if (tables())
		return true;
	t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t == MAP_FAILED)
		return false;
	/* 0 means none */
	atomic_init(&t->text_bytes, 8);
	atomic_init(&t->text_count, 1);
	atomic_init(&t->range_count, 1);
	if (!atomic_compare_exchange_strong(&made, &none, t))
		munmap(t, sizeof *t);
	return true;
}

static const struct text *text_at(const struct tables *t, uint32_t number)
{
	return (const struct text *)(t->texts + number);
}

/* A number of `size` bytes or entries of an array that has `most`; 0: there is no room. */
static uint32_t take(struct tables *t, _Atomic uint32_t *used, uint32_t size, uint32_t most)
{
	uint32_t before = atomic_load_explicit(used, memory_order_relaxed);

	do
		if (size > most - before) {
			atomic_store_explicit(&t->is_full, true, memory_order_relaxed);
			return 0;
		}
	while (!atomic_compare_exchange_weak(used, &before, before + size));
	return before;
}

static uint32_t add_text(struct tables *t, const char *bytes, size_t size, uint32_t hash)
{
	uint32_t number;
	struct text *text;

	number = take(t, &t->text_count, 1, TEXTS_MAX) ?
			 take(t, &t->text_bytes, (uint32_t)(sizeof(struct text) + size + 8) & ~7u,
			      TEXT_BYTES) :
			 0;
	text = (struct text *)(t->texts + number);
	if (number) {
		text->hash = hash;
		text->size = (uint16_t)size;
		memcpy(text->bytes, bytes, size);
	}
	return number;
}

uint32_t gt_range_text(const char *bytes, size_t size)
{
	struct tables *t = tables();
	uint32_t hash, mine = 0;

	if (size > GT_RANGE_TEXT)
		size = GT_RANGE_TEXT;
	if (!t || !size)
		return 0;
	hash = (uint32_t)gt_hash_bytes(bytes, size);
	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		_Atomic uint32_t *slot = &t->text_slots[(hash + i) % TEXT_SLOTS];
		uint32_t found = atomic_load_explicit(slot, memory_order_acquire);
		const struct text *text;

		if (!found) {
			mine = mine ? mine : add_text(t, bytes, size, hash);
			if (!mine)
				return GT_RANGE_NO_ROOM;
			if (atomic_compare_exchange_strong(slot, &found, mine))
				return mine;
		}
		text = text_at(t, found);
		if (text->hash == hash && text->size == size && !memcmp(text->bytes, bytes, size))
			return found;
	}
	atomic_store_explicit(&t->is_full, true, memory_order_relaxed);
	return GT_RANGE_NO_ROOM;
}

const char *gt_range_text_get(uint32_t number, size_t *size)
{
	const struct tables *t = tables();

	*size = t && number ? text_at(t, number)->size : 0;
	return *size ? text_at(t, number)->bytes : "";
}

static bool is_range(const struct range *r, uint32_t parent, const struct gt_range_name *name)
{
	return r->parent == parent && r->name.text == name->text &&
	       r->name.domain == name->domain && r->name.category == name->category;
}

static uint32_t add_range(struct tables *t, uint32_t parent, const struct gt_range_name *name)
{
	uint32_t number = take(t, &t->range_count, 1, RANGES_MAX);

	if (number) {
		t->ranges[number].parent = parent;
		t->ranges[number].name = *name;
		t->ranges[number].depth = t->ranges[parent].depth + 1;
	}
	return number;
}

/* The range of this name within another; 0: the tables are full. */
static uint32_t range_within(struct tables *t, uint32_t parent, const struct gt_range_name *name)
{
	uint64_t hash = gt_mix64(((uint64_t)parent << 32 | name->text) ^
				 gt_mix64((uint64_t)name->domain << 32 | name->category));
	uint32_t mine = 0;

	if (name->text == GT_RANGE_NO_ROOM || name->domain == GT_RANGE_NO_ROOM)
		return 0;
	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		_Atomic uint32_t *slot = &t->range_slots[(hash + i) % RANGE_SLOTS];
		uint32_t found = atomic_load_explicit(slot, memory_order_acquire);

		if (!found) {
			mine = mine ? mine : add_range(t, parent, name);
			if (!mine || atomic_compare_exchange_strong(slot, &found, mine))
				return mine;
		}
		if (is_range(&t->ranges[found], parent, name))
			return found;
	}
	atomic_store_explicit(&t->is_full, true, memory_order_relaxed);
	return 0;
}

int gt_range_push(const struct gt_range_name *name)
{
	struct tables *t = tables();
	uint32_t within = self.range, depth, opened = 0;

	if (!t)
		return -1;
	depth = t->ranges[within].depth;
	if (!self.beyond && depth < DEPTH_MAX)
		opened = range_within(t, within, name);
	if (opened)
		self.range = opened;
	else
		self.beyond++;
	return (int)(depth + self.beyond - !opened);
}

/* Closes a range that others have been opened in: theirs is now the one around it. */
static __attribute__((noinline)) bool pop_from_below(struct tables *t, uint32_t domain)
{
	uint32_t inner[DEPTH_MAX], count = 0, r = self.range;

	while (r && t->ranges[r].name.domain != domain) {
		inner[count++] = r;
		r = t->ranges[r].parent;
	}
	if (!r)
		return false;
	r = t->ranges[r].parent;
	while (count-- > 0) {
		uint32_t moved = range_within(t, r, &t->ranges[inner[count]].name);

		r = moved ? moved : r;
	}
	self.range = r;
	return true;
}

int gt_range_pop(uint32_t domain)
{
	struct tables *t = tables();
	uint32_t r = self.range;

	if (!t)
		return -1;
	if (self.beyond)
		self.beyond--;
	else if (r && t->ranges[r].name.domain == domain)
		self.range = t->ranges[r].parent;
	else if (!r || !pop_from_below(t, domain))
		return -1; /* nothing was open: nobody's mistake but the program's */
	return (int)(t->ranges[self.range].depth + self.beyond);
}

uint64_t gt_range_start(const struct gt_range_name *name, uint64_t id)
{
	uint64_t order = atomic_fetch_add(&next_id, 1);

	id = id ? id : order;
	for (size_t i = 0; i < PROCESS_MAX; i++) {
		struct process_range *p = &process_ranges[i];
		uint32_t state = FREE;

		if (!atomic_compare_exchange_strong(&p->state, &state, CHANGING))
			continue;
		atomic_store_explicit(&p->id, id, memory_order_relaxed);
		atomic_store_explicit(&p->order, order, memory_order_relaxed);
		atomic_store_explicit(&p->text, name->text, memory_order_relaxed);
		atomic_store_explicit(&p->domain, name->domain, memory_order_relaxed);
		atomic_store_explicit(&p->category, name->category, memory_order_relaxed);
		atomic_store_explicit(&p->state, OPEN, memory_order_release);
		atomic_fetch_add(&process_version, 1);
		break;
	}
	return id;
}

void gt_range_end(uint64_t id)
{
	for (size_t i = 0; i < PROCESS_MAX; i++) {
		struct process_range *p = &process_ranges[i];
		uint32_t state = OPEN;

		if (atomic_load_explicit(&p->state, memory_order_acquire) != OPEN ||
		    atomic_load_explicit(&p->id, memory_order_relaxed) != id ||
		    !atomic_compare_exchange_strong(&p->state, &state, FREE))
			continue;
		atomic_fetch_add(&process_version, 1);
		return;
	}
}

/* The range that the open ones of the process make, in the order in which they started. */
static uint32_t process_range(struct tables *t)
{
	uint64_t last = 0;
	uint32_t r = 0;

	for (;;) {
		struct gt_range_name name = { 0 };
		uint64_t first = UINT64_MAX;

		for (size_t i = 0; i < PROCESS_MAX; i++) {
			const struct process_range *p = &process_ranges[i];
			bool is_open =
				atomic_load_explicit(&p->state, memory_order_acquire) == OPEN;
			uint64_t order = atomic_load_explicit(&p->order, memory_order_relaxed);

			if (!is_open || order <= last || order >= first)
				continue;
			first = order;
			name.text = atomic_load_explicit(&p->text, memory_order_relaxed);
			name.domain = atomic_load_explicit(&p->domain, memory_order_relaxed);
			name.category = atomic_load_explicit(&p->category, memory_order_relaxed);
		}
		if (first == UINT64_MAX)
			return r;
		last = first;
		if (t->ranges[r].depth < DEPTH_MAX) {
			uint32_t inner = range_within(t, r, &name);

			r = inner ? inner : r;
		}
	}
}

/* The thread's ranges within those of the process. */
static uint32_t whole_range(struct tables *t)
{
	uint32_t own[DEPTH_MAX], count = 0, r = process_range(t);

	if (!r)
		return self.range;
	for (uint32_t i = self.range; i; i = t->ranges[i].parent)
		own[count++] = i;
	while (count-- > 0) {
		uint32_t inner = range_within(t, r, &t->ranges[own[count]].name);

		r = inner ? inner : r;
	}
	return r;
}

static uint32_t number_in_trace(const struct range *r, uint32_t generation)
{
	uint64_t known = atomic_load_explicit(&r->in_trace, memory_order_relaxed);

	return known >> 32 == generation ? (uint32_t)known : 0;
}

static const char *text_of(uint32_t number)
{
	size_t size;

	/* zeroes follow it */
	return gt_range_text_get(number, &size);
}

/* Writes a range into the trace, where those around it have the number `parent`. */
static uint32_t define(struct gt_writer *w, struct range *r, uint32_t parent, uint32_t generation)
{
	const struct gt_range range = { text_of(r->name.text), text_of(r->name.domain),
					text_of(r->name.category) };
	uint32_t phase = gt_writer_phase(w, parent, &range);

	atomic_store_explicit(&r->in_trace, (uint64_t)generation << 32 | phase,
			      memory_order_relaxed);
	return phase;
}

/* Says once in a trace that there was no room for all ranges. */
static __attribute__((noinline)) void tell_full(struct gt_writer *w, const struct tables *t,
						uint32_t generation)
{
	if (atomic_load_explicit(&t->is_full, memory_order_relaxed) &&
	    atomic_load_explicit(&told_generation, memory_order_relaxed) != generation &&
	    atomic_exchange(&told_generation, generation) != generation)
		gt_writer_info(w, "ranges_full", "1", 1);
}

/* Apart: most calls are made in the phase of the one before, or in none. */
static __attribute__((noinline)) uint32_t find_phase(struct gt_writer *w, struct tables *t,
						     uint32_t generation)
{
	uint32_t innermost = whole_range(t);

	/* the outermost that is new comes first; a list of all would take the caller's stack */
	for (;;) {
		uint32_t phase = 0, new = 0;

		for (uint32_t r = innermost; r && !phase; r = t->ranges[r].parent) {
			phase = number_in_trace(&t->ranges[r], generation);
			new = phase ? new : r;
		}
		if (!new || !define(w, &t->ranges[new], phase, generation))
			return phase;
	}
}

static __attribute__((noinline)) uint32_t phase_of(struct gt_writer *w, uint32_t generation,
						   uint32_t version)
{
	uint32_t range = self.range;
	struct tables *t = tables();

	if (!t)
		return 0;
	if (self.beyond)
		tell_full(w, t, generation);
	if (!range && !version)
		return 0;
	if (self.known_range != range || self.known_version != version ||
	    self.known_generation != generation) {
		self.known_phase = find_phase(w, t, generation);
		self.known_range = range;
		self.known_version = version;
		self.known_generation = generation;
	}
	return self.known_phase;
}

uint32_t gt_ranges_phase(struct gt_writer *w, uint32_t generation)
{
	uint32_t version = atomic_load_explicit(&process_version, memory_order_acquire);

	/* most programs name no phases */
	return self.range || self.beyond || version ? phase_of(w, generation, version) : 0;
}
