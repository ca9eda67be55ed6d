/* SPDX-License-Identifier: MIT */
/* pprof_writer.c - writes gzipped pprof profiles with the four sample types of heap profiles. */
#include "export/pprof_writer.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/stack.h"

/* Field numbers of profile.proto, message by message. */
/* clang-format off */
enum {
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION,
	PROFILE_FUNCTION, PROFILE_STRING, PROFILE_TIME = 9, PROFILE_DURATION, PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD, PROFILE_COMMENT, PROFILE_DEFAULT_TYPE,
	TYPE_TYPE = 1, TYPE_UNIT,
	SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL,
	LABEL_KEY = 1, LABEL_TEXT,
	MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_FILE = 5, MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS, MAPPING_HAS_FILES, MAPPING_HAS_LINES, MAPPING_HAS_INLINES,
	LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE,
	LINE_FUNCTION = 1, LINE_LINE,
	FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE,
};
/* clang-format on */

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

enum { BUFFER = 1 << 16 }; /* what is compressed at once */

/* Modules get room of their own in an address space that is made up: they may not overlap. */
#define MODULE_ROOM ((uint64_t)1 << 40)

struct bytes {
	uint8_t *data;
	size_t size, room;
};

static void put_varint(struct bytes *b, uint64_t value)
{
	if (b->size + GT_VARINT_MAX > b->room)
		b->data = gt_realloc(b->data, b->room = b->room * 2 + 256);
	b->size = (size_t)(gt_put_varint(b->data + b->size, value) - b->data);
}

static void put_data(struct bytes *b, const void *data, size_t size)
{
	if (b->size + size > b->room)
		b->data = gt_realloc(b->data, b->room = (b->room + size) * 2);
	if (size)
		memcpy(b->data + b->size, data, size);
	b->size += size;
}

static void put_number(struct bytes *b, unsigned field, uint64_t value)
{
	if (!value)
		return;
	put_varint(b, field << 3 | WIRE_VARINT);
	put_varint(b, value);
}

static void put_text(struct bytes *b, unsigned field, const void *data, size_t size)
{
	put_varint(b, field << 3 | WIRE_BYTES);
	put_varint(b, size);
	put_data(b, data, size);
}

/* A message within another, which it empties. */
static void put_message(struct bytes *b, unsigned field, struct bytes *inner)
{
	put_text(b, field, inner->data, inner->size);
	inner->size = 0;
}

struct gt_pprof {
	const struct gt_pprof_options *options;
	struct bytes all; /* that are not compressed yet */
	z_stream gzip;
	struct gt_intern *strings, *functions, *locations;
	bool *mapped; /* by number of a mapping */
	size_t mapped_count;
};

static uint64_t string_of(struct gt_pprof *p, const char *text)
{
	/* pprof prints them on terminals as they are */
	char *clean = gt_text_sanitize(text ? text : "");
	uint64_t number;

	for (char *at = clean; (at = strchr(at, '\n')); at++)
		*at = '?';
	number = gt_intern(p->strings, clean, strlen(clean));
	free(clean);
	return number;
}

static void put_type(struct gt_pprof *p, unsigned field, const char *type, const char *unit)
{
	struct bytes inner = { 0 };

	put_number(&inner, TYPE_TYPE, string_of(p, type));
	put_number(&inner, TYPE_UNIT, string_of(p, unit));
	put_message(&p->all, field, &inner);
	free(inner.data);
}

static uint64_t function_of(struct gt_pprof *p, const char *name, const char *file)
{
	uint64_t key[2] = { string_of(p, name), string_of(p, file) };
	size_t before = gt_intern_count(p->functions);
	uint64_t id = gt_intern(p->functions, key, sizeof key) + 1;
	struct bytes inner = { 0 };

	if (id <= before)
		return id;
	put_number(&inner, FUNCTION_ID, id);
	put_number(&inner, FUNCTION_NAME, key[0]);
	put_number(&inner, FUNCTION_SYSTEM_NAME, key[0]);
	put_number(&inner, FUNCTION_FILE, key[1]);
	put_message(&p->all, PROFILE_FUNCTION, &inner);
	free(inner.data);
	return id;
}

/* Writes a mapping when it is met first. */
static uint64_t mapping_of(struct gt_pprof *p, const char *path)
{
	struct gt_pprof_mapping m = { 0 };
	struct bytes inner = { 0 };
	char id[2 * GT_PPROF_BUILD_ID + 1] = "";

	if (!path || !p->options->mapping(p->options->context, path, &m) || !m.number)
		return 0;
	GT_REACH(p->mapped, p->mapped_count, m.number);
	if (p->mapped[m.number])
		return m.number;
	p->mapped[m.number] = true;
	for (size_t k = 0; k < m.build_id_size && k < GT_PPROF_BUILD_ID; k++)
		sprintf(id + 2 * k, "%02x", m.build_id[k]);
	put_number(&inner, MAPPING_ID, m.number);
	put_number(&inner, MAPPING_START, m.number * MODULE_ROOM);
	put_number(&inner, MAPPING_LIMIT, (m.number + 1) * MODULE_ROOM);
	put_number(&inner, MAPPING_FILE, string_of(p, path));
	put_number(&inner, MAPPING_BUILD_ID, string_of(p, id));
	/* all that can be known is in here: readers need not look for the file */
	for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINES; field++)
		put_number(&inner, field, 1);
	put_message(&p->all, PROFILE_MAPPING, &inner);
	free(inner.data);
	return m.number;
}

static void put_line(struct gt_pprof *p, struct bytes *location, const struct gt_frame *frame)
{
	struct bytes inner = { 0 };
	char *name = gt_frame_name(frame);

	put_number(&inner, LINE_FUNCTION, function_of(p, name, frame->file));
	put_number(&inner, LINE_LINE, frame->line);
	put_message(location, LOCATION_LINE, &inner);
	free(inner.data);
	free(name);
}

/* One address: a frame and those that were inlined into it, innermost first. */
static uint64_t location_of(struct gt_pprof *p, const struct gt_frame *frames, size_t count)
{
	uint64_t mapping = mapping_of(p, frames[0].module), id;
	struct bytes inner = { 0 };
	size_t before = gt_intern_count(p->locations);
	struct bytes key = { 0 };

	put_varint(&key, mapping);
	put_varint(&key, frames[0].offset);
	for (size_t i = 0; i < count; i++) {
		put_varint(&key, string_of(p, frames[i].function));
		put_varint(&key, string_of(p, frames[i].file));
		put_varint(&key, frames[i].line);
	}
	id = gt_intern(p->locations, key.data, key.size) + 1;
	free(key.data);
	if (id <= before)
		return id;
	put_number(&inner, LOCATION_ID, id);
	put_number(&inner, LOCATION_MAPPING, mapping);
	put_number(&inner, LOCATION_ADDRESS,
		   mapping * MODULE_ROOM + (frames[0].offset & (MODULE_ROOM - 1)));
	for (size_t i = 0; i < count; i++)
		put_line(p, &inner, &frames[i]);
	put_message(&p->all, PROFILE_LOCATION, &inner);
	free(inner.data);
	return id;
}

static void put_label(struct gt_pprof *p, struct bytes *sample, const char *key, const char *text)
{
	struct bytes inner = { 0 };

	put_number(&inner, LABEL_KEY, string_of(p, key));
	put_number(&inner, LABEL_TEXT, string_of(p, text));
	put_message(sample, SAMPLE_LABEL, &inner);
	free(inner.data);
}

static uint64_t as_int64(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : value;
}

static void *zlib_alloc(void *context, unsigned items, unsigned size)
{
	return gt_alloc((size_t)items * size);
}

static void zlib_free(void *context, void *block)
{
	free(block);
}

/* The file has no time in it: equal recordings give equal files. */
static void open_gzip(z_stream *z)
{
	enum { WINDOW_BITS = 15, GZIP = 16, MEMORY_LEVEL = 8 };

	*z = (z_stream){ .zalloc = zlib_alloc, .zfree = zlib_free };
	if (deflateInit2(z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS + GZIP, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		gt_memory_check(NULL);
}

/* Writes the bytes so far; `how` is zlib's. */
static void put_gzip(struct gt_pprof *p, int how)
{
	static uint8_t block[1 << 16];
	int status;

	p->gzip.next_in = p->all.data;
	p->gzip.avail_in = (uInt)p->all.size;
	do {
		p->gzip.next_out = block;
		p->gzip.avail_out = sizeof block;
		status = deflate(&p->gzip, how);
		fwrite(block, 1, sizeof block - p->gzip.avail_out, p->options->out);
	} while (!p->gzip.avail_out || (how == Z_FINISH && status == Z_OK));
	p->all.size = 0;
}

void gt_pprof_sample(struct gt_pprof *p, const struct gt_pprof_sample *s)
{
	static const struct gt_frame none = { .function = "(no stack)" };
	const uint64_t values[] = { s->created, s->created_bytes, s->live, s->live_bytes };
	struct bytes sample = { 0 }, packed = { 0 };
	const struct gt_frame *frames = s->count ? s->frames : &none;
	size_t count = s->count ? s->count : 1;

	put_label(p, &sample, "place", s->place);
	for (size_t i = 0, n; i < count; i += n) {
		for (n = 1; i + n < count && frames[i + n - 1].inlined; n++)
			;
		put_varint(&packed, location_of(p, frames + i, n));
	}
	put_message(&sample, SAMPLE_LOCATIONS, &packed);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		put_varint(&packed, as_int64(values[i]));
	put_message(&sample, SAMPLE_VALUES, &packed);
	for (size_t i = 0; i < s->label_count; i++)
		if (*s->labels[i].text)
			put_label(p, &sample, s->labels[i].key, s->labels[i].text);
	put_message(&p->all, PROFILE_SAMPLE, &sample);
	free(sample.data);
	free(packed.data);
	if (p->all.size > BUFFER)
		put_gzip(p, Z_NO_FLUSH);
}

struct gt_pprof *gt_pprof_new(const struct gt_pprof_options *options)
{
	struct gt_pprof *p = gt_alloc(sizeof *p);

	p->options = options;
	p->strings = gt_intern_new();
	p->functions = gt_intern_new();
	p->locations = gt_intern_new();
	open_gzip(&p->gzip);
	string_of(p, "");
	put_type(p, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
	put_type(p, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	put_type(p, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
	put_type(p, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
	put_type(p, PROFILE_PERIOD_TYPE, "space", "bytes");
	put_number(&p->all, PROFILE_PERIOD, 1);
	put_number(&p->all, PROFILE_TIME, as_int64(options->time_ns));
	put_number(&p->all, PROFILE_DURATION, as_int64(options->duration_ns));
	put_number(&p->all, PROFILE_COMMENT, string_of(p, options->comment));
	put_number(&p->all, PROFILE_DEFAULT_TYPE, string_of(p, options->default_type));
	return p;
}

static void put_strings(struct gt_pprof *p)
{
	for (uint32_t i = 0; i < gt_intern_count(p->strings); i++) {
		size_t size;
		const void *text = gt_intern_get(p->strings, i, &size);

		put_text(&p->all, PROFILE_STRING, text, size);
		if (p->all.size > BUFFER)
			put_gzip(p, Z_NO_FLUSH);
	}
}

void gt_pprof_free(struct gt_pprof *p)
{
	put_strings(p);
	put_gzip(p, Z_FINISH);
	deflateEnd(&p->gzip);
	free(p->all.data);
	free(p->mapped);
	gt_intern_free(p->strings);
	gt_intern_free(p->functions);
	gt_intern_free(p->locations);
	free(p);
}
