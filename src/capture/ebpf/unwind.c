/* SPDX-License-Identifier: MIT */
/* unwind.c - unwinds a copy of a stack's top by the call frame information of the code. */
#include "capture/ebpf/unwind.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/dwarf_expression.h"
#include "base/mem.h"
#include "capture/ebpf/cfi.h"
#include "capture/ebpf/modules.h"

enum { RSP = GT_CFI_RSP, RETURN = GT_CFI_RETURN, REGISTERS = GT_CFI_REGISTERS };

_Static_assert((int)GT_CFI_REGISTERS == (int)GT_DWARF_REGISTERS, "registers of expressions");

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

static bool load_word(const void *machine, uint64_t address, uint64_t *word)
{
	return load(machine, address, word);
}

/* The value of an expression; `cfa`: NULL for that of the CFA itself. */
static bool evaluate(const struct machine *m, struct gt_bytes b, const uint64_t *cfa, uint64_t *out)
{
	const struct gt_dwarf_machine machine = {
		.registers = m->registers, .load = load_word, .memory = m, .cfa = cfa
	};

	return gt_dwarf_evaluate(&machine, b, out);
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
	return evaluate(m, gt_cfi_rule_expression(r, r->cfa), NULL, &m->cfa);
}

static bool find_register(const struct machine *m, const struct gt_cfi_rule *r, int number,
			  uint64_t *out)
{
	uint64_t near_cfa = m->cfa + (uint64_t)(int64_t)r->value[number];

	switch ((enum gt_cfi_how)r->how[number]) {
	case GT_CFI_UNDEFINED: *out = 0; return true;
	case GT_CFI_SAME: *out = m->registers[number]; return true;
	case GT_CFI_REGISTER: *out = m->registers[r->value[number]]; return true;
	case GT_CFI_CFA_PLUS: *out = near_cfa; return true;
	case GT_CFI_AT_CFA: return load(m, near_cfa, out);
	case GT_CFI_AT_EXPRESSION:
		return evaluate(m, gt_cfi_rule_expression(r, r->value[number]), &m->cfa, out) &&
		       load(m, *out, out);
	case GT_CFI_EXPRESSION:
		return evaluate(m, gt_cfi_rule_expression(r, r->value[number]), &m->cfa, out);
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
