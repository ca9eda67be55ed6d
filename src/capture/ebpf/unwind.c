/* unwind.c - a stack from a copy of its top, by the call frame information of the code. */
#include "capture/ebpf/unwind.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "capture/ebpf/modules.h"

enum { RBP = 6, RSP = 7, RETURN = 16, REGISTERS = GT_PROBE_REGISTERS, OPERATIONS_MAX = 64 };

/* How a register of the caller is found. */
enum how { SAME, UNDEFINED, AT_CFA, EXPRESSION };

/* One place's rules. Those that are not of the common sort go by the information itself. */
struct rule {
	uint64_t address;          /* in the file; 0: free */
	Dwarf_Frame *frame;        /* kept only for what has expressions */
	int32_t cfa_offset;
	int32_t offset[REGISTERS];
	uint8_t cfa_register;      /* 0xff: an expression */
	uint8_t how[REGISTERS];
	bool is_known, is_last;
};

struct gt_unwind_table {
	Elf *elf;
	Dwarf_CFI *cfi;
	struct rule **rules;       /* by hash */
	size_t mask, count;
};

/* The machine at some frame, and the memory it may look at. */
struct machine {
	uint64_t registers[REGISTERS];
	uint64_t cfa;
	uint64_t base;
	const uint8_t *bytes;
	size_t size;
};

void gt_unwind_table_free(struct gt_unwind_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; t->rules && i <= t->mask; i++) {
		if (t->rules[i])
			free(t->rules[i]->frame);
		free(t->rules[i]);
	}
	free(t->rules);
	if (t->cfi)
		dwarf_cfi_end(t->cfi);
	elf_end(t->elf);
	free(t);
}

static bool load(const struct machine *m, uint64_t address, uint64_t *word)
{
	if (address - m->base > m->size || m->size - (address - m->base) < sizeof *word)
		return false;
	memcpy(word, m->bytes + (address - m->base), sizeof *word);
	return true;
}

/* A DWARF expression of the sorts that compilers and linkers put into .eh_frame. */
static bool evaluate(const struct machine *m, const Dwarf_Op *ops, size_t count, uint64_t *out,
		     bool *is_value)
{
	uint64_t stack[16];
	unsigned top = 0;

	*is_value = false;
	for (size_t i = 0; i < count && i < OPERATIONS_MAX; i++) {
		uint8_t atom = ops[i].atom;
		uint64_t a, b;

		if (top + 1 >= sizeof stack / sizeof *stack)
			return false;
		if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
			stack[top++] = atom - DW_OP_lit0;
			continue;
		}
		if (atom >= DW_OP_breg0 && atom < DW_OP_breg0 + REGISTERS) {
			stack[top++] = m->registers[atom - DW_OP_breg0] + ops[i].number;
			continue;
		}
		switch (atom) {
		case DW_OP_bregx:
			if (ops[i].number >= REGISTERS)
				return false;
			stack[top++] = m->registers[ops[i].number] + ops[i].number2;
			continue;
		case DW_OP_call_frame_cfa: stack[top++] = m->cfa; continue;
		case DW_OP_const1u: case DW_OP_const1s: case DW_OP_const2u: case DW_OP_const2s:
		case DW_OP_const4u: case DW_OP_const4s: case DW_OP_const8u: case DW_OP_const8s:
		case DW_OP_constu: case DW_OP_consts:
			stack[top++] = ops[i].number;
			continue;
		case DW_OP_stack_value: *is_value = true; continue;
		case DW_OP_nop: continue;
		default: break;
		}
		if (!top)
			return false;
		a = stack[top - 1];
		switch (atom) {
		case DW_OP_plus_uconst: stack[top - 1] = a + ops[i].number; continue;
		case DW_OP_dup: stack[top++] = a; continue;
		case DW_OP_drop: top--; continue;
		case DW_OP_deref:
			if (!load(m, a, &stack[top - 1]))
				return false;
			continue;
		default: break;
		}
		if (top < 2)
			return false;
		b = stack[top - 2];
		top--;
		switch (atom) {
		case DW_OP_plus:  stack[top - 1] = b + a; break;
		case DW_OP_minus: stack[top - 1] = b - a; break;
		case DW_OP_mul:   stack[top - 1] = b * a; break;
		case DW_OP_and:   stack[top - 1] = b & a; break;
		case DW_OP_or:    stack[top - 1] = b | a; break;
		case DW_OP_shl:   stack[top - 1] = a < 64 ? b << a : 0; break;
		case DW_OP_shr:   stack[top - 1] = a < 64 ? b >> a : 0; break;
		case DW_OP_ge:    stack[top - 1] = (int64_t)b >= (int64_t)a; break;
		case DW_OP_le:    stack[top - 1] = (int64_t)b <= (int64_t)a; break;
		case DW_OP_gt:    stack[top - 1] = (int64_t)b > (int64_t)a; break;
		case DW_OP_lt:    stack[top - 1] = (int64_t)b < (int64_t)a; break;
		default: return false;
		}
	}
	if (!top)
		return false;
	*out = stack[top - 1];
	return true;
}

/* True for "CFA + constant", the place of nearly every saved register. */
static bool is_at_cfa(const Dwarf_Op *ops, size_t count, int32_t *offset)
{
	if (!count || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	*offset = 0;
	if (count == 1)
		return true;
	if (count == 2 && ops[1].atom == DW_OP_plus_uconst) {
		*offset = (int32_t)ops[1].number;
		return true;
	}
	if (count == 3 && ops[1].atom == DW_OP_consts && ops[2].atom == DW_OP_plus) {
		*offset = (int32_t)ops[1].number;
		return true;
	}
	return false;
}

static void learn(struct gt_unwind_table *t, struct rule *r, uint64_t address)
{
	Dwarf_Op *ops, memory[3];
	bool keep = false, signal;
	size_t count;

	if (!t->cfi || dwarf_cfi_addrframe(t->cfi, address, &r->frame))
		return;
	if (dwarf_frame_cfa(r->frame, &ops, &count))
		return;
	r->cfa_register = 0xff;
	if (count == 1 && ops[0].atom == DW_OP_bregx && ops[0].number < RETURN) {
		r->cfa_register = (uint8_t)ops[0].number;
		r->cfa_offset = (int32_t)ops[0].number2;
	} else {
		keep = true;
	}
	for (int i = 0; i < REGISTERS; i++) {
		if (dwarf_frame_register(r->frame, i, memory, &ops, &count)) {
			r->how[i] = UNDEFINED;
		} else if (!count) {
			r->how[i] = ops ? UNDEFINED : SAME;
		} else if (is_at_cfa(ops, count, &r->offset[i])) {
			r->how[i] = AT_CFA;
		} else {
			r->how[i] = EXPRESSION;
			keep = true;
		}
	}
	/* the outermost frame says that it has no caller */
	r->is_last = r->how[RETURN] == UNDEFINED;
	r->is_known = dwarf_frame_info(r->frame, NULL, NULL, &signal) >= 0;
	if (!keep) {
		free(r->frame);
		r->frame = NULL;
	}
}

static void grow(struct gt_unwind_table *t)
{
	size_t size = t->rules ? (t->mask + 1) * 2 : 64;
	struct rule **rules = gt_alloc(size * sizeof(struct rule *)), **old = t->rules;

	for (size_t i = 0; old && i <= t->mask; i++) {
		size_t at;

		if (!old[i])
			continue;
		at = gt_mix64(old[i]->address) & (size - 1);
		while (rules[at])
			at = (at + 1) & (size - 1);
		rules[at] = old[i];
	}
	free(old);
	t->rules = rules;
	t->mask = size - 1;
}

static struct rule *rule_at(struct gt_unwind_table *t, uint64_t address)
{
	size_t at;

	if (!t->rules || t->count * 2 > t->mask)
		grow(t);
	at = gt_mix64(address) & t->mask;
	for (; t->rules[at]; at = (at + 1) & t->mask)
		if (t->rules[at]->address == address)
			return t->rules[at];
	t->rules[at] = gt_alloc(sizeof(struct rule));
	t->rules[at]->address = address;
	t->count++;
	learn(t, t->rules[at], address);
	return t->rules[at];
}

static struct gt_unwind_table *table_of(struct gt_image *image)
{
	if (!image->unwind) {
		image->unwind = gt_alloc(sizeof *image->unwind);
		if (image->fd >= 0)
			image->unwind->elf = elf_begin(image->fd, ELF_C_READ_MMAP, NULL);
		if (image->unwind->elf)
			image->unwind->cfi = dwarf_getcfi_elf(image->unwind->elf);
	}
	return image->unwind;
}

static bool find_cfa(struct machine *m, const struct rule *r)
{
	Dwarf_Op *ops;
	size_t count;
	bool is_value;

	if (r->cfa_register != 0xff) {
		m->cfa = m->registers[r->cfa_register] + (uint64_t)(int64_t)r->cfa_offset;
		return true;
	}
	return !dwarf_frame_cfa(r->frame, &ops, &count) &&
	       evaluate(m, ops, count, &m->cfa, &is_value);
}

static bool find_register(const struct machine *m, const struct rule *r, int number, uint64_t *out)
{
	Dwarf_Op *ops, memory[3];
	size_t count;
	bool is_value;
	uint64_t at;

	switch ((enum how)r->how[number]) {
	case SAME:      *out = m->registers[number]; return true;
	case UNDEFINED: *out = 0; return true;
	case AT_CFA:    return load(m, m->cfa + (uint64_t)(int64_t)r->offset[number], out);
	case EXPRESSION: break;
	}
	if (dwarf_frame_register(r->frame, number, memory, &ops, &count) ||
	    !evaluate(m, ops, count, &at, &is_value))
		return false;
	*out = at;
	return is_value || load(m, at, out);
}

/* From a frame to its caller's. */
static bool step(struct machine *m, const struct gt_modules *modules)
{
	uint64_t pc = m->registers[RETURN], next[REGISTERS];
	const struct gt_mapped *at;
	const struct rule *r;

	/* a return address may be just past its function's end: the call is before it */
	at = gt_modules_find(modules, pc - 1);
	if (!at)
		return false;
	r = rule_at(table_of(at->image), pc - 1 - at->bias);
	if (!r->is_known || r->is_last || !find_cfa(m, r))
		return false;
	for (int i = 0; i < REGISTERS; i++)
		if (i != RSP && !find_register(m, r, i, &next[i]))
			return false;
	next[RSP] = m->cfa;
	/* stacks grow down: a caller that is not above is none */
	if (next[RSP] <= m->registers[RSP])
		return false;
	memcpy(m->registers, next, sizeof next);
	return m->registers[RETURN] != 0;
}

size_t gt_unwind_copy(const struct gt_modules *modules, const uint64_t *registers,
		      const uint8_t *bytes, size_t size, uint64_t *frames, size_t most)
{
	struct machine m = { .base = registers[RSP], .bytes = bytes, .size = size };
	size_t count = 0;

	memcpy(m.registers, registers, sizeof m.registers);
	do
		frames[count++] = m.registers[RETURN];
	while (count < most && step(&m, modules));
	return count;
}
