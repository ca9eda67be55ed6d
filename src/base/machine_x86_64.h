/* SPDX-License-Identifier: MIT */
/* machine_x86_64.h - x86-64, as base/machine.h wants it. */
#pragma once

enum { GT_FRAME = 6, GT_STACK = 7, GT_RETURN = 16, GT_REGISTERS = 17 };

#define GT_SAVED                                                                                   \
	{                                                                                          \
		GT_FRAME, GT_RETURN, 3, 12, 13, 14, 15                                             \
	}
#define GT_SAVED_COUNT      7
#define GT_RETURN_AT_ENTRY  GT_UNDEFINED
#define GT_RECORD_IS_LOW    0
#define GT_USER_END         (UINT64_C(1) << 47)
#define GT_THREAD_IS_BEFORE 0
#define GT_THREAD_SPECIFIC  1296
#define GT_LIBC_FIRST       "GLIBC_2.2.5"

#define GT_READ_REGISTERS(registers)                                                               \
	__asm__ volatile("lea 0f(%%rip), %%rax\n"                                                  \
			 "0: mov %%rax, 128(%0)\n"                                                 \
			 "mov %%rbx, 24(%0)\n"                                                     \
			 "mov %%rbp, 48(%0)\n"                                                     \
			 "mov %%rsp, 56(%0)\n"                                                     \
			 "mov %%r12, 96(%0)\n"                                                     \
			 "mov %%r13, 104(%0)\n"                                                    \
			 "mov %%r14, 112(%0)\n"                                                    \
			 "mov %%r15, 120(%0)\n"                                                    \
			 :                                                                         \
			 : "r"(registers)                                                          \
			 : "rax", "memory")

enum { GT_SIGNAL_REGISTERS = 0, GT_SIGNAL_BYTES = 1 };

static inline bool gt_is_signal_return(const uint8_t code[GT_SIGNAL_BYTES])
{
	(void)code;
	return false;
}

static inline uint64_t gt_code_address(uint64_t word)
{
	return word;
}

/* While another thread does something short. */
static inline void gt_pause(void)
{
	__builtin_ia32_pause();
}

/* Valgrind's answer to a request, 0 without it: instructions that leave all as it is. */
static inline uint64_t gt_ask_valgrind(const volatile uint64_t request[6])
{
	uint64_t answer = 0;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n"
			 "xchgq %%rbx, %%rbx"
			 : "=d"(answer)
			 : "a"(request), "0"(answer)
			 : "cc", "memory");
	return answer;
}

enum { GT_CALL_BYTES = 5 };

/* Direct, or by a register or memory. */
static inline bool gt_is_call(const uint8_t code[GT_CALL_BYTES])
{
	return code[0] == 0xe8 || (code[3] == 0xff && (code[4] & 0x38) == 0x10) ||
	       (code[2] == 0xff && (code[3] & 0x38) == 0x10);
}

#define GT_ASM_ENTRY(fn)                                                                           \
	".type gt_entry_" #fn ", @function\n"                                                      \
	".globl gt_entry_" #fn "\n"                                                                \
	"gt_entry_" #fn ":\n"                                                                      \
	"	jmp *gt_slot_" #fn "(%rip)\n"                                                      \
	".size gt_entry_" #fn ", . - gt_entry_" #fn "\n"                                           \
	".hidden gt_first_" #fn "\n"                                                               \
	".globl gt_first_" #fn "\n"                                                                \
	"gt_first_" #fn ":\n"                                                                      \
	"	lea gt_slot_" #fn "(%rip), %r11\n"                                                 \
	"	jmp gt_preload_first\n"

#define GT_ASM_FIRST                                                                               \
	".type gt_preload_first, @function\n"                                                      \
	"gt_preload_first:\n"                                                                      \
	".cfi_startproc\n"                                                                         \
	"	push %rdi\n"                                                                             \
	"	push %rsi\n"                                                                             \
	"	push %rdx\n"                                                                             \
	"	push %rcx\n"                                                                             \
	"	push %r8\n"                                                                              \
	"	push %r9\n"                                                                              \
	"	push %r11\n"                                                                             \
	".cfi_adjust_cfa_offset 56\n"                                                              \
	"	call gt_preload_fill\n"                                                                  \
	"	pop %r11\n"                                                                              \
	"	pop %r9\n"                                                                               \
	"	pop %r8\n"                                                                               \
	"	pop %rcx\n"                                                                              \
	"	pop %rdx\n"                                                                              \
	"	pop %rsi\n"                                                                              \
	"	pop %rdi\n"                                                                              \
	".cfi_adjust_cfa_offset -56\n"                                                             \
	"	jmp *(%r11)\n"                                                                           \
	".cfi_endproc\n"                                                                           \
	".size gt_preload_first, . - gt_preload_first\n"

#define GT_ASM_DLSYM                                                                               \
	".globl gt_dlsym_old, gt_dlsym\n"                                                          \
	".type gt_dlsym_old, @function\n"                                                          \
	".type gt_dlsym, @function\n"                                                              \
	"gt_dlsym_old:\n"                                                                          \
	"gt_dlsym:\n"                                                                              \
	".cfi_startproc\n"                                                                         \
	"	push %rdi\n"                                                                             \
	"	push %rsi\n"                                                                             \
	"	sub $8, %rsp\n"                                                                          \
	".cfi_adjust_cfa_offset 24\n"                                                              \
	"	mov 24(%rsp), %rdx\n"                                                                    \
	"	call gt_preload_dlsym\n"                                                                 \
	"	add $8, %rsp\n"                                                                          \
	"	pop %rsi\n"                                                                              \
	"	pop %rdi\n"                                                                              \
	".cfi_adjust_cfa_offset -24\n"                                                             \
	"	test %rax, %rax\n"                                                                       \
	"	jnz 1f\n"                                                                                \
	"	jmp *gt_preload_real(%rip)\n"                                                            \
	"1:	ret\n"                                                                                 \
	".cfi_endproc\n"                                                                           \
	".size gt_dlsym, . - gt_dlsym\n"                                                           \
	".size gt_dlsym_old, . - gt_dlsym_old\n"

/* Two words on the stack: none of these functions has more arguments than eight. */
#define GT_ASM_AROUND(id, part)                                                                    \
	".text\n"                                                                                  \
	".type gt_around_" #id ", @function\n"                                                     \
	".globl gt_around_" #id "\n"                                                               \
	"gt_around_" #id ":\n"                                                                     \
	".cfi_startproc\n"                                                                         \
	".cfi_personality 0x1b, gt_unwound_" #part "\n"                                            \
	"	push %rbp\n"                                                                             \
	".cfi_def_cfa_offset 16\n"                                                                 \
	".cfi_offset 6, -16\n"                                                                     \
	"	mov %rsp, %rbp\n"                                                                        \
	".cfi_def_cfa_register 6\n"                                                                \
	"	push %rdi\n"                                                                             \
	"	push %rsi\n"                                                                             \
	"	push %rdx\n"                                                                             \
	"	push %rcx\n"                                                                             \
	"	push %r8\n"                                                                              \
	"	push %r9\n"                                                                              \
	"	lea gt_around_of_" #id "(%rip), %rdi\n"                                            \
	"	mov 8(%rbp), %rsi\n"                                                                     \
	"	call gt_begin_" #part "\n"                                                         \
	"	pop %r9\n"                                                                               \
	"	pop %r8\n"                                                                               \
	"	pop %rcx\n"                                                                              \
	"	pop %rdx\n"                                                                              \
	"	pop %rsi\n"                                                                              \
	"	pop %rdi\n"                                                                              \
	"	push 24(%rbp)\n"                                                                         \
	"	push 16(%rbp)\n"                                                                         \
	"	call *%rax\n"                                                                            \
	"	mov %rax, (%rsp)\n"                                                                      \
	"	mov %rdx, 8(%rsp)\n"                                                                     \
	"	call gt_end_" #part "\n"                                                           \
	"	pop %rax\n"                                                                              \
	"	pop %rdx\n"                                                                              \
	"	pop %rbp\n"                                                                              \
	".cfi_def_cfa 7, 8\n"                                                                      \
	"	ret\n"                                                                                   \
	".cfi_endproc\n"                                                                           \
	".size gt_around_" #id ", . - gt_around_" #id "\n"
