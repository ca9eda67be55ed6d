/* SPDX-License-Identifier: MIT */
/* cfi_table.c - finds the entries of .eh_frame for an address, by the file's index or our own. */
#include "capture/ebpf/cfi.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

enum {
	/* of one function; the largest have some ten thousand */
	ENTRY_BYTES_MAX = 1 << 20,
	/* of a file without an index, as static programs are */
	WALKED_BYTES_MAX = 16 << 20,
	AUGMENTATION_MAX = 8,
	INDEX_ENTRY = 8,
	INDEX_HEAD_MAX = 32,
	INDEX_WINDOW = 256, /* entries that are read at a time */
	/* two signed 32-bit words per entry, relative to the index: what all linkers write */
	INDEX_ENCODING = DW_EH_PE_datarel | DW_EH_PE_sdata4,
};

struct function {
	uint64_t start, entry; /* ELF addresses */
};

struct gt_cfi_table {
	const struct gt_image *image;
	uint64_t index, count; /* the file's index: offset, entries; 0: it has none */
	int32_t (*window)[2];  /* entries of it from number window_at on */
	uint64_t window_at, window_count;
	bool reads_ahead;           /* entries are wanted one after the other */
	struct function *functions; /* our index, by start */
	size_t function_count, function_room;
	uint8_t *section; /* .eh_frame, while it is held */
};

/* An entry without its length field, and its ELF address. */
struct entry {
	struct gt_bytes bytes;
	const uint8_t *first;
	uint64_t address;
};

/* A CIE: the entry that several functions share. */
struct shared {
	struct gt_bytes instructions;
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t encoding; /* of addresses */
	bool has_sizes;   /* augmentation data is preceded by its length */
	bool is_signal;
};

static bool read_at(const struct gt_image *image, uint64_t offset, void *bytes, size_t size)
{
	return offset <= INT64_MAX && pread(image->fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* Bytes by their ELF address. */
static bool read_loaded(const struct gt_cfi_table *t, uint64_t address, void *bytes, size_t size)
{
	const struct gt_image *image = t->image;
	uint64_t held = address - image->cfi.address;

	if (t->section && held < image->cfi.size && size <= image->cfi.size - held) {
		memcpy(bytes, t->section + held, size);
		return true;
	}
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct gt_segment *s = &image->segments[i];
		uint64_t at = address - s->address;

		if (address >= s->address && at < s->size && size <= s->size - at)
			return read_at(image, s->offset + at, bytes, size);
	}
	return false;
}

static uint64_t address_of(const struct entry *e)
{
	return e->address + (uint64_t)(e->bytes.at - e->first);
}

/* Decodes an address of .eh_frame; some are relative to `index`. */
static bool get_address(struct entry *e, uint8_t encoding, uint64_t index, uint64_t *out)
{
	uint64_t base = 0;

	switch (encoding & 0xf0) {
	case DW_EH_PE_absptr: break;
	case DW_EH_PE_pcrel: base = address_of(e); break;
	case DW_EH_PE_datarel: base = index; break;
	default: return false;
	}
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: *out = gt_get_fixed(&e->bytes, 8); break;
	case DW_EH_PE_udata4: *out = gt_get_fixed(&e->bytes, 4); break;
	case DW_EH_PE_sdata4: *out = (uint64_t)(int32_t)gt_get_fixed(&e->bytes, 4); break;
	case DW_EH_PE_udata2: *out = gt_get_fixed(&e->bytes, 2); break;
	case DW_EH_PE_sdata2: *out = (uint64_t)(int16_t)gt_get_fixed(&e->bytes, 2); break;
	case DW_EH_PE_uleb128: *out = gt_get_varint(&e->bytes); break;
	case DW_EH_PE_sleb128: *out = (uint64_t)gt_get_signed(&e->bytes); break;
	default: return false;
	}
	*out += base;
	return !e->bytes.bad;
}

/* Interprets the letters after 'z'; `e` is their data. */
static bool read_augmentation(struct shared *s, struct entry e, const char *letters)
{
	uint64_t ignored;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R': s->encoding = (uint8_t)gt_get_fixed(&e.bytes, 1); break;
		case 'L': gt_get_fixed(&e.bytes, 1); break;
		case 'P':
			/* skipped: only its length matters, so "indirect" does not */
			if (!get_address(&e, gt_get_fixed(&e.bytes, 1) & 0x0f, 0, &ignored))
				return false;
			break;
		case 'S': s->is_signal = true; break;
		case 'B':
		case 'G': break; /* arm64: how return addresses are signed, a tagged stack */
		default: return false;
		}
	}
	return !e.bytes.bad;
}

static bool read_shared(struct shared *s, struct entry e)
{
	char letters[AUGMENTATION_MAX] = { 0 };
	struct entry data;
	size_t length;
	uint8_t version;

	*s = (struct shared){ .encoding = DW_EH_PE_absptr };
	if (gt_get_fixed(&e.bytes, 4) != 0)
		return false;
	version = (uint8_t)gt_get_fixed(&e.bytes, 1);
	length = strnlen((const char *)e.bytes.at, gt_bytes_left(&e.bytes));
	if (length >= sizeof letters || length == gt_bytes_left(&e.bytes))
		return false;
	memcpy(letters, e.bytes.at, length);
	e.bytes.at += length + 1;
	if (version != 1 && version != 3)
		return false;
	s->code_factor = gt_get_varint(&e.bytes);
	s->data_factor = gt_get_signed(&e.bytes);
	if ((version == 1 ? gt_get_fixed(&e.bytes, 1) : gt_get_varint(&e.bytes)) != GT_CFI_RETURN)
		return false;
	s->has_sizes = letters[0] == 'z';
	if (s->has_sizes) {
		data = e;
		data.bytes.at = gt_get_blob(&e.bytes, &length);
		if (!data.bytes.at)
			return false;
		data.bytes.end = data.bytes.at + length;
		if (!read_augmentation(s, data, letters + 1))
			return false;
	} else if (letters[0]) {
		return false;
	}
	s->instructions = e.bytes;
	return !e.bytes.bad;
}

/* Reads a whole entry into memory that the caller frees. */
static bool read_entry(const struct gt_cfi_table *t, uint64_t address, struct entry *e,
		       uint8_t **memory)
{
	uint8_t head[4];
	struct gt_bytes length_bytes = { .at = head, .end = head + sizeof head };
	uint64_t length;

	*memory = NULL;
	if (!read_loaded(t, address, head, sizeof head))
		return false;
	length = gt_get_fixed(&length_bytes, 4);
	if (length < 4 || length > ENTRY_BYTES_MAX)
		return false;
	*memory = gt_alloc(length);
	if (!read_loaded(t, address + 4, *memory, length))
		return false;
	*e = (struct entry){ .bytes = { .at = *memory, .end = *memory + length },
			     .first = *memory,
			     .address = address + 4 };
	return true;
}

/* Reads a function's entry (FDE), from behind the pointer to its CIE. */
static bool read_own(struct gt_cfi_code *code, struct entry *e, const struct shared *s,
		     uint64_t index, uint64_t *size)
{
	size_t ignored;

	if (!get_address(e, s->encoding, index, &code->start) ||
	    !get_address(e, s->encoding & 0x0f, 0, size))
		return false;
	if (s->has_sizes)
		gt_get_blob(&e->bytes, &ignored);
	code->initial = s->instructions;
	code->own = e->bytes;
	code->code_factor = s->code_factor;
	code->data_factor = s->data_factor;
	code->is_signal = s->is_signal;
	return !e->bytes.bad;
}

/* The address of a function's CIE, which is stored as a distance; 0: the entry is a CIE itself. */
static uint64_t shared_of(struct entry *own)
{
	uint64_t at = own->address, back = gt_get_fixed(&own->bytes, 4);

	return back ? at - back : 0;
}

typedef bool code_fn(void *context, const struct gt_cfi_code *code, uint64_t size);

/* Passes on the instructions of the function whose entry is at an address; false if it has none. */
static bool with_code(const struct gt_cfi_table *t, uint64_t entry, code_fn *use, void *context)
{
	uint8_t *own_memory = NULL, *shared_memory = NULL;
	struct entry own, common;
	struct gt_cfi_code code;
	struct shared shared;
	uint64_t at, size;
	bool used = false;

	if (!read_entry(t, entry, &own, &own_memory))
		goto free_own;
	at = shared_of(&own);
	if (at && read_entry(t, at, &common, &shared_memory) && read_shared(&shared, common) &&
	    read_own(&code, &own, &shared, t->image->cfi_index.address, &size))
		used = use(context, &code, size);
	free(shared_memory);
free_own:
	free(own_memory);
	return used;
}

struct finding {
	struct gt_cfi_rule *rule;
	uint64_t address;
};

static bool find_rule(void *context, const struct gt_cfi_code *code, uint64_t size)
{
	struct finding *f = context;

	return f->address >= code->start && f->address - code->start < size &&
	       gt_cfi_rule_init(f->rule, code, f->address);
}

/* Locates the entries of the file's index, if it is of the searchable kind. */
static void open_index(struct gt_cfi_table *t)
{
	const struct gt_segment *s = &t->image->cfi_index;
	uint8_t head[INDEX_HEAD_MAX];
	size_t size = s->size < sizeof head ? s->size : sizeof head;
	struct entry e = { .bytes = { .at = head, .end = head + size }, .first = head };
	uint8_t version, pointer, count, encoding;
	uint64_t ignored;

	if (!size || !read_at(t->image, s->offset, head, size))
		return;
	version = (uint8_t)gt_get_fixed(&e.bytes, 1);
	pointer = (uint8_t)gt_get_fixed(&e.bytes, 1);
	count = (uint8_t)gt_get_fixed(&e.bytes, 1);
	encoding = (uint8_t)gt_get_fixed(&e.bytes, 1);
	if (version != 1 || encoding != INDEX_ENCODING || count & 0xf0 ||
	    !get_address(&e, pointer & 0x0f, 0, &ignored) || !get_address(&e, count, 0, &t->count))
		t->count = 0;
	t->index = s->offset + address_of(&e);
	/* no more than the section has room for */
	if (t->count > (s->size - address_of(&e)) / INDEX_ENTRY)
		t->count = (s->size - address_of(&e)) / INDEX_ENTRY;
}

/* Reads as many entries of the file's index, from this one on. */
static bool read_window(struct gt_cfi_table *t, uint64_t number, uint64_t most)
{
	uint64_t count = t->count - number < most ? t->count - number : most;

	if (!t->window)
		t->window = gt_alloc(INDEX_WINDOW * sizeof *t->window);
	t->window_count = 0;
	if (!read_at(t->image, t->index + number * INDEX_ENTRY, t->window, count * INDEX_ENTRY))
		return false;
	t->window_at = number;
	t->window_count = count;
	return true;
}

/* A function by its number, in the file's index or ours. */
static bool function_at(struct gt_cfi_table *t, uint64_t number, struct function *f)
{
	uint64_t base = t->image->cfi_index.address;
	const int32_t *words;

	if (!t->count) {
		*f = t->functions[number];
		return true;
	}
	/* a file may be shorter than its index says */
	if (number - t->window_at >= t->window_count &&
	    !(t->reads_ahead && read_window(t, number, INDEX_WINDOW)) && !read_window(t, number, 1))
		return false;
	words = t->window[number - t->window_at];
	*f = (struct function){ base + (uint64_t)(int64_t)words[0],
				base + (uint64_t)(int64_t)words[1] };
	return true;
}

static uint64_t function_total(const struct gt_cfi_table *t)
{
	return t->count ? t->count : t->function_count;
}

/* How many functions begin at or before the address. */
static uint64_t search(struct gt_cfi_table *t, uint64_t address)
{
	uint64_t low = 0, high = function_total(t);
	struct function f;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!function_at(t, middle, &f))
			return 0;
		if (f.start > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start) :
				      (x->entry > y->entry) - (x->entry < y->entry);
}

/* Adds one entry of the section in memory to our index. */
static void index_entry(struct gt_cfi_table *t, const uint8_t *section, struct entry own)
{
	const struct gt_segment *s = &t->image->cfi;
	uint64_t entry = own.address - 4, at = shared_of(&own), length, size;
	struct entry common = { .address = at + 4 };
	struct gt_cfi_code code;
	struct shared shared;

	if (!at || at < s->address || at >= entry)
		return;
	common.bytes = (struct gt_bytes){ .at = section + (at - s->address),
					  .end = section + (entry - s->address) };
	length = gt_get_fixed(&common.bytes, 4);
	if (common.bytes.bad || length > gt_bytes_left(&common.bytes))
		return;
	common.first = common.bytes.at;
	common.bytes.end = common.bytes.at + length;
	if (!read_shared(&shared, common) ||
	    !read_own(&code, &own, &shared, t->image->cfi_index.address, &size))
		return;
	GT_GROW(t->functions, t->function_count, t->function_room);
	t->functions[t->function_count++] = (struct function){ code.start, entry };
}

static void walk(struct gt_cfi_table *t)
{
	const struct gt_segment *s = &t->image->cfi;
	struct gt_bytes b;
	uint8_t *section;

	if (!s->size || s->size > WALKED_BYTES_MAX)
		return;
	section = gt_alloc(s->size);
	b = (struct gt_bytes){ .at = section, .end = section + s->size };
	if (!read_at(t->image, s->offset, section, s->size))
		b.end = b.at;
	while (gt_bytes_left(&b) >= 4) {
		uint64_t length = gt_get_fixed(&b, 4);

		if (length < 4 || length > gt_bytes_left(&b))
			break;
		index_entry(t, section,
			    (struct entry){ .bytes = { .at = b.at, .end = b.at + length },
					    .first = b.at,
					    .address = s->address + (uint64_t)(b.at - section) });
		b.at += length;
	}
	free(section);
	if (t->function_count)
		qsort(t->functions, t->function_count, sizeof *t->functions, by_start);
}

struct gt_cfi_table *gt_cfi_table_new(const struct gt_image *image)
{
	struct gt_cfi_table *t;

	if (image->fd < 0)
		return NULL;
	t = gt_alloc(sizeof *t);
	t->image = image;
	open_index(t);
	if (!t->count)
		walk(t);
	if (t->count || t->function_count)
		return t;
	gt_cfi_table_free(t);
	return NULL;
}

void gt_cfi_table_free(struct gt_cfi_table *t)
{
	if (!t)
		return;
	free(t->functions);
	free(t->section);
	free(t->window);
	free(t);
}

bool gt_cfi_table_find(struct gt_cfi_table *t, struct gt_cfi_rule *rule, uint64_t address)
{
	struct finding f = { rule, address };
	struct function found;
	uint64_t number;

	t->window_count = 0;
	number = search(t, address);
	return number && function_at(t, number - 1, &found) &&
	       with_code(t, found.entry, find_rule, &f);
}

struct telling {
	gt_cfi_row_fn *each;
	void *context;
	uint64_t end; /* of the function */
};

static void tell_row(void *context, uint64_t address, const struct gt_cfi_rule *rule)
{
	const struct telling *t = context;

	if (address < t->end)
		t->each(t->context, address, rule);
}

static bool tell_rows(void *context, const struct gt_cfi_code *code, uint64_t size)
{
	struct telling *t = context;

	t->end = code->start + size;
	gt_cfi_rule_each(code, tell_row, t);
	t->each(t->context, t->end, NULL);
	return true;
}

void gt_cfi_table_rows(struct gt_cfi_table *t, uint64_t from, uint64_t to, gt_cfi_row_fn *each,
		       void *context)
{
	struct telling telling = { .each = each, .context = context };
	uint64_t number = search(t, from), total = function_total(t);
	struct function f;

	t->reads_ahead = true;
	for (number -= number > 0; number < total; number++) {
		if (!function_at(t, number, &f) || f.start >= to)
			break;
		if (!with_code(t, f.entry, tell_rows, &telling))
			each(context, f.start, NULL);
	}
	t->reads_ahead = false;
	/* the file may change until the next time */
	t->window_count = 0;
}

void gt_cfi_table_hold(struct gt_cfi_table *t, bool hold)
{
	const struct gt_segment *s = &t->image->cfi;

	free(t->section);
	free(t->window);
	t->section = NULL;
	t->window = NULL;
	t->window_count = 0;
	if (!hold || !s->size || s->size > WALKED_BYTES_MAX)
		return;
	t->section = gt_alloc(s->size);
	if (!read_at(t->image, s->offset, t->section, s->size))
		gt_cfi_table_hold(t, false);
}
