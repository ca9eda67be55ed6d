/* SPDX-License-Identifier: MIT */
/* unified.c - unified memory: what moved between host and device, back and forth, or never. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/place.h"
#include "replay/stack.h"
#include "report/analyses.h"
#include "report/unified_blocks.h"

enum { TOP_DEFAULT = 10, BLOCKS_SHOWN = 3, LISTED = 1000 };

static const char *const effect_keys[GT_PAGING_EFFECTS] = {
	[GT_PAGING_TO_DEVICE] = "to_device_bytes",
	[GT_PAGING_TO_HOST] = "to_host_bytes",
	[GT_PAGING_BETWEEN_DEVICES] = "between_devices_bytes",
	[GT_PAGING_CPU_FAULT] = "cpu_faults",
	[GT_PAGING_GPU_FAULT] = "gpu_faults",
};

static const struct {
	const char *key, *words;
} causes[GT_PAGING_CAUSES] = {
	[GT_PAGING_UNKNOWN] = { "unknown", "for unknown reasons" },
	[GT_PAGING_REQUESTED] = { "requested", "on request (prefetch)" },
	[GT_PAGING_FAULT] = { "fault", "on page faults" },
	[GT_PAGING_SPECULATION] = { "speculation", "as neighbours of these" },
	[GT_PAGING_EVICTION] = { "eviction", "to make room (eviction)" },
	[GT_PAGING_ACCESS_COUNTS] = { "access_counts", "after remote accesses" },
};

/* The blocks of one place and kind. */
struct place {
	uint32_t stack;
	uint16_t function; /* of the first */
	struct gt_unified_block **blocks;
	size_t count;
	uint64_t bytes;
	struct gt_unified_moves moves;
	uint64_t still, still_bytes; /* blocks that never moved; some are not in `blocks` */
	uint64_t thrashing;          /* blocks */
};

struct places {
	struct gt_unified unified;
	struct place *list; /* those with most traffic first */
	size_t count, room, shown;
	struct place total;
};

static enum gt_kind kind_of(const struct place *p)
{
	return (enum gt_kind)gt_functions[p->function].kind;
}

static uint64_t all_blocks(const struct place *p)
{
	return p->count + p->still;
}

static struct place *place_at(struct places *p, struct gt_place_numbers *numbers,
			      const struct gt_view *v, uint32_t stack, uint16_t function)
{
	size_t number = gt_place_number(numbers, v->frames, stack,
					(enum gt_kind)gt_functions[function].kind);

	if (number == p->count) {
		GT_GROW(p->list, p->count, p->room);
		p->list[p->count++] = (struct place){ .stack = stack, .function = function };
	}
	return &p->list[number];
}

/* `count` blocks that never moved. */
static void add_still(struct place *p, uint64_t count, uint64_t bytes)
{
	p->still += count;
	p->still_bytes += bytes;
	p->bytes += bytes;
}

static void add_block(struct place *p, struct gt_unified_block *b)
{
	gt_unified_add(&p->moves, &b->moves);
	if (!gt_unified_moved(&b->moves)) {
		add_still(p, 1, b->entry.size);
		return;
	}
	p->bytes += b->entry.size;
	p->thrashing += gt_unified_thrashes(&b->moves);
	p->count++;
}

static int most_moved(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	uint64_t p = gt_unified_moved(&x->moves), q = gt_unified_moved(&y->moves);

	if (p != q)
		return p > q ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static int block_order(const void *a, const void *b)
{
	const struct gt_unified_block *x = *(struct gt_unified_block *const *)a;
	const struct gt_unified_block *y = *(struct gt_unified_block *const *)b;
	uint64_t p = gt_unified_moved(&x->moves), q = gt_unified_moved(&y->moves);

	if (p != q)
		return p > q ? -1 : 1;
	if (x->entry.time_ns != y->entry.time_ns)
		return x->entry.time_ns < y->entry.time_ns ? -1 : 1;
	return (x->entry.handle > y->entry.handle) - (x->entry.handle < y->entry.handle);
}

/* Gives each place its blocks: those that moved come first, as all are sorted. */
static void share_out(struct places *p, struct gt_place_numbers *numbers, const struct gt_view *v)
{
	struct gt_unified *u = &p->unified;

	for (size_t i = 0; i < u->count; i++) {
		const struct gt_entry *e = &u->blocks[i]->entry;
		struct place *place = place_at(p, numbers, v, e->stack, e->function);

		add_block(place, u->blocks[i]);
		add_block(&p->total, u->blocks[i]);
	}
	for (size_t i = 0; i < p->count; i++) {
		p->list[i].blocks = gt_alloc((p->list[i].count + 1) * sizeof *p->list[i].blocks);
		p->list[i].count = 0;
	}
	for (size_t i = 0; i < u->count; i++) {
		const struct gt_entry *e = &u->blocks[i]->entry;
		struct place *place = place_at(p, numbers, v, e->stack, e->function);

		if (gt_unified_moved(&u->blocks[i]->moves))
			place->blocks[place->count++] = u->blocks[i];
	}
	for (size_t i = 0; i < u->still_count; i++) {
		const struct gt_unified_still *s = &u->still[i];

		add_still(place_at(p, numbers, v, s->stack, s->function), s->count, s->bytes);
		add_still(&p->total, s->count, s->bytes);
	}
}

/* `suits` are shown if nobody asked for a number. */
static void find_places(struct places *p, const struct gt_view *v, size_t suits)
{
	uint64_t top = v->top ? v->top : suits;
	struct gt_place_numbers numbers = { 0 };
	uint32_t *stacks;

	*p = (struct places){ 0 };
	gt_unified_init(&p->unified, v);
	if (p->unified.count)
		qsort(p->unified.blocks, p->unified.count, sizeof *p->unified.blocks, block_order);
	share_out(p, &numbers, v);
	gt_map_fini(&numbers.map);
	p->total.moves = p->unified.total;
	if (p->count)
		qsort(p->list, p->count, sizeof *p->list, most_moved);
	p->shown = top < p->count ? (size_t)top : p->count;
	stacks = gt_alloc((p->count + 1) * sizeof *stacks);
	for (size_t i = 0; i < p->count; i++)
		stacks[i] = p->list[i].stack;
	gt_places_list(v->frames, stacks,
		       p->count < LISTED || p->count == p->shown ? p->count : LISTED);
	free(stacks);
}

static void places_fini(struct places *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->list[i].blocks);
	free(p->list);
	gt_unified_fini(&p->unified);
}

/* "1.00 GiB to the device, 512 MiB to the host" */
static const char *moves_text(char out[3 * GT_FORMAT_MAX + 64], const struct gt_unified_moves *m)
{
	static const char *const words[] = { " to the device", " to the host", " between devices" };
	char bytes[GT_FORMAT_MAX];
	size_t used = 0;

	out[0] = '\0';
	for (int i = 0; i < 3; i++)
		if (m->amount[i])
			used += (size_t)snprintf(out + used, 3 * GT_FORMAT_MAX + 64 - used,
						 "%s%s%s", used ? ", " : "",
						 gt_format_bytes(bytes, m->amount[i]), words[i]);
	return used ? out : "never moved";
}

static void put_causes(struct gt_printer *p, const struct gt_unified_moves *m)
{
	char bytes[GT_FORMAT_MAX];

	for (int i = 0; i < GT_PAGING_CAUSES; i++)
		if (m->cause[i])
			gt_print_wrap(p, GT_PLAIN, 4, "%s %s", gt_format_bytes(bytes, m->cause[i]),
				      causes[i].words);
}

static void put_total(struct gt_printer *p, const struct places *places)
{
	char moves[3 * GT_FORMAT_MAX + 64], a[GT_FORMAT_MAX], b[GT_FORMAT_MAX], c[GT_FORMAT_MAX];
	const struct place *t = &places->total;
	const struct gt_unified_moves *m = &t->moves;

	gt_print_put(p, GT_YELLOW, "UNIFIED MEMORY");
	gt_print_line(p, GT_BOLD, "  %s", moves_text(moves, m));
	put_causes(p, m);
	if (places->unified.any_faults)
		gt_print_wrap(p, GT_PLAIN, 2, "%s page %s of the CPU, %s of GPUs",
			      gt_format_count(a, m->amount[GT_PAGING_CPU_FAULT]),
			      gt_plural(m->amount[GT_PAGING_CPU_FAULT], "fault", "faults"),
			      gt_format_count(b, m->amount[GT_PAGING_GPU_FAULT]));
	if (t->thrashing) {
		gt_print_put(p, GT_RED, "  THRASHING");
		gt_print_line(p, GT_PLAIN,
			      "  %s %s: %s came to the device again, up to %s times in all",
			      gt_format_count(a, t->thrashing),
			      gt_plural(t->thrashing, "block", "blocks"),
			      gt_format_bytes(b, m->returned), gt_format_count(c, m->times));
	}
	if (gt_unified_moved(&places->unified.unknown))
		gt_print_wrap(p, GT_PLAIN, 2, "%s of it in memory that no recorded call allocated",
			      gt_format_bytes(a, gt_unified_moved(&places->unified.unknown)));
	if (t->still)
		gt_print_wrap(p, GT_PLAIN, 2, "%s of %s %s never moved: %s of %s",
			      gt_format_count(a, t->still), gt_format_count(b, all_blocks(t)),
			      gt_plural(all_blocks(t), "block", "blocks"),
			      gt_format_bytes((char[GT_FORMAT_MAX]){ 0 }, t->still_bytes),
			      gt_format_bytes(c, t->bytes));
	gt_print_end(p);
}

/* `in_full`: there are others; otherwise the place has said the rest. */
static void put_block(struct gt_printer *p, const struct gt_view *v,
		      const struct gt_unified_block *b, bool in_full)
{
	char moves[3 * GT_FORMAT_MAX + 64], size[GT_FORMAT_MAX], times[GT_FORMAT_MAX + 16] = "";
	const char *name = gt_recording_name(v->recording, b->entry.process, b->entry.handle,
					     b->entry.time_ns);

	if (gt_unified_thrashes(&b->moves))
		snprintf(times, sizeof times, ", %s times", gt_format_count(size, b->moves.times));
	if (in_full)
		gt_print_wrap(p, GT_DIM, 8, "0x%" PRIx64 "%s%s, %s: %s%s", b->entry.handle,
			      *name ? " " : "", name, gt_format_bytes(size, b->entry.size),
			      moves_text(moves, &b->moves), times);
	else
		gt_print_wrap(p, GT_DIM, 8, "0x%" PRIx64 "%s%s", b->entry.handle, *name ? " " : "",
			      name);
}

static void put_place(struct gt_printer *p, const struct gt_view *v, const struct place *place)
{
	char moves[3 * GT_FORMAT_MAX + 64], a[GT_FORMAT_MAX], b[GT_FORMAT_MAX], kind[GT_KIND_TEXT];

	gt_print_wrap(p, GT_BOLD, 2, "%s", moves_text(moves, &place->moves));
	gt_print_tab(p, 6);
	gt_print_put(p, GT_PLAIN, "%s, %s", gt_kind_count(kind, kind_of(place), all_blocks(place)),
		     gt_format_bytes(a, place->bytes));
	gt_print_tab(p, p->column + 2);
	gt_print_need(p, GT_WHERE_LEAST);
	gt_place_put(p, v, place->stack, gt_print_left(p));
	gt_print_end(p);
	if (place->thrashing) {
		gt_print_tab(p, 6);
		gt_print_put(p, GT_RED, "thrashing");
		gt_print_line(p, GT_PLAIN, ": %s came to the device again, up to %s times in all",
			      gt_format_bytes(a, place->moves.returned),
			      gt_format_count(b, place->moves.times));
	}
	if (place->still && place->count)
		gt_print_wrap(p, GT_PLAIN, 6, "%s of them never moved: %s",
			      gt_format_count(a, place->still),
			      gt_format_bytes(b, place->still_bytes));
	for (size_t i = 0; i < place->count && i < BLOCKS_SHOWN; i++)
		put_block(p, v, place->blocks[i], all_blocks(place) > 1);
	if (place->count > BLOCKS_SHOWN)
		gt_print_wrap(p, GT_DIM, 8, "and %zu more that moved", place->count - BLOCKS_SHOWN);
}

static void put_none(struct gt_printer *p, const struct places *places)
{
	char count[GT_FORMAT_MAX], bytes[GT_FORMAT_MAX];
	const struct place *t = &places->total;

	if (!t->still) {
		gt_print_wrap(p, GT_PLAIN, 0,
			      "No unified memory was recorded: only CUDA's managed memory moves "
			      "between host and device.");
		return;
	}
	gt_print_wrap(p, GT_YELLOW, 0,
		      "%s %s of managed memory (%s), but no migration was recorded: only imported "
		      "profiles contain them (nsys profile --cuda-um-cpu-page-faults=true "
		      "--cuda-um-gpu-page-faults=true).",
		      gt_format_count(count, t->still), gt_plural(t->still, "block", "blocks"),
		      gt_format_bytes(bytes, t->still_bytes));
}

void gt_unified_text(const struct gt_view *v, FILE *out)
{
	struct gt_printer p;
	struct places places;

	gt_head_open(&p, out, v);
	find_places(&places, v, TOP_DEFAULT);
	if (!places.unified.any) {
		put_none(&p, &places);
		places_fini(&places);
		return;
	}
	put_total(&p, &places);
	for (size_t i = 0; i < places.shown; i++)
		put_place(&p, v, &places.list[i]);
	gt_put_more(&p, v, 2, places.count - places.shown);
	gt_head_modules(&p, v, 3);
	places_fini(&places);
}

static void moves_json(struct gt_json *j, const struct gt_unified_moves *m)
{
	for (int i = 0; i < GT_PAGING_EFFECTS; i++)
		gt_json_uint(j, effect_keys[i], m->amount[i]);
	gt_json_uint(j, "to_device_count", m->count[GT_PAGING_TO_DEVICE]);
	gt_json_uint(j, "to_host_count", m->count[GT_PAGING_TO_HOST]);
	gt_json_uint(j, "returned_bytes", m->returned);
	gt_json_uint(j, "times", m->times);
	gt_json_bool(j, "thrashing", gt_unified_thrashes(m));
}

static void causes_json(struct gt_json *j, const struct gt_unified_moves *m)
{
	gt_json_line(j, "causes");
	for (int i = 0; i < GT_PAGING_CAUSES; i++)
		gt_json_uint(j, causes[i].key, m->cause[i]);
	gt_json_end(j);
}

static void still_json(struct gt_json *j, const struct place *p)
{
	gt_json_line(j, "never_moved");
	gt_json_uint(j, "count", p->still);
	gt_json_uint(j, "bytes", p->still_bytes);
	gt_json_end(j);
}

static void block_json(struct gt_json *j, const struct gt_view *v, const struct gt_unified_block *b)
{
	const struct gt_entry *e = &b->entry;
	const char *name = gt_recording_name(v->recording, e->process, e->handle, e->time_ns);

	gt_json_line(j, NULL);
	gt_json_hex(j, "handle", e->handle);
	gt_json_uint(j, "bytes", e->size);
	gt_json_int(j, "time_ns", gt_view_time(v, e->time_ns));
	gt_json_uint(j, "pid", gt_recording_process(v->recording, e->process)->pid);
	gt_json_uint(j, "tid", e->tid);
	gt_json_text(j, "name", *name ? name : NULL);
	moves_json(j, &b->moves);
	gt_json_end(j);
}

void gt_unified_json(const struct gt_view *v, FILE *out)
{
	struct places p;
	struct gt_json j;

	find_places(&p, v, SIZE_MAX);
	gt_head_json(&j, out, v, "unified");
	gt_totals_json(&j, all_blocks(&p.total), p.total.bytes);
	gt_json_bool(&j, "known", p.unified.any);
	moves_json(&j, &p.total.moves);
	causes_json(&j, &p.total.moves);
	still_json(&j, &p.total);
	gt_json_uint(&j, "unknown_blocks_bytes", gt_unified_moved(&p.unified.unknown));
	gt_json_array(&j, "groups");
	for (size_t i = 0; i < p.shown; i++) {
		const struct place *place = &p.list[i];

		gt_json_object(&j, NULL);
		gt_kind_json(&j, GT_CUDA, kind_of(place));
		gt_json_uint(&j, "count", all_blocks(place));
		gt_json_uint(&j, "bytes", place->bytes);
		moves_json(&j, &place->moves);
		causes_json(&j, &place->moves);
		still_json(&j, place);
		gt_place_and_stack_json(&j, v->frames, place->stack);
		gt_json_array(&j, "objects");
		for (size_t k = 0; k < place->count; k++)
			block_json(&j, v, place->blocks[k]);
		gt_json_end(&j);
		gt_json_end(&j);
	}
	gt_json_end(&j);
	gt_foot_json(&j, v);
	places_fini(&p);
}

static void block_tsv(FILE *out, const struct gt_view *v, const struct gt_unified_block *b,
		      const char *where)
{
	const struct gt_entry *e = &b->entry;
	const struct gt_unified_moves *m = &b->moves;

	fprintf(out, "0x%" PRIx64 "\t%" PRId64 "\t%" PRIu64 "\t", e->handle,
		gt_view_time(v, e->time_ns), e->size);
	for (int i = 0; i < GT_PAGING_EFFECTS; i++)
		fprintf(out, "%" PRIu64 "\t", m->amount[i]);
	fprintf(out, "%" PRIu64 "\t%" PRIu64 "\t%u\t", m->returned, m->times,
		gt_recording_process(v->recording, e->process)->pid);
	gt_tsv_put(out, gt_recording_name(v->recording, e->process, e->handle, e->time_ns));
	fprintf(out, "\t%s\t", gt_kinds[gt_entry_kind(e)].name);
	gt_stack_tsv(out, v->frames, e->stack);
	putc('\t', out);
	gt_tsv_put(out, where);
	putc('\n', out);
}

void gt_unified_tsv(const struct gt_view *v, FILE *out)
{
	struct places p;

	find_places(&p, v, SIZE_MAX);
	fputs("address\tstart_time\tbytes\t", out);
	for (int i = 0; i < GT_PAGING_EFFECTS; i++)
		fprintf(out, "%s\t", effect_keys[i]);
	fputs("returned_bytes\ttimes\tpid\tvar_name\tkind\tstack\twhere\n", out);
	for (size_t i = 0; i < p.shown; i++) {
		char *where = gt_place_text(v->frames, p.list[i].stack, true);

		for (size_t k = 0; k < p.list[i].count; k++)
			block_tsv(out, v, p.list[i].blocks[k], where);
		free(where);
	}
	places_fini(&p);
}
