/* SPDX-License-Identifier: MIT */
/* call_on.h - calls a function on another stack; included by one file of a program. */
#pragma once

/* As coroutine libraries do: calls `fn` on the stack that ends at `top`. */
void call_on(void (*fn)(void), void *top);
#if defined(__x86_64__)
__asm__(".text\n"
	".globl call_on\n"
	".hidden call_on\n"
	".type call_on, @function\n"
	"call_on:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	mov %rsi, %rsp\n"
	"	call *%rdi\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size call_on, .-call_on\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl call_on\n"
	".hidden call_on\n"
	".type call_on, %function\n"
	"call_on:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 29, -16\n"
	"	.cfi_offset 30, -8\n"
	"	mov x29, sp\n"
	"	.cfi_def_cfa_register 29\n"
	"	mov sp, x1\n"
	"	blr x0\n"
	"	mov sp, x29\n"
	"	.cfi_def_cfa_register 31\n"
	"	ldp x29, x30, [sp], #16\n"
	"	.cfi_restore 29\n"
	"	.cfi_restore 30\n"
	"	.cfi_def_cfa_offset 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size call_on, .-call_on\n");
#endif
