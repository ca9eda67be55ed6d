/* SPDX-License-Identifier: MIT */
/* unwind_tables.c - the tables in the kernel by which the BPF programs unwind stacks. */
#include "capture/ebpf/unwind_tables.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/containers.h"
#include "base/mem.h"
#include "base/process.h"
#include "capture/ebpf/unwind.h"
#include "capture/ebpf/unwind_make.h"

enum {
	PAGE = 4096,
	EAGER_BYTES = 1 << 20, /* .eh_frame of images whose rows are made at once */
	CHUNK_BYTES = GT_CHUNK_ROWS * sizeof(struct gt_row),
	AREAS_MAX = GT_SPACE_AREAS * GT_SPACE_PARTS,
};

#define IDLE_NS 10000000000 /* after which rows that nobody has mapped are removed */

_Static_assert(GT_CHUNK_ROWS <= UINT16_MAX + 1, "rows are numbered in 16 bits");

/* Rows are added at its end; its memory is freed when all of them are gone. */
struct chunk {
	int fd;
	uint32_t used, gone;
};

/* What the kernel has of an image. */
struct rows {
	struct gt_image *image;
	uint64_t code; /* the ELF address of its first shard */
	uint32_t pages, first, count;
	uint32_t spaces;  /* that have it */
	uint64_t idle_ns; /* since when none has; 0: never had */
	uint64_t total;
};

struct gt_space {
	uint32_t id, users, parts;
	struct gt_space_area *areas;
	size_t count;
	struct rows **rows; /* of the images in it */
	size_t rows_count;
};

struct gt_unwind_tables {
	struct gt_unwind_maps maps;
	uint64_t *shards;  /* as the kernel has them */
	uint8_t *is_taken; /* by number of the shard */
	struct gt_intern *rules;
	struct chunk chunks[GT_CHUNKS_MAX]; /* the first is unused */
	uint32_t chunk;                     /* the one that is being filled; 0: none */
	struct rows **images;               /* by number of the image */
	size_t image_count;
	uint32_t last_space;
	uint64_t tidied_ns;
	bool is_full;
	struct gt_row made[GT_CHUNK_ROWS];
};

static uint16_t rule_number(void *context, const struct gt_rule *rule)
{
	struct gt_unwind_tables *t = context;
	struct gt_rule copy = { .how = GT_RULE_COPY };
	size_t known = gt_intern_count(t->rules);
	uint32_t number = gt_intern_find(t->rules, rule, sizeof *rule);

	if (number != GT_NOT_INTERNED)
		return (uint16_t)number;
	/* the tool can apply rules for which there is no room; this one is among the first */
	if (known == GT_RULES_MAX)
		return (uint16_t)gt_intern(t->rules, &copy, sizeof copy);
	number = gt_intern(t->rules, rule, sizeof *rule);
	bpf_map_update_elem(t->maps.rules, &number, rule, BPF_ANY);
	return (uint16_t)number;
}

struct gt_unwind_tables *gt_unwind_tables_new(const struct gt_unwind_maps *maps)
{
	static const struct gt_rule first[] = { { .how = GT_RULE_NONE }, { .how = GT_RULE_COPY } };
	struct gt_unwind_tables *t = gt_alloc(sizeof *t);

	t->maps = *maps;
	t->shards = gt_alloc(GT_SHARDS_MAX * sizeof *t->shards);
	t->is_taken = gt_alloc(GT_SHARDS_MAX);
	t->rules = gt_intern_new();
	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		rule_number(t, &first[i]);
	return t;
}

void gt_unwind_tables_free(struct gt_unwind_tables *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < GT_CHUNKS_MAX; i++)
		if (t->chunks[i].used)
			close(t->chunks[i].fd);
	for (size_t i = 0; i < t->image_count; i++)
		free(t->images[i]);
	free(t->images);
	gt_intern_free(t->rules);
	free(t->is_taken);
	free(t->shards);
	free(t);
}

/* The kernel frees it once no program can be reading it. */
static void drop_chunk(struct gt_unwind_tables *t, uint32_t number)
{
	if (t->chunk == number)
		t->chunk = 0;
	bpf_map_delete_elem(t->maps.chunks, &number);
	close(t->chunks[number].fd);
	t->chunks[number] = (struct chunk){ 0 };
}

/* Begins another chunk; false if there is none left. */
static bool begin_chunk(struct gt_unwind_tables *t)
{
	LIBBPF_OPTS(bpf_map_create_opts, how, .map_flags = BPF_F_MMAPABLE);
	uint32_t number = 1;
	int fd;

	while (number < GT_CHUNKS_MAX && t->chunks[number].used)
		number++;
	if (number == GT_CHUNKS_MAX)
		return false;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "gt_rows", sizeof(uint32_t), CHUNK_BYTES, 1, &how);
	if (fd < 0)
		return false;
	if (bpf_map_update_elem(t->maps.chunks, &number, &fd, BPF_ANY)) {
		close(fd);
		return false;
	}
	t->chunks[number] = (struct chunk){ .fd = fd };
	t->chunk = number;
	return true;
}

static void set_shard(struct gt_unwind_tables *t, uint32_t number, uint64_t shard)
{
	t->shards[number] = shard;
	bpf_map_update_elem(t->maps.shards, &number, &shard, BPF_ANY);
}

/* Adds t->made to a chunk. It is not kept mapped: mapped pages count as memory of ours. */
static bool add_rows(const struct chunk *c, const struct gt_row *made, size_t count)
{
	struct gt_row *rows = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);

	if (rows == MAP_FAILED)
		return false;
	memcpy(rows + c->used, made, count * sizeof *made);
	munmap(rows, CHUNK_BYTES);
	return true;
}

/* Publishes t->made as the rows of a shard. */
static bool publish(struct gt_unwind_tables *t, uint32_t shard, size_t count)
{
	struct chunk *c;
	uint32_t half = 1;

	if (count > UINT16_MAX)
		return false;
	if ((!t->chunk || t->chunks[t->chunk].used + count > GT_CHUNK_ROWS) && !begin_chunk(t)) {
		t->is_full = true;
		return false;
	}
	c = &t->chunks[t->chunk];
	if (!add_rows(c, t->made, count))
		return false;
	while (half * 2 < count)
		half *= 2;
	/* only now: programs read it as soon as it is there */
	set_shard(t, shard, GT_SHARD(t->chunk, c->used, count, count > 1 ? half : 0));
	c->used += (uint32_t)count;
	return true;
}

static void make_shard(struct gt_unwind_tables *t, struct rows *r, uint32_t number)
{
	size_t count =
		gt_rows_make(gt_unwind_cfi(r->image), r->code + (uint64_t)number * GT_SHARD_BYTES,
			     t->made, rule_number, t);

	if (publish(t, r->first + number, count))
		r->total += count;
}

/* Where an image's code is, in ELF addresses. */
static bool find_code(const struct gt_image *image, uint64_t *low, uint64_t *high)
{
	*low = UINT64_MAX;
	*high = 0;
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct gt_segment *s = &image->segments[i];

		if (!s->is_code || !s->size)
			continue;
		*low = s->address < *low ? s->address : *low;
		*high = s->address + s->size > *high ? s->address + s->size : *high;
	}
	*low &= ~(uint64_t)(PAGE - 1);
	return *low < *high && *high - *low < (uint64_t)GT_SHARDS_MAX * GT_SHARD_BYTES;
}

/* Takes numbers for the shards of an image; false if there are not as many in a row. */
static bool take_shards(struct gt_unwind_tables *t, struct rows *r)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < GT_SHARDS_MAX; i++) {
		run = t->is_taken[i] ? 0 : run + 1;
		if (run < r->count)
			continue;
		r->first = i + 1 - run;
		memset(t->is_taken + r->first, 1, r->count);
		return true;
	}
	t->is_full = true;
	r->count = 0;
	return false;
}

/* What the kernel is to have of an image: NULL: nothing. */
static struct rows *rows_of(struct gt_unwind_tables *t, struct gt_image *image)
{
	struct rows *r;
	uint64_t high;

	GT_REACH(t->images, t->image_count, image->number);
	r = t->images[image->number];
	if (!r) {
		r = t->images[image->number] = gt_alloc(sizeof *r);
		r->image = image;
	}
	if (r->count)
		return r;
	if (!find_code(image, &r->code, &high) || !gt_unwind_cfi(image))
		return NULL;
	r->pages = (uint32_t)((high - r->code + PAGE - 1) / PAGE);
	r->count = (uint32_t)((high - r->code + GT_SHARD_BYTES - 1) / GT_SHARD_BYTES);
	if (!take_shards(t, r))
		return NULL;
	if (image->cfi.size <= EAGER_BYTES) {
		gt_cfi_table_hold(gt_unwind_cfi(image), true);
		for (uint32_t i = 0; i < r->count; i++)
			make_shard(t, r, i);
		gt_cfi_table_hold(gt_unwind_cfi(image), false);
	}
	return r;
}

static void drop_rows(struct gt_unwind_tables *t, struct rows *r)
{
	for (uint32_t i = r->first; i < r->first + r->count; i++) {
		uint64_t shard = t->shards[i];
		struct chunk *c = &t->chunks[GT_SHARD_CHUNK(shard)];

		t->is_taken[i] = 0;
		if (!GT_SHARD_CHUNK(shard))
			continue;
		set_shard(t, i, 0);
		c->gone += (uint32_t)GT_SHARD_COUNT(shard);
		if (c->gone == c->used)
			drop_chunk(t, (uint32_t)GT_SHARD_CHUNK(shard));
	}
	r->count = 0;
	r->total = 0;
}

void gt_unwind_tables_tidy(struct gt_unwind_tables *t, uint64_t now_ns)
{
	if (now_ns - t->tidied_ns < IDLE_NS / 10)
		return;
	t->tidied_ns = now_ns;
	for (size_t i = 0; i < t->image_count; i++) {
		struct rows *r = t->images[i];

		if (r && r->count && !r->spaces && now_ns - r->idle_ns > IDLE_NS) {
			drop_rows(t, r);
			gt_unwind_forget(r->image);
		}
	}
}

void gt_unwind_tables_need(struct gt_unwind_tables *t, struct gt_image *image, uint64_t address)
{
	struct rows *r = image->number < t->image_count ? t->images[image->number] : NULL;
	uint64_t number;

	if (!r || !r->count || address < r->code)
		return;
	number = (address - r->code) / GT_SHARD_BYTES;
	if (number < r->count && !t->shards[r->first + number])
		make_shard(t, r, (uint32_t)number);
}

struct gt_unwind_size gt_unwind_tables_size(const struct gt_unwind_tables *t)
{
	struct gt_unwind_size size = { .rules = gt_intern_count(t->rules), .is_full = t->is_full };

	for (size_t i = 0; i < t->image_count; i++) {
		size.images += t->images[i] && t->images[i]->total;
		size.rows += t->images[i] ? t->images[i]->total : 0;
	}
	for (size_t i = 0; i < GT_CHUNKS_MAX; i++)
		size.bytes += t->chunks[i].used ? CHUNK_BYTES : 0;
	return size;
}

/* --- spaces --- */

static void add_area(struct gt_space *s, size_t *room, uint64_t start, uint64_t end, uint32_t shard)
{
	/* [vsyscall] is the kernel's, at the end of its half of the addresses */
	if (start >= end || end > GT_SPACE_END || s->count == AREAS_MAX)
		return;
	GT_GROW(s->areas, s->count, *room);
	s->areas[s->count++] = (struct gt_space_area){
		.start = start, .pages = (uint32_t)((end - start + PAGE - 1) / PAGE), .shard = shard
	};
}

static int by_start(const void *a, const void *b)
{
	const struct gt_space_area *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static uint64_t end_of(const struct gt_space_area *a)
{
	return a->start + (uint64_t)a->pages * PAGE;
}

/* Adds the code that is in no image, or in one without rows. */
static void add_bare(struct gt_space *s, size_t *room, const struct gt_modules *m)
{
	size_t images = s->count, at = 0;

	for (size_t i = 0; i < m->area_count; i++) {
		uint64_t from = m->areas[i].start, end = m->areas[i].end;

		if (!m->areas[i].is_code)
			continue;
		while (at < images && end_of(&s->areas[at]) <= from)
			at++;
		for (size_t k = at; k < images && s->areas[k].start < end; k++) {
			add_area(s, room, from, s->areas[k].start, GT_AREA_BARE);
			from = end_of(&s->areas[k]);
		}
		add_area(s, room, from, end, GT_AREA_BARE);
	}
}

static struct gt_space *space_of(struct gt_unwind_tables *t, const struct gt_modules *m)
{
	struct gt_space *s = gt_alloc(sizeof *s);
	size_t room = 0, rows_room = 0;

	s->users = 1;
	for (size_t i = 0; i < m->count; i++) {
		struct rows *r = m->list[i].gone ? NULL : rows_of(t, m->list[i].image);

		if (!r)
			continue;
		add_area(s, &room, r->code + m->list[i].bias,
			 r->code + m->list[i].bias + (uint64_t)r->pages * PAGE, r->first);
		GT_GROW(s->rows, s->rows_count, rows_room);
		s->rows[s->rows_count++] = r;
		r->spaces++;
	}
	if (s->count)
		qsort(s->areas, s->count, sizeof *s->areas, by_start);
	add_bare(s, &room, m);
	if (s->count)
		qsort(s->areas, s->count, sizeof *s->areas, by_start);
	return s;
}

static bool put_part(const struct gt_unwind_tables *t, struct gt_space *s, uint32_t number,
		     struct gt_space_part *part, size_t from)
{
	struct gt_space_key key = { .space = s->id, .part = number };

	for (size_t i = 0; i < GT_SPACE_AREAS; i++)
		part->areas[i] = from + i < s->count ?
					 s->areas[from + i] :
					 (struct gt_space_area){ .start = GT_SPACE_END };
	if (bpf_map_update_elem(t->maps.spaces, &key, part, BPF_ANY))
		return false;
	s->parts = number + 1 > s->parts ? number + 1 : s->parts;
	return true;
}

/* Tells the kernel; the first part last, so that no program sees a space without its rest. */
static bool put_space(struct gt_unwind_tables *t, struct gt_space *s)
{
	struct gt_space_part part = { 0 };
	size_t parts = (s->count + GT_SPACE_AREAS - 1) / GT_SPACE_AREAS;

	s->id = ++t->last_space;
	part.id = s->id;
	for (size_t i = 0; i < GT_SPACE_PARTS; i++)
		part.firsts[i] = i < parts ? s->areas[i * GT_SPACE_AREAS].start : GT_SPACE_END;
	if (parts <= 1)
		return put_part(t, s, 0, &part, 0);
	part.parts = (uint32_t)parts;
	for (size_t i = 0; i < parts; i++)
		if (!put_part(t, s, (uint32_t)i + 1, &part, i * GT_SPACE_AREAS))
			return false;
	return put_part(t, s, 0, &part, 0);
}

static void space_free(struct gt_unwind_tables *t, struct gt_space *s)
{
	for (uint32_t i = 0; i < s->parts; i++)
		bpf_map_delete_elem(t->maps.spaces,
				    &(struct gt_space_key){ .space = s->id, .part = i });
	for (size_t i = 0; i < s->rows_count; i++)
		if (!--s->rows[i]->spaces)
			s->rows[i]->idle_ns = gt_now_ns();
	free(s->rows);
	free(s->areas);
	free(s);
}

static bool is_same(const struct gt_space *a, const struct gt_space *b)
{
	return a->count && a->count == b->count &&
	       !memcmp(a->areas, b->areas, a->count * sizeof *a->areas);
}

static void let_go(struct gt_unwind_tables *t, struct gt_space *s)
{
	if (s && !--s->users)
		space_free(t, s);
}

struct gt_space *gt_space_update(struct gt_unwind_tables *t, struct gt_space *old,
				 const struct gt_modules *modules, const struct gt_space_user *user)
{
	struct gt_space *s = space_of(t, modules);
	struct gt_space_of of = { .start = user->start, .exec = user->exec };

	if (old && is_same(old, s)) {
		space_free(t, s);
		s = gt_space_share(old);
	} else if (!s->count || !put_space(t, s)) {
		space_free(t, s);
		gt_space_release(t, old, user->pid);
		return NULL;
	}
	of.space = s->id;
	bpf_map_update_elem(t->maps.space_of, &user->pid, &of, BPF_ANY);
	let_go(t, old);
	return s;
}

struct gt_space *gt_space_share(struct gt_space *s)
{
	if (s)
		s->users++;
	return s;
}

void gt_space_release(struct gt_unwind_tables *t, struct gt_space *s, uint32_t pid)
{
	if (!s)
		return;
	bpf_map_delete_elem(t->maps.space_of, &pid);
	let_go(t, s);
}
