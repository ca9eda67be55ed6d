/* SPDX-License-Identifier: MIT */
/* totals_query.c - names of the places in a table of totals, and the rows, stacks and sums of it.
 */
#include "agent/totals_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

static size_t text_size(const char *text)
{
	return (text ? strnlen(text, GT_AGENT_TEXT) : 0) + 1;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	size_t size = text_size(text) - 1;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	return gt_mix64(hash ^ size);
}

/* By words, so that it is the same on every host that runs the same code; never 0. */
static uint64_t id_of(const struct gt_agent_name *n)
{
	uint64_t hash = hash_text(0xcbf29ce484222325u, n->place);

	for (size_t i = 0; i < n->count; i++) {
		hash = hash_text(hash, n->frames[i].function);
		hash = hash_text(hash, n->frames[i].file);
		hash = gt_mix64(hash ^ n->frames[i].line);
		if (!n->frames[i].function) {
			hash = hash_text(hash, n->frames[i].module);
			hash = gt_mix64(hash ^ n->frames[i].offset);
		}
	}
	return hash ? hash : 1;
}

static const char *put(char **at, const char *text)
{
	size_t size = text_size(text);
	char *copy = *at;

	if (size > 1)
		memcpy(copy, text, size - 1);
	copy[size - 1] = '\0';
	*at += size;
	return copy;
}

static void spread_words(struct gt_agent_totals *t)
{
	size_t count = t->words_buckets ? t->words_buckets * 2 : 64;
	struct gt_agent_words **buckets = gt_alloc(count * sizeof *buckets), *next;

	for (size_t i = 0; i < t->words_buckets; i++)
		for (struct gt_agent_words *w = t->words[i]; w; w = next) {
			struct gt_agent_words **to = &buckets[w->stack.id & (count - 1)];

			next = w->next;
			w->next = *to;
			*to = w;
		}
	free(t->words);
	t->words = buckets;
	t->words_buckets = count;
}

static struct gt_agent_words *find_words(const struct gt_agent_totals *t, uint64_t id)
{
	struct gt_agent_words *w = t->words_buckets ? t->words[id & (t->words_buckets - 1)] : NULL;

	while (w && w->stack.id != id)
		w = w->next;
	return w;
}

/* One block: the struct, the frames, the texts. */
static struct gt_agent_words *make_words(const struct gt_agent_name *n, uint64_t id)
{
	size_t size = sizeof(struct gt_agent_words) + n->count * sizeof(struct gt_frame) +
		      text_size(n->place) + text_size(n->function) + text_size(n->file);
	struct gt_agent_words *w;
	struct gt_frame *frames;
	char *at;

	for (size_t i = 0; i < n->count; i++)
		size += text_size(n->frames[i].function) + text_size(n->frames[i].file) +
			text_size(n->frames[i].module);
	w = gt_alloc(size);
	frames = (struct gt_frame *)(w + 1);
	at = (char *)(frames + n->count);
	w->size = size;
	w->stack = (struct gt_agent_stack){ .id = id, .frames = frames, .count = n->count };
	w->place = put(&at, n->place);
	w->function = put(&at, n->function);
	w->file = put(&at, n->file);
	w->line = n->line;
	for (size_t i = 0; i < n->count; i++) {
		frames[i] = n->frames[i];
		frames[i].function = put(&at, n->frames[i].function);
		frames[i].file = put(&at, n->frames[i].file);
		frames[i].module = put(&at, n->frames[i].module);
	}
	return w;
}

void gt_agent_totals_name(struct gt_agent_totals *t, uint32_t process, uint32_t stack,
			  const struct gt_agent_name *name)
{
	uint64_t id = id_of(name);
	struct gt_agent_words *w = find_words(t, id);
	uint32_t at =
		t->bucket_count ? t->buckets[gt_agent_bucket(process, stack, t->bucket_count)] : 0;

	for (; at; at = t->places[at - 1].next) {
		struct gt_agent_place *p = &t->places[at - 1];

		if (p->key.process != process || p->key.stack != stack || p->words)
			continue;
		if (!w) {
			if (t->words_count >= t->words_buckets)
				spread_words(t);
			w = make_words(name, id);
			w->next = t->words[id & (t->words_buckets - 1)];
			t->words[id & (t->words_buckets - 1)] = w;
			t->words_count++;
			t->bytes += w->size;
		}
		w->users++;
		p->words = w;
	}
}

bool gt_agent_totals_unnamed(const struct gt_agent_totals *t, uint32_t *at,
			     struct gt_agent_key *key)
{
	for (uint32_t i = *at; i < t->place_count; i++) {
		const struct gt_agent_place *p = &t->places[i];

		if (!p->is_used || p->words || !p->key.stack ||
		    p->key.stack == GT_AGENT_OTHER_STACK || t->processes[p->key.process].who.end_ns)
			continue;
		*key = p->key;
		*at = i + 1;
		return true;
	}
	return false;
}

static struct gt_agent_row row_of(const struct gt_agent_totals *t, const struct gt_agent_place *p)
{
	const struct gt_agent_words *w = p->words;
	const char *gpu = t->gpu_names[p->key.gpu];

	return (struct gt_agent_row){
		.process = &t->processes[p->key.process].who,
		.place = w                                    ? w->place :
			 p->key.stack == GT_AGENT_OTHER_STACK ? "other call sites" :
			 p->key.stack                         ? "(not named yet)" :
								"(no stack)",
		.function = w ? w->function : "",
		.file = w ? w->file : "",
		.line = w ? w->line : 0,
		.api = p->key.api,
		.kind = p->key.kind,
		.gpu = gpu ? gpu : "",
		.stack_id = w ? w->stack.id : 0,
		.live_bytes = p->live_bytes,
		.live_objects = p->live_objects,
		.allocated_bytes = p->allocated_bytes,
		.allocated_objects = p->allocated_objects,
		.freed_bytes =
			p->allocated_bytes > p->live_bytes ? p->allocated_bytes - p->live_bytes : 0,
		.freed_objects = p->allocated_objects > p->live_objects ?
					 p->allocated_objects - p->live_objects :
					 0,
		.grows = p->grows,
		.growth_per_second = p->growth_per_second,
		.growth_since_ns = p->growth_since_ns,
	};
}

void gt_agent_totals_each_row(const struct gt_agent_totals *t,
			      void (*visit)(void *context, const struct gt_agent_row *row),
			      void *context)
{
	for (size_t i = 0; i < t->place_count; i++) {
		struct gt_agent_row row;

		if (!t->places[i].is_used)
			continue;
		row = row_of(t, &t->places[i]);
		visit(context, &row);
	}
}

void gt_agent_totals_each_stack(const struct gt_agent_totals *t,
				void (*visit)(void *context, const struct gt_agent_stack *stack),
				void *context)
{
	for (size_t i = 0; i < t->words_buckets; i++)
		for (const struct gt_agent_words *w = t->words[i]; w; w = w->next)
			visit(context, &w->stack);
}

const struct gt_agent_stack *gt_agent_totals_stack(const struct gt_agent_totals *t, uint64_t id)
{
	const struct gt_agent_words *w = find_words(t, id);

	return w ? &w->stack : NULL;
}

const struct gt_agent_stack *gt_agent_totals_stack_of(const struct gt_agent_totals *t,
						      uint32_t process, uint32_t stack)
{
	uint32_t at =
		t->bucket_count ? t->buckets[gt_agent_bucket(process, stack, t->bucket_count)] : 0;

	for (; at; at = t->places[at - 1].next) {
		const struct gt_agent_place *p = &t->places[at - 1];

		if (p->key.process == process && p->key.stack == stack && p->words)
			return &p->words->stack;
	}
	return NULL;
}

void gt_agent_totals_each_process(const struct gt_agent_totals *t,
				  void (*visit)(void *context,
						const struct gt_agent_process *process,
						const struct gt_agent_sums *sums),
				  void *context)
{
	for (size_t i = 0; i < t->process_count; i++) {
		const struct gt_agent_known_process *p = &t->processes[i];

		if (p->is_used && !p->who.end_ns && (i || p->sums.allocated_objects))
			visit(context, &p->who, &p->sums);
	}
}

struct gt_agent_sums gt_agent_totals_sums(const struct gt_agent_totals *t)
{
	return t->sums;
}

const char *gt_agent_totals_gpu(const struct gt_agent_totals *t, uint16_t gpu,
				struct gt_agent_sums *sums)
{
	if (gpu >= GT_AGENT_GPUS)
		return NULL;
	*sums = t->gpus[gpu];
	return t->gpu_names[gpu] ? t->gpu_names[gpu] : "";
}

size_t gt_agent_totals_bytes(const struct gt_agent_totals *t)
{
	return t->bytes;
}

uint64_t gt_agent_totals_folded(const struct gt_agent_totals *t)
{
	return t->folded;
}
