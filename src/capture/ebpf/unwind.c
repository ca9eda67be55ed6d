/* SPDX-License-Identifier: MIT */
/* unwind.c - unwinds a copy of a stack's top by the call frame information of the code. */
#include "capture/ebpf/unwind.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"
#include "capture/ebpf/cfi.h"
#include "capture/ebpf/modules.h"

enum { RSP = GT_CFI_RSP, RETURN = GT_CFI_RETURN, REGISTERS = GT_CFI_REGISTERS };

/* The rule of an address, if it has one. */
struct known {
	struct gt_cfi_rule rule;
	bool has_rule;
};

struct gt_unwind_table {
	struct gt_cfi_table *cfi;
	struct gt_map rules; /* address in the file -> struct known */
};

/* The registers at a frame, and the memory that may be read. */
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
	for (size_t i = 0; i < t->rules.count; i++) {
		struct known *known = t->rules.values[i];

		gt_cfi_rule_fini(&known->rule);
		free(known);
	}
	gt_map_fini(&t->rules);
	gt_cfi_table_free(t->cfi);
	free(t);
}

static bool load(const struct machine *m, uint64_t address, uint64_t *word)
{
	if (address - m->base > m->size || m->size - (address - m->base) < sizeof *word)
		return false;
	memcpy(word, m->bytes + (address - m->base), sizeof *word);
	return true;
}

/* The operand stack of an expression; overflow or underflow makes it bad. */
struct operands {
	uint64_t list[16];
	unsigned count;
	bool bad;
};

static void push(struct operands *o, uint64_t value)
{
	if (o->count < sizeof o->list / sizeof *o->list)
		o->list[o->count++] = value;
	else
		o->bad = true;
}

static uint64_t pop(struct operands *o)
{
	if (o->count)
		return o->list[--o->count];
	o->bad = true;
	return 0;
}

static void push_register(struct operands *o, const struct machine *m, uint64_t number,
			  struct gt_bytes *b)
{
	uint64_t offset = (uint64_t)gt_get_signed(b);

	if (number < REGISTERS)
		push(o, m->registers[number] + offset);
	else
		o->bad = true;
}

/* Operations on two values, the upper one second. */
static bool combine(uint8_t atom, uint64_t a, uint64_t b, uint64_t *out)
{
	switch (atom) {
	case DW_OP_plus: *out = a + b; return true;
	case DW_OP_minus: *out = a - b; return true;
	case DW_OP_mul: *out = a * b; return true;
	case DW_OP_and: *out = a & b; return true;
	case DW_OP_or: *out = a | b; return true;
	case DW_OP_shl: *out = b < 64 ? a << b : 0; return true;
	case DW_OP_shr: *out = b < 64 ? a >> b : 0; return true;
	case DW_OP_ge: *out = (int64_t)a >= (int64_t)b; return true;
	case DW_OP_le: *out = (int64_t)a <= (int64_t)b; return true;
	case DW_OP_gt: *out = (int64_t)a > (int64_t)b; return true;
	case DW_OP_lt: *out = (int64_t)a < (int64_t)b; return true;
	default: return false;
	}
}

/* Executes one of the operations that compilers and linkers write into .eh_frame. */
static void operate(struct operands *o, const struct machine *m, struct gt_bytes *b)
{
	uint8_t atom = *b->at++;
	uint64_t value, other;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
		push(o, atom - DW_OP_lit0);
		return;
	}
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
		push_register(o, m, atom - DW_OP_breg0, b);
		return;
	}
	switch (atom) {
	case DW_OP_nop: return;
	case DW_OP_bregx:
		value = gt_get_varint(b);
		push_register(o, m, value, b);
		return;
	case DW_OP_call_frame_cfa: push(o, m->cfa); return;
	case DW_OP_const1u: push(o, gt_get_fixed(b, 1)); return;
	case DW_OP_const1s: push(o, (uint64_t)(int8_t)gt_get_fixed(b, 1)); return;
	case DW_OP_const2u: push(o, gt_get_fixed(b, 2)); return;
	case DW_OP_const2s: push(o, (uint64_t)(int16_t)gt_get_fixed(b, 2)); return;
	case DW_OP_const4u: push(o, gt_get_fixed(b, 4)); return;
	case DW_OP_const4s: push(o, (uint64_t)(int32_t)gt_get_fixed(b, 4)); return;
	case DW_OP_const8u:
	case DW_OP_const8s: push(o, gt_get_fixed(b, 8)); return;
	case DW_OP_constu: push(o, gt_get_varint(b)); return;
	case DW_OP_consts: push(o, (uint64_t)gt_get_signed(b)); return;
	case DW_OP_plus_uconst:
		value = pop(o);
		push(o, value + gt_get_varint(b));
		return;
	case DW_OP_dup:
		value = pop(o);
		push(o, value);
		push(o, value);
		return;
	case DW_OP_drop: pop(o); return;
	case DW_OP_deref:
		if (!load(m, pop(o), &value))
			o->bad = true;
		else
			push(o, value);
		return;
	default: break;
	}
	other = pop(o);
	if (combine(atom, pop(o), other, &value))
		push(o, value);
	else
		o->bad = true;
}

/* The value of an expression; those of registers start with the CFA. */
static bool evaluate(const struct machine *m, struct gt_bytes b, struct operands o, uint64_t *out)
{
	while (b.at < b.end && !b.bad && !o.bad)
		operate(&o, m, &b);
	*out = pop(&o);
	return !b.bad && !o.bad;
}

static const struct known *rule_at(struct gt_unwind_table *t, uint64_t address)
{
	void **value = gt_map_at(&t->rules, address);
	struct known *known = *value;

	if (!known) {
		known = *value = gt_alloc(sizeof *known);
		known->has_rule = t->cfi && gt_cfi_table_find(t->cfi, &known->rule, address);
	}
	return known;
}

static struct gt_unwind_table *table_of(struct gt_image *image)
{
	if (!image->unwind) {
		image->unwind = gt_alloc(sizeof *image->unwind);
		image->unwind->cfi = gt_cfi_table_new(image);
	}
	return image->unwind;
}

static bool find_cfa(struct machine *m, const struct gt_cfi_rule *r)
{
	if (r->cfa_how == GT_CFI_REGISTER) {
		m->cfa = m->registers[r->cfa] + (uint64_t)(int64_t)r->cfa_offset;
		return true;
	}
	return evaluate(m, gt_cfi_rule_expression(r, r->cfa), (struct operands){ 0 }, &m->cfa);
}

static bool find_register(const struct machine *m, const struct gt_cfi_rule *r, int number,
			  uint64_t *out)
{
	struct operands cfa = { .list = { m->cfa }, .count = 1 };
	uint64_t near_cfa = m->cfa + (uint64_t)(int64_t)r->value[number];

	switch ((enum gt_cfi_how)r->how[number]) {
	case GT_CFI_UNDEFINED: *out = 0; return true;
	case GT_CFI_SAME: *out = m->registers[number]; return true;
	case GT_CFI_REGISTER: *out = m->registers[r->value[number]]; return true;
	case GT_CFI_CFA_PLUS: *out = near_cfa; return true;
	case GT_CFI_AT_CFA: return load(m, near_cfa, out);
	case GT_CFI_AT_EXPRESSION:
		return evaluate(m, gt_cfi_rule_expression(r, r->value[number]), cfa, out) &&
		       load(m, *out, out);
	case GT_CFI_EXPRESSION:
		return evaluate(m, gt_cfi_rule_expression(r, r->value[number]), cfa, out);
	}
	return false;
}

/* From a frame to its caller's. */
static bool step(struct machine *m, const struct gt_modules *modules)
{
	uint64_t pc = m->registers[RETURN], next[REGISTERS];
	const struct gt_mapped *at;
	const struct known *known;
	const struct gt_cfi_rule *r;

	/* a return address may be past the end of its function: look up the call before it */
	at = gt_modules_find(modules, pc - 1);
	if (!at)
		return false;
	known = rule_at(table_of(at->image), pc - 1 - at->bias);
	r = &known->rule;
	/* the outermost frame has an undefined return address */
	if (!known->has_rule || r->how[RETURN] == GT_CFI_UNDEFINED || !find_cfa(m, r))
		return false;
	for (int i = 0; i < REGISTERS; i++)
		if (i != RSP && !find_register(m, r, i, &next[i]))
			return false;
	next[RSP] = m->cfa;
	/* stacks grow down: a caller's frame must lie above */
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
