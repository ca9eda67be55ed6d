/* SPDX-License-Identifier: MIT */
/* cfi_rule.c - executes call frame instructions up to an address. */
#include "capture/ebpf/cfi.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
	REMEMBERED_MAX = 16, /* compilers nest one or two */
	EXPRESSION_MAX = 255,
	NEGATE_RA_STATE_WITH_PC = 0x2c, /* arm64: the return address is signed from here on */
	NEGATE_RA_STATE = 0x2d,
};

struct place {
	enum gt_cfi_how how;
	int64_t value;
	struct gt_bytes expression;
};

struct state {
	struct place cfa; /* `value` is the register */
	int64_t cfa_offset;
	struct place registers[GT_CFI_REGISTERS];
};

struct run {
	const struct gt_cfi_code *code;
	struct state now, initial, remembered[REMEMBERED_MAX];
	unsigned depth;
	bool is_initial; /* still in the shared instructions */
	uint64_t location, address;
	gt_cfi_row_fn *each; /* told of every rule, if not NULL */
	void *context;
};

static void tell(const struct run *r);

/* Sets where a register is; ignores registers that we do not track. */
static void set(struct run *r, uint64_t number, enum gt_cfi_how how, int64_t value)
{
	if (number < GT_CFI_REGISTERS)
		r->now.registers[number] = (struct place){ .how = how, .value = value };
}

static bool set_offset(struct run *r, uint64_t number, enum gt_cfi_how how, int64_t factored)
{
	int64_t value;

	if (__builtin_mul_overflow(factored, r->code->data_factor, &value))
		return false;
	set(r, number, how, value);
	return true;
}

/* An unsigned operand as a signed one; one that does not fit becomes one that `keep` rejects. */
static int64_t get_offset(struct gt_bytes *b)
{
	uint64_t v = gt_get_varint(b);

	return v <= INT64_MAX ? (int64_t)v : INT64_MAX;
}

static bool get_expression(struct gt_bytes *b, struct place *place, enum gt_cfi_how how)
{
	size_t size;
	const uint8_t *bytes = gt_get_blob(b, &size);

	if (!bytes || size > EXPRESSION_MAX)
		return false;
	*place = (struct place){ .how = how, .expression = { .at = bytes, .end = bytes + size } };
	return true;
}

static bool set_expression(struct run *r, struct gt_bytes *b, enum gt_cfi_how how)
{
	uint64_t number = gt_get_varint(b);
	struct place place;

	if (!get_expression(b, &place, how))
		return false;
	if (number < GT_CFI_REGISTERS)
		r->now.registers[number] = place;
	return true;
}

static bool set_cfa(struct run *r, uint64_t number, int64_t offset)
{
	if (number >= GT_CFI_REGISTERS)
		return false;
	r->now.cfa = (struct place){ .how = GT_CFI_REGISTER, .value = (int64_t)number };
	r->now.cfa_offset = offset;
	return true;
}

static bool set_cfa_offset(struct run *r, int64_t offset)
{
	r->now.cfa_offset = offset;
	return r->now.cfa.how == GT_CFI_REGISTER;
}

static bool restore(struct run *r, uint64_t number)
{
	if (r->is_initial)
		return false;
	if (number < GT_CFI_REGISTERS)
		r->now.registers[number] = r->initial.registers[number];
	return true;
}

static bool remember(struct run *r)
{
	if (r->depth == REMEMBERED_MAX)
		return false;
	r->remembered[r->depth++] = r->now;
	return true;
}

static bool recall(struct run *r)
{
	if (!r->depth)
		return false;
	r->now = r->remembered[--r->depth];
	return true;
}

static bool advance(struct run *r, uint64_t delta)
{
	uint64_t bytes;

	if (r->is_initial || __builtin_mul_overflow(delta, r->code->code_factor, &bytes))
		return false;
	if (r->each && bytes)
		tell(r);
	return !__builtin_add_overflow(r->location, bytes, &r->location);
}

/* Instructions that define the CFA. */
static bool define_cfa(struct run *r, struct gt_bytes *b, uint8_t code)
{
	int64_t offset;
	uint64_t number;

	switch (code) {
	case DW_CFA_def_cfa: number = gt_get_varint(b); return set_cfa(r, number, get_offset(b));
	case DW_CFA_def_cfa_sf:
		number = gt_get_varint(b);
		return !__builtin_mul_overflow(gt_get_signed(b), r->code->data_factor, &offset) &&
		       set_cfa(r, number, offset);
	case DW_CFA_def_cfa_register:
		return r->now.cfa.how == GT_CFI_REGISTER &&
		       set_cfa(r, gt_get_varint(b), r->now.cfa_offset);
	case DW_CFA_def_cfa_offset: return set_cfa_offset(r, get_offset(b));
	case DW_CFA_def_cfa_offset_sf:
		return !__builtin_mul_overflow(gt_get_signed(b), r->code->data_factor, &offset) &&
		       set_cfa_offset(r, offset);
	case DW_CFA_def_cfa_expression: return get_expression(b, &r->now.cfa, GT_CFI_EXPRESSION);
	default: return false;
	}
}

/* Instructions that define where a register is. */
static bool define_register(struct run *r, struct gt_bytes *b, uint8_t code)
{
	uint64_t number = gt_get_varint(b), other;

	switch (code) {
	case DW_CFA_offset_extended: return set_offset(r, number, GT_CFI_AT_CFA, get_offset(b));
	case DW_CFA_offset_extended_sf:
		return set_offset(r, number, GT_CFI_AT_CFA, gt_get_signed(b));
	case DW_CFA_GNU_negative_offset_extended:
		return set_offset(r, number, GT_CFI_AT_CFA, -get_offset(b));
	case DW_CFA_val_offset: return set_offset(r, number, GT_CFI_CFA_PLUS, get_offset(b));
	case DW_CFA_val_offset_sf: return set_offset(r, number, GT_CFI_CFA_PLUS, gt_get_signed(b));
	case DW_CFA_restore_extended: return restore(r, number);
	case DW_CFA_undefined: set(r, number, GT_CFI_UNDEFINED, 0); return true;
	case DW_CFA_same_value: set(r, number, GT_CFI_SAME, 0); return true;
	case DW_CFA_register:
		other = gt_get_varint(b);
		set(r, number, other < GT_CFI_REGISTERS ? GT_CFI_REGISTER : GT_CFI_UNDEFINED,
		    other < GT_CFI_REGISTERS ? (int64_t)other : 0);
		return true;
	default: return false;
	}
}

static bool execute(struct run *r, struct gt_bytes *b)
{
	uint8_t byte = *b->at++, low = byte & 0x3f;

	switch (byte & 0xc0) {
	case DW_CFA_advance_loc: return advance(r, low);
	case DW_CFA_offset: return set_offset(r, low, GT_CFI_AT_CFA, get_offset(b));
	case DW_CFA_restore: return restore(r, low);
	default: break;
	}
	switch (byte) {
	case NEGATE_RA_STATE_WITH_PC:
	case NEGATE_RA_STATE: return GT_RECORD_IS_LOW; /* gt_code_address sees to it */
	case DW_CFA_nop: return true;
	case DW_CFA_GNU_args_size: gt_get_varint(b); return true;
	case DW_CFA_advance_loc1: return advance(r, gt_get_fixed(b, 1));
	case DW_CFA_advance_loc2: return advance(r, gt_get_fixed(b, 2));
	case DW_CFA_advance_loc4: return advance(r, gt_get_fixed(b, 4));
	case DW_CFA_remember_state: return remember(r);
	case DW_CFA_restore_state: return recall(r);
	case DW_CFA_expression: return set_expression(r, b, GT_CFI_AT_EXPRESSION);
	case DW_CFA_val_expression: return set_expression(r, b, GT_CFI_EXPRESSION);
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression: return define_cfa(r, b, byte);
	default: return define_register(r, b, byte);
	}
}

static bool execute_all(struct run *r, struct gt_bytes b)
{
	while (b.at < b.end) {
		if (!execute(r, &b) || b.bad)
			return false;
		if (r->location > r->address)
			break;
	}
	return true;
}

/* Registers that no instruction mentions: what the ABI guarantees. */
static void begin(struct state *s)
{
	static const uint8_t kept[] = GT_SAVED;

	for (size_t i = 0; i < sizeof kept; i++)
		if (kept[i] != GT_CFI_RETURN || GT_RECORD_IS_LOW)
			s->registers[kept[i]].how = GT_CFI_SAME;
	s->registers[GT_CFI_RSP].how = GT_CFI_CFA_PLUS;
}

static size_t expression_size(const struct place *p)
{
	bool has = p->how == GT_CFI_AT_EXPRESSION || p->how == GT_CFI_EXPRESSION;

	return has ? gt_bytes_left(&p->expression) + 1 : 0;
}

/* False when a value does not fit. */
static bool keep(struct gt_cfi_rule *rule, const struct place *p, uint8_t *how, int32_t *value,
		 size_t *used)
{
	size_t size = expression_size(p);

	*how = (uint8_t)p->how;
	*value = size ? (int32_t)*used : (int32_t)p->value;
	if (size) {
		rule->expressions[*used] = (uint8_t)(size - 1);
		memcpy(rule->expressions + *used + 1, p->expression.at, size - 1);
		*used += size;
	}
	return size || *value == p->value;
}

static bool keep_all(struct gt_cfi_rule *rule, const struct state *s)
{
	size_t room = expression_size(&s->cfa), used = 0;
	bool fits;

	for (int i = 0; i < GT_CFI_REGISTERS; i++)
		room += expression_size(&s->registers[i]);
	rule->expressions = room ? gt_alloc(room) : NULL;
	rule->cfa_offset = (int32_t)s->cfa_offset;
	fits = rule->cfa_offset == s->cfa_offset &&
	       keep(rule, &s->cfa, &rule->cfa_how, &rule->cfa, &used);
	for (int i = 0; fits && i < GT_CFI_REGISTERS; i++)
		fits = keep(rule, &s->registers[i], &rule->how[i], &rule->value[i], &used);
	return fits;
}

static bool rule_of(struct gt_cfi_rule *rule, const struct run *r)
{
	rule->is_signal = r->code->is_signal;
	if (r->now.cfa.how == GT_CFI_UNDEFINED)
		return false;
	if (keep_all(rule, &r->now))
		return true;
	gt_cfi_rule_fini(rule);
	return false;
}

static void tell(const struct run *r)
{
	struct gt_cfi_rule rule = { 0 };
	bool has = rule_of(&rule, r);

	r->each(r->context, r->location, has ? &rule : NULL);
	if (has)
		gt_cfi_rule_fini(&rule);
}

static bool execute_both(struct run *r)
{
	begin(&r->now);
	if (!execute_all(r, r->code->initial))
		return false;
	r->initial = r->now;
	r->is_initial = false;
	return execute_all(r, r->code->own);
}

bool gt_cfi_rule_init(struct gt_cfi_rule *rule, const struct gt_cfi_code *code, uint64_t address)
{
	struct run r = {
		.code = code, .is_initial = true, .location = code->start, .address = address
	};

	*rule = (struct gt_cfi_rule){ 0 };
	return execute_both(&r) && rule_of(rule, &r);
}

void gt_cfi_rule_each(const struct gt_cfi_code *code, gt_cfi_row_fn *each, void *context)
{
	struct run r = { .code = code,
			 .is_initial = true,
			 .location = code->start,
			 .address = UINT64_MAX,
			 .each = each,
			 .context = context };

	if (execute_both(&r))
		tell(&r);
	else
		each(context, r.location, NULL);
}

void gt_cfi_rule_fini(struct gt_cfi_rule *rule)
{
	free(rule->expressions);
	rule->expressions = NULL;
}

struct gt_bytes gt_cfi_rule_expression(const struct gt_cfi_rule *rule, int32_t at)
{
	const uint8_t *bytes = rule->expressions + at;

	return (struct gt_bytes){ .at = bytes + 1, .end = bytes + 1 + *bytes };
}
