/* SPDX-License-Identifier: MIT */
/* pickle_stack.c - the stack machine of a pickle: values, objects under construction, the memo. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "capture/snapshot/pickle_state.h"

enum {
	STACK_MAX = 1 << 20, /* values that wait for what they belong to */
	OBJECTS_MAX = 4096,  /* lists and dictionaries under construction */
};

/* Of a memo's words: what it refers to in the high bits, a number in the low ones. */
enum {
	MEMO_SHIFT = 27,
	MEMO_OTHER = 1,
	MEMO_TEXT,
	MEMO_DICT, /* under construction: number of the object */
	MEMO_LIST,
	MEMO_MADE, /* + its kind */
};

/* Objects. */

static int no_more_objects(struct gt_pickle *p)
{
	return gt_pickle_refuse(p,
				"more than %d structures are open at once: this is no memory "
				"snapshot",
				OBJECTS_MAX);
}

static int new_dict(struct gt_pickle *p, uint32_t *number)
{
	struct gt_pickle_dict *d;

	if (p->free_dict) {
		*number = p->free_dict - 1;
		p->free_dict = p->dicts[*number]->o.next;
	} else {
		if (p->dict_count == OBJECTS_MAX)
			return no_more_objects(p);
		GT_GROW(p->dicts, p->dict_count, p->dict_room);
		p->dicts[p->dict_count] = gt_alloc(sizeof **p->dicts);
		*number = (uint32_t)p->dict_count++;
	}
	d = p->dicts[*number];
	d->o = (struct gt_pickle_object){ .position = p->depth };
	d->dict.present = 0;
	return 0;
}

static int new_list(struct gt_pickle *p, uint32_t *number)
{
	struct gt_pickle_list *l;

	if (p->free_list) {
		*number = p->free_list - 1;
		p->free_list = p->lists[*number]->o.next;
	} else {
		if (p->list_count == OBJECTS_MAX)
			return no_more_objects(p);
		GT_GROW(p->lists, p->list_count, p->list_room);
		l = p->lists[p->list_count] = gt_alloc(sizeof **p->lists);
		l->list.items = gt_alloc(GT_LIST_ITEMS * sizeof *l->list.items);
		*number = (uint32_t)p->list_count++;
	}
	l = p->lists[*number];
	l->o = (struct gt_pickle_object){ .position = p->depth };
	l->list = (struct gt_list){ .items = l->list.items };
	return 0;
}

static uint32_t memo_word(const struct gt_value *v)
{
	uint32_t what = v->type == GT_VALUE_TEXT                             ? MEMO_TEXT :
			v->type == GT_VALUE_DICT                             ? MEMO_DICT :
			v->type == GT_VALUE_LIST                             ? MEMO_LIST :
			v->type == GT_VALUE_OTHER                            ? MEMO_OTHER :
			v->type == GT_VALUE_MADE && v->kind < GT_MADE_SHARED ? MEMO_MADE + v->kind :
									       0;

	return what && v->number < 1u << MEMO_SHIFT ? what << MEMO_SHIFT | (uint32_t)v->number : 0;
}

/* What was under construction is complete: `made` stands for it, wherever it is referred to. */
static void finish(struct gt_pickle *p, const struct gt_pickle_object *o,
		   const struct gt_value *made)
{
	if (o->memo)
		gt_pickle_memo_set(&p->memo, o->memo - 1, memo_word(made));
}

/* Completes a list or dictionary; other values stay. `list`: it is its next element, or NULL. */
static int seal(struct gt_pickle *p, struct gt_value *v, struct gt_list *list)
{
	struct gt_value made = { .type = GT_VALUE_OTHER };
	uint32_t number = (uint32_t)v->number;
	int e;

	if (v->type == GT_VALUE_DICT) {
		struct gt_pickle_dict *d = p->dicts[number];

		e = p->options.rules->dict(p, &d->dict, list, &made);
		finish(p, &d->o, &made);
		d->o.next = p->free_dict;
		p->free_dict = number + 1;
	} else if (v->type == GT_VALUE_LIST) {
		struct gt_pickle_list *l = p->lists[number];

		e = p->options.rules->list(p, &l->list, &made);
		finish(p, &l->o, &made);
		l->o.next = p->free_list;
		p->free_list = number + 1;
	} else {
		return 0;
	}
	*v = made;
	return e;
}

static int append(struct gt_pickle *p, const struct gt_value *list, struct gt_value *element)
{
	struct gt_list *l = &p->lists[list->number]->list;
	int e = seal(p, element, l);

	if (!e)
		e = p->options.rules->append(p, l, element);
	l->count++;
	return e;
}

/* The stack. */

/* True if the value on top is the first after a mark whose list it will be appended to. */
static bool tops_batch(const struct gt_pickle *p)
{
	return p->mark_count && p->depth >= 2 && p->marks[p->mark_count - 1] == p->depth - 1 &&
	       p->stack[p->depth - 2].type == GT_VALUE_LIST;
}

int gt_pickle_push(struct gt_pickle *p, struct gt_value v)
{
	if (p->depth == STACK_MAX)
		return gt_pickle_refuse(p,
					"more than %d values wait for what they belong to: this "
					"is no memory snapshot",
					STACK_MAX);
	GT_GROW(p->stack, p->depth, p->room);
	p->stack[p->depth++] = v;
	return 0;
}

/*
 * Pushes what can be no key: a dictionary before it in the same list is complete. It is appended at
 * once, because a list may have millions of elements before its APPENDS.
 */
static int push_next(struct gt_pickle *p, struct gt_value v)
{
	if (p->depth && p->stack[p->depth - 1].type == GT_VALUE_DICT && tops_batch(p)) {
		int e = append(p, &p->stack[p->depth - 2], &p->stack[p->depth - 1]);

		if (e)
			return e;
		p->depth--;
		if (v.type == GT_VALUE_DICT)
			p->dicts[v.number]->o.position = p->depth;
	}
	return gt_pickle_push(p, v);
}

int gt_pickle_push_dict(struct gt_pickle *p)
{
	struct gt_value v = { .type = GT_VALUE_DICT };
	uint32_t number = 0;
	int e = new_dict(p, &number);

	v.number = number;
	return e ? e : push_next(p, v);
}

int gt_pickle_push_list(struct gt_pickle *p)
{
	struct gt_value v = { .type = GT_VALUE_LIST };
	uint32_t number = 0;
	int e = new_list(p, &number);

	v.number = number;
	return e ? e : gt_pickle_push(p, v);
}

int gt_pickle_push_mark(struct gt_pickle *p)
{
	if (p->mark_count == GT_PICKLE_MARKS)
		return gt_pickle_refuse(p,
					"structures are nested more than %d deep: this is no "
					"memory snapshot",
					GT_PICKLE_MARKS);
	p->marks[p->mark_count++] = p->depth;
	return 0;
}

/* Takes the top mark off; its values are those from *from. */
static int pop_mark(struct gt_pickle *p, size_t *from)
{
	if (!p->mark_count)
		return gt_pickle_refuse(p, "an opcode without its MARK");
	*from = p->marks[--p->mark_count];
	return 0;
}

/* The values above the top mark must be there. */
static bool has(const struct gt_pickle *p, size_t values)
{
	size_t bottom = p->mark_count ? p->marks[p->mark_count - 1] : 0;

	return p->depth - bottom >= values;
}

static int too_few(struct gt_pickle *p)
{
	return gt_pickle_refuse(p, "an opcode without the values that it needs");
}

/* The memo. */

int gt_pickle_put(struct gt_pickle *p, uint64_t number)
{
	struct gt_value *v;
	struct gt_pickle_object *o;

	if (!has(p, 1))
		return too_few(p);
	v = &p->stack[p->depth - 1];
	/* each numbered object takes a byte at least: no bigger number is in good faith */
	if (number >= gt_pickle_offset(&p->in))
		return gt_pickle_refuse(p,
					"object %" PRIu64 " cannot exist: the file has fewer bytes "
					"so far",
					number);
	o = v->type == GT_VALUE_DICT ? &p->dicts[v->number]->o :
	    v->type == GT_VALUE_LIST ? &p->lists[v->number]->o :
				       NULL;
	if (o) {
		if (o->memo)
			gt_pickle_memo_set(&p->memo, o->memo - 1, 0);
		o->memo = number + 1;
	}
	gt_pickle_memo_set(&p->memo, number, memo_word(v));
	return 0;
}

/* Completes an object that is referred to while it waits on the stack. */
static int seal_referred(struct gt_pickle *p, bool is_dict, uint32_t number)
{
	size_t at = is_dict ? p->dicts[number]->o.position : p->lists[number]->o.position;

	for (size_t i = 0; i < p->mark_count; i++)
		if (p->marks[i] == at + 1)
			return gt_pickle_refuse(p, "a structure contains itself: this is no memory "
						   "snapshot");
	return seal(p, &p->stack[at], NULL);
}

int gt_pickle_get(struct gt_pickle *p, uint64_t number)
{
	uint32_t word = gt_pickle_memo_get(&p->memo, number), what = word >> MEMO_SHIFT;
	struct gt_value v = { .number = word & ((1u << MEMO_SHIFT) - 1) };

	if (what == MEMO_DICT || what == MEMO_LIST) {
		int e = seal_referred(p, what == MEMO_DICT, (uint32_t)v.number);

		if (e)
			return e;
		word = gt_pickle_memo_get(&p->memo, number);
		what = word >> MEMO_SHIFT;
		v.number = word & ((1u << MEMO_SHIFT) - 1);
	}
	if (!what)
		return gt_pickle_refuse(p,
					"object %" PRIu64 " is referred to, but there is none, or "
					"it is an entry of its own",
					number);
	v.type = what == MEMO_TEXT  ? GT_VALUE_TEXT :
		 what == MEMO_OTHER ? GT_VALUE_OTHER :
				      GT_VALUE_MADE;
	if (v.type == GT_VALUE_MADE) {
		v.kind = (uint8_t)(what - MEMO_MADE);
		return push_next(p, v);
	}
	return gt_pickle_push(p, v);
}

/* Building. */

int gt_pickle_append(struct gt_pickle *p, size_t from)
{
	int e = 0;

	if (!from || p->stack[from - 1].type != GT_VALUE_LIST)
		return gt_pickle_refuse(p, "elements without a list");
	for (size_t i = from; i < p->depth && !e; i++)
		e = append(p, &p->stack[from - 1], &p->stack[i]);
	p->depth = from;
	return e;
}

int gt_pickle_set_items(struct gt_pickle *p, size_t from)
{
	struct gt_dict *d;
	int e = 0;

	if (!from || p->stack[from - 1].type != GT_VALUE_DICT || (p->depth - from) % 2)
		return gt_pickle_refuse(p, "keys and values without a dictionary");
	d = &p->dicts[p->stack[from - 1].number]->dict;
	for (size_t i = from; i < p->depth && !e; i += 2) {
		struct gt_value *key = &p->stack[i], *value = key + 1;

		e = seal(p, key, NULL);
		if (!e)
			e = seal(p, value, NULL);
		if (key->type == GT_VALUE_TEXT && key->number < GT_PICKLE_KEYS) {
			d->values[key->number] = *value;
			d->present |= 1u << key->number;
		}
	}
	p->depth = from;
	return e;
}

/* A tuple of the values from `from`: none of them is needed. */
int gt_pickle_tuple(struct gt_pickle *p, size_t from)
{
	int e = 0;

	for (size_t i = from; i < p->depth && !e; i++)
		e = seal(p, &p->stack[i], NULL);
	p->depth = from;
	return e ? e : gt_pickle_push(p, (struct gt_value){ .type = GT_VALUE_OTHER });
}

int gt_pickle_after_mark(struct gt_pickle *p, gt_pickle_build_fn *build)
{
	size_t from = 0;
	int e = pop_mark(p, &from);

	return e ? e : build(p, from);
}

int gt_pickle_of_last(struct gt_pickle *p, size_t count, gt_pickle_build_fn *build)
{
	/* all but a tuple are for what is below these values */
	return has(p, build == gt_pickle_tuple ? count : count + 1) ? build(p, p->depth - count) :
								      too_few(p);
}

int gt_pickle_finish(struct gt_pickle *p)
{
	if (p->depth != 1 || p->mark_count)
		return gt_pickle_refuse(p, "the pickle ends with %zu objects instead of one",
					p->depth);
	return seal(p, &p->stack[0], NULL);
}

void gt_pickle_free_values(struct gt_pickle *p)
{
	for (size_t i = 0; i < p->dict_count; i++)
		free(p->dicts[i]);
	for (size_t i = 0; i < p->list_count; i++) {
		free(p->lists[i]->list.items);
		free(p->lists[i]);
	}
	free(p->dicts);
	free(p->lists);
	free(p->stack);
	gt_pickle_memo_fini(&p->memo);
}
