/* SPDX-License-Identifier: MIT */
/* frame_rules.c - how to find the registers of a caller, read from the mapped .eh_frame. */
#include "guest/frame_rules.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/bytes.h"
#include "guest/fork_guard.h"

/* How pointers are written: DW_EH_PE_* of the LSB's "DWARF extensions". */
enum {
	PE_OMIT = 0xff,
	PE_FORM = 0x0f,
	PE_RELATIVE = 0x70,
	PE_PCREL = 0x10,
	PE_INDIRECT = 0x80,
	PE_SORTED = 0x3b, /* pairs of 32-bit offsets from the header: what all linkers write */
};
enum {
	HDR_SIZE = 4,
	NEGATE_RA_STATE_WITH_PC = 0x2c,
	NEGATE_RA_STATE = 0x2d,
	EXTENDED = 0xffffffff
};

/* A module, and its .eh_frame_hdr. */
struct module {
	const uint8_t *start, *end, *header;
};

#if defined DLFO_STRUCT_HAS_EH_DBASE && !defined GT_OLD_LOADER
#define HAS_FIND_OBJECT
/* Looked up, not linked: the loader may be older than the one this was built with. */
static int (*find_object)(void *address, struct dl_find_object *result);

__attribute__((constructor)) static void look_up(void)
{
	*(void **)&find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
}
#endif

struct search {
	uint64_t pc;
	struct module *m;
};

static int search_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *s = context;
	uint64_t low = UINT64_MAX, high = 0;
	const uint8_t *header = NULL;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_EH_FRAME)
			header = (const uint8_t *)(uintptr_t)at;
		if (p->p_type != PT_LOAD)
			continue;
		low = at < low ? at : low;
		high = at + p->p_memsz > high ? at + p->p_memsz : high;
	}
	if (s->pc < low || s->pc >= high)
		return 0;
	*s->m = (struct module){ (const uint8_t *)(uintptr_t)low, (const uint8_t *)(uintptr_t)high,
				 header };
	return 1;
}

/* For loaders without _dl_find_object. */
static bool find_by_lock(struct module *m, uint64_t pc)
{
	/* cppcheck-suppress ctuuninitvar; it is what is filled in */
	struct search s = { pc, m };
	_Atomic uint32_t *guard = gt_fork_guard_enter();
	bool found;

	if (!guard)
		return false;
	found = dl_iterate_phdr(search_module, &s);
	gt_fork_guard_leave(guard);
	return found && m->header;
}

/* Part of its callers, to take little of the stack. */
__attribute__((always_inline)) static inline bool find_module(struct module *m, uint64_t pc)
{
#ifdef HAS_FIND_OBJECT
	struct dl_find_object found;

	if (find_object) {
		if (find_object((void *)(uintptr_t)pc, &found) || !found.dlfo_eh_frame)
			return false;
		*m = (struct module){ found.dlfo_map_start, found.dlfo_map_end,
				      found.dlfo_eh_frame };
		return true;
	}
#endif
	return find_by_lock(m, pc);
}

bool gt_frames_share_module(uint64_t pc, uint64_t other)
{
	struct module m;

	return find_module(&m, pc) && other >= (uint64_t)(uintptr_t)m.start &&
	       other < (uint64_t)(uintptr_t)m.end;
}

/* A number in the form of an encoded pointer. */
static uint64_t get_form(struct gt_bytes *b, uint8_t encoding)
{
	switch (encoding & PE_FORM) {
	case 0x00:
	case 0x04:
	case 0x0c: return gt_get_fixed(b, 8);
	case 0x01: return gt_get_varint(b);
	case 0x02: return gt_get_fixed(b, 2);
	case 0x03: return gt_get_fixed(b, 4);
	case 0x09: return (uint64_t)gt_get_signed(b);
	case 0x0a: return (uint64_t)(int16_t)gt_get_fixed(b, 2);
	case 0x0b: return (uint64_t)(int32_t)gt_get_fixed(b, 4);
	default: b->bad = true; return 0;
	}
}

static uint64_t get_pointer(struct gt_bytes *b, uint8_t encoding)
{
	uint64_t at = (uint64_t)(uintptr_t)b->at, value = get_form(b, encoding);

	switch (encoding & (PE_RELATIVE | PE_INDIRECT)) {
	case 0: return value;
	case PE_PCREL: return at + value;
	default: b->bad = true; return 0;
	}
}

/* The entry of the function that may contain `pc`, by the header's sorted table; NULL: none. */
static const uint8_t *find_entry(const struct module *m, uint64_t pc)
{
	struct gt_bytes b = { .at = m->header, .end = m->end };
	int64_t wanted = (int64_t)(pc - (uint64_t)(uintptr_t)m->header);
	uint64_t count, low = 0, high;
	const uint8_t *table;
	uint8_t head[HDR_SIZE];
	int32_t pair[2];

	if (m->header < m->start || m->header >= m->end || gt_bytes_left(&b) < HDR_SIZE)
		return NULL;
	memcpy(head, b.at, HDR_SIZE);
	b.at += HDR_SIZE;
	if (head[0] != 1 || head[1] == PE_OMIT || head[2] == PE_OMIT || head[3] != PE_SORTED)
		return NULL;
	get_form(&b, head[1]);
	count = get_form(&b, head[2]);
	if (b.bad || !count || count > gt_bytes_left(&b) / sizeof pair)
		return NULL;
	table = b.at;
	for (high = count; high - low > 1;) {
		uint64_t middle = low + (high - low) / 2;

		memcpy(pair, table + middle * sizeof pair, sizeof pair);
		if (pair[0] <= wanted)
			low = middle;
		else
			high = middle;
	}
	memcpy(pair, table + low * sizeof pair, sizeof pair);
	return pair[0] <= wanted ? m->header + pair[1] : NULL;
}

/* Reads an entry's length: `b` becomes what is in it. False: none. */
static bool open_entry(struct gt_bytes *b, const struct module *m, const uint8_t *at)
{
	uint64_t size;

	*b = (struct gt_bytes){ .at = at, .end = m->end };
	if (at < m->start || at >= m->end)
		return false;
	size = gt_get_fixed(b, 4);
	if (size == EXTENDED)
		size = gt_get_fixed(b, 8);
	if (b->bad || !size || size > gt_bytes_left(b))
		return false;
	b->end = b->at + size;
	return true;
}

/* What a function's entry says, together with the one it shares with others. */
struct entry {
	struct gt_bytes initial, own; /* instructions */
	uint64_t code_factor, start, size;
	int64_t data_factor;
	uint8_t encoding, is_signal, has_size;
};

static bool read_augmentation(struct entry *e, struct gt_bytes *b, const char *letters)
{
	uint64_t size = gt_get_varint(b);
	struct gt_bytes data = *b;

	if (b->bad || size > gt_bytes_left(b))
		return false;
	b->at += size;
	data.end = b->at;
	for (; *letters; letters++)
		switch (*letters) {
		case 'R': e->encoding = (uint8_t)gt_get_fixed(&data, 1); break;
		case 'L': gt_get_fixed(&data, 1); break;
		case 'P': get_form(&data, (uint8_t)gt_get_fixed(&data, 1)); break;
		case 'S': e->is_signal = true; break;
		case 'B':
		case 'G':
			break; /* arm64: how return addresses are signed, that the stack is tagged
				*/
		default: return false;
		}
	return !data.bad;
}

/* The entry shared by several functions. */
static bool read_shared(struct entry *e, const struct module *m, const uint8_t *at)
{
	struct gt_bytes b;
	const char *letters;
	uint8_t version;

	if (!open_entry(&b, m, at) || gt_get_fixed(&b, 4))
		return false;
	version = (uint8_t)gt_get_fixed(&b, 1);
	letters = (const char *)b.at;
	if ((version != 1 && version != 3) || !memchr(letters, 0, gt_bytes_left(&b)))
		return false;
	b.at += strlen(letters) + 1;
	e->code_factor = gt_get_varint(&b);
	e->data_factor = gt_get_signed(&b);
	if ((version == 1 ? gt_get_fixed(&b, 1) : gt_get_varint(&b)) != GT_RETURN || b.bad)
		return false;
	e->has_size = letters[0] == 'z';
	if (letters[0] && (!e->has_size || !read_augmentation(e, &b, letters + 1)))
		return false;
	e->initial = b;
	return true;
}

/* Apart: what it needs of the stack is free again when the instructions are executed. */
static __attribute__((noinline)) bool read_entry(struct entry *e, const struct module *m,
						 const uint8_t *at)
{
	struct gt_bytes b;
	const uint8_t *here;
	uint64_t back;

	*e = (struct entry){ .encoding = 0 };
	if (!open_entry(&b, m, at))
		return false;
	here = b.at;
	back = gt_get_fixed(&b, 4);
	if (!back || back > (uint64_t)(here - m->start) || !read_shared(e, m, here - back))
		return false;
	e->start = get_pointer(&b, e->encoding);
	e->size = get_form(&b, e->encoding);
	if (e->has_size) {
		uint64_t size = gt_get_varint(&b);

		if (b.bad || size > gt_bytes_left(&b))
			return false;
		b.at += size;
	}
	e->own = b;
	return !b.bad;
}

/* Executes instructions up to an address. */
struct machine {
	struct gt_frame_rule *rule;
	const struct entry *entry;
	const struct gt_frame_rule *initial; /* NULL: these are the initial ones */
	struct gt_frame_rule *remembered;
	unsigned remembered_count;
	uint64_t at, until;
	bool bad;
};

static void set(struct machine *m, uint64_t number, enum gt_frame_how how, int64_t value)
{
	if (number >= GT_REGISTERS)
		return;
	m->bad |= value != (int32_t)value;
	m->rule->how[number] = (uint8_t)how;
	m->rule->value[number] = (int32_t)value;
}

static void set_cfa(struct machine *m, uint64_t number, int64_t offset)
{
	m->bad |= number >= GT_REGISTERS || offset != (int32_t)offset;
	m->rule->cfa_how = GT_IN_REGISTER;
	m->rule->cfa = (int32_t)number;
	m->rule->cfa_offset = (int32_t)offset;
}

/* Where an expression lies; skips it. */
static int64_t skip_expression(const struct machine *m, struct gt_bytes *b)
{
	int64_t at = b->at - m->rule->base;
	uint64_t size = gt_get_varint(b);

	if (size > gt_bytes_left(b))
		b->bad = true;
	else
		b->at += size;
	return at;
}

static void restore(struct machine *m, uint64_t number)
{
	if (!m->initial)
		m->bad = true;
	else if (number < GT_REGISTERS)
		set(m, number, m->initial->how[number], m->initial->value[number]);
}

static void remember(struct machine *m)
{
	if (m->remembered_count == GT_FRAMES_REMEMBERED)
		m->bad = true;
	else
		m->remembered[m->remembered_count++] = *m->rule;
}

static void recall(struct machine *m)
{
	if (!m->remembered_count)
		m->bad = true;
	else
		*m->rule = m->remembered[--m->remembered_count];
}

static int64_t factored(const struct machine *m, uint64_t value)
{
	return (int64_t)(value * (uint64_t)m->entry->data_factor);
}

/* Instructions about the CFA; false: it is another one. */
static bool execute_cfa(struct machine *m, uint8_t code, struct gt_bytes *b)
{
	uint64_t number;

	switch (code) {
	case DW_CFA_def_cfa:
		number = gt_get_varint(b);
		set_cfa(m, number, (int64_t)gt_get_varint(b));
		return true;
	case DW_CFA_def_cfa_sf:
		number = gt_get_varint(b);
		set_cfa(m, number, factored(m, (uint64_t)gt_get_signed(b)));
		return true;
	case DW_CFA_def_cfa_register:
		set_cfa(m, gt_get_varint(b), m->rule->cfa_offset);
		return true;
	case DW_CFA_def_cfa_offset:
		set_cfa(m, (uint64_t)m->rule->cfa, (int64_t)gt_get_varint(b));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(m, (uint64_t)m->rule->cfa, factored(m, (uint64_t)gt_get_signed(b)));
		return true;
	case DW_CFA_def_cfa_expression:
		m->rule->cfa_how = GT_EXPRESSION;
		m->rule->cfa = (int32_t)skip_expression(m, b);
		return true;
	default: return false;
	}
}

/* Instructions about a register; false: it is another one. */
static bool execute_register(struct machine *m, uint8_t code, struct gt_bytes *b)
{
	uint64_t number = gt_get_varint(b);

	switch (code) {
	case DW_CFA_offset_extended:
		set(m, number, GT_AT_CFA, factored(m, gt_get_varint(b)));
		return true;
	case DW_CFA_offset_extended_sf:
		set(m, number, GT_AT_CFA, factored(m, (uint64_t)gt_get_signed(b)));
		return true;
	case DW_CFA_val_offset:
		set(m, number, GT_CFA_PLUS, factored(m, gt_get_varint(b)));
		return true;
	case DW_CFA_val_offset_sf:
		set(m, number, GT_CFA_PLUS, factored(m, (uint64_t)gt_get_signed(b)));
		return true;
	case DW_CFA_restore_extended: restore(m, number); return true;
	case DW_CFA_undefined: set(m, number, GT_UNDEFINED, 0); return true;
	case DW_CFA_same_value: set(m, number, GT_SAME, 0); return true;
	case DW_CFA_register: {
		uint64_t other = gt_get_varint(b);

		m->bad |= other >= GT_REGISTERS;
		set(m, number, GT_IN_REGISTER, (int64_t)other);
		return true;
	}
	case DW_CFA_expression:
		set(m, number, GT_AT_EXPRESSION, skip_expression(m, b));
		return true;
	case DW_CFA_val_expression:
		set(m, number, GT_EXPRESSION, skip_expression(m, b));
		return true;
	default: return false;
	}
}

static void execute_one(struct machine *m, struct gt_bytes *b)
{
	uint8_t code = *b->at++, low = code & 0x3f;

	switch (code & 0xc0) {
	case DW_CFA_advance_loc: m->at += low * m->entry->code_factor; return;
	case DW_CFA_offset: set(m, low, GT_AT_CFA, factored(m, gt_get_varint(b))); return;
	case DW_CFA_restore: restore(m, low); return;
	default: break;
	}
	switch (code) {
	case DW_CFA_nop: return;
	case DW_CFA_advance_loc1: m->at += gt_get_fixed(b, 1) * m->entry->code_factor; return;
	case DW_CFA_advance_loc2: m->at += gt_get_fixed(b, 2) * m->entry->code_factor; return;
	case DW_CFA_advance_loc4: m->at += gt_get_fixed(b, 4) * m->entry->code_factor; return;
	case DW_CFA_set_loc: m->at = get_pointer(b, m->entry->encoding); return;
	case DW_CFA_remember_state: remember(m); return;
	case DW_CFA_restore_state: recall(m); return;
	case DW_CFA_GNU_args_size: gt_get_varint(b); return;
	case NEGATE_RA_STATE_WITH_PC:
	case NEGATE_RA_STATE: return; /* arm64: signed or not, gt_code_address sees to it */
	default: break;
	}
	if (!execute_cfa(m, code, b) && !execute_register(m, code, b))
		m->bad = true;
}

static bool execute(struct machine *m, struct gt_bytes b)
{
	while (b.at < b.end && m->at <= m->until && !b.bad && !m->bad)
		execute_one(m, &b);
	return !b.bad && !m->bad;
}

bool gt_frame_rule_find(struct gt_frame_work *work, uint64_t pc)
{
	struct gt_frame_rule *rule = &work->rule;
	struct machine m = { .rule = rule, .remembered = work->remembered, .until = pc };
	struct module module = { 0 };
	struct entry entry;
	const uint8_t *at;

	if (!find_module(&module, pc))
		return false;
	at = find_entry(&module, pc);
	if (!at || !read_entry(&entry, &module, at) || pc - entry.start >= entry.size)
		return false;
	memset(rule, 0, sizeof *rule);
	rule->base = at;
	rule->is_signal = entry.is_signal;
	rule->how[GT_RETURN] = GT_RETURN_AT_ENTRY;
	rule->cfa_how = GT_UNDEFINED;
	m.entry = &entry;
	m.at = entry.start;
	if (!execute(&m, entry.initial))
		return false;
	work->initial = *rule;
	m.initial = &work->initial;
	m.at = entry.start;
	return execute(&m, entry.own) && rule->cfa_how != GT_UNDEFINED;
}
