/* SPDX-License-Identifier: MIT */
/* pickle_writer.c - writes plain data as a pickle of protocol 2, front to back. */
#include "export/pickle_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/text.h"

/* Opcodes, by the names that Python's pickletools gives them. */
enum {
	PROTO = 0x80,
	STOP = '.',
	MARK = '(',
	EMPTY_DICT = '}',
	EMPTY_LIST = ']',
	SETITEMS = 'u',
	APPENDS = 'e',
	BININT = 'J',
	BININT1 = 'K',
	BININT2 = 'M',
	BINFLOAT = 'G',
	LONG1 = 0x8a,
	BINUNICODE = 'X',
	TUPLE2 = 0x86,
	NEWTRUE = 0x88,
	NEWFALSE = 0x89,
	BINPUT = 'q',
	LONG_BINPUT = 'r',
	BINGET = 'h',
	LONG_BINGET = 'j',
};

static void op(struct gt_pickle_writer *w, int opcode)
{
	gt_sink_char(&w->sink, (char)opcode);
}

/* The low `bytes` bytes of a number, the lowest first. */
static void low(struct gt_pickle_writer *w, uint64_t value, unsigned bytes)
{
	char *at = gt_sink_at(&w->sink);

	for (unsigned i = 0; i < bytes; i++, value >>= 8)
		at[i] = (char)(value & 0xff);
	gt_sink_took(&w->sink, bytes);
}

void gt_pickle_begin(struct gt_pickle_writer *w, FILE *out)
{
	*w = (struct gt_pickle_writer){ .texts = gt_intern_new() };
	gt_sink_init(&w->sink, out);
	op(w, PROTO);
	op(w, 2);
}

void gt_pickle_end(struct gt_pickle_writer *w)
{
	op(w, STOP);
	gt_sink_fini(&w->sink);
	gt_intern_free(w->texts);
	free(w->text_numbers);
}

static void refer(struct gt_pickle_writer *w, uint32_t number)
{
	op(w, number < 256 ? BINGET : LONG_BINGET);
	low(w, number, number < 256 ? 1 : 4);
}

uint32_t gt_pickle_number(struct gt_pickle_writer *w)
{
	op(w, w->next < 256 ? BINPUT : LONG_BINPUT);
	low(w, w->next, w->next < 256 ? 1 : 4);
	return w->next++;
}

static void text_value(struct gt_pickle_writer *w, const char *text)
{
	uint32_t number = gt_intern(w->texts, text, strlen(text) + 1);
	char *valid;

	GT_REACH(w->text_numbers, w->text_room, number);
	if (w->text_numbers[number]) {
		refer(w, w->text_numbers[number] - 1);
		return;
	}
	valid = gt_utf8_repair(text);
	op(w, BINUNICODE);
	low(w, strlen(valid), 4);
	gt_sink_text(&w->sink, valid);
	free(valid);
	w->text_numbers[number] = gt_pickle_number(w) + 1;
}

static void word_value(struct gt_pickle_writer *w, const char *word)
{
	size_t slot = gt_mix64((uintptr_t)word) % GT_PICKLE_KEPT;

	if (w->words[slot].word == word) {
		refer(w, w->words[slot].number);
		return;
	}
	text_value(w, word);
	w->words[slot].word = word;
	w->words[slot].number =
		w->text_numbers[gt_intern_find(w->texts, word, strlen(word) + 1)] - 1;
}

/* Begins an element; a batch is closed when it is full, so that no reader needs a long stack. */
static void element(struct gt_pickle_writer *w, const char *key)
{
	unsigned *count;

	if (!w->depth)
		return;
	count = &w->open[w->depth - 1].count;
	if (*count == GT_PICKLE_BATCH) {
		op(w, w->open[w->depth - 1].close);
		*count = 0;
	}
	if (!(*count)++)
		op(w, MARK);
	if (key)
		word_value(w, key);
}

static void open_new(struct gt_pickle_writer *w, const char *key, int opcode, char close)
{
	element(w, key);
	op(w, opcode);
	w->open[w->depth].close = close;
	w->open[w->depth++].count = 0;
}

void gt_pickle_put_dict(struct gt_pickle_writer *w, const char *key)
{
	open_new(w, key, EMPTY_DICT, SETITEMS);
}

void gt_pickle_put_list(struct gt_pickle_writer *w, const char *key)
{
	open_new(w, key, EMPTY_LIST, APPENDS);
}

void gt_pickle_close(struct gt_pickle_writer *w)
{
	w->depth--;
	if (w->open[w->depth].count)
		op(w, w->open[w->depth].close);
}

static void int_value(struct gt_pickle_writer *w, int64_t value)
{
	unsigned bytes = 8;

	if (value >= 0 && value < 1 << 16) {
		op(w, value < 256 ? BININT1 : BININT2);
		low(w, (uint64_t)value, value < 256 ? 1 : 2);
	} else if (value >= INT32_MIN && value <= INT32_MAX) {
		op(w, BININT);
		low(w, (uint64_t)value, 4);
	} else {
		/* as many bytes as hold it with its sign */
		while (bytes > 1 && value >> (8 * (bytes - 1) - 1) == (value < 0 ? -1 : 0))
			bytes--;
		op(w, LONG1);
		low(w, bytes, 1);
		low(w, (uint64_t)value, bytes);
	}
}

void gt_pickle_put_int(struct gt_pickle_writer *w, const char *key, int64_t value)
{
	element(w, key);
	int_value(w, value);
}

void gt_pickle_put_text(struct gt_pickle_writer *w, const char *key, const char *text)
{
	element(w, key);
	text_value(w, text);
}

void gt_pickle_put_word(struct gt_pickle_writer *w, const char *key, const char *word)
{
	element(w, key);
	word_value(w, word);
}

void gt_pickle_put_bool(struct gt_pickle_writer *w, const char *key, bool value)
{
	element(w, key);
	op(w, value ? NEWTRUE : NEWFALSE);
}

void gt_pickle_put_real(struct gt_pickle_writer *w, const char *key, double value)
{
	uint64_t bits;

	element(w, key);
	op(w, BINFLOAT);
	memcpy(&bits, &value, sizeof bits);
	low(w, __builtin_bswap64(bits), 8);
}

void gt_pickle_put_pair(struct gt_pickle_writer *w, const char *key, int64_t a, int64_t b)
{
	element(w, key);
	int_value(w, a);
	int_value(w, b);
	op(w, TUPLE2);
}

void gt_pickle_put_again(struct gt_pickle_writer *w, const char *key, uint32_t number)
{
	element(w, key);
	refer(w, number);
}
