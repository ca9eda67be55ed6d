/* SPDX-License-Identifier: MIT */
/* walk.c - from a frame of this process to its caller's, by the rules of its code. */
#include "guest/walk.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/dwarf_expression.h"
#include "base/return_probe.h"

enum {
	PAGE = 4096,
	MAIN_STACK_MAX = 64 << 20, /* the kernel keeps 128 MB below the first thread's stack free */
	RULES = 4096,
	NEAR_BYTES = 8 << 15, /* what a frame's rules save lies at most this far from its CFA */
};

/* The highest address that the first thread's frames use. */
extern void *__libc_stack_end __attribute__((weak));

static const uint8_t saved_registers[] = GT_SAVED;
_Static_assert(sizeof saved_registers == GT_SAVED_COUNT, "base/machine.h");

/*
 * Rules of the usual form, in a few words: the CFA is a register and an offset, and the return
 * address and the registers that calls preserve lie at multiples of 8 bytes below it; registers may
 * also be unchanged.
 */
struct usual {
	int32_t cfa_offset;
	uint32_t generation;
	uint8_t cfa, has_caller;
	uint16_t is_saved;             /* a bit for each of `saved` that is not 0 */
	int16_t saved[GT_SAVED_COUNT]; /* in words from the CFA; 0: unchanged */
};

/*
 * Shared by all threads without a lock: the first word is the address, mixed with the others, and a
 * row that is half another's has the wrong one.
 */
enum { WORDS = (sizeof(struct usual) + 7) / 8 };
struct row {
	_Atomic uint64_t check, words[WORDS];
};
static struct row rows[RULES];
_Static_assert(GT_SAVED_COUNT <= 16 && GT_REGISTERS <= 256, "struct usual has room for them");
static _Atomic uint32_t generation = 1;

static bool is_usual(const struct gt_frame_rule *rule, struct usual *usual)
{
	*usual = (struct usual){ .cfa_offset = rule->cfa_offset,
				 .cfa = (uint8_t)rule->cfa,
				 .generation =
					 atomic_load_explicit(&generation, memory_order_relaxed) };
	if (rule->how[GT_RETURN] == GT_UNDEFINED)
		return true;
	usual->has_caller = true;
	if (rule->cfa_how != GT_IN_REGISTER || rule->is_signal || rule->how[GT_STACK] != GT_SAME ||
	    rule->how[GT_RETURN] != GT_AT_CFA)
		return false;
	for (int i = 0; i < GT_SAVED_COUNT; i++) {
		int number = saved_registers[i];

		if (rule->how[number] == GT_SAME || rule->how[number] == GT_UNDEFINED)
			continue;
		usual->saved[i] = (int16_t)(rule->value[number] / 8);
		if (rule->how[number] != GT_AT_CFA || usual->saved[i] * 8 != rule->value[number])
			return false;
		usual->is_saved |= (uint16_t)(!!usual->saved[i] << i);
	}
	return true;
}

/* Depends on every bit of every word; products that do not wait for each other. */
static uint64_t sum_of(const uint64_t words[WORDS])
{
	static const uint64_t factors[] = { 0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u,
					    0x94d049bb133111ebu, 0xd6e8feb86659fd93u,
					    0xff51afd7ed558ccdu };
	uint64_t sum = 0;

	_Static_assert(WORDS <= sizeof factors / sizeof *factors, "a factor for each");
	for (int i = 0; i < WORDS; i++)
		sum += words[i] * factors[i];
	return sum;
}

static struct row *row_of(uint64_t pc)
{
	return &rows[gt_mix64(pc) % RULES];
}

static bool find_row(struct usual *usual, uint64_t pc)
{
	struct row *row = row_of(pc);
	uint64_t words[WORDS] = { 0 };

	for (int i = 0; i < WORDS; i++)
		words[i] = atomic_load_explicit(&row->words[i], memory_order_relaxed);
	memcpy(usual, words, sizeof *usual);
	return (atomic_load_explicit(&row->check, memory_order_relaxed) ^ sum_of(words)) == pc &&
	       usual->generation == atomic_load_explicit(&generation, memory_order_relaxed);
}

static void keep_row(const struct usual *usual, uint64_t pc)
{
	struct row *row = row_of(pc);
	uint64_t words[WORDS] = { 0 };

	memcpy(words, usual, sizeof *usual);
	for (int i = 0; i < WORDS; i++)
		atomic_store_explicit(&row->words[i], words[i], memory_order_relaxed);
	atomic_store_explicit(&row->check, pc ^ sum_of(words), memory_order_relaxed);
}

void gt_walk_flush(void)
{
	atomic_fetch_add(&generation, 1);
}

void gt_walk_warm(void)
{
	for (size_t i = 0; i < RULES; i += PAGE / sizeof *rows)
		atomic_fetch_or_explicit(&rows[i].check, 0, memory_order_relaxed);
}

void gt_walk_init(struct gt_walk *w, struct gt_frame_work *work)
{
	memset(w, 0, sizeof *w);
	w->work = work;
}

/* From the innermost frame to the end of the stack, or of the page if that end is not known. */
static void find_known(struct gt_walk *w)
{
	uint64_t sp = w->registers[GT_STACK], top = 0;

	if (&__libc_stack_end)
		top = (uint64_t)(uintptr_t)__libc_stack_end;
	w->known_low = sp;
	w->known_high = sp < top && top - sp < MAIN_STACK_MAX ? top : (sp | (PAGE - 1)) + 1;
}

/* The sanitizers would take a frame's own words for out of bounds. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static uint64_t word_at(uint64_t at)
{
	return *(const volatile uint64_t *)(uintptr_t)at;
}

static bool load(const struct gt_walk *w, uint64_t at, uint64_t *word)
{
	struct iovec here = { word, sizeof *word }, there = { (void *)(uintptr_t)at, sizeof *word };

	if (at % sizeof *word || at < PAGE || at >= GT_USER_END)
		return false;
	if (!w->is_guessed || (at >= w->known_low && at <= w->known_high - sizeof *word)) {
		*word = word_at(at);
		return true;
	}
	return syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0) == sizeof *word;
}

static bool load_word(const void *walk, uint64_t at, uint64_t *word)
{
	return load(walk, at, word);
}

/* The expression of a rule at `at`, its length first; `cfa`: NULL for that of the CFA itself. */
static __attribute__((noinline)) bool evaluate(const struct gt_walk *w, const uint8_t *at,
					       const uint64_t *cfa, uint64_t *out)
{
	const struct gt_dwarf_machine machine = {
		.registers = w->registers, .load = load_word, .memory = w, .cfa = cfa
	};
	struct gt_bytes b = { .at = at, .end = at + GT_VARINT_MAX };
	uint64_t size = gt_get_varint(&b);

	b.end = b.at + size;
	return !b.bad && gt_dwarf_evaluate(&machine, b, out);
}

static bool find_register(const struct gt_walk *w, const struct gt_frame_rule *rule, int number,
			  uint64_t cfa, uint64_t *out)
{
	uint64_t near_cfa = cfa + (uint64_t)(int64_t)rule->value[number];

	switch ((enum gt_frame_how)rule->how[number]) {
	case GT_UNDEFINED: *out = 0; return true;
	case GT_SAME: *out = number == GT_STACK ? cfa : w->registers[number]; return true;
	case GT_IN_REGISTER: *out = w->registers[rule->value[number]]; return true;
	case GT_CFA_PLUS: *out = near_cfa; return true;
	case GT_AT_CFA: return load(w, near_cfa, out);
	case GT_AT_EXPRESSION:
		return evaluate(w, rule->base + rule->value[number], &cfa, out) &&
		       load(w, *out, out);
	case GT_EXPRESSION: return evaluate(w, rule->base + rule->value[number], &cfa, out);
	}
	return false;
}

/* Where a register was saved; NULL: not at a fixed place. */
static const uint64_t *address_of(const struct gt_frame_rule *rule, int number, uint64_t cfa)
{
	return rule->how[number] == GT_AT_CFA ?
		       (const uint64_t *)(uintptr_t)(cfa + (uint64_t)(int64_t)rule->value[number]) :
		       NULL;
}

/* A rule of any form. */
static __attribute__((noinline)) bool step_by_rule(struct gt_walk *w,
						   const struct gt_frame_rule *rule)
{
	uint64_t next[GT_REGISTERS], cfa;

	if (rule->cfa_how == GT_IN_REGISTER)
		cfa = w->registers[rule->cfa] + (uint64_t)(int64_t)rule->cfa_offset;
	else if (!evaluate(w, rule->base + rule->cfa, NULL, &cfa))
		return false;
	for (int i = 0; i < GT_REGISTERS; i++)
		if (!find_register(w, rule, i, cfa, &next[i]))
			return false;
	if (rule->how[GT_FRAME] != GT_SAME)
		w->frame_at = address_of(rule, GT_FRAME, cfa);
	w->return_at = address_of(rule, GT_RETURN, cfa);
	next[GT_RETURN] = gt_code_address(next[GT_RETURN]);
	memcpy(w->registers, next, sizeof next);
	w->is_interrupted = rule->is_signal;
	return true;
}

/* Registers that may be wrong, or a CFA at an odd place: each word is checked before it is read. */
static __attribute__((noinline)) bool load_saved(struct gt_walk *w, const struct usual *usual,
						 uint64_t cfa)
{
	uint64_t next[GT_SAVED_COUNT];

	for (int i = 0; i < GT_SAVED_COUNT; i++) {
		uint64_t at = cfa + (uint64_t)((int64_t)usual->saved[i] * 8);

		next[i] = w->registers[saved_registers[i]];
		if (!usual->saved[i])
			continue;
		if (!load(w, at, &next[i]))
			return false;
		if (i == 0)
			w->frame_at = (const uint64_t *)(uintptr_t)at;
		else if (i == 1)
			w->return_at = (const uint64_t *)(uintptr_t)at;
	}
	for (int i = 0; i < GT_SAVED_COUNT; i++)
		w->registers[saved_registers[i]] = next[i];
	return true;
}

static bool step_as_usual(struct gt_walk *w, const struct usual *usual)
{
	uint64_t cfa = w->registers[usual->cfa] + (uint64_t)(int64_t)usual->cfa_offset;
	const uint64_t *at = (const uint64_t *)(uintptr_t)cfa;

	if (w->is_guessed || cfa % sizeof *at || cfa < PAGE + NEAR_BYTES ||
	    cfa >= GT_USER_END - NEAR_BYTES) {
		if (!load_saved(w, usual, cfa))
			return false;
	} else {
		for (unsigned left = usual->is_saved; left; left &= left - 1) {
			int i = __builtin_ctz(left);

			w->registers[saved_registers[i]] =
				word_at((uint64_t)(uintptr_t)(at + usual->saved[i]));
		}
		if (usual->saved[0])
			w->frame_at = at + usual->saved[0];
		if (usual->saved[1])
			w->return_at = at + usual->saved[1];
	}
	w->registers[GT_RETURN] = gt_code_address(w->registers[GT_RETURN]);
	w->registers[GT_STACK] = cfa;
	w->is_interrupted = false;
	return true;
}

/* Code that may not be there. */
static bool read_code(uint8_t *code, size_t size, uint64_t at)
{
	struct iovec here = { code, size }, there = { (void *)(uintptr_t)at, size };

	return syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* True when a call instruction ends at `address`. */
__attribute__((noinline)) static bool is_after_call(uint64_t address)
{
	uint8_t code[GT_CALL_BYTES];

	return read_code(code, sizeof code, address - sizeof code) && gt_is_call(code);
}

/*
 * From the handler of a signal to what it interrupted, where the kernel's unwind tables, if it has
 * any, do not lead there. A stack goes on behind it by rules again.
 */
static __attribute__((noinline)) bool step_from_signal(struct gt_walk *w)
{
	uint64_t at = w->registers[GT_STACK] + GT_SIGNAL_REGISTERS, next[GT_REGISTERS + 1];
	uint8_t code[GT_SIGNAL_BYTES];

	if (w->is_guessed || !read_code(code, sizeof code, w->registers[GT_RETURN]) ||
	    !gt_is_signal_return(code))
		return false;
	for (int i = 0; i <= GT_REGISTERS; i++)
		if (!load(w, at + (uint64_t)i * sizeof *next, &next[i]))
			return false;
	w->link = gt_code_address(next[GT_RETURN]);
	memcpy(w->registers, next, sizeof w->registers);
	w->registers[GT_RETURN] = next[GT_REGISTERS];
	w->frame_at = (const uint64_t *)(uintptr_t)at + GT_FRAME;
	w->return_at = NULL;
	w->is_interrupted = true;
	return true;
}

/*
 * Go calls C on the thread's own stack, from a stack that lies anywhere: its frame pointer then
 * points to that. Believed if the caller is in the same program and has made a call there; from
 * there on, the page of the other stack is the one that is known to be there.
 */
static bool is_other_stack(struct gt_walk *w, uint64_t bp, uint64_t address)
{
	/* not to frames further in: that would never end */
	if (bp >= w->known_low || !gt_frames_share_module(w->registers[GT_RETURN], address) ||
	    !is_after_call(address))
		return false;
	w->known_low = bp & ~(uint64_t)(PAGE - 1);
	w->known_high = w->known_low + PAGE;
	return true;
}

/* Code without rules: its frame pointer is believed, as far as it points up the stack. */
static bool step_by_frame_pointer(struct gt_walk *w)
{
	uint64_t bp = w->registers[GT_FRAME], caller_bp, address;

	w->is_guessed = true;
	if (!load(w, bp, &caller_bp) || !load(w, bp + 8, &address))
		return false;
	address = gt_code_address(address);
	if (bp < w->registers[GT_STACK] && !is_other_stack(w, bp, address))
		return false;
	/* whose frame comes next is not known, and so neither whether it has a frame pointer */
	if (gt_is_return_probe(w->registers[GT_RETURN]) && !is_after_call(address))
		return false;
	w->registers[GT_STACK] = bp + 16;
	w->registers[GT_FRAME] = caller_bp;
	w->registers[GT_RETURN] = address;
	w->frame_at = (const uint64_t *)(uintptr_t)bp;
	w->return_at = w->frame_at + 1;
	w->is_interrupted = false;
	return true;
}

/* A rule that was just found. */
static bool step_by_found(struct gt_walk *w, const struct gt_frame_rule *rule)
{
	if (GT_SIGNAL_REGISTERS && rule->is_signal)
		return step_from_signal(w);
	if (rule->how[GT_RETURN] == GT_SAME) {
		/* it was not saved: known of the innermost frame, and where a signal arrived */
		if (!GT_SIGNAL_REGISTERS || !w->is_interrupted)
			return false;
		w->registers[GT_RETURN] = w->link;
	}
	/* of a frame whose size is that of vectors, the rule is too much; it has a record */
	return step_by_rule(w, rule) || (GT_RECORD_IS_LOW && rule->cfa_how != GT_IN_REGISTER &&
					 !w->is_interrupted && step_by_frame_pointer(w));
}

bool gt_walk_step(struct gt_walk *w)
{
	/* a return address may be past the end of its function: look up the call before it */
	uint64_t pc = w->registers[GT_RETURN] - !w->is_interrupted, sp = w->registers[GT_STACK];
	const struct gt_frame_rule *rule = &w->work->rule;
	bool was_interrupted = w->is_interrupted, stepped;
	struct usual usual;

	if (!w->known_high)
		find_known(w);
	if (GT_RECORD_IS_LOW && w->is_guessed) {
		stepped = step_by_frame_pointer(w); /* where the stack pointer was is not known */
	} else if (find_row(&usual, pc)) {
		w->is_outermost = !usual.has_caller;
		stepped = usual.has_caller && step_as_usual(w, &usual);
	} else if (gt_frame_rule_find(w->work, pc)) {
		if (is_usual(rule, &usual))
			keep_row(&usual, pc);
		w->is_outermost = rule->how[GT_RETURN] == GT_UNDEFINED;
		stepped = !w->is_outermost && step_by_found(w, rule);
	} else {
		stepped = (GT_SIGNAL_REGISTERS && step_from_signal(w)) || step_by_frame_pointer(w);
	}
	w->is_outermost |= stepped && !w->registers[GT_RETURN];
	/* what a signal interrupted may have had nothing on the stack */
	return stepped && w->registers[GT_RETURN] &&
	       (w->registers[GT_STACK] != sp || (GT_SIGNAL_REGISTERS && was_interrupted));
}
