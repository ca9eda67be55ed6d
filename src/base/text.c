/* SPDX-License-Identifier: MIT */
/* text.c - text from elsewhere made fit for a terminal, a column, a file format; paths as text. */
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/function_name.h"
#include "base/mem.h"

static size_t sequence_length(uint8_t lead)
{
	return lead < 0x80 ? 1 :
	       lead < 0xc2 ? 0 :
	       lead < 0xe0 ? 2 :
	       lead < 0xf0 ? 3 :
	       lead < 0xf5 ? 4 :
			     0;
}

size_t gt_utf8_next(const char *text, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const uint8_t *at = (const uint8_t *)text;
	size_t length = sequence_length(at[0]);
	uint32_t c;

	*code = GT_UTF8_BAD;
	if (!length)
		return 1;
	c = length == 1 ? at[0] : at[0] & (0x7fu >> length);
	/* the NUL at the end is no continuation byte either */
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 1;
		c = c << 6 | (at[i] & 0x3f);
	}
	if (c < least[length] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		return 1;
	*code = c;
	return length;
}

const bool gt_text_plain[256] = {
	[' ' ... '!'] = true, ['#' ... '%'] = true, ['(' ... ';'] = true,
	['='] = true,         ['?' ... '['] = true, [']' ... '~'] = true
};

bool gt_utf8_is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0x061c ||
	       c == 0xfeff || (c >= 0xe0000 && c <= 0xe0fff);
}

/* How a character is shown: unchanged, in `columns`, or escaped as \xNN for each of its bytes. */
struct glyph {
	size_t length;
	unsigned columns;
	bool escaped;
};

static struct glyph next_glyph(const char *text, bool utf8)
{
	struct glyph g = { 0 };
	uint32_t c;
	int width = -1;

	g.length = gt_utf8_next(text, &c);
	if (c == GT_UTF8_BAD || gt_utf8_is_unsafe(c))
		width = -1;
	else if (c < 0x80)
		width = 1;
	else if (utf8)
		width = wcwidth((wchar_t)c);
	g.escaped = width < 0;
	g.columns = g.escaped ? 4 * (unsigned)g.length : (unsigned)width;
	return g;
}

static void put_glyph(FILE *out, const char *text, const struct glyph *g)
{
	for (size_t i = 0; i < g->length; i++) {
		if (g->escaped)
			fprintf(out, "\\x%02x", (uint8_t)text[i]);
		else
			putc(text[i], out);
	}
}

unsigned gt_text_columns(const char *text, bool utf8)
{
	unsigned columns = 0;

	while (*text) {
		struct glyph g = next_glyph(text, utf8);

		columns += g.columns;
		text += g.length;
	}
	return columns;
}

static unsigned put_cut(FILE *out, const char *text, unsigned columns, bool at_start, bool utf8)
{
	unsigned whole = gt_text_columns(text, utf8), mark = utf8 ? 1 : 3, head = whole, tail = 0;
	unsigned at = 0, used = 0;
	bool cut = whole > columns, marked = false;

	if (cut && columns <= mark) {
		head = columns;
		marked = true; /* no room to say that something is missing */
	} else if (cut) {
		head = at_start ? 0 : (columns - mark) / 2;
		tail = columns - mark - head;
	}
	while (*text) {
		struct glyph g = next_glyph(text, utf8);
		bool in_head = at + g.columns <= head, in_tail = cut && tail && at >= whole - tail;

		if (in_head || in_tail) {
			put_glyph(out, text, &g);
			used += g.columns;
		} else {
			/* the head ends here, even if a later glyph is narrow enough to fit */
			head = 0;
			if (!marked)
				used += fputs(utf8 ? "…" : "...", out) < 0 ? 0 : mark;
			marked = true;
		}
		at += g.columns;
		text += g.length;
	}
	return used;
}

static const char *const marks[] = { "...", "…" }; /* by whether it may be UTF-8 */

/* The longest end of a path that begins with a folder and fits behind a mark; NULL: none. */
static const char *fitting_end(const char *path, unsigned columns, bool utf8)
{
	unsigned mark = utf8 ? 1 : 3;
	const char *end = path;

	/* never the root alone: "…/home/me" is no shorter than "/home/me" */
	while ((end = strchr(end + 1, '/')))
		if (gt_text_columns(end, utf8) + mark <= columns)
			return end;
	return NULL;
}

unsigned gt_path_least(const char *path, bool utf8)
{
	const char *slash = strrchr(path, '/');
	unsigned whole = gt_text_columns(path, utf8);
	unsigned name = slash ? gt_text_columns(slash, utf8) + (utf8 ? 1 : 3) : whole;

	return name < whole ? name : whole;
}

unsigned gt_text_put(FILE *out, const char *text, unsigned columns, enum gt_cut where, bool utf8)
{
	char *abbreviated = NULL;
	const char *end = NULL;
	unsigned used;

	if (where == GT_CUT_START && *text && gt_text_columns(text, utf8) > columns)
		end = fitting_end(text, columns, utf8);
	if (end) {
		fputs(marks[utf8], out);
		return (utf8 ? 1 : 3) + put_cut(out, end, columns, false, utf8);
	}

	if (where == GT_CUT_FUNCTION && gt_text_columns(text, utf8) > columns)
		abbreviated = gt_function_abbreviate(text, utf8);
	used = put_cut(out, abbreviated ? abbreviated : text, columns, where == GT_CUT_START, utf8);
	free(abbreviated);
	return used;
}

const char *gt_text_put_plain(FILE *out, const char *text)
{
	size_t size = 0;

	while (gt_text_is_plain(text[size]))
		size++;
	fwrite(text, 1, size, out);
	return text + size;
}

void gt_tsv_put(FILE *out, const char *text)
{
	while (*(text = gt_text_put_plain(out, text))) {
		struct glyph g = { 0 };
		uint32_t c;

		g.length = gt_utf8_next(text, &c);
		g.escaped = c == GT_UTF8_BAD || gt_utf8_is_unsafe(c);
		if (c == '\t')
			fputs("\\t", out);
		else if (c == '\n')
			fputs("\\n", out);
		else if (c == '\\')
			fputs("\\\\", out);
		else
			put_glyph(out, text, &g);
		text += g.length;
	}
}

static char *copy_clean(const char *text, bool sanitize)
{
	char *out = gt_alloc(3 * strlen(text) + 1);
	size_t used = 0;

	while (*text) {
		uint32_t c;
		size_t length = gt_utf8_next(text, &c);

		if (c == GT_UTF8_BAD)
			used += (size_t)sprintf(out + used, "\xef\xbf\xbd");
		else if (sanitize && c != '\n' && gt_utf8_is_unsafe(c))
			out[used++] = '?';
		else
			for (size_t i = 0; i < length; i++)
				out[used++] = text[i];
		text += length;
	}
	return out;
}

char *gt_utf8_repair(const char *text)
{
	return copy_clean(text, false);
}

char *gt_text_sanitize(const char *text)
{
	return copy_clean(text, true);
}

void gt_xml_put(FILE *out, const char *text)
{
	while (*(text = gt_text_put_plain(out, text))) {
		uint32_t c;
		size_t length = gt_utf8_next(text, &c);

		if (c == GT_UTF8_BAD || c == 0xfffe || c == 0xffff ||
		    (c < 0x20 && c != '\t' && c != '\n' && c != '\r'))
			fputs("\xef\xbf\xbd", out);
		else if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'' ||
			 gt_utf8_is_unsafe(c))
			fprintf(out, "&#%" PRIu32 ";", c);
		else
			fwrite(text, 1, length, out);
		text += length;
	}
}

void gt_uri_put(FILE *out, const char *text)
{
	for (; *text; text++) {
		bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
			     (*text >= '0' && *text <= '9') || strchr("-._~/", *text);

		if (plain)
			putc(*text, out);
		else
			fprintf(out, "%%%02X", (uint8_t)*text);
	}
}

void gt_csv_put(FILE *out, const char *text)
{
	size_t size = strlen(text);
	bool quoted = strpbrk(text, ",\"") || (size && (text[0] == ' ' || text[size - 1] == ' '));

	if (quoted)
		putc('"', out);
	while (*(text = gt_text_put_plain(out, text))) {
		struct glyph g = { 0 };
		uint32_t c;

		g.length = gt_utf8_next(text, &c);
		g.escaped = c == GT_UTF8_BAD || gt_utf8_is_unsafe(c);
		if (c == '"')
			putc('"', out);
		put_glyph(out, text, &g);
		text += g.length;
	}
	if (quoted)
		putc('"', out);
}

void gt_csv_put_safe(FILE *out, const char *text)
{
	char *marked = gt_alloc(strlen(text) + 2);

	*marked = '\'';
	strcpy(marked + 1, text);
	gt_csv_put(out, *text && strchr("=+-@", *text) ? marked : text);
	free(marked);
}

void gt_path_normalize(char *path)
{
	char *out = path;
	size_t used = 0;

	while (*path) {
		size_t n = strcspn(path, "/"), end = n + (path[n] == '/');
		size_t last =
			used > 1 ? used - 1 : 0; /* of the component before, without its slash */

		while (last && out[last - 1] != '/')
			last--;
		if (n == 2 && !strncmp(path, "..", 2) && used > 1 && strncmp(out + last, "../", 3))
			used = last;
		else if (!(n == 1 && *path == '.' && end == 2) && (n || !used)) {
			memmove(out + used, path, end);
			used += end;
		}
		path += end;
	}
	out[used] = '\0';
}

void gt_path_trim_slashes(char *path)
{
	for (size_t size = strlen(path); size > 1 && path[size - 1] == '/'; size--)
		path[size - 1] = '\0';
}
