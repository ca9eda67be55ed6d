/* SPDX-License-Identifier: MIT */
/* pickle.c - reads a pickle of plain data from front to back, without building it in memory. */
#include "capture/snapshot/pickle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/snapshot/pickle_opcodes.h"
#include "capture/snapshot/pickle_state.h"

/* Bytes of a text: no record of a trace holds more. */
enum { TEXT_KEPT = 2000 };

void *gt_pickle_context(const struct gt_pickle *p)
{
	return p->options.context;
}

const char *gt_pickle_text(const struct gt_pickle *p, uint64_t number)
{
	size_t size;

	return gt_intern_get(p->texts, (uint32_t)number, &size);
}

int gt_pickle_refuse(struct gt_pickle *p, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return gt_error_set(p->error, -EINVAL, "cannot import %s: byte %" PRIu64 ": %s", p->in.path,
			    gt_pickle_offset(&p->in), text);
}

/* Input. */

static int refill(struct gt_pickle *p, size_t size)
{
	int filled;

	if (p->options.stop && *p->options.stop)
		return gt_error_set(p->error, -EINTR, "the import was interrupted");
	filled = gt_pickle_input_fill(&p->in, size, p->error);
	if (filled < 0)
		return filled;
	return filled ? 0 : gt_pickle_refuse(p, "the file ends here, in the middle of the pickle");
}

static inline int need(struct gt_pickle *p, size_t size)
{
	return p->in.end - p->in.at >= size ? 0 : refill(p, size);
}

/* `size` bytes, at most 8, the low one first; they must be there. */
static inline uint64_t take(struct gt_pickle *p, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, p->in.buffer + p->in.at, size);
	p->in.at += size;
	return v;
}

static int skip(struct gt_pickle *p, uint64_t size)
{
	while (size) {
		size_t some = size < 4096 ? (size_t)size : 4096;
		int e = need(p, some);

		if (e)
			return e;
		p->in.at += some;
		size -= some;
	}
	return 0;
}

/* Texts and numbers. */

static int push_number(struct gt_pickle *p, uint64_t number)
{
	return gt_pickle_push(p, (struct gt_value){ .type = GT_VALUE_NUMBER, .number = number });
}

static int push_other(struct gt_pickle *p)
{
	return gt_pickle_push(p, (struct gt_value){ .type = GT_VALUE_OTHER });
}

static int push_text(struct gt_pickle *p, uint64_t size)
{
	size_t kept = size < TEXT_KEPT ? (size_t)size : TEXT_KEPT;
	char text[TEXT_KEPT + 1];
	struct gt_value v = { .type = GT_VALUE_TEXT };
	int e = need(p, kept);

	if (e)
		return e;
	memcpy(text, p->in.buffer + p->in.at, kept);
	/* a cut text ends with a whole character */
	while (kept < size && kept && (p->in.buffer[p->in.at + kept - 1] & 0xc0) == 0x80)
		kept--;
	if (kept < size && kept && p->in.buffer[p->in.at + kept - 1] >= 0xc0)
		kept--;
	text[kept] = 0;
	v.number = gt_intern(p->texts, text, kept + 1);
	e = skip(p, size);
	return e ? e : gt_pickle_push(p, v);
}

static int push_bytes(struct gt_pickle *p, uint64_t size)
{
	int e = skip(p, size);

	return e ? e : push_other(p);
}

/* An integer of any length in two's complement; one of more than 64 bits is nothing we need. */
static int push_long(struct gt_pickle *p, uint64_t size)
{
	uint8_t sign;
	uint64_t v;
	int e = need(p, size < 9 ? (size_t)size : 9);

	if (e)
		return e;
	if (size > 9 || (size == 9 && p->in.buffer[p->in.at + 8]))
		return push_bytes(p, size);
	if (!size)
		return push_number(p, 0);
	sign = p->in.buffer[p->in.at + size - 1];
	v = take(p, size < 8 ? (size_t)size : 8);
	if (size == 9)
		p->in.at++;
	if (size < 8 && sign & 0x80)
		v |= UINT64_MAX << 8 * size;
	return push_number(p, v);
}

static int refuse_opcode(struct gt_pickle *p, uint8_t opcode)
{
	const char *name = gt_pickle_opcode_name(opcode);

	p->in.at--; /* the opcode's own place */
	return name ? gt_pickle_refuse(p,
				       "opcode %s is refused: a memory snapshot is plain data, and "
				       "nothing in it is executed",
				       name) :
		      gt_pickle_refuse(p, "0x%02x is no opcode of a pickle: the file is damaged",
				       opcode);
}

/* An opcode with an operand of `size` bytes, which is the number for `act`. */
static inline int with(struct gt_pickle *p, size_t size, int (*act)(struct gt_pickle *, uint64_t))
{
	int e = need(p, size);

	return e ? e : act(p, take(p, size));
}

static int push_signed(struct gt_pickle *p, uint64_t number)
{
	return push_number(p, (uint64_t)(int64_t)(int32_t)number);
}

static int ignore(struct gt_pickle *p, uint64_t number)
{
	(void)p;
	(void)number;
	return 0;
}

static int run_opcode(struct gt_pickle *p, uint8_t opcode)
{
	switch (opcode) {
	case GT_OP_MARK: return gt_pickle_push_mark(p);
	case GT_OP_EMPTY_DICT: return gt_pickle_push_dict(p);
	case GT_OP_EMPTY_LIST: return gt_pickle_push_list(p);
	case GT_OP_EMPTY_TUPLE: return push_other(p);
	case GT_OP_MEMOIZE: return gt_pickle_put(p, p->memo.next);
	case GT_OP_BINPUT: return with(p, 1, gt_pickle_put);
	case GT_OP_LONG_BINPUT: return with(p, 4, gt_pickle_put);
	case GT_OP_BINGET: return with(p, 1, gt_pickle_get);
	case GT_OP_LONG_BINGET: return with(p, 4, gt_pickle_get);
	case GT_OP_SHORT_BINUNICODE: return with(p, 1, push_text);
	case GT_OP_BINUNICODE: return with(p, 4, push_text);
	case GT_OP_BINUNICODE8: return with(p, 8, push_text);
	case GT_OP_BININT1: return with(p, 1, push_number);
	case GT_OP_BININT2: return with(p, 2, push_number);
	case GT_OP_BININT: return with(p, 4, push_signed);
	case GT_OP_LONG1: return with(p, 1, push_long);
	case GT_OP_LONG4: return with(p, 4, push_long);
	case GT_OP_SETITEMS: return gt_pickle_after_mark(p, gt_pickle_set_items);
	case GT_OP_APPENDS: return gt_pickle_after_mark(p, gt_pickle_append);
	case GT_OP_SETITEM: return gt_pickle_of_last(p, 2, gt_pickle_set_items);
	case GT_OP_APPEND: return gt_pickle_of_last(p, 1, gt_pickle_append);
	case GT_OP_NONE: return gt_pickle_push(p, (struct gt_value){ .type = GT_VALUE_NONE });
	case GT_OP_NEWTRUE: return push_number(p, 1);
	case GT_OP_NEWFALSE: return push_number(p, 0);
	case GT_OP_TUPLE: return gt_pickle_after_mark(p, gt_pickle_tuple);
	case GT_OP_TUPLE1:
	case GT_OP_TUPLE2:
	case GT_OP_TUPLE3:
		return gt_pickle_of_last(p, (size_t)(opcode - GT_OP_TUPLE1) + 1, gt_pickle_tuple);
	case GT_OP_BINFLOAT: return push_bytes(p, 8);
	case GT_OP_SHORT_BINBYTES: return with(p, 1, push_bytes);
	case GT_OP_BINBYTES: return with(p, 4, push_bytes);
	case GT_OP_BINBYTES8: return with(p, 8, push_bytes);
	case GT_OP_BYTEARRAY8: return with(p, 8, push_bytes);
	case GT_OP_FRAME: return with(p, 8, ignore);
	case GT_OP_PROTO: return with(p, 1, ignore);
	default: return refuse_opcode(p, opcode);
	}
}

static int run(struct gt_pickle *p)
{
	for (;;) {
		uint8_t opcode;
		int e = need(p, 1);

		if (e)
			return e;
		opcode = p->in.buffer[p->in.at++];
		if (opcode == GT_OP_STOP)
			break;
		e = run_opcode(p, opcode);
		if (e)
			return e;
	}
	return gt_pickle_finish(p);
}

int gt_pickle_read(const struct gt_pickle_options *options, struct gt_value *whole,
		   struct gt_error *error)
{
	struct gt_pickle p = { .options = *options, .error = error };
	int e = gt_pickle_input_open(&p.in, options->path, error);

	if (e)
		return e;
	p.texts = gt_intern_new();
	for (const char *const *known = options->known; *known; known++)
		gt_intern(p.texts, *known, strlen(*known) + 1);
	e = run(&p);
	if (!e)
		*whole = p.stack[0];
	gt_pickle_free_values(&p);
	gt_intern_free(p.texts);
	gt_pickle_input_close(&p.in);
	return e;
}
