/* SPDX-License-Identifier: MIT */
/*
 * parquet.c - rows as a Parquet file.
 *
 *	"PAR1"  pages…  footer  size of the footer  "PAR1"
 *
 * A page is a header and the values: texts as length and bytes, numbers as little-endian words of
 *32 or 64 bits, times as milliseconds since 1970. Headers and footer are structures in Thrift's
 * compact protocol: a field is a byte (its distance from the last field's number, and its type) and
 * its value; integers are zigzag varints; a structure ends with 0.
 */
#include "agent/parquet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/row_text.h"
#include "base/bytes.h"
#include "base/files.h"

enum {
	GROUP_ROWS = 100000,
	FILE_MAX = INT32_MAX, /* bytes of a file that is read, as for every input of the tool */
};

/* Thrift's types, as a field has them. */
enum { T_I32 = 5, T_I64 = 6, T_BINARY = 8, T_LIST = 9, T_STRUCT = 12 };

/* Parquet's. */
enum { P_INT32 = 1, P_INT64 = 2, P_DOUBLE = 5, P_BYTE_ARRAY = 6 };
enum { P_UTF8 = 0, P_TIMESTAMP_MILLIS = 9, P_UINT_32 = 13, P_UINT_64 = 14 };
enum { P_REQUIRED = 0, P_PLAIN = 0, P_RLE = 3, P_UNCOMPRESSED = 0, P_DATA_PAGE = 0 };

static const struct {
	int type, meaning; /* meaning -1: none */
} types[] = {
	[GT_COLUMN_TIME] = { P_INT64, P_TIMESTAMP_MILLIS },
	[GT_COLUMN_TEXT] = { P_BYTE_ARRAY, P_UTF8 },
	[GT_COLUMN_U32] = { P_INT32, P_UINT_32 },
	[GT_COLUMN_U64] = { P_INT64, P_UINT_64 },
	[GT_COLUMN_REAL] = { P_DOUBLE, -1 },
};

/* Bytes that grow. */
struct buffer {
	uint8_t *bytes;
	size_t size, room;
};

struct group {
	uint64_t rows, bytes;
	uint64_t offset[GT_ROW_COLUMNS], column_bytes[GT_ROW_COLUMNS];
};

struct gt_parquet {
	FILE *out;
	uint64_t written, rows, group_rows;
	struct buffer columns[GT_ROW_COLUMNS];
	struct group *groups;
	size_t group_count, group_room;
};

static void put(struct buffer *b, const void *bytes, size_t size)
{
	if (b->size + size > b->room) {
		b->room = 2 * (b->size + size) + 64;
		b->bytes = gt_realloc(b->bytes, b->room);
	}
	if (size)
		memcpy(b->bytes + b->size, bytes, size);
	b->size += size;
}

/* `size` low bytes, the lowest first. */
static void put_word(struct buffer *b, uint64_t value, size_t size)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	put(b, bytes, size);
}

static void put_varint(struct buffer *b, uint64_t value)
{
	uint8_t bytes[GT_VARINT_MAX];

	put(b, bytes, (size_t)(gt_put_varint(bytes, value) - bytes));
}

/* A field whose number is `distance` more than the last one's. */
static void put_field(struct buffer *b, unsigned distance, unsigned type)
{
	put_word(b, distance << 4 | type, 1);
}

static void put_int(struct buffer *b, unsigned distance, unsigned type, int64_t value)
{
	put_field(b, distance, type);
	put_varint(b, gt_zigzag(value));
}

static void put_binary(struct buffer *b, const char *text)
{
	put_varint(b, strlen(text));
	put(b, text, strlen(text));
}

static void put_list(struct buffer *b, unsigned distance, unsigned type, size_t count)
{
	put_field(b, distance, T_LIST);
	put_word(b, (count < 15 ? count : 15) << 4 | type, 1);
	if (count >= 15)
		put_varint(b, count);
}

static void put_end(struct buffer *b)
{
	put_word(b, 0, 1);
}

static void write_bytes(struct gt_parquet *p, const void *bytes, size_t size)
{
	fwrite(bytes, 1, size, p->out);
	p->written += size;
}

struct gt_parquet *gt_parquet_new(FILE *out)
{
	struct gt_parquet *p = gt_alloc(sizeof *p);

	p->out = out;
	write_bytes(p, "PAR1", 4);
	return p;
}

/* PageHeader */
static void put_page_header(struct buffer *b, size_t size, uint64_t rows)
{
	put_int(b, 1, T_I32, P_DATA_PAGE);
	put_int(b, 1, T_I32, (int64_t)size); /* uncompressed */
	put_int(b, 1, T_I32, (int64_t)size); /* compressed */
	put_field(b, 2, T_STRUCT);           /* DataPageHeader */
	put_int(b, 1, T_I32, (int64_t)rows);
	put_int(b, 1, T_I32, P_PLAIN);
	put_int(b, 1, T_I32, P_RLE); /* of definition levels, of which there are none */
	put_int(b, 1, T_I32, P_RLE); /* of repetition levels */
	put_end(b);
	put_end(b);
}

static void write_group(struct gt_parquet *p)
{
	struct group *g;

	if (!p->group_rows)
		return;
	GT_GROW(p->groups, p->group_count, p->group_room);
	g = &p->groups[p->group_count++];
	*g = (struct group){ .rows = p->group_rows };
	for (int i = 0; i < GT_ROW_COLUMNS; i++) {
		struct buffer header = { 0 };

		g->offset[i] = p->written;
		put_page_header(&header, p->columns[i].size, p->group_rows);
		write_bytes(p, header.bytes, header.size);
		write_bytes(p, p->columns[i].bytes, p->columns[i].size);
		free(header.bytes);
		p->columns[i].size = 0;
		g->column_bytes[i] = p->written - g->offset[i];
		g->bytes += g->column_bytes[i];
	}
	p->rows += p->group_rows;
	p->group_rows = 0;
}

/* SchemaElement: the root, then the columns. */
static void put_schema(struct buffer *b)
{
	put_list(b, 1, T_STRUCT, GT_ROW_COLUMNS + 1);
	put_field(b, 4, T_BINARY);
	put_binary(b, "rows");
	put_int(b, 1, T_I32, GT_ROW_COLUMNS);
	put_end(b);
	for (int i = 0; i < GT_ROW_COLUMNS; i++) {
		int meaning = types[gt_row_columns[i].type].meaning;

		put_int(b, 1, T_I32, types[gt_row_columns[i].type].type);
		put_int(b, 2, T_I32, P_REQUIRED);
		put_field(b, 1, T_BINARY);
		put_binary(b, gt_row_columns[i].name);
		if (meaning >= 0)
			put_int(b, 2, T_I32, meaning);
		put_end(b);
	}
}

/* ColumnChunk and its ColumnMetaData */
static void put_chunk(struct buffer *b, const struct group *g, int column)
{
	put_int(b, 2, T_I64, (int64_t)g->offset[column]);
	put_field(b, 1, T_STRUCT);
	put_int(b, 1, T_I32, types[gt_row_columns[column].type].type);
	put_list(b, 1, T_I32, 2);
	put_varint(b, gt_zigzag(P_PLAIN));
	put_varint(b, gt_zigzag(P_RLE));
	put_list(b, 1, T_BINARY, 1);
	put_binary(b, gt_row_columns[column].name);
	put_int(b, 1, T_I32, P_UNCOMPRESSED);
	put_int(b, 1, T_I64, (int64_t)g->rows);
	put_int(b, 1, T_I64, (int64_t)g->column_bytes[column]);
	put_int(b, 1, T_I64, (int64_t)g->column_bytes[column]);
	put_int(b, 2, T_I64, (int64_t)g->offset[column]);
	put_end(b);
	put_end(b);
}

/* FileMetaData */
static void put_footer(struct buffer *b, const struct gt_parquet *p)
{
	put_int(b, 1, T_I32, 1); /* version */
	put_schema(b);
	put_int(b, 1, T_I64, (int64_t)p->rows);
	put_list(b, 1, T_STRUCT, p->group_count);
	for (size_t i = 0; i < p->group_count; i++) {
		const struct group *g = &p->groups[i];

		put_list(b, 1, T_STRUCT, GT_ROW_COLUMNS);
		for (int k = 0; k < GT_ROW_COLUMNS; k++)
			put_chunk(b, g, k);
		put_int(b, 1, T_I64, (int64_t)g->bytes);
		put_int(b, 1, T_I64, (int64_t)g->rows);
		put_end(b);
	}
	put_field(b, 2, T_BINARY);
	put_binary(b, "gputrack " GT_VERSION);
	put_end(b);
}

void gt_parquet_finish(struct gt_parquet *p)
{
	struct buffer footer = { 0 };
	size_t size;

	write_group(p);
	put_footer(&footer, p);
	size = footer.size;
	put_word(&footer, size, 4);
	put(&footer, "PAR1", 4);
	write_bytes(p, footer.bytes, footer.size);
	free(footer.bytes);
	for (int i = 0; i < GT_ROW_COLUMNS; i++)
		free(p->columns[i].bytes);
	free(p->groups);
	free(p);
}

/* Undoes gt_tsv_put, in place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		if (*at == '\\' && at[1])
			at++;
		*to++ = *at;
	}
	*to = '\0';
}

/* False: the text is no value of that type. */
static bool put_value(struct buffer *b, enum gt_column_type type, char *text)
{
	char *end = text;
	double real;
	uint64_t bits;
	int64_t seconds;

	switch (type) {
	case GT_COLUMN_TEXT:
		unescape(text);
		put_word(b, strlen(text), 4);
		put(b, text, strlen(text));
		return true;
	case GT_COLUMN_TIME:
		if (!gt_row_time_parse(text, &seconds))
			return false;
		put_word(b, (uint64_t)seconds * 1000, 8);
		return true;
	case GT_COLUMN_REAL:
		real = strtod(text, &end);
		memcpy(&bits, &real, sizeof bits);
		put_word(b, bits, 8);
		break;
	case GT_COLUMN_U32:
	case GT_COLUMN_U64:
		bits = strtoull(text, &end, 10);
		put_word(b, bits, type == GT_COLUMN_U32 ? 4 : 8);
		break;
	}
	return end != text && !*end;
}

/* One line, without its end. False: it is no row. */
static bool add_line(struct gt_parquet *p, char *line)
{
	size_t sizes[GT_ROW_COLUMNS];
	bool is_row = true;
	int i = 0;

	for (; i < GT_ROW_COLUMNS; i++) {
		char *end = line ? strchr(line, '\t') : NULL;

		sizes[i] = p->columns[i].size;
		if (end)
			*end = '\0';
		is_row = is_row && line && put_value(&p->columns[i], gt_row_columns[i].type, line);
		line = end ? end + 1 : NULL;
	}
	if (is_row && !line) {
		p->group_rows++;
		return true;
	}
	while (i--)
		p->columns[i].size = sizes[i];
	return false;
}

static char *head_line(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = gt_memstream(&text, &size);

	gt_row_text_head(out);
	gt_memstream_close(out);
	return text;
}

int gt_parquet_add_tsv(struct gt_parquet *p, const char *path, struct gt_error *error)
{
	FILE *in = gt_open_regular_file(path, FILE_MAX);
	char *line = NULL, *head;
	size_t room = 0, number = 1;
	ssize_t size;
	int e = 0;

	if (!in)
		return gt_error_set(error, -errno, "cannot read %s: %s", path, strerror(errno));
	head = head_line();
	if (getline(&line, &room, in) < 0 || strcmp(line, head) != 0)
		e = gt_error_set(error, -EINVAL,
				 "%s has no rows of `gputrack agent --rows`: its first line names "
				 "other columns",
				 path);
	/* a last line without an end is being written */
	while (!e && (size = getline(&line, &room, in)) > 0 && line[size - 1] == '\n') {
		line[size - 1] = '\0';
		number++;
		if (!add_line(p, line))
			e = gt_error_set(error, -EINVAL, "%s:%zu is no row", path, number);
		if (p->group_rows == GROUP_ROWS)
			write_group(p);
	}
	free(head);
	free(line);
	fclose(in);
	return e;
}
