/* SPDX-License-Identifier: MIT */
/* json.c - a streaming JSON writer: the output is always valid and always UTF-8. */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/text.h"

static void put_string(struct gt_json *j, const char *text)
{
	FILE *out = j->out;

	putc('"', out);
	while (*(text = gt_text_put_plain(out, text))) {
		uint32_t c;
		size_t length = gt_utf8_next(text, &c);

		if (c == GT_UTF8_BAD)
			fputs("\xef\xbf\xbd", out);
		else if (c == '"' || c == '\\')
			fprintf(out, "\\%c", (char)c);
		else if (c == '\n')
			fputs("\\n", out);
		else if (c == '\t')
			fputs("\\t", out);
		else if ((j->in_html && (c == '<' || c == '>' || c == '&')) ||
			 (c < 0x10000 && gt_utf8_is_unsafe(c)))
			/* safe to show on a terminal */
			fprintf(out, "\\u%04" PRIx32, c);
		else
			fwrite(text, 1, length, out);
		text += length;
	}
	putc('"', out);
}

static void new_line(struct gt_json *j)
{
	if (j->flat)
		return;
	putc('\n', j->out);
	for (unsigned i = 0; i < j->depth; i++)
		putc('\t', j->out);
}

/* Writes what precedes a value: the comma, the line break, the key. */
static void put_key(struct gt_json *j, const char *key)
{
	bool used = j->levels[j->depth].used;

	j->levels[j->depth].used = true;
	if (used)
		fputs(j->flat ? ", " : ",", j->out);
	new_line(j);
	if (key) {
		put_string(j, key);
		fputs(": ", j->out);
	}
}

static void push(struct gt_json *j, char open, char close)
{
	assert(j->depth + 1 < GT_JSON_DEPTH);
	putc(open, j->out);
	j->depth++;
	j->levels[j->depth].close = close;
	j->levels[j->depth].used = false;
}

void gt_json_begin(struct gt_json *j, FILE *out)
{
	*j = (struct gt_json){ .out = out };
	push(j, '{', '}');
}

void gt_json_begin_array(struct gt_json *j, FILE *out)
{
	*j = (struct gt_json){ .out = out };
	push(j, '[', ']');
}

void gt_json_finish(struct gt_json *j)
{
	while (j->depth)
		gt_json_end(j);
	putc('\n', j->out);
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
	putc(close, j->out);
}

void gt_json_text(struct gt_json *j, const char *key, const char *text)
{
	if (!text) {
		gt_json_null(j, key);
		return;
	}
	put_key(j, key);
	put_string(j, text);
}

void gt_json_uint(struct gt_json *j, const char *key, uint64_t value)
{
	put_key(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void gt_json_int(struct gt_json *j, const char *key, int64_t value)
{
	put_key(j, key);
	fprintf(j->out, "%" PRId64, value);
}

void gt_json_real(struct gt_json *j, const char *key, double value)
{
	if (!isfinite(value)) {
		gt_json_null(j, key);
		return;
	}
	put_key(j, key);
	fprintf(j->out, "%.9g", value);
}

void gt_json_bool(struct gt_json *j, const char *key, bool value)
{
	put_key(j, key);
	fputs(value ? "true" : "false", j->out);
}

void gt_json_hex(struct gt_json *j, const char *key, uint64_t value)
{
	put_key(j, key);
	fprintf(j->out, "\"0x%" PRIx64 "\"", value);
}

void gt_json_base64(struct gt_json *j, const char *key, const void *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *at = bytes;

	put_key(j, key);
	putc('"', j->out);
	for (; size; at += 3) {
		size_t take = size < 3 ? size : 3;
		uint32_t word = (uint32_t)at[0] << 16 | (take > 1 ? (uint32_t)at[1] << 8 : 0) |
				(take > 2 ? at[2] : 0);

		for (size_t i = 0; i < 4; i++)
			putc(i <= take ? digits[word >> (18 - 6 * i) & 63] : '=', j->out);
		size -= take;
	}
	putc('"', j->out);
}

void gt_json_us(struct gt_json *j, const char *key, uint64_t time_ns)
{
	put_key(j, key);
	fprintf(j->out, "%" PRIu64 ".%03u", time_ns / 1000, (unsigned)(time_ns % 1000));
}

void gt_json_null(struct gt_json *j, const char *key)
{
	put_key(j, key);
	fputs("null", j->out);
}
