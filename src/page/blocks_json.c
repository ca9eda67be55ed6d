/* SPDX-License-Identifier: MIT */
/*
 * blocks_json.c - blocks and segments in the form that viewer/js/blocks.js reads.
 *
 * A text of variable-length integers, column by column, compressed by zlib: the columns of blocks
 * and of segments, both in the order of their births, then the points of all segments. Births are
 * as nanoseconds after the one before, ends as 0 or the length of the life + 1, points as
 * nanoseconds after the one before (the first: after the segment's birth) and zigzag differences.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "page/blocks.h"
#include "page/page.h"

enum {
	STACKS_MAX = 4096, /* told in full */
	POINTS_MAX = 1 << 15,
	POINTS_LEAST = 16, /* of a segment */
};

/* The order of viewer/js/blocks.js's BLOCK and SEGMENT. */
enum block_column {
	SITE,
	KIND,
	STACK,
	PLACE,
	PROCESS,
	DEVICE,
	THREAD,
	PHASE,
	SIZE,
	HANDLE,
	BORN,
	LIFE,
	FREED_STACK,
	FREED_PLACE,
	FLAGS,
	BLOCK_COLUMNS
};
enum segment_column {
	SEG_SITE,
	SEG_KIND,
	SEG_STACK,
	SEG_PROCESS,
	SEG_DEVICE,
	SEG_ADDRESS,
	SEG_SIZE,
	SEG_BORN,
	SEG_LIFE,
	SEG_POINTS,
	SEGMENT_COLUMNS
};

enum { HAS_ADDRESS = 1, STACK_LEFT_OUT = 2, ENDED_BY_SHIFT = 2 };

/* What is being written, and the page's numbers of stacks and their places. */
struct writing {
	const struct gt_page *page;
	const struct gt_page_life_numbers *numbers;
	struct gt_map known; /* by stack: index in `stacks` + 1 */
	uint32_t stacks[STACKS_MAX], places[STACKS_MAX];
	size_t stack_count;
	uint8_t *bytes, *at;
};

/* False if the page has no room for it. */
static bool number_stack(struct writing *w, uint32_t stack, uint64_t *number, uint64_t *place)
{
	void **index = gt_map_at(&w->known, stack);

	*number = *place = 0;
	if (!stack)
		return true;
	if (!*index && w->stack_count == STACKS_MAX)
		return false;
	if (!*index) {
		w->stacks[w->stack_count] = gt_page_stack(w->numbers->names, stack);
		w->places[w->stack_count] = gt_page_place(w->numbers->names, stack);
		*index = (void *)(uintptr_t)++w->stack_count;
	}
	*number = w->stacks[(uintptr_t)*index - 1];
	*place = w->places[(uintptr_t)*index - 1];
	return true;
}

static uint64_t kind_number(const struct gt_page *h, uint16_t function)
{
	const struct gt_function *fn = &gt_functions[function];
	size_t i = 0;

	while (i < h->kind_count && (h->kinds[i].api != fn->api || h->kinds[i].kind != fn->kind))
		i++;
	return i;
}

static uint64_t since(uint64_t from_ns, uint64_t time_ns)
{
	return gt_page_number(time_ns > from_ns ? time_ns - from_ns : 0);
}

static uint64_t life_of(uint64_t born_ns, uint64_t ended_ns)
{
	return ended_ns ? since(born_ns, ended_ns) + 1 : 0;
}

static uint32_t device_number(const struct writing *w, uint16_t place)
{
	return gt_page_name(w->numbers->names, gt_recording_place(w->numbers->recording, place));
}

static uint32_t phase_number(const struct writing *w, uint32_t phase)
{
	char *text = phase ? gt_recording_phase_text(w->numbers->recording, phase) : NULL;
	uint32_t number = gt_page_name(w->numbers->names, text);

	free(text);
	return number;
}

static void block_row(struct writing *w, const struct gt_page_block *b, uint64_t *row)
{
	uint64_t flags = b->has_address ? HAS_ADDRESS : 0;

	flags |= (uint64_t)b->ended_by << ENDED_BY_SHIFT;
	row[SITE] = w->numbers->sites[b->site];
	row[KIND] = kind_number(w->page, b->function);
	if (!number_stack(w, b->stack, &row[STACK], &row[PLACE]))
		row[STACK] = w->numbers->stacks[b->site];
	row[PROCESS] = b->process;
	row[DEVICE] = device_number(w, b->place);
	row[THREAD] = b->tid;
	row[PHASE] = phase_number(w, b->phase);
	row[SIZE] = gt_page_number(b->size);
	row[HANDLE] = gt_page_number(b->handle);
	row[BORN] = since(w->page->start_ns, b->born_ns);
	row[LIFE] = life_of(b->born_ns, b->ended_ns);
	if (!number_stack(w, b->freed_stack, &row[FREED_STACK], &row[FREED_PLACE]))
		flags |= STACK_LEFT_OUT;
	row[FLAGS] = flags;
}

static void segment_row(struct writing *w, const struct gt_page_segment *s, uint64_t *row)
{
	uint64_t place;

	row[SEG_SITE] = w->numbers->sites[s->site];
	row[SEG_KIND] = kind_number(w->page, s->function);
	number_stack(w, s->stack, &row[SEG_STACK], &place);
	row[SEG_PROCESS] = s->process;
	row[SEG_DEVICE] = device_number(w, s->place);
	row[SEG_ADDRESS] = gt_page_number(s->address);
	row[SEG_SIZE] = gt_page_number(s->size);
	row[SEG_BORN] = since(w->page->start_ns, s->born_ns);
	row[SEG_LIFE] = life_of(s->born_ns, s->ended_ns);
	row[SEG_POINTS] = s->count;
}

static int by_birth(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	if (x[BORN] != y[BORN])
		return x[BORN] < y[BORN] ? -1 : 1;
	return (x[HANDLE] > y[HANDLE]) - (x[HANDLE] < y[HANDLE]);
}

static int by_segment_birth(const void *a, const void *b)
{
	const struct gt_page_segment *x = a, *y = b;

	if (x->born_ns != y->born_ns)
		return x->born_ns < y->born_ns ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

/* Columns are compressed better than rows; births become differences. */
static void put_columns(struct writing *w, const uint64_t *rows, size_t count, size_t columns,
			size_t born)
{
	for (size_t k = 0; k < columns; k++)
		for (size_t i = 0; i < count; i++) {
			uint64_t value = rows[i * columns + k];

			if (k == born && i)
				value -= rows[(i - 1) * columns + k];
			w->at = gt_put_varint(w->at, value);
		}
}

static void put_points(struct writing *w, const struct gt_page_segment *segments, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t last_ns = segments[i].born_ns;

		for (size_t k = 0; k < segments[i].count; k++) {
			w->at = gt_put_varint(w->at, since(last_ns, segments[i].points[k].time_ns));
			last_ns = segments[i].points[k].time_ns;
		}
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t last = 0;

		for (size_t k = 0; k < segments[i].count; k++) {
			uint64_t used = gt_page_number(segments[i].points[k].used);

			w->at = gt_put_varint(w->at, gt_delta(last, used));
			last = used;
		}
	}
}

static size_t point_count(const struct gt_page_blocks *b)
{
	size_t points = 0;

	for (size_t i = 0; i < b->segment_count; i++)
		points += b->segments[i].count;
	return points;
}

static void thin_segments(const struct gt_page_blocks *b)
{
	size_t each = b->segment_count ? POINTS_MAX / b->segment_count : 0;

	if (point_count(b) <= POINTS_MAX)
		return;
	for (size_t i = 0; i < b->segment_count; i++)
		gt_page_segment_thin(&b->segments[i], each > POINTS_LEAST ? each : POINTS_LEAST);
}

/* All rows of blocks, those of the first level first numbered: they get their stacks. */
static uint64_t *block_rows(struct writing *w, const struct gt_page_blocks *b, size_t *count)
{
	uint64_t *rows;
	size_t room = 1;

	for (size_t i = 0; i < GT_BLOCK_LEVELS; i++)
		for (size_t k = 0; k < b->levels[i].window_count; k++)
			room += b->levels[i].windows[k].count;
	rows = gt_alloc(room * BLOCK_COLUMNS * sizeof *rows);
	*count = 0;
	for (size_t i = 0; i < GT_BLOCK_LEVELS; i++)
		for (size_t k = 0; k < b->levels[i].window_count; k++)
			for (size_t n = 0; n < b->levels[i].windows[k].count; n++)
				block_row(w, &b->levels[i].windows[k].list[n],
					  rows + (*count)++ * BLOCK_COLUMNS);
	qsort(rows, *count, BLOCK_COLUMNS * sizeof *rows, by_birth);
	return rows;
}

static void packed_json(struct gt_json *j, const struct writing *w)
{
	uLongf size = compressBound((uLong)(w->at - w->bytes));
	uint8_t *packed = gt_alloc(size);

	if (compress2(packed, &size, w->bytes, (uLong)(w->at - w->bytes), Z_DEFAULT_COMPRESSION))
		gt_memory_check(NULL);
	gt_json_base64(j, "packed", packed, size);
	free(packed);
}

void gt_page_blocks_json(struct gt_json *j, const struct gt_page_blocks *b, const struct gt_page *h,
			 const struct gt_page_life_numbers *numbers)
{
	struct writing *w = gt_alloc(sizeof *w);
	uint64_t *rows, *segment_rows;
	size_t count;

	w->page = h;
	w->numbers = numbers;
	thin_segments(b);
	if (b->segment_count)
		qsort(b->segments, b->segment_count, sizeof *b->segments, by_segment_birth);
	rows = block_rows(w, b, &count);
	segment_rows = gt_alloc((b->segment_count * SEGMENT_COLUMNS + 1) * sizeof *segment_rows);
	for (size_t i = 0; i < b->segment_count; i++)
		segment_row(w, &b->segments[i], segment_rows + i * SEGMENT_COLUMNS);
	w->at = w->bytes = gt_alloc(
		(count * BLOCK_COLUMNS + b->segment_count * SEGMENT_COLUMNS + 2 * point_count(b)) *
			GT_VARINT_MAX +
		1);
	put_columns(w, rows, count, BLOCK_COLUMNS, BORN);
	put_columns(w, segment_rows, b->segment_count, SEGMENT_COLUMNS, SEG_BORN);
	put_points(w, b->segments, b->segment_count);
	gt_json_object(j, "blocks");
	gt_json_uint(j, "count", count);
	gt_json_uint(j, "total", b->total);
	gt_json_uint(j, "segments", b->segment_count);
	gt_json_uint(j, "segment_total", b->segment_total);
	packed_json(j, w);
	gt_json_end(j);
	free(rows);
	free(segment_rows);
	free(w->bytes);
	gt_map_fini(&w->known);
	free(w);
}
