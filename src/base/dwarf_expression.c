/* SPDX-License-Identifier: MIT */
/* dwarf_expression.c - the value of an expression in .eh_frame. */
#include "base/dwarf_expression.h"

#include "base/machine.h"

#include <dwarf.h>

/* The operand stack; overflow or underflow makes it bad. Small: so may the program's stack be. */
struct operands {
	uint64_t list[8];
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

static void push_register(struct operands *o, const struct gt_dwarf_machine *m, uint64_t number,
			  struct gt_bytes *b)
{
	uint64_t offset = (uint64_t)gt_get_signed(b);

	if (number < GT_REGISTERS)
		push(o, m->registers[number] + offset);
	else
		o->bad = true;
}

/* Operations on two values, the upper one second. */
static void combine(struct operands *o, uint8_t atom)
{
	uint64_t b = pop(o), a = pop(o);

	switch (atom) {
	case DW_OP_plus: push(o, a + b); return;
	case DW_OP_minus: push(o, a - b); return;
	case DW_OP_mul: push(o, a * b); return;
	case DW_OP_and: push(o, a & b); return;
	case DW_OP_or: push(o, a | b); return;
	case DW_OP_shl: push(o, b < 64 ? a << b : 0); return;
	case DW_OP_shr: push(o, b < 64 ? a >> b : 0); return;
	case DW_OP_ge: push(o, (int64_t)a >= (int64_t)b); return;
	case DW_OP_le: push(o, (int64_t)a <= (int64_t)b); return;
	case DW_OP_gt: push(o, (int64_t)a > (int64_t)b); return;
	case DW_OP_lt: push(o, (int64_t)a < (int64_t)b); return;
	default: o->bad = true;
	}
}

/* Executes one of the operations that compilers and linkers write into .eh_frame. */
static void operate(struct operands *o, const struct gt_dwarf_machine *m, struct gt_bytes *b)
{
	uint8_t atom = *b->at++;
	uint64_t value = 0;

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
	case DW_OP_call_frame_cfa:
		o->bad |= !m->cfa;
		push(o, m->cfa ? *m->cfa : 0);
		return;
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
		o->bad |= !m->load(m->memory, pop(o), &value);
		push(o, value);
		return;
	default: combine(o, atom);
	}
}

bool gt_dwarf_evaluate(const struct gt_dwarf_machine *m, struct gt_bytes b, uint64_t *out)
{
	struct operands o = { .count = m->cfa ? 1 : 0, .list = { m->cfa ? *m->cfa : 0 } };

	while (b.at < b.end && !b.bad && !o.bad)
		operate(&o, m, &b);
	*out = pop(&o);
	return !b.bad && !o.bad;
}
