/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * machine.bpf.h - what differs between processors, for the BPF programs: one part for each.
 *
 * A further processor defines all of these, and GT_PROBE_ARGUMENTS, GT_PROBE_REGISTERS and
 * GT_SIGNAL_* in calls.h:
 *
 *	struct pt_regs		the kernel's registers of a thread
 *	REGISTER_*		of these: stack and frame pointer, address, result, first arguments
 *	ARGUMENTS_OF		the registers that pass arguments, in order
 *	CALL_PUSHES		bytes that a call leaves on the stack; 0: its return address is
 *				in a register, and a frame's saved words lie at its low end
 *	return_address_of	where a function that has just begun returns to
 *	copy_registers		all, in the order of DWARF's numbers, but `address` in place
 *				of the return address's
 *	code_address		a return address without its signature
 *	thread_pointer_of	of a task
 *	ends_with_call		8 bytes of code that lie before an address
 *	ends_with_go_exit	likewise: an address that Go's outermost frames return to
 *	is_signal_return	8 bytes of code that a signal's handler returns to, if unwind tables
 *				do not say so; is_return_probe: to which a probed call returns
 *	USER_END		no process has memory from here on
 */
#pragma once

#if defined(__TARGET_ARCH_x86)

struct pt_regs {
	unsigned long r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	unsigned long orig_rax, rip, cs, eflags, rsp, ss;
};

#define REGISTER_STACK(r)    ((r)->rsp)
#define REGISTER_FRAME(r)    ((r)->rbp)
#define REGISTER_ADDRESS(r)  ((r)->rip)
#define REGISTER_RESULT(r)   ((r)->rax)
#define REGISTER_ARGUMENT(r) ((r)->rdi)
#define REGISTER_SECOND(r)   ((r)->rsi)
#define ARGUMENTS_OF(r)      (r)->rdi, (r)->rsi, (r)->rdx, (r)->rcx, (r)->r8, (r)->r9
#define USER_END             (1ull << 47)

enum { CALL_PUSHES = 8 };

static __always_inline uint64_t code_address(uint64_t address)
{
	return address;
}

static __always_inline uint64_t return_address_of(struct pt_regs *ctx)
{
	uint64_t address = 0;

	bpf_probe_read_user(&address, sizeof address, (void *)ctx->rsp);
	return address;
}

static __always_inline void copy_registers(uint64_t *r, struct pt_regs *ctx, uint64_t stack,
					   uint64_t address)
{
	r[0] = ctx->rax;
	r[1] = ctx->rdx;
	r[2] = ctx->rcx;
	r[3] = ctx->rbx;
	r[4] = ctx->rsi;
	r[5] = ctx->rdi;
	r[6] = ctx->rbp;
	r[7] = stack;
	r[8] = ctx->r8;
	r[9] = ctx->r9;
	r[10] = ctx->r10;
	r[11] = ctx->r11;
	r[12] = ctx->r12;
	r[13] = ctx->r13;
	r[14] = ctx->r14;
	r[15] = ctx->r15;
	r[16] = address;
}

/* Direct, or by a register or memory. */
static __always_inline bool ends_with_call(const uint8_t code[8])
{
	return code[3] == 0xe8 || (code[6] == 0xff && (code[7] & 0x38) == 0x10) ||
	       (code[5] == 0xff && (code[6] & 0x38) == 0x10) ||
	       (code[4] == 0xff && (code[5] & 0x38) == 0x10) ||
	       (code[2] == 0xff && (code[3] & 0x38) == 0x10) ||
	       (code[1] == 0xff && (code[2] & 0x38) == 0x10);
}

static __always_inline bool ends_with_go_exit(const uint8_t code[8])
{
	return code[7] == 0x90;
}

static __always_inline bool is_signal_return(uint64_t code)
{
	(void)code;
	return false;
}

static __always_inline bool is_return_probe(uint64_t code)
{
	(void)code;
	return false;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct thread_struct {
	unsigned long fsbase;
};
struct task_struct___thread {
	struct thread_struct thread;
};
#pragma clang attribute pop

static __always_inline uint64_t thread_pointer_of(void *task)
{
	return BPF_CORE_READ((struct task_struct___thread *)task, thread.fsbase);
}

#elif defined(__TARGET_ARCH_arm64)

/* Fewer for a test that shows the programs to the kernel of another processor, which has fewer. */
#ifndef REGISTERS
#define REGISTERS 31
#endif

struct pt_regs {
	unsigned long regs[REGISTERS], sp, pc, pstate;
};

#define REGISTER_STACK(r)    ((r)->sp)
#define REGISTER_FRAME(r)    ((r)->regs[29 % REGISTERS])
#define REGISTER_ADDRESS(r)  ((r)->pc)
#define REGISTER_RESULT(r)   ((r)->regs[0])
#define REGISTER_ARGUMENT(r) ((r)->regs[0])
#define REGISTER_SECOND(r)   ((r)->regs[1])
#define ARGUMENTS_OF(r)                                                                            \
	(r)->regs[0], (r)->regs[1], (r)->regs[2], (r)->regs[3], (r)->regs[4], (r)->regs[5],        \
		(r)->regs[6], (r)->regs[7]
#define USER_END (1ull << 52)

enum { CALL_PUSHES = 0 };

const volatile uint64_t code_bits; /* of an address of code; those above may be a signature */

static __always_inline uint64_t code_address(uint64_t address)
{
	return address & code_bits;
}

static __always_inline uint64_t return_address_of(struct pt_regs *ctx)
{
	return code_address(ctx->regs[30 % REGISTERS]);
}

static __always_inline void copy_registers(uint64_t *r, struct pt_regs *ctx, uint64_t stack,
					   uint64_t address)
{
#pragma unroll
	for (int i = 0; i < 30; i++)
		r[i] = ctx->regs[i % REGISTERS];
	r[30] = address;
	r[31] = stack;
}

/* To an address, or by a register, which may be signed. */
static __always_inline bool ends_with_call(const uint8_t code[8])
{
	uint32_t word = code[4] | code[5] << 8 | code[6] << 16 | (uint32_t)code[7] << 24;

	return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000 ||
	       (word & 0xfefff800) == 0xd63f0800;
}

/* mov x0, x0 */
static __always_inline bool ends_with_go_exit(const uint8_t code[8])
{
	return code[4] == 0xe0 && code[5] == 0x03 && code[6] == 0x00 && code[7] == 0xaa;
}

/* mov x8, #139; svc #0: the kernel's, in no file. */
static __always_inline bool is_signal_return(uint64_t code)
{
	return code == 0xd4000001d2801168;
}

/* brk #5: the kernel's breakpoint. */
static __always_inline bool is_return_probe(uint64_t code)
{
	return (uint32_t)code == 0xd42000a0;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct thread_pointers {
	unsigned long tp_value;
};
struct thread_struct {
	struct thread_pointers uw;
};
struct task_struct___thread {
	struct thread_struct thread;
};
#pragma clang attribute pop

static __always_inline uint64_t thread_pointer_of(void *task)
{
	return BPF_CORE_READ((struct task_struct___thread *)task, thread.uw.tp_value);
}

#else
#error "no part of machine.bpf.h for this processor"
#endif
