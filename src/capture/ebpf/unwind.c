/* SPDX-License-Identifier: MIT */
/* unwind.c - unwinds a copy of a stack's top by the call frame information of the code. */
#include "capture/ebpf/unwind.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/dwarf_expression.h"
#include "base/machine.h"
#include "base/mem.h"
#include "capture/ebpf/cfi.h"
#include "capture/ebpf/modules.h"

enum { RBP = GT_FRAME, RSP = GT_CFI_RSP, RETURN = GT_CFI_RETURN, REGISTERS = GT_CFI_REGISTERS };

_Static_assert((int)GT_CFI_REGISTERS == (int)GT_REGISTERS, "registers of expressions");

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
	bool is_interrupted; /* the address is no return address */
	bool is_bare;        /* the code that it is in has no rules */
	bool is_guessed;     /* the stack pointer is not known any more */
	uint64_t link;       /* where it was interrupted: the register of the return address */
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

struct gt_cfi_table *gt_unwind_cfi(struct gt_image *image)
{
	return table_of(image)->cfi;
}

void gt_unwind_forget(struct gt_image *image)
{
	gt_unwind_table_free(image->unwind);
	image->unwind = NULL;
	/* names may need it: its path may lead to another file by then */
	if (image->number <= GT_IMAGES_OPEN)
		return;
	if (image->fd >= 0)
		close(image->fd);
	image->fd = -1;
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
static bool step_by_rule(struct machine *m, const struct gt_cfi_rule *r)
{
	uint64_t next[REGISTERS];

	/* the outermost frame has an undefined return address */
	if (r->how[RETURN] == GT_CFI_UNDEFINED || !find_cfa(m, r))
		return false;
	/* one that was not saved is known only where a signal arrived */
	if (r->how[RETURN] == GT_CFI_SAME) {
		if (!m->is_interrupted)
			return false;
		m->registers[RETURN] = m->link;
	}
	for (int i = 0; i < REGISTERS; i++)
		if (i != RSP && !find_register(m, r, i, &next[i]))
			return false;
	next[RSP] = m->cfa;
	next[RETURN] = gt_code_address(next[RETURN]);
	/* stacks grow down: a caller's frame must lie above; a signal may have its own stack, and
	 * interrupt what has nothing on it */
	if (next[RSP] <= m->registers[RSP] && !r->is_signal &&
	    !(GT_SIGNAL_REGISTERS && m->is_interrupted && next[RSP] == m->registers[RSP]))
		return false;
	memcpy(m->registers, next, sizeof next);
	m->is_interrupted = r->is_signal;
	return true;
}

/* From a signal's handler to what it interrupted, where unwind tables do not lead there. */
static bool step_from_signal(struct machine *m)
{
	uint64_t at = m->registers[RSP] + GT_SIGNAL_REGISTERS, next[REGISTERS + 1];

	for (int i = 0; i <= REGISTERS; i++)
		if (!load(m, at + (uint64_t)i * sizeof *next, &next[i]))
			return false;
	m->link = gt_code_address(next[RETURN]);
	memcpy(m->registers, next, sizeof m->registers);
	m->registers[RETURN] = next[REGISTERS];
	m->is_interrupted = true;
	return true;
}

/*
 * True in the code that a signal's handler returns to, which is in no file: the frame pointer leads
 * to a copy of two of the registers that the kernel saved.
 */
static bool is_signal_return(const struct machine *m)
{
	uint64_t sp = m->registers[RSP], fp = m->registers[RBP], fields[2], saved[2];

	return GT_SIGNAL_REGISTERS && !m->is_guessed && load(m, fp, &fields[0]) &&
	       load(m, fp + 8, &fields[1]) && load(m, sp + GT_SIGNAL_FP, &saved[0]) &&
	       load(m, sp + GT_SIGNAL_LINK, &saved[1]) && fp > sp + GT_SIGNAL_PC &&
	       !memcmp(fields, saved, sizeof saved);
}

/* As in unwind.bpf.h, for an ELF address of an image. */
static bool is_after_call(const struct gt_image *image, uint64_t address, bool is_outermost)
{
	uint8_t code[8];

	for (size_t i = 0; i < image->segment_count; i++) {
		const struct gt_segment *s = &image->segments[i];
		uint64_t at = address - sizeof code - s->address;

		if (!s->is_code || at >= s->size)
			continue;
		if (pread(image->fd, code, sizeof code, (off_t)(s->offset + at)) != sizeof code)
			return false;
		if (GT_RECORD_IS_LOW)
			return gt_is_call(code + sizeof code - GT_CALL_BYTES);
		if (code[3] == 0xe8 || (is_outermost && code[7] == 0x90))
			return true;
		for (int k = 1; k < 7; k++)
			if (k != 3 && code[k] == 0xff && (code[k + 1] & 0x38) == 0x10)
				return true;
		return false;
	}
	return false;
}

/* Code without rules, as unwind.bpf.h does it: its frame pointer is believed if it leads to a call.
 */
static bool step_by_frame_pointer(struct machine *m, const struct gt_modules *modules)
{
	uint64_t bp = m->registers[RBP], caller_bp, address;
	const struct gt_mapped *at;

	if (bp < m->registers[RSP] || bp & 7 || !load(m, bp, &caller_bp) ||
	    !load(m, bp + 8, &address))
		return false;
	address = gt_code_address(address);
	at = gt_modules_find(modules, address - 1);
	if (at ? !is_after_call(at->image, address - at->bias, !caller_bp) :
		 gt_modules_ground(modules, address - 1) != GT_GROUND_CODE)
		return false;
	m->registers[RSP] = bp + 16;
	m->registers[RBP] = caller_bp;
	m->registers[RETURN] = address;
	m->is_interrupted = false;
	m->is_guessed = GT_RECORD_IS_LOW;
	return true;
}

static bool step(struct machine *m, const struct gt_modules *modules)
{
	/* a return address may be past the end of its function: look up the call before it */
	uint64_t pc = m->registers[RETURN] - !m->is_interrupted;
	const struct gt_mapped *at = gt_modules_find(modules, pc);
	const struct known *known = at ? rule_at(table_of(at->image), pc - at->bias) : NULL;
	bool stepped;

	m->is_bare = !known || !known->has_rule || m->is_guessed;
	/* a frame whose size is that of vectors has a frame pointer */
	m->is_bare |= GT_RECORD_IS_LOW && !m->is_bare && !known->rule.is_signal &&
		      known->rule.cfa_how == GT_CFI_EXPRESSION;
	if ((!m->is_bare && GT_SIGNAL_REGISTERS && known->rule.is_signal) ||
	    (!at && is_signal_return(m)))
		stepped = step_from_signal(m);
	else if (!m->is_bare)
		stepped = step_by_rule(m, &known->rule);
	else
		stepped = (at || gt_modules_ground(modules, pc) == GT_GROUND_CODE) &&
			  step_by_frame_pointer(m, modules);
	return stepped && m->registers[RETURN] != 0;
}

/* Adds the callers on another stack, if the frame pointer has led there all along. */
static size_t add_others(const struct machine *m, const struct gt_modules *modules,
			 const struct gt_probe_stack *stack, uint64_t *frames, size_t count,
			 size_t most)
{
	uint64_t bp = m->registers[RBP];
	const struct gt_mapped *at = gt_modules_find(modules, m->registers[RETURN] - 1);

	if (!m->is_bare || !at || bp != stack->registers[RBP] || bp >= m->registers[RSP])
		return count;
	for (size_t i = 0; i < stack->other_count && i < GT_PROBE_OTHERS && count < most; i++) {
		uint64_t address = stack->others[i];

		if (gt_modules_find(modules, address - 1) != at ||
		    !is_after_call(at->image, address - at->bias, i + 1 == stack->other_count))
			break;
		frames[count++] = address;
	}
	return count;
}

size_t gt_unwind_copy(const struct gt_modules *modules, const struct gt_probe_stack *stack,
		      const uint8_t *bytes, size_t size, uint64_t *frames, size_t most)
{
	struct machine m = { .base = stack->registers[RSP], .bytes = bytes, .size = size };
	size_t count = 0;

	memcpy(m.registers, stack->registers, sizeof m.registers);
	do
		frames[count++] = m.registers[RETURN];
	while (count < most && step(&m, modules));
	return add_others(&m, modules, stack, frames, count, most);
}
