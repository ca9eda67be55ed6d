/* SPDX-License-Identifier: MIT */
/* live_table.c - the resources that are alive right now, inside the traced process. */
#include "tracker/live_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/table_memory.h"
#include "tracker/live_totals.h"
#include "tracker/meter.h"

enum {
	SHARDS = 64,
	WALKED_MAX = 1 << 22, /* entries to look at in vain for blocks around an address */
};

static struct shard {
	pthread_mutex_t lock;
	struct gt_live live;
	struct gt_cost *costs; /* by slot; only when enabled */
	size_t cost_room;
} __attribute__((aligned(64))) shards[SHARDS];

static _Atomic bool on, is_complete, with_costs, with_stacks, with_pools;

/* Resources that die with their owners: few, so a list suffices. */
static struct {
	pthread_mutex_t lock;
	struct gt_entry *entries;
	size_t count, room;
	_Atomic bool any; /* there has ever been one */
} owned = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A signal handler that makes a call while its thread holds a lock must not wait for it. */
static __thread bool in_table __attribute__((tls_model("initial-exec")));

static void init_shards(void)
{
	for (size_t i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&shards[i].lock, NULL);
		shards[i].live = (struct gt_live){ 0 };
		shards[i].costs = NULL;
		shards[i].cost_room = 0;
	}
	pthread_mutex_init(&owned.lock, NULL);
	owned.count = 0;
}

static bool is_owned(const struct gt_entry *entry)
{
	return gt_kinds[gt_entry_kind(entry)].habits & GT_OWNED;
}

/* False for another resource that got the same handle meanwhile. */
static bool is_same(const struct gt_entry *a, const struct gt_entry *b)
{
	return a->handle == b->handle && a->owner == b->owner && a->time_ns == b->time_ns &&
	       a->function == b->function;
}

static void remember_owned(const struct gt_entry *entry)
{
	gt_meter_invalidate();
	pthread_mutex_lock(&owned.lock);
	if (owned.count == owned.room) {
		size_t room = owned.room ? owned.room * 2 : 16;
		struct gt_entry *more = gt_table_resize(owned.entries, room * sizeof *more);

		if (more) {
			owned.entries = more;
			owned.room = room;
		}
	}
	if (owned.count < owned.room)
		owned.entries[owned.count++] = *entry;
	pthread_mutex_unlock(&owned.lock);
	atomic_store(&owned.any, true);
}

/* Removes a resource that was ended by a call of its own; the newest are ended first. */
static void forget_owned(const struct gt_entry *entry)
{
	pthread_mutex_lock(&owned.lock);
	for (size_t i = owned.count; i-- > 0;)
		if (is_same(&owned.entries[i], entry)) {
			owned.entries[i] = owned.entries[--owned.count];
			break;
		}
	pthread_mutex_unlock(&owned.lock);
}

/* Removes a resource of `owner` from the list. */
static bool take_owned(uint64_t owner, struct gt_entry *entry)
{
	bool found = false;

	pthread_mutex_lock(&owned.lock);
	for (size_t i = 0; i < owned.count && !found; i++)
		if (owned.entries[i].owner == owner) {
			*entry = owned.entries[i];
			owned.entries[i] = owned.entries[--owned.count];
			found = true;
		}
	pthread_mutex_unlock(&owned.lock);
	return found;
}

static void turn_on(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init_shards);
	atomic_store(&on, true);
}

void gt_live_table_start(bool from_start)
{
	if (from_start)
		atomic_store(&is_complete, true);
	atomic_store(&with_stacks, true);
	turn_on();
}

void gt_live_table_start_counting(void)
{
	atomic_store(&with_pools, true);
	turn_on();
}

bool gt_live_table_is_on(void)
{
	return atomic_load_explicit(&on, memory_order_relaxed);
}

bool gt_live_table_has_stacks(void)
{
	return atomic_load_explicit(&with_stacks, memory_order_relaxed);
}

bool gt_live_table_has_pools(void)
{
	return atomic_load_explicit(&with_pools, memory_order_relaxed);
}

void gt_live_table_restart(bool can_free)
{
	if (!gt_live_table_is_on())
		return;
	/* the parent's handles may still be used here */
	atomic_store(&is_complete, false);
	/* a shard whose lock was held during the fork may be inconsistent: it is not freed */
	for (size_t i = 0; can_free && i < SHARDS; i++)
		if (!pthread_mutex_trylock(&shards[i].lock)) {
			gt_live_fini(&shards[i].live);
			gt_table_free(shards[i].costs);
			pthread_mutex_unlock(&shards[i].lock);
		}
	init_shards();
	gt_live_totals_restart();
}

static struct shard *enter(uint64_t handle)
{
	struct shard *s = &shards[gt_mix64(handle) % SHARDS];

	if (in_table)
		return NULL;
	in_table = true;
	pthread_mutex_lock(&s->lock);
	return s;
}

static void leave(struct shard *s)
{
	pthread_mutex_unlock(&s->lock);
	in_table = false;
}

void gt_live_table_enable_costs(void)
{
	gt_live_table_start(true);
	atomic_store(&with_costs, true);
}

/* The cost of an entry, in an array that grows with the slots; NULL: out of memory. */
static struct gt_cost *cost_of(struct shard *s, const struct gt_entry *entry)
{
	uint32_t slot = gt_live_slot(&s->live, entry);

	if (slot >= s->cost_room) {
		size_t room = s->cost_room ? s->cost_room : 64;
		struct gt_cost *more;

		while (room <= slot)
			room *= 2;
		more = gt_table_resize(s->costs, room * sizeof *more);
		if (!more)
			return NULL;
		memset(more + s->cost_room, 0, (room - s->cost_room) * sizeof *more);
		s->costs = more;
		s->cost_room = room;
	}
	return &s->costs[slot];
}

static void set_cost(struct shard *s, const struct gt_entry *entry, struct gt_cost cost)
{
	struct gt_cost *recorded = atomic_load(&with_costs) && entry ? cost_of(s, entry) : NULL;

	if (recorded)
		*recorded = cost;
}

static struct gt_cost get_cost(struct shard *s, const struct gt_entry *entry)
{
	const struct gt_cost *recorded =
		atomic_load(&with_costs) && entry ? cost_of(s, entry) : NULL;

	return recorded ? *recorded : (struct gt_cost){ 0 };
}

/* Creates and removes an entry, which allocates room for the first ones of the shard. */
static void warm_shard(struct shard *s)
{
	struct gt_event event = { .function = GT_FN_clCreateUserEvent, .handle = 1 };
	struct gt_entry *entry, copy;

	pthread_mutex_lock(&s->lock);
	if (!s->live.slots_used &&
	    gt_live_apply(&s->live, &event, 0, &entry, NULL) == GT_CHANGE_BORN) {
		set_cost(s, entry, (struct gt_cost){ 0 });
		copy = *entry;
		gt_live_remove(&s->live, &copy);
	}
	pthread_mutex_unlock(&s->lock);
}

void gt_live_table_warm(void)
{
	for (size_t i = 0; i < SHARDS; i++)
		warm_shard(&shards[i]);
}

void gt_live_table_charge(enum gt_kind kind, uint64_t handle, const struct gt_cost *cost)
{
	struct shard *s = enter(handle);
	struct gt_entry *entry;
	struct gt_cost *recorded;

	if (!s)
		return;
	entry = gt_live_find(&s->live, 0, kind, handle);
	recorded = entry ? cost_of(s, entry) : NULL;
	if (recorded) {
		recorded->rss_kb += cost->rss_kb;
		recorded->size_kb += cost->size_kb;
		recorded->data_kb += cost->data_kb;
		recorded->anon_kb += cost->anon_kb;
		recorded->free_16 += cost->free_16;
		/* of its creation, which comes first: other calls have none */
		recorded->era |= cost->era;
		recorded->uncertain |= cost->uncertain;
		recorded->crowded |= cost->crowded;
	}
	leave(s);
}

/* A retain succeeded: the handle is alive, whatever the table says. */
static __attribute__((noinline)) enum gt_change adopt(struct shard *s, const struct gt_event *event,
						      struct gt_entry **entry)
{
	struct gt_entry found = gt_live_entry_of(event, 0);

	if (!atomic_load(&is_complete))
		return GT_CHANGE_UNKNOWN;
	*entry = gt_live_add(&s->live, &found);
	return *entry ? GT_CHANGE_BORN : GT_CHANGE_NO_MEMORY;
}

enum gt_change gt_live_table_apply(const struct gt_event *event, struct gt_ending *replaced)
{
	struct shard *s = gt_live_table_is_on() && !event->failed ? enter(event->handle) : NULL;
	struct gt_entry *entry;
	enum gt_change change;
	uint32_t slots;

	replaced->change = GT_CHANGE_NONE;
	if (!s)
		return GT_CHANGE_NONE;
	slots = s->live.slots_used;
	change = gt_live_apply(&s->live, event, 0, &entry, &replaced->gone);
	if (change == GT_CHANGE_UNKNOWN)
		change = adopt(s, event, &entry);
	if (change == GT_CHANGE_REPLACED) {
		replaced->change = GT_CHANGE_ENDED;
		replaced->cost = get_cost(s, entry);
		gt_live_totals_remove(&replaced->gone);
	}
	if (change == GT_CHANGE_BORN || change == GT_CHANGE_REPLACED) {
		set_cost(s, entry, (struct gt_cost){ 0 });
		gt_live_totals_add(entry);
	}
	if (change == GT_CHANGE_BORN && is_owned(entry))
		remember_owned(entry);
	if (s->live.slots_used != slots)
		gt_meter_invalidate();
	leave(s);
	return change;
}

/* A look for the block that an address lies in. */
struct around {
	uint64_t address, found; /* found: its handle, or 0 */
	uint8_t family;
	int64_t walked;
};

static bool look_around(void *context, const struct gt_entry *e)
{
	struct around *a = context;

	a->walked++;
	if (gt_kinds[gt_entry_kind(e)].family == a->family && e->handle <= a->address &&
	    a->address - e->handle < e->size)
		a->found = e->handle;
	return !a->found;
}

/*
 * The living block that the address of a call lies in, or 0. Such calls are rare: all blocks are
 * looked at, until that was in vain too often.
 */
static uint64_t block_around(const struct gt_event *event)
{
	static _Atomic int64_t in_vain;
	struct around a = { .address = event->handle,
			    .family = gt_kinds[gt_functions[event->function].kind].family };

	if (in_table || atomic_load(&in_vain) > WALKED_MAX)
		return 0;
	in_table = true;
	for (size_t i = 0; i < SHARDS && !a.found; i++) {
		pthread_mutex_lock(&shards[i].lock);
		gt_live_each(&shards[i].live, look_around, &a);
		pthread_mutex_unlock(&shards[i].lock);
	}
	in_table = false;
	if (!a.found)
		atomic_fetch_add(&in_vain, a.walked);
	return a.found;
}

static void end_named(const struct gt_event *event, struct gt_ending *ending)
{
	struct shard *s = enter(event->handle);
	struct gt_entry *entry;

	if (!s)
		return;
	entry = atomic_load(&with_costs) ?
			gt_live_find(&s->live, 0, (enum gt_kind)gt_functions[event->function].kind,
				     event->handle) :
			NULL;
	ending->cost = get_cost(s, entry);
	ending->change = gt_live_apply(&s->live, event, 0, &entry, &ending->gone);
	if (ending->change == GT_CHANGE_RELEASED)
		ending->gone = *entry;
	if (ending->change == GT_CHANGE_ENDED)
		gt_live_totals_remove(&ending->gone);
	if (ending->change == GT_CHANGE_ENDED && is_owned(&ending->gone))
		forget_owned(&ending->gone);
	leave(s);
}

void gt_live_table_end(const struct gt_event *event, struct gt_ending *ending)
{
	struct gt_event whole = *event;

	ending->change = GT_CHANGE_NONE;
	ending->cost = (struct gt_cost){ 0 };
	if (!gt_live_table_is_on())
		return;
	end_named(event, ending);
	if (ending->change != GT_CHANGE_UNKNOWN || !gt_functions[event->function].handle.inside)
		return;
	whole.handle = block_around(event);
	if (whole.handle)
		end_named(&whole, ending);
}

void gt_live_table_restore(const struct gt_ending *ending)
{
	struct gt_entry *entry;
	struct shard *s;

	if (ending->change != GT_CHANGE_ENDED && ending->change != GT_CHANGE_RELEASED)
		return;
	s = enter(ending->gone.handle);
	if (!s)
		return;
	if (!gt_live_restore(&s->live, &ending->gone, ending->change)) {
		entry = gt_live_find(&s->live, 0, gt_entry_kind(&ending->gone),
				     ending->gone.handle);
		set_cost(s, entry, ending->cost);
		if (ending->change == GT_CHANGE_ENDED)
			gt_live_totals_add(&ending->gone);
		if (ending->change == GT_CHANGE_ENDED && is_owned(&ending->gone) && entry &&
		    is_same(entry, &ending->gone))
			remember_owned(entry);
	}
	leave(s);
}

size_t gt_live_table_end_owned(uint64_t owner)
{
	struct gt_entry entry, *alive;
	size_t count = 0;

	while (atomic_load_explicit(&owned.any, memory_order_relaxed) &&
	       take_owned(owner, &entry)) {
		struct shard *s = enter(entry.handle);

		if (!s)
			break;
		alive = gt_live_find(&s->live, 0, gt_entry_kind(&entry), entry.handle);
		/* a call may have ended it, and its handle be in use for another */
		if (alive && alive->owner == owner) {
			gt_live_totals_remove(alive);
			gt_live_remove(&s->live, &entry);
			count++;
		}
		leave(s);
	}
	return count;
}

struct copy {
	struct gt_entry *entries;
	size_t count, room;
	bool (*wanted)(void *context, const struct gt_entry *entry);
	void *context;
};

static bool copy_entry(void *context, const struct gt_entry *entry)
{
	struct copy *c = context;

	if (!c->wanted(c->context, entry))
		return true;
	if (c->count == c->room) {
		size_t room = c->room ? c->room * 2 : 64;
		struct gt_entry *more = gt_table_resize(c->entries, room * sizeof *more);

		if (!more)
			return false;
		c->entries = more;
		c->room = room;
	}
	c->entries[c->count++] = *entry;
	return true;
}

static int newest_first(const void *a, const void *b)
{
	const struct gt_entry *x = a, *y = b;

	return x->time_ns < y->time_ns ? 1 : x->time_ns > y->time_ns ? -1 : 0;
}

/* In any order: sorting takes more than 1 KB of the stack. */
static struct gt_entry *copy_wanted(size_t *count,
				    bool (*wanted)(void *context, const struct gt_entry *entry),
				    void *context)
{
	struct copy c = { .wanted = wanted, .context = context };

	*count = 0;
	if (!gt_live_table_is_on() || in_table)
		return NULL;
	gt_meter_invalidate();
	in_table = true;
	for (size_t i = 0; i < SHARDS; i++) {
		pthread_mutex_lock(&shards[i].lock);
		gt_live_each(&shards[i].live, copy_entry, &c);
		pthread_mutex_unlock(&shards[i].lock);
	}
	in_table = false;
	*count = c.count;
	return c.entries;
}

struct gt_entry *gt_live_table_snapshot(size_t *count,
					bool (*wanted)(void *context, const struct gt_entry *entry),
					void *context)
{
	struct gt_entry *entries = copy_wanted(count, wanted, context);

	if (*count)
		qsort(entries, *count, sizeof *entries, newest_first);
	return entries;
}

void gt_live_table_free(struct gt_entry *copy)
{
	gt_table_free(copy);
}

static bool depends_on(void *owner, const struct gt_entry *entry)
{
	return gt_live_goes_with(entry, owner);
}

/* Ends the copied resource, unless another call has done so since. */
static bool end_copied(const struct gt_entry *copy)
{
	struct shard *s = enter(copy->handle);
	struct gt_entry *alive;
	bool is_there;

	if (!s)
		return false;
	alive = gt_live_find(&s->live, 0, gt_entry_kind(copy), copy->handle);
	is_there = alive && is_same(alive, copy);
	if (is_there) {
		gt_live_totals_remove(copy);
		gt_live_remove(&s->live, copy);
	}
	leave(s);
	return is_there;
}

struct gt_entry *gt_live_table_end_dependents(const struct gt_entry *owner, size_t *count)
{
	struct gt_entry key = *owner, *list = copy_wanted(count, depends_on, &key);
	size_t taken = 0;

	for (size_t i = 0; i < *count; i++)
		if (end_copied(&list[i]))
			list[taken++] = list[i];
	*count = taken;
	return list;
}

void gt_live_table_end_with(const struct gt_entry *gone)
{
	size_t count;

	gt_live_table_end_owned(gone->handle);
	if (gt_kinds[gt_entry_kind(gone)].habits & GT_TAKES)
		gt_table_free(gt_live_table_end_dependents(gone, &count));
}

static bool count_entry(void *context, const struct gt_entry *entry)
{
	struct copy *c = context;

	c->count += c->wanted(c->context, entry);
	return true;
}

size_t gt_live_table_count(bool (*wanted)(void *context, const struct gt_entry *entry),
			   void *context)
{
	struct copy c = { .wanted = wanted, .context = context };

	if (!gt_live_table_is_on() || in_table)
		return 0;
	in_table = true;
	for (size_t i = 0; i < SHARDS; i++) {
		pthread_mutex_lock(&shards[i].lock);
		gt_live_each(&shards[i].live, count_entry, &c);
		pthread_mutex_unlock(&shards[i].lock);
	}
	in_table = false;
	return c.count;
}
