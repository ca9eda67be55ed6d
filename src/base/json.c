/* SPDX-License-Identifier: MIT */
/* json.c - a streaming JSON writer: the output is always valid and always UTF-8. */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/text.h"

/* Writes what can stand for itself, and returns the rest. */
static inline const char *put_plain(struct gt_sink *out, const char *text)
{
	size_t some;

	do {
		char *at = gt_sink_at(out);

		for (some = 0; some < GT_SINK_SMALL && gt_text_is_plain(text[some]); some++)
			at[some] = text[some];
		gt_sink_took(out, some);
		text += some;
	} while (some == GT_SINK_SMALL);
	return text;
}

/* What stands for a character that cannot stand for itself. */
static void put_escaped(struct gt_json *j, const char *text, size_t length, uint32_t c)
{
	struct gt_sink *out = &j->sink;
	char escaped[12];

	if (c == GT_UTF8_BAD) {
		gt_sink_text(out, "\xef\xbf\xbd");
	} else if (c == '"' || c == '\\') {
		gt_sink_char(out, '\\');
		gt_sink_char(out, (char)c);
	} else if (c == '\n') {
		gt_sink_text(out, "\\n");
	} else if (c == '\t') {
		gt_sink_text(out, "\\t");
	} else if ((j->in_html && (c == '<' || c == '>' || c == '&')) ||
		   (c < 0x10000 && gt_utf8_is_unsafe(c))) {
		/* safe to show on a terminal */
		snprintf(escaped, sizeof escaped, "\\u%04" PRIx32, c);
		gt_sink_text(out, escaped);
	} else {
		gt_sink_put(out, text, length);
	}
}

enum { SHORT = GT_SINK_SMALL - 4 }; /* of a text: with its quotes and a colon it is small */

static void put_long(struct gt_json *j, const char *text)
{
	gt_sink_char(&j->sink, '"');
	while (*(text = put_plain(&j->sink, text))) {
		uint32_t c;
		size_t length = gt_utf8_next(text, &c);

		put_escaped(j, text, length, c);
		text += length;
	}
	gt_sink_char(&j->sink, '"');
}

/* A text in quotes, and the `size` bytes of ": " that follow it. Most are short and plain. */
static inline void put_string(struct gt_json *j, const char *text, size_t size)
{
	char *at = gt_sink_at(&j->sink) + 1;
	size_t length = 0;

	for (; length < SHORT && gt_text_is_plain(text[length]); length++)
		at[length] = text[length];
	if (text[length]) {
		put_long(j, text);
		gt_sink_put(&j->sink, ": ", size);
		return;
	}
	at[-1] = '"';
	memcpy(at + length, "\": ", 3);
	gt_sink_took(&j->sink, length + 2 + size);
}

static void new_line(struct gt_json *j)
{
	if (j->flat)
		return;
	gt_sink_char(&j->sink, '\n');
	for (unsigned i = 0; i < j->depth; i++)
		gt_sink_char(&j->sink, '\t');
}

/* Writes what precedes a value: the comma, the line break, the key. */
static void put_key(struct gt_json *j, const char *key)
{
	bool used = j->levels[j->depth].used;

	j->levels[j->depth].used = true;
	if (used) {
		/* the copy is of a size that the compiler knows */
		memcpy(gt_sink_at(&j->sink), ", ", 2);
		gt_sink_took(&j->sink, j->flat ? 2 : 1);
	}
	new_line(j);
	if (key)
		put_string(j, key, 2);
}

static void push(struct gt_json *j, char open, char close)
{
	assert(j->depth + 1 < GT_JSON_DEPTH);
	gt_sink_char(&j->sink, open);
	j->depth++;
	j->levels[j->depth].close = close;
	j->levels[j->depth].used = false;
}

static void open_document(struct gt_json *j, FILE *out)
{
	*j = (struct gt_json){ 0 };
	gt_sink_init(&j->sink, out);
}

void gt_json_begin(struct gt_json *j, FILE *out)
{
	open_document(j, out);
	push(j, '{', '}');
}

void gt_json_begin_array(struct gt_json *j, FILE *out)
{
	open_document(j, out);
	push(j, '[', ']');
}

void gt_json_begin_members(struct gt_json *j, FILE *out)
{
	open_document(j, out);
	j->depth = j->flat = 1;
}

void gt_json_finish(struct gt_json *j)
{
	bool has_braces = j->levels[1].close;

	while (j->depth > !has_braces)
		gt_json_end(j);
	if (has_braces)
		gt_sink_char(&j->sink, '\n');
	gt_sink_fini(&j->sink);
}

void gt_json_object(struct gt_json *j, const char *key)
{
	put_key(j, key);
	push(j, '{', '}');
}

void gt_json_array(struct gt_json *j, const char *key)
{
	put_key(j, key);
	push(j, '[', ']');
}

void gt_json_line(struct gt_json *j, const char *key)
{
	gt_json_object(j, key);
	if (!j->flat)
		j->flat = j->depth;
}

void gt_json_end(struct gt_json *j)
{
	bool used = j->levels[j->depth].used;
	char close = j->levels[j->depth].close;
	bool ends_line = j->flat == j->depth;

	assert(j->depth);
	j->depth--;
	if (used)
		new_line(j);
	if (ends_line)
		j->flat = 0;
	gt_sink_char(&j->sink, close);
}

void gt_json_text(struct gt_json *j, const char *key, const char *text)
{
	if (!text) {
		gt_json_null(j, key);
		return;
	}
	put_key(j, key);
	put_string(j, text, 0);
}

void gt_json_uint(struct gt_json *j, const char *key, uint64_t value)
{
	put_key(j, key);
	gt_sink_uint(&j->sink, value);
}

void gt_json_int(struct gt_json *j, const char *key, int64_t value)
{
	put_key(j, key);
	gt_sink_int(&j->sink, value);
}

void gt_json_real(struct gt_json *j, const char *key, double value)
{
	char text[32];

	if (!isfinite(value)) {
		gt_json_null(j, key);
		return;
	}
	put_key(j, key);
	snprintf(text, sizeof text, "%.9g", value);
	gt_sink_text(&j->sink, text);
}

void gt_json_bool(struct gt_json *j, const char *key, bool value)
{
	put_key(j, key);
	gt_sink_text(&j->sink, value ? "true" : "false");
}

void gt_json_hex(struct gt_json *j, const char *key, uint64_t value)
{
	put_key(j, key);
	gt_sink_char(&j->sink, '"');
	gt_sink_hex(&j->sink, value);
	gt_sink_char(&j->sink, '"');
}

void gt_json_base64(struct gt_json *j, const char *key, const void *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *at = bytes;

	put_key(j, key);
	gt_sink_char(&j->sink, '"');
	for (; size; at += 3) {
		size_t take = size < 3 ? size : 3;
		uint32_t word = (uint32_t)at[0] << 16 | (take > 1 ? (uint32_t)at[1] << 8 : 0) |
				(take > 2 ? at[2] : 0);

		for (size_t i = 0; i < 4; i++)
			gt_sink_char(&j->sink, i <= take ? digits[word >> (18 - 6 * i) & 63] : '=');
		size -= take;
	}
	gt_sink_char(&j->sink, '"');
}

void gt_json_us(struct gt_json *j, const char *key, uint64_t time_ns)
{
	/* the digits of the fraction, and a 1 that the point takes the place of */
	char digits[GT_DIGITS_MAX];

	put_key(j, key);
	gt_sink_uint(&j->sink, time_ns / 1000);
	gt_digits_decimal(digits, 1000 + time_ns % 1000);
	*digits = '.';
	gt_sink_put(&j->sink, digits, 4);
}

void gt_json_null(struct gt_json *j, const char *key)
{
	put_key(j, key);
	gt_sink_text(&j->sink, "null");
}

void gt_json_members(struct gt_json *j, const char *text, size_t size)
{
	if (!size)
		return;
	put_key(j, NULL);
	gt_sink_put(&j->sink, text, size);
}
