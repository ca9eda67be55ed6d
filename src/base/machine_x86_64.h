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
	"\tjmp *gt_slot_" #fn "(%rip)\n"                                                           \
	".size gt_entry_" #fn ", . - gt_entry_" #fn "\n"                                           \
	".hidden gt_first_" #fn "\n"                                                               \
	".globl gt_first_" #fn "\n"                                                                \
	"gt_first_" #fn ":\n"                                                                      \
	"\tlea gt_slot_" #fn "(%rip), %r11\n"                                                      \
	"\tjmp gt_preload_first\n"

#define GT_ASM_FIRST                                                                               \
	".type gt_preload_first, @function\n"                                                      \
	"gt_preload_first:\n"                                                                      \
	".cfi_startproc\n"                                                                         \
	"\tpush %rdi\n"                                                                            \
	"\tpush %rsi\n"                                                                            \
	"\tpush %rdx\n"                                                                            \
	"\tpush %rcx\n"                                                                            \
	"\tpush %r8\n"                                                                             \
	"\tpush %r9\n"                                                                             \
	"\tpush %r11\n"                                                                            \
	".cfi_adjust_cfa_offset 56\n"                                                              \
	"\tcall gt_preload_fill\n"                                                                 \
	"\tpop %r11\n"                                                                             \
	"\tpop %r9\n"                                                                              \
	"\tpop %r8\n"                                                                              \
	"\tpop %rcx\n"                                                                             \
	"\tpop %rdx\n"                                                                             \
	"\tpop %rsi\n"                                                                             \
	"\tpop %rdi\n"                                                                             \
	".cfi_adjust_cfa_offset -56\n"                                                             \
	"\tjmp *(%r11)\n"                                                                          \
	".cfi_endproc\n"                                                                           \
	".size gt_preload_first, . - gt_preload_first\n"

#define GT_ASM_DLSYM                                                                               \
	".globl gt_dlsym_old, gt_dlsym\n"                                                          \
	".type gt_dlsym_old, @function\n"                                                          \
	".type gt_dlsym, @function\n"                                                              \
	"gt_dlsym_old:\n"                                                                          \
	"gt_dlsym:\n"                                                                              \
	".cfi_startproc\n"                                                                         \
	"\tpush %rdi\n"                                                                            \
	"\tpush %rsi\n"                                                                            \
	"\tsub $8, %rsp\n"                                                                         \
	".cfi_adjust_cfa_offset 24\n"                                                              \
	"\tmov 24(%rsp), %rdx\n"                                                                   \
	"\tcall gt_preload_dlsym\n"                                                                \
	"\tadd $8, %rsp\n"                                                                         \
	"\tpop %rsi\n"                                                                             \
	"\tpop %rdi\n"                                                                             \
	".cfi_adjust_cfa_offset -24\n"                                                             \
	"\ttest %rax, %rax\n"                                                                      \
	"\tjnz 1f\n"                                                                               \
	"\tjmp *gt_preload_real(%rip)\n"                                                           \
	"1:\tret\n"                                                                                \
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
	"\tpush %rbp\n"                                                                            \
	".cfi_def_cfa_offset 16\n"                                                                 \
	".cfi_offset 6, -16\n"                                                                     \
	"\tmov %rsp, %rbp\n"                                                                       \
	".cfi_def_cfa_register 6\n"                                                                \
	"\tpush %rdi\n"                                                                            \
	"\tpush %rsi\n"                                                                            \
	"\tpush %rdx\n"                                                                            \
	"\tpush %rcx\n"                                                                            \
	"\tpush %r8\n"                                                                             \
	"\tpush %r9\n"                                                                             \
	"\tlea gt_around_of_" #id "(%rip), %rdi\n"                                                 \
	"\tmov 8(%rbp), %rsi\n"                                                                    \
	"\tcall gt_begin_" #part "\n"                                                              \
	"\tpop %r9\n"                                                                              \
	"\tpop %r8\n"                                                                              \
	"\tpop %rcx\n"                                                                             \
	"\tpop %rdx\n"                                                                             \
	"\tpop %rsi\n"                                                                             \
	"\tpop %rdi\n"                                                                             \
	"\tpush 24(%rbp)\n"                                                                        \
	"\tpush 16(%rbp)\n"                                                                        \
	"\tcall *%rax\n"                                                                           \
	"\tmov %rax, (%rsp)\n"                                                                     \
	"\tmov %rdx, 8(%rsp)\n"                                                                    \
	"\tcall gt_end_" #part "\n"                                                                \
	"\tpop %rax\n"                                                                             \
	"\tpop %rdx\n"                                                                             \
	"\tpop %rbp\n"                                                                             \
	".cfi_def_cfa 7, 8\n"                                                                      \
	"\tret\n"                                                                                  \
	".cfi_endproc\n"                                                                           \
	".size gt_around_" #id ", . - gt_around_" #id "\n"
