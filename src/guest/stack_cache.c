/* SPDX-License-Identifier: MIT */
/*
 * stack_cache.c - stacks that the calling thread has had before, known again without walking them.
 *
 * They form a tree, from the inside outwards. A node is a run of words that all stacks through it
 * have, and then one word in which they differ, by whose value the next node is found. So a stack
 * is known after one look at each of its words, out of as many stacks as there are: a step of
 * training makes its tensors from hundreds.
 *
 * The tree has a fixed size. When it is full, it begins anew. It is small, because the program has
 * used the processor's caches for itself since the last time.
 */
#include "guest/stack_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/machine.h"
#include "base/thread_key.h"

enum {
	NODES = 4096,
	SLOT_BITS = 13, /* twice as many slots as nodes */
	SLOTS = 1 << SLOT_BITS,
	WORDS = 1 << 16,
	CANDIDATE_SETS = 1024,
	CANDIDATES = 4, /* of a set */
	LEARN_FREELY = 512,
	LEARN_EVERY = 8,        /* candidates may displace each other for ever */
	TRY_AGAIN_AFTER = 8192, /* stacks that were not known */
	TREES = 4,
	ROOM_BITS = 10,
	ROOT = 1 << 16, /* and more: of stacks of which so many addresses were asked for */
	TOUCHED = 4096,
};

/*
 * Where a word of a stack lies: so many bytes above the innermost frame; plus one, if it is a
 * return address.
 */
typedef uint32_t place_t;
enum { RETURNS = 1, DISTANCE_MAX = 1 << 30 };

struct node {
	uint64_t value;  /* of the parent's branch, by which this node is found */
	uint32_t parent; /* the number of a node, or ROOT and more */
	uint32_t first_word;
	place_t branch; /* of the word after the run, unless that is the end */
	uint16_t word_count;
	uint16_t mixed_count; /* of these, the first among which are saved frame pointers */
	bool is_end;
};

struct cache {
	uint32_t generation;
	uint32_t node_count, word_count;
	uint32_t found, learnt, missed;
	bool is_changing; /* a signal's handler may leave it by longjmp: then it is of no use */
	place_t learnt_places[GT_STACK_CACHE_WORDS]; /* of the stack that is being learnt */
	uint16_t slots[SLOTS]; /* numbers of nodes, by parent and value; 0: none */
	/* marks of the last stacks that were not known, the newest in the lowest bits */
	uint64_t candidates[CANDIDATE_SETS];
	struct node nodes[NODES]; /* the first is none */
	place_t places[WORDS];
	uint64_t values[WORDS];
};

/* In mapped pages rather than malloc's: a signal handler may be the first user. */
static __thread struct cache *cache __attribute__((tls_model("initial-exec")));
static _Atomic uint32_t generation;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static _Atomic bool is_started;

static void thread_ended(void *pages)
{
	cache = NULL;
	munmap(pages, sizeof *cache);
}

static void start_once(void)
{
	if (gt_thread_key_create(&thread_end, thread_ended))
		atomic_store(&is_started, true);
}

bool gt_stack_cache_start(void)
{
	pthread_once(&once, start_once);
	return atomic_load(&is_started);
}

/* Where the number of the node is, or would be. */
static inline uint16_t *slot_of(struct cache *c, uint32_t parent, uint64_t value)
{
	/* one product: addresses and numbers differ in their low bits, and the slot is of the high
	 * ones */
	uint64_t hash = (value ^ (uint64_t)parent << 44) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i = (uint32_t)(hash >> (64 - SLOT_BITS));

	while (c->slots[i] &&
	       (c->nodes[c->slots[i]].value != value || c->nodes[c->slots[i]].parent != parent))
		i = (i + 1) % SLOTS;
	return &c->slots[i];
}

static inline uint64_t word_at(const char *frame, place_t place)
{
	return gt_code_address(*(const uint64_t *)(frame + (place & ~(place_t)RETURNS)));
}

/*
 * Compares a run with the stack of `frame`, and puts its return addresses behind the others; NULL:
 * it is another stack. From the inside outwards: only then is the next word known to exist.
 */
static inline uint64_t *match(const struct cache *c, const struct node *n, const char *frame,
			      uint64_t *out)
{
	const place_t *places = &c->places[n->first_word];
	const uint64_t *values = &c->values[n->first_word];
	uint32_t i = 0, mixed = n->mixed_count, count = n->word_count;

#pragma GCC unroll 2
	for (; i < mixed; i++) {
		place_t place = places[i];
		uint64_t value = values[i];

		if (word_at(frame, place) != value)
			return NULL;
		*out = value;
		out += place & RETURNS;
	}
	/* most of all words: no library's frames, and few programs', have a frame pointer */
#pragma GCC unroll 4
	for (; i < count; i++) {
		uint64_t value = values[i];

		if (gt_code_address(*(const uint64_t *)(frame - RETURNS + places[i])) != value)
			return NULL;
		*out++ = value;
	}
	return out;
}

/* From a root outwards; 0: it is another stack. */
static inline size_t find_from(struct cache *c, uint16_t number, const void *frame,
			       uint64_t *frames)
{
	uint64_t *out = frames + 1;

	while (number) {
		const struct node *n = &c->nodes[number];

		out = match(c, n, frame, out);
		if (!out)
			return 0;
		if (n->is_end) {
			c->found++;
			return (size_t)(out - frames);
		}
		*out = word_at(frame, n->branch);
		number = *slot_of(c, number, *out);
		out += n->branch & RETURNS;
	}
	return 0;
}

/*
 * Where a stack's tree begins. One frame may have several: a register that looks like a frame
 * pointer at one time and not at another makes other words count.
 */
static inline uint32_t root_of(size_t room, uint32_t tree)
{
	return (uint32_t)(ROOT + (tree << ROOM_BITS) + room);
}

size_t gt_stack_cache_find(const void *frame, uint64_t *frames, size_t room)
{
	struct cache *c = cache;
	uint16_t number;
	size_t count = 0;

	if (!c || c->is_changing ||
	    c->generation != atomic_load_explicit(&generation, memory_order_relaxed))
		return 0;
	for (uint32_t tree = 0; !count && tree < TREES; tree++) {
		number = *slot_of(c, root_of(room, tree), (uint64_t)(uintptr_t)frame);
		if (!number)
			return 0;
		count = find_from(c, number, frame, frames);
	}
	return count;
}

/* True when the stack was among the last ones; then it is one of them. */
static bool was_seen(uint64_t *set, uint16_t mark)
{
	uint64_t marks = *set;

	for (int i = 0; i < CANDIDATES; i++, marks >>= 16)
		if ((uint16_t)marks == mark)
			return true;
	*set = *set << 16 | mark;
	return false;
}

/* True when the stack has been offered before, and learning has been of use. */
static bool is_candidate(struct cache *c, uint64_t hash)
{
	if (!(++c->missed % TRY_AGAIN_AFTER))
		c->learnt = c->found = 0;
	if (c->learnt > LEARN_FREELY && c->learnt > c->found)
		return false;
	return was_seen(&c->candidates[hash % CANDIDATE_SETS], (uint16_t)(hash >> 48 | 1)) ||
	       !(c->missed % LEARN_EVERY);
}

bool gt_stack_cache_wants(const void *frame, const uint64_t *frames, size_t count)
{
	if (count < 2 || count > GT_STACK_CACHE_FRAMES || !atomic_load(&is_started))
		return false;
	if (!cache) {
		void *pages = mmap(NULL, sizeof *cache, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (pages == MAP_FAILED)
			return false;
		cache = pages;
		pthread_setspecific(thread_end, pages);
	}
	return is_candidate(cache, gt_hash_bytes(frames, count * sizeof *frames) ^
					   (uint64_t)(uintptr_t)frame);
}

static void begin_anew(struct cache *c)
{
	c->generation = atomic_load(&generation);
	c->node_count = c->word_count = 0;
	memset(c->slots, 0, sizeof c->slots);
}

/* Up to and with the last saved frame pointer. */
static void count_mixed(const struct cache *c, struct node *n)
{
	uint32_t count = n->word_count;

	while (count && c->places[n->first_word + count - 1] & RETURNS)
		count--;
	n->mixed_count = (uint16_t)count;
}

/* A stack that is to be inserted, or the outer part of it. */
struct rest {
	const place_t *places;
	const struct gt_stack_word *words;
	size_t count;
};

static uint16_t new_leaf(struct cache *c, uint32_t parent, uint64_t value, const struct rest *r)
{
	uint16_t number = (uint16_t)++c->node_count;
	struct node *n = &c->nodes[number];

	*n = (struct node){ .parent = parent,
			    .value = value,
			    .first_word = c->word_count,
			    .word_count = (uint16_t)r->count,
			    .is_end = true };
	for (size_t i = 0; i < r->count; i++) {
		c->places[c->word_count] = r->places[i];
		c->values[c->word_count++] = r->words[i].value;
	}
	count_mixed(c, n);
	return number;
}

/* Puts a node before that in the slot, with the first words of its run; the next one is a branch.
 */
static void split(struct cache *c, uint16_t *slot, uint32_t count)
{
	uint16_t number = (uint16_t)++c->node_count, moved = *slot;
	struct node *inner = &c->nodes[number], *outer = &c->nodes[moved];
	uint32_t branch = outer->first_word + count;

	*inner = *outer;
	inner->word_count = (uint16_t)count;
	inner->is_end = false;
	inner->branch = c->places[branch];
	count_mixed(c, inner);
	outer->parent = number;
	outer->value = c->values[branch];
	outer->first_word = branch + 1;
	outer->word_count = (uint16_t)(outer->word_count - count - 1);
	count_mixed(c, outer);
	*slot = number;
	*slot_of(c, number, outer->value) = moved;
}

/* How many words of a run the stack has as well. */
static uint32_t same_words(const struct cache *c, const struct node *n, const struct rest *r)
{
	uint32_t i = 0;

	while (i < n->word_count && i < r->count && c->places[n->first_word + i] == r->places[i] &&
	       c->values[n->first_word + i] == r->words[i].value)
		i++;
	return i;
}

/* False: in this tree, other words count. */
static bool insert(struct cache *c, uint32_t parent, uint64_t value, struct rest r)
{
	for (;;) {
		uint16_t *slot = slot_of(c, parent, value);
		const struct node *n = &c->nodes[*slot];
		uint32_t same;

		if (!*slot) {
			*slot = new_leaf(c, parent, value, &r);
			return true;
		}
		same = same_words(c, n, &r);
		if (same == r.count)
			return n->is_end && same == n->word_count;
		if (same < n->word_count) {
			if (c->places[n->first_word + same] != r.places[same])
				return false;
			split(c, slot, same);
			n = &c->nodes[*slot];
		}
		if (n->is_end || n->branch != r.places[same])
			return false;
		parent = *slot;
		value = r.words[same].value;
		r.places += same + 1;
		r.words += same + 1;
		r.count -= same + 1;
	}
}

/* False: the stack is too large. */
static bool find_places(place_t *out, const char *frame, const struct gt_stack_word *words,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ptrdiff_t distance = (const char *)words[i].at - frame;

		/* a frame pointer is compared as return addresses are: they may be signed */
		if (distance < 0 || distance > DISTANCE_MAX ||
		    gt_code_address(words[i].value) != words[i].value)
			return false;
		out[i] = (place_t)distance + (words[i].returns ? RETURNS : 0);
	}
	return true;
}

void gt_stack_cache_learn(const void *frame, size_t room, const struct gt_stack_word *words,
			  size_t count)
{
	struct cache *c = cache;
	bool is_useless = c->is_changing || c->generation != atomic_load(&generation) ||
			  c->node_count + 2 >= NODES || c->word_count + count > WORDS;

	c->learnt++;
	c->is_changing = true;
	atomic_signal_fence(memory_order_seq_cst);
	if (is_useless)
		begin_anew(c);
	if (find_places(c->learnt_places, frame, words, count))
		for (uint32_t tree = 0; tree < TREES; tree++)
			if (insert(c, root_of(room, tree), (uint64_t)(uintptr_t)frame,
				   (struct rest){ c->learnt_places, words, count }))
				break;
	atomic_signal_fence(memory_order_seq_cst);
	c->is_changing = false;
}

void gt_stack_cache_forget(void)
{
	atomic_fetch_add(&generation, 1);
}

void gt_stack_cache_touch(void)
{
	char *pages = (char *)cache;

	/* written unchanged: a page that is read first is faulted in twice */
	for (size_t i = 0; pages && i < sizeof *cache; i += TOUCHED)
		__atomic_fetch_or(&pages[i], 0, __ATOMIC_RELAXED);
}
