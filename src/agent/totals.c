/* SPDX-License-Identifier: MIT */
/* totals.c - what each call site of each process holds, has allocated and freed, bounded. */
#include "agent/totals_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

enum { FOLD_PART = 4 }; /* of the places, at a time: it takes a walk over all */

#define MINUTE_NS 60000000000ull

size_t gt_agent_bucket(uint32_t process, uint32_t stack, size_t bucket_count)
{
	return gt_mix64((uint64_t)process << 32 | stack) & (bucket_count - 1);
}

static struct gt_agent_place *place_at(struct gt_agent_totals *t, uint32_t number)
{
	return &t->places[number - 1];
}

/* A text of a process, behind those that were copied before. */
static const char *put_text(char **at, const char *text)
{
	size_t size = text ? strnlen(text, GT_AGENT_TEXT) : 0;
	char *copy = *at;

	if (size)
		memcpy(copy, text, size);
	copy[size] = '\0';
	*at += size + 1;
	return copy;
}

static void set_process(struct gt_agent_totals *t, struct gt_agent_known_process *p,
			const struct gt_agent_process *who)
{
	const char **texts[] = { &p->who.comm,    &p->who.command,   &p->who.user,
				 &p->who.runtime, &p->who.container, &p->who.pod,
				 &p->who.pod_name };
	size_t size = 0;
	char *at;

	*p = (struct gt_agent_known_process){ .who = *who, .is_used = true };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		size += (*texts[i] ? strnlen(*texts[i], GT_AGENT_TEXT) : 0) + 1;
	p->texts = at = gt_alloc(size);
	p->texts_size = size;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		*texts[i] = put_text(&at, *texts[i]);
	t->bytes += size + sizeof *p;
	t->processes_used++;
}

struct gt_agent_totals *gt_agent_totals_new(const struct gt_agent_totals_options *options)
{
	struct gt_agent_totals *t = gt_alloc(sizeof *t);

	t->options = *options;
	if (t->options.max_bytes < GT_AGENT_TOTALS_LEAST)
		t->options.max_bytes = GT_AGENT_TOTALS_LEAST;
	if (!t->options.max_processes)
		t->options.max_processes = GT_AGENT_PROCESSES;
	if (!t->options.step_ns)
		t->options.step_ns = MINUTE_NS;
	GT_GROW(t->processes, t->process_count, t->process_room);
	set_process(t, &t->processes[t->process_count++],
		    &(struct gt_agent_process){ .comm = "other processes",
						.command = "other processes" });
	return t;
}

static void release_words(struct gt_agent_totals *t, struct gt_agent_words *words)
{
	struct gt_agent_words **link;

	if (!words || --words->users)
		return;
	link = &t->words[words->stack.id & (t->words_buckets - 1)];
	while (*link != words)
		link = &(*link)->next;
	*link = words->next;
	t->words_count--;
	t->bytes -= words->size;
	free(words);
}

void gt_agent_totals_free(struct gt_agent_totals *t)
{
	for (size_t i = 0; i < t->place_count; i++) {
		if (!t->places[i].is_used)
			continue;
		free(t->places[i].window);
		release_words(t, t->places[i].words);
	}
	for (size_t i = 0; i < t->process_count; i++)
		free(t->processes[i].texts);
	for (size_t i = 0; i < GT_AGENT_GPUS; i++)
		free(t->gpu_names[i]);
	free(t->processes);
	free(t->free_processes);
	free(t->places);
	free(t->buckets);
	free(t->words);
	free(t);
}

uint32_t gt_agent_totals_process(struct gt_agent_totals *t, const struct gt_agent_process *process)
{
	uint32_t number;

	if (t->processes_used > t->options.max_processes) {
		t->folded++;
		return GT_AGENT_OTHERS;
	}
	if (t->free_process_count) {
		number = t->free_processes[--t->free_process_count];
	} else {
		GT_GROW(t->processes, t->process_count, t->process_room);
		number = (uint32_t)t->process_count++;
	}
	set_process(t, &t->processes[number], process);
	return number;
}

void gt_agent_totals_name_gpu(struct gt_agent_totals *t, uint16_t gpu, const char *name)
{
	char **known = &t->gpu_names[gpu % GT_AGENT_GPUS];

	if (*known && !strncmp(*known, name, GT_AGENT_TEXT))
		return;
	free(*known);
	*known = gt_strndup(name, strnlen(name, GT_AGENT_TEXT));
}

static void spread(struct gt_agent_totals *t, size_t bucket_count)
{
	free(t->buckets);
	t->buckets = gt_alloc(bucket_count * sizeof *t->buckets);
	t->bucket_count = bucket_count;
	for (size_t i = 0; i < t->place_count; i++) {
		struct gt_agent_place *p = &t->places[i];
		uint32_t *bucket;

		if (!p->is_used)
			continue;
		bucket = &t->buckets[gt_agent_bucket(p->key.process, p->key.stack, bucket_count)];
		p->next = *bucket;
		*bucket = (uint32_t)i + 1;
	}
}

/* Its number + 1; 0: there is none. */
static uint32_t find(const struct gt_agent_totals *t, const struct gt_agent_key *key)
{
	uint32_t at =
		t->bucket_count ?
			t->buckets[gt_agent_bucket(key->process, key->stack, t->bucket_count)] :
			0;

	for (; at; at = t->places[at - 1].next) {
		const struct gt_agent_key *k = &t->places[at - 1].key;

		if (k->process == key->process && k->stack == key->stack && k->api == key->api &&
		    k->kind == key->kind && k->gpu == key->gpu)
			return at;
	}
	return 0;
}

static uint32_t add_place(struct gt_agent_totals *t, const struct gt_agent_key *key)
{
	struct gt_agent_known_process *of = &t->processes[key->process];
	uint32_t number = t->free_place, generation, *bucket;
	struct gt_agent_place *p;

	if (t->places_used >= t->bucket_count)
		spread(t, t->bucket_count ? t->bucket_count * 2 : 64);
	if (number) {
		t->free_place = place_at(t, number)->next;
	} else {
		GT_GROW(t->places, t->place_count, t->place_room);
		t->places[t->place_count].generation = 0;
		number = (uint32_t)++t->place_count;
	}
	p = place_at(t, number);
	generation = p->generation + 1;
	bucket = &t->buckets[gt_agent_bucket(key->process, key->stack, t->bucket_count)];
	*p = (struct gt_agent_place){ .key = *key,
				      .generation = generation,
				      .is_used = true,
				      .next = *bucket,
				      .next_of = of->first_place };
	*bucket = number;
	if (of->first_place)
		place_at(t, of->first_place)->before_of = number;
	of->first_place = number;
	t->places_used++;
	t->bytes += sizeof *p + 2 * sizeof *t->buckets;
	return number;
}

static void remove_place(struct gt_agent_totals *t, uint32_t number)
{
	struct gt_agent_place *p = place_at(t, number);
	uint32_t *link =
		&t->buckets[gt_agent_bucket(p->key.process, p->key.stack, t->bucket_count)];

	while (*link != number)
		link = &place_at(t, *link)->next;
	*link = p->next;
	if (p->next_of)
		place_at(t, p->next_of)->before_of = p->before_of;
	if (p->before_of)
		place_at(t, p->before_of)->next_of = p->next_of;
	else
		t->processes[p->key.process].first_place = p->next_of;
	if (p->window)
		t->bytes -= sizeof *p->window;
	free(p->window);
	release_words(t, p->words);
	t->bytes -= sizeof *p + 2 * sizeof *t->buckets;
	p->is_used = false;
	p->next = t->free_place;
	t->free_place = number;
	t->places_used--;
}

/* A change of the place itself; sums are not affected. */
static void change_place(struct gt_agent_place *p, const struct gt_agent_change *c)
{
	uint64_t low;

	p->live_bytes += (uint64_t)c->live_bytes;
	p->live_objects += (uint64_t)c->live_objects;
	p->allocated_bytes += c->allocated_bytes;
	p->allocated_objects += c->allocated_objects;
	low = p->live_bytes - (uint64_t)c->fell_bytes;
	p->low_bytes = low < p->low_bytes ? low : p->low_bytes;
	low = p->live_objects - (uint64_t)c->fell_objects;
	p->low_objects = low < p->low_objects ? low : p->low_objects;
}

static void change_sums(struct gt_agent_sums *s, const struct gt_agent_key *key,
			const struct gt_agent_change *c)
{
	s->live_bytes += (uint64_t)c->live_bytes;
	s->live_objects += (uint64_t)c->live_objects;
	if (gt_kind_on_device(key->kind)) {
		if (gt_kind_is_cache(key->kind))
			s->cached_bytes += (uint64_t)c->live_bytes;
		else
			s->device_bytes += (uint64_t)c->live_bytes;
	}
	s->allocated_bytes += c->allocated_bytes;
	s->allocated_objects += c->allocated_objects;
}

static void set_grows(struct gt_agent_totals *t, struct gt_agent_place *p, bool grows)
{
	uint64_t change = (uint64_t)grows - (uint64_t)p->grows;

	t->sums.growing += change;
	t->processes[p->key.process].sums.growing += change;
	t->gpus[p->key.gpu].growing += change;
	p->grows = grows;
	if (!grows) {
		p->growth_per_second = 0;
		p->growth_since_ns = 0;
	}
}

/* Counts it, or no longer, among the places that hold something. */
static void count_place(struct gt_agent_totals *t, const struct gt_agent_place *p, uint64_t by)
{
	if (!p->live_objects)
		return;
	t->sums.places += by;
	t->processes[p->key.process].sums.places += by;
	t->gpus[p->key.gpu].places += by;
}

static uint32_t other_of(struct gt_agent_totals *t, const struct gt_agent_key *key)
{
	struct gt_agent_key other = *key;
	uint32_t number;

	other.stack = GT_AGENT_OTHER_STACK;
	number = find(t, &other);
	return number ? number : add_place(t, &other);
}

static void fold(struct gt_agent_totals *t, uint32_t number)
{
	struct gt_agent_place from = *place_at(t, number), *to;
	uint32_t other = other_of(t, &from.key);

	to = place_at(t, other);
	set_grows(t, place_at(t, number), false);
	count_place(t, &from, UINT64_MAX);
	count_place(t, to, UINT64_MAX);
	change_place(to, &(struct gt_agent_change){ .live_bytes = (int64_t)from.live_bytes,
						    .live_objects = (int64_t)from.live_objects,
						    .allocated_bytes = from.allocated_bytes,
						    .allocated_objects = from.allocated_objects });
	count_place(t, to, 1);
	remove_place(t, number);
	t->folded++;
}

/* The order in which places are folded: those that hold least, and growing ones last. */
static int by_weight(const void *a, const void *b, void *totals)
{
	struct gt_agent_totals *t = totals;
	const struct gt_agent_place *x = place_at(t, *(const uint32_t *)a);
	const struct gt_agent_place *y = place_at(t, *(const uint32_t *)b);

	if (x->grows != y->grows)
		return x->grows ? 1 : -1;
	if (x->live_bytes != y->live_bytes)
		return x->live_bytes > y->live_bytes ? 1 : -1;
	if (x->live_objects != y->live_objects)
		return x->live_objects > y->live_objects ? 1 : -1;
	if (x->allocated_bytes != y->allocated_bytes)
		return x->allocated_bytes > y->allocated_bytes ? 1 : -1;
	return x > y ? 1 : -1;
}

/* Gives memory back until the limit is kept. */
static void enforce(struct gt_agent_totals *t)
{
	uint32_t *list;
	size_t count = 0, fewer;

	if (t->bytes <= t->options.max_bytes)
		return;
	list = gt_alloc(t->place_count * sizeof *list + 1);
	for (size_t i = 0; i < t->place_count; i++)
		if (t->places[i].is_used && t->places[i].key.stack != GT_AGENT_OTHER_STACK)
			list[count++] = (uint32_t)i + 1;
	qsort_r(list, count, sizeof *list, by_weight, t);
	fewer = count / FOLD_PART;
	for (size_t i = 0; i < count && (i < fewer || t->bytes > t->options.max_bytes); i++)
		fold(t, list[i]);
	free(list);
}

void gt_agent_totals_limit(struct gt_agent_totals *t, size_t max_bytes)
{
	t->options.max_bytes =
		max_bytes > GT_AGENT_TOTALS_LEAST ? max_bytes : GT_AGENT_TOTALS_LEAST;
	enforce(t);
}

bool gt_agent_totals_has(const struct gt_agent_totals *t, const struct gt_agent_at *at)
{
	const struct gt_agent_place *p;

	if (!at->number || at->number > t->place_count)
		return false;
	p = &t->places[at->number - 1];
	return p->is_used && p->generation == at->generation;
}

void gt_agent_totals_add(struct gt_agent_totals *t, struct gt_agent_at *at,
			 const struct gt_agent_key *key, const struct gt_agent_change *change)
{
	struct gt_agent_key known = *key;
	struct gt_agent_place *p;

	known.gpu %= GT_AGENT_GPUS;
	if (!gt_agent_totals_has(t, at)) {
		bool was_folded = at->number || known.process == GT_AGENT_OTHERS;

		at->number = was_folded ? 0 : find(t, &known);
		if (was_folded)
			at->number = other_of(t, &known);
		else if (!at->number)
			at->number = add_place(t, &known);
		at->generation = place_at(t, at->number)->generation;
	}
	p = place_at(t, at->number);
	count_place(t, p, UINT64_MAX);
	change_place(p, change);
	count_place(t, p, 1);
	change_sums(&t->sums, &known, change);
	change_sums(&t->gpus[known.gpu], &known, change);
	change_sums(&t->processes[known.process].sums, &known, change);
	enforce(t);
}

void gt_agent_totals_end(struct gt_agent_totals *t, uint32_t process, uint64_t now_ns)
{
	struct gt_agent_known_process *of = &t->processes[process];

	if (process == GT_AGENT_OTHERS || of->who.end_ns)
		return;
	of->who.end_ns = now_ns ? now_ns : 1;
	t->ended++;
	for (uint32_t at = of->first_place; at; at = place_at(t, at)->next_of) {
		struct gt_agent_place *p = place_at(t, at);
		const struct gt_agent_change all = { .live_bytes = -(int64_t)p->live_bytes,
						     .live_objects = -(int64_t)p->live_objects };

		set_grows(t, p, false);
		count_place(t, p, UINT64_MAX);
		change_place(p, &all);
		change_sums(&t->sums, &p->key, &all);
		change_sums(&t->gpus[p->key.gpu], &p->key, &all);
		change_sums(&of->sums, &p->key, &all);
	}
}

void gt_agent_totals_forget(struct gt_agent_totals *t)
{
	for (size_t i = 1; i < t->process_count && t->ended; i++) {
		struct gt_agent_known_process *p = &t->processes[i];

		if (!p->is_used || !p->who.end_ns)
			continue;
		while (p->first_place)
			remove_place(t, p->first_place);
		t->bytes -= p->texts_size + sizeof *p;
		free(p->texts);
		*p = (struct gt_agent_known_process){ 0 };
		t->processes_used--;
		t->ended--;
		GT_GROW(t->free_processes, t->free_process_count, t->free_process_room);
		t->free_processes[t->free_process_count++] = (uint32_t)i;
	}
}

static void follow(struct gt_agent_totals *t, struct gt_agent_place *p, bool is_step)
{
	bool bytes = gt_kind_has_bytes(p->key.kind);
	uint64_t held = bytes ? p->live_bytes : p->live_objects;
	uint64_t low = bytes ? p->low_bytes : p->low_objects;
	struct gt_rise rise;

	p->low_bytes = p->live_bytes;
	p->low_objects = p->live_objects;
	if (p->key.stack == GT_AGENT_OTHER_STACK || (!held && !p->window))
		return;
	if (!p->window) {
		p->window = gt_alloc(sizeof *p->window);
		t->bytes += sizeof *p->window;
	}
	gt_growth_window_add(p->window, t->now_ns, t->options.step_ns, low, held);
	if (!is_step)
		return;
	set_grows(t, p, gt_growth_window_rises(p->window, t->options.step_ns, p->key.kind, &rise));
	if (p->grows) {
		p->growth_per_second = rise.per_second;
		p->growth_since_ns = rise.since_ns;
	}
}

void gt_agent_totals_advance(struct gt_agent_totals *t, uint64_t now_ns)
{
	uint64_t step = now_ns / t->options.step_ns;
	bool is_step = step != t->step;

	t->now_ns = now_ns;
	t->step = step;
	for (size_t i = 0; i < t->place_count; i++)
		if (t->places[i].is_used && !t->processes[t->places[i].key.process].who.end_ns)
			follow(t, &t->places[i], is_step);
	enforce(t);
}
