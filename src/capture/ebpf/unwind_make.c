/* SPDX-License-Identifier: MIT */
/* unwind_make.c - makes the rows of the BPF programs' unwinding from call frame information. */
#include "capture/ebpf/unwind_make.h"

#include <dwarf.h>
#include <string.h>

enum { RBP = GT_FRAME, RSP = GT_CFI_RSP, RETURN = GT_CFI_RETURN };

/* An expression that begins with a register and an offset: its number, or -1. */
static int get_base(struct gt_bytes *b, int64_t *offset)
{
	uint8_t code = b->at < b->end ? *b->at++ : 0;

	if (code < DW_OP_breg0 || code > DW_OP_breg31)
		return -1;
	*offset = gt_get_signed(b);
	return b->bad ? -1 : code - DW_OP_breg0;
}

/* True for "what lies at register + offset, + add". */
static bool is_dereference(struct gt_bytes b, int *base, int64_t *offset, int64_t *add)
{
	*base = get_base(&b, offset);
	*add = 0;
	if (*base < 0 || b.at == b.end || *b.at++ != DW_OP_deref)
		return false;
	if (b.at < b.end && *b.at == DW_OP_plus_uconst) {
		b.at++;
		*add = (int64_t)gt_get_varint(&b);
	}
	return !b.bad && b.at == b.end && *add >= 0 && *add <= INT16_MAX;
}

/* Linkers' rule for a PLT: rsp + offset + (((rip & 15) >= add) << 3). */
static bool is_plt(struct gt_bytes b, int64_t *offset, int64_t *add)
{
	static const uint8_t rest[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	int64_t zero;

	if (get_base(&b, offset) != RSP || get_base(&b, &zero) != RETURN || zero)
		return false;
	if (gt_bytes_left(&b) != 3 + sizeof rest || b.at[0] != DW_OP_lit15 || b.at[1] != DW_OP_and)
		return false;
	*add = b.at[2] - DW_OP_lit0;
	return *add >= 0 && *add < 16 && !memcmp(b.at + 3, rest, sizeof rest);
}

/* True when a register is saved at `offset` from the CFA's register. */
static bool is_saved_at(const struct gt_cfi_rule *rule, int number, int base, int64_t offset)
{
	struct gt_bytes b;
	int64_t at;

	if (rule->how[number] != GT_CFI_AT_EXPRESSION)
		return false;
	b = gt_cfi_rule_expression(rule, rule->value[number]);
	return get_base(&b, &at) == base && at == offset && b.at == b.end;
}

static bool is_signal_frame(const struct gt_cfi_rule *rule)
{
	int64_t offset, add;
	int base;

	/* the kernel's tables lead to the caller of what was interrupted */
	if (GT_SIGNAL_REGISTERS)
		return rule->is_signal;
	return rule->is_signal && rule->cfa_how == GT_CFI_EXPRESSION &&
	       is_dereference(gt_cfi_rule_expression(rule, rule->cfa), &base, &offset, &add) &&
	       base == RSP && offset == GT_SIGNAL_SP && !add &&
	       is_saved_at(rule, RETURN, RSP, GT_SIGNAL_PC) &&
	       is_saved_at(rule, RBP, RSP, GT_SIGNAL_FP);
}

static bool set_cfa(struct gt_rule *out, const struct gt_cfi_rule *rule)
{
	int64_t offset = rule->cfa_offset, add = 0;
	int base = rule->cfa;
	struct gt_bytes b;

	if (rule->cfa_how == GT_CFI_REGISTER) {
		out->how = base == RSP ? GT_RULE_SP : GT_RULE_FP;
	} else {
		b = gt_cfi_rule_expression(rule, rule->cfa);
		if (is_plt(b, &offset, &add)) {
			base = RSP;
			out->how = GT_RULE_PLT;
		} else if (is_dereference(b, &base, &offset, &add)) {
			out->how = base == RSP ? GT_RULE_AT_SP : GT_RULE_AT_FP;
		} else {
			return false;
		}
	}
	out->offset = (int32_t)offset;
	out->add = (int16_t)add;
	return (base == RSP || base == RBP) && out->offset == offset;
}

static bool set_rbp(struct gt_rule *out, const struct gt_cfi_rule *rule)
{
	struct gt_bytes b;
	int64_t offset;

	switch ((enum gt_cfi_how)rule->how[RBP]) {
	case GT_CFI_SAME: out->fp_how = GT_FP_SAME; return true;
	case GT_CFI_UNDEFINED: out->fp_how = GT_FP_UNKNOWN; return true;
	case GT_CFI_AT_CFA:
		out->fp_how = GT_FP_AT_CFA;
		out->fp = rule->value[RBP];
		return true;
	case GT_CFI_AT_EXPRESSION:
		b = gt_cfi_rule_expression(rule, rule->value[RBP]);
		if (get_base(&b, &offset) != RBP || b.at != b.end)
			return false;
		out->fp_how = GT_FP_AT_FP;
		out->fp = (int32_t)offset;
		return out->fp == offset;
	default: return false;
	}
}

/* The return address lies where the call pushed it. */
static bool set_pushed(struct gt_rule *out, const struct gt_cfi_rule *rule)
{
	return rule->how[RETURN] == GT_CFI_AT_CFA && rule->value[RETURN] == -8 &&
	       set_rbp(out, rule);
}

/* It is in its register, or saved; a saved frame pointer lies before it, as compilers put them. */
static bool set_linked(struct gt_rule *out, const struct gt_cfi_rule *rule)
{
	if (rule->how[RETURN] == GT_CFI_SAME) {
		out->fp_how = GT_FP_LEAF;
		return rule->how[RBP] == GT_CFI_SAME;
	}
	if (rule->how[RETURN] != GT_CFI_AT_CFA ||
	    __builtin_sub_overflow(rule->value[RETURN], 8, &out->fp))
		return false;
	switch ((enum gt_cfi_how)rule->how[RBP]) {
	case GT_CFI_SAME: out->fp_how = GT_FP_SAME; return true;
	case GT_CFI_UNDEFINED: out->fp_how = GT_FP_UNKNOWN; return true;
	case GT_CFI_AT_CFA: out->fp_how = GT_FP_AT_CFA; return rule->value[RBP] == out->fp;
	default: return false;
	}
}

struct gt_rule gt_rule_of(const struct gt_cfi_rule *rule)
{
	struct gt_rule out = { .how = GT_RULE_NONE };

	if (!rule)
		return out;
	if (rule->how[RETURN] == GT_CFI_UNDEFINED)
		return (struct gt_rule){ .how = GT_RULE_END };
	if (is_signal_frame(rule))
		return (struct gt_rule){ .how = GT_RULE_SIGNAL };
	/* a frame whose size is that of vectors: it has a frame pointer */
	if (GT_RECORD_IS_LOW && !rule->is_signal && rule->cfa_how == GT_CFI_EXPRESSION)
		return out;
	if (!rule->is_signal && rule->how[RSP] == GT_CFI_CFA_PLUS && !rule->value[RSP] &&
	    set_cfa(&out, rule) &&
	    (GT_RECORD_IS_LOW ? set_linked(&out, rule) : set_pushed(&out, rule)))
		return out;
	return (struct gt_rule){ .how = GT_RULE_COPY };
}

struct making {
	struct gt_row *rows;
	size_t count;
	uint64_t from;
	uint64_t last; /* address of the last rule */
	gt_rule_number_fn *number;
	void *context;
};

static void add(void *context, uint64_t address, const struct gt_cfi_rule *rule)
{
	struct making *m = context;
	struct gt_row *last = &m->rows[m->count - 1];
	struct gt_rule known;
	uint64_t at = address < m->from ? 0 : address - m->from;
	uint16_t number;

	/* of functions that overlap, which no compiler makes, the first counts */
	if (at >= GT_SHARD_BYTES || address < m->last)
		return;
	m->last = address;
	known = gt_rule_of(rule);
	number = m->number(m->context, &known);
	if (last->rule == number)
		return;
	if (last->at != at) {
		last++;
		m->count++;
	}
	*last = (struct gt_row){ .at = (uint16_t)at, .rule = number };
}

size_t gt_rows_make(struct gt_cfi_table *t, uint64_t from, struct gt_row *rows,
		    gt_rule_number_fn *number, void *context)
{
	struct gt_rule none = { .how = GT_RULE_NONE };
	struct making m = {
		.rows = rows, .count = 1, .from = from, .number = number, .context = context
	};

	rows[0] = (struct gt_row){ .rule = number(context, &none) };
	if (t)
		gt_cfi_table_rows(t, from, from + GT_SHARD_BYTES, add, &m);
	return m.count;
}
