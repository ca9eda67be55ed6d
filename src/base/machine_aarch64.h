/* SPDX-License-Identifier: MIT */
/* machine_aarch64.h - arm64, as base/machine.h wants it. */
#pragma once

enum { GT_FRAME = 29, GT_RETURN = 30, GT_STACK = 31, GT_REGISTERS = 32 };

#define GT_SAVED                                                                                   \
	{                                                                                          \
		GT_FRAME, GT_RETURN, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28                        \
	}
#define GT_SAVED_COUNT      12
#define GT_RETURN_AT_ENTRY  GT_SAME /* it is in its register */
#define GT_RECORD_IS_LOW    1
#define GT_USER_END         (UINT64_C(1) << 52)
#define GT_THREAD_IS_BEFORE 1
#define GT_THREAD_SPECIFIC  (784 - 1856) /* of 2.36 */
#define GT_LIBC_FIRST       "GLIBC_2.17"

#define GT_READ_REGISTERS(registers)                                                               \
	__asm__ volatile("0: adr x9, 0b\n"                                                         \
			 "mov x10, sp\n"                                                           \
			 "stp x19, x20, [%0, #152]\n"                                              \
			 "stp x21, x22, [%0, #168]\n"                                              \
			 "stp x23, x24, [%0, #184]\n"                                              \
			 "stp x25, x26, [%0, #200]\n"                                              \
			 "stp x27, x28, [%0, #216]\n"                                              \
			 "stp x29, x9, [%0, #232]\n"                                               \
			 "str x10, [%0, #248]\n"                                                   \
			 :                                                                         \
			 : "r"(registers)                                                          \
			 : "x9", "x10", "memory")

/* Behind 128 bytes of siginfo: 176 of the context, the address of a fault, then all registers. */
enum { GT_SIGNAL_REGISTERS = 128 + 176 + 8, GT_SIGNAL_BYTES = 8 };

/* mov x8, #139; svc #0: the kernel's, whose tables lead to the caller of what was interrupted. */
static inline bool gt_is_signal_return(const uint8_t code[GT_SIGNAL_BYTES])
{
	static const uint8_t known[GT_SIGNAL_BYTES] = { 0x68, 0x11, 0x80, 0xd2,
							0x01, 0x00, 0x00, 0xd4 };

	return !__builtin_memcmp(code, known, sizeof known);
}

/* By the instruction for it, which does nothing on processors that sign nothing. */
static inline uint64_t gt_code_address(uint64_t word)
{
	register uint64_t x30 __asm__("x30") = word;

	__asm__("hint #7" /* xpaclri */ : "+r"(x30));
	return x30;
}

/* While another thread does something short. */
static inline void gt_pause(void)
{
	__asm__ volatile("yield");
}

/* Valgrind's answer to a request, 0 without it: instructions that leave all as it is. */
static inline uint64_t gt_ask_valgrind(const volatile uint64_t request[6])
{
	register uint64_t answer __asm__("x3") = 0;
	register const volatile uint64_t *x4 __asm__("x4") = request;

	__asm__ volatile(
		"ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61\n"
		"orr x10, x10, x10"
		: "+r"(answer)
		: "r"(x4)
		: "cc", "memory");
	return answer;
}

enum { GT_CALL_BYTES = 4 };

/* To an address, or by a register, which may be signed. */
static inline bool gt_is_call(const uint8_t code[GT_CALL_BYTES])
{
	uint32_t word = (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
			(uint32_t)code[3] << 24;

	return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000 ||
	       (word & 0xfefff800) == 0xd63f0800;
}

/* By acquire: another thread may have filled the slot, after it had made the door ready. */
#define GT_ASM_ENTRY(fn)                                                                           \
	".type gt_entry_" #fn ", %function\n"                                                      \
	".globl gt_entry_" #fn "\n"                                                                \
	"gt_entry_" #fn ":\n"                                                                      \
	"\thint #34\n" /* bti c */                                                                 \
	"\tadrp x16, gt_slot_" #fn "\n"                                                            \
	"\tadd x16, x16, #:lo12:gt_slot_" #fn "\n"                                                 \
	"\tldar x16, [x16]\n"                                                                      \
	"\tbr x16\n"                                                                               \
	".size gt_entry_" #fn ", . - gt_entry_" #fn "\n"                                           \
	".hidden gt_first_" #fn "\n"                                                               \
	".globl gt_first_" #fn "\n"                                                                \
	"gt_first_" #fn ":\n"                                                                      \
	"\thint #34\n"                                                                             \
	"\tadrp x17, gt_slot_" #fn "\n"                                                            \
	"\tadd x17, x17, #:lo12:gt_slot_" #fn "\n"                                                 \
	"\tb gt_preload_first\n"

/* x8: where a large result goes; q0 to q7: the low parts of the vectors, all that C passes. */
#define GT_ASM_FIRST                                                                               \
	".type gt_preload_first, %function\n"                                                      \
	"gt_preload_first:\n"                                                                      \
	".cfi_startproc\n"                                                                         \
	"\tstp x29, x30, [sp, #-224]!\n"                                                           \
	".cfi_def_cfa_offset 224\n"                                                                \
	".cfi_offset 29, -224\n"                                                                   \
	".cfi_offset 30, -216\n"                                                                   \
	"\tmov x29, sp\n"                                                                          \
	"\tstp x0, x1, [sp, #16]\n"                                                                \
	"\tstp x2, x3, [sp, #32]\n"                                                                \
	"\tstp x4, x5, [sp, #48]\n"                                                                \
	"\tstp x6, x7, [sp, #64]\n"                                                                \
	"\tstp x8, x17, [sp, #80]\n"                                                               \
	"\tstp q0, q1, [sp, #96]\n"                                                                \
	"\tstp q2, q3, [sp, #128]\n"                                                               \
	"\tstp q4, q5, [sp, #160]\n"                                                               \
	"\tstp q6, q7, [sp, #192]\n"                                                               \
	"\tbl gt_preload_fill\n"                                                                   \
	"\tldp q6, q7, [sp, #192]\n"                                                               \
	"\tldp q4, q5, [sp, #160]\n"                                                               \
	"\tldp q2, q3, [sp, #128]\n"                                                               \
	"\tldp q0, q1, [sp, #96]\n"                                                                \
	"\tldp x8, x17, [sp, #80]\n"                                                               \
	"\tldp x6, x7, [sp, #64]\n"                                                                \
	"\tldp x4, x5, [sp, #48]\n"                                                                \
	"\tldp x2, x3, [sp, #32]\n"                                                                \
	"\tldp x0, x1, [sp, #16]\n"                                                                \
	"\tldp x29, x30, [sp], #224\n"                                                             \
	".cfi_restore 29\n"                                                                        \
	".cfi_restore 30\n"                                                                        \
	".cfi_def_cfa_offset 0\n"                                                                  \
	"\tldar x16, [x17]\n"                                                                      \
	"\tbr x16\n"                                                                               \
	".cfi_endproc\n"                                                                           \
	".size gt_preload_first, . - gt_preload_first\n"

#define GT_ASM_DLSYM                                                                               \
	".globl gt_dlsym_old, gt_dlsym\n"                                                          \
	".type gt_dlsym_old, %function\n"                                                          \
	".type gt_dlsym, %function\n"                                                              \
	"gt_dlsym_old:\n"                                                                          \
	"gt_dlsym:\n"                                                                              \
	".cfi_startproc\n"                                                                         \
	"\thint #34\n"                                                                             \
	"\tstp x29, x30, [sp, #-32]!\n"                                                            \
	".cfi_def_cfa_offset 32\n"                                                                 \
	".cfi_offset 29, -32\n"                                                                    \
	".cfi_offset 30, -24\n"                                                                    \
	"\tmov x29, sp\n"                                                                          \
	"\tstp x0, x1, [sp, #16]\n"                                                                \
	"\tmov x2, x30\n"                                                                          \
	"\tbl gt_preload_dlsym\n"                                                                  \
	"\tmov x16, x0\n"                                                                          \
	"\tldp x0, x1, [sp, #16]\n"                                                                \
	"\tldp x29, x30, [sp], #32\n"                                                              \
	".cfi_restore 29\n"                                                                        \
	".cfi_restore 30\n"                                                                        \
	".cfi_def_cfa_offset 0\n"                                                                  \
	"\tcbnz x16, 1f\n"                                                                         \
	"\tadrp x16, gt_preload_real\n"                                                            \
	"\tldr x16, [x16, #:lo12:gt_preload_real]\n"                                               \
	"\tbr x16\n"                                                                               \
	"1:\tmov x0, x16\n"                                                                        \
	"\tret\n"                                                                                  \
	".cfi_endproc\n"                                                                           \
	".size gt_dlsym, . - gt_dlsym\n"                                                           \
	".size gt_dlsym_old, . - gt_dlsym_old\n"

/* None of these functions takes vectors; x8: where a large result goes. */
#define GT_ASM_AROUND(id, part)                                                                    \
	".text\n"                                                                                  \
	".type gt_around_" #id ", %function\n"                                                     \
	".globl gt_around_" #id "\n"                                                               \
	"gt_around_" #id ":\n"                                                                     \
	".cfi_startproc\n"                                                                         \
	".cfi_personality 0x1b, gt_unwound_" #part "\n"                                            \
	"\thint #34\n"                                                                             \
	"\tstp x29, x30, [sp, #-96]!\n"                                                            \
	".cfi_def_cfa_offset 96\n"                                                                 \
	".cfi_offset 29, -96\n"                                                                    \
	".cfi_offset 30, -88\n"                                                                    \
	"\tmov x29, sp\n"                                                                          \
	"\tstp x0, x1, [sp, #16]\n"                                                                \
	"\tstp x2, x3, [sp, #32]\n"                                                                \
	"\tstp x4, x5, [sp, #48]\n"                                                                \
	"\tstp x6, x7, [sp, #64]\n"                                                                \
	"\tstr x8, [sp, #80]\n"                                                                    \
	"\tadrp x0, gt_around_of_" #id "\n"                                                        \
	"\tadd x0, x0, #:lo12:gt_around_of_" #id "\n"                                              \
	"\tmov x1, x30\n"                                                                          \
	"\tbl gt_begin_" #part "\n"                                                                \
	"\tmov x16, x0\n"                                                                          \
	"\tldp x0, x1, [sp, #16]\n"                                                                \
	"\tldp x2, x3, [sp, #32]\n"                                                                \
	"\tldp x4, x5, [sp, #48]\n"                                                                \
	"\tldp x6, x7, [sp, #64]\n"                                                                \
	"\tldr x8, [sp, #80]\n"                                                                    \
	"\tblr x16\n"                                                                              \
	"\tstp x0, x1, [sp, #16]\n"                                                                \
	"\tbl gt_end_" #part "\n"                                                                  \
	"\tldp x0, x1, [sp, #16]\n"                                                                \
	"\tldp x29, x30, [sp], #96\n"                                                              \
	".cfi_restore 29\n"                                                                        \
	".cfi_restore 30\n"                                                                        \
	".cfi_def_cfa_offset 0\n"                                                                  \
	"\tret\n"                                                                                  \
	".cfi_endproc\n"                                                                           \
	".size gt_around_" #id ", . - gt_around_" #id "\n"
